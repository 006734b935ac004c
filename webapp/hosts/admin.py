from django.contrib import admin

from webapp.hosts.models import Host

admin.site.register(Host)
