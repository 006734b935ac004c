from django.contrib import admin

from webapp.workspaces.models import Workspace

admin.site.register(Workspace)
