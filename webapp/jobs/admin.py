from django.contrib import admin

from webapp.jobs.models import Job

admin.site.register(Job, list_display=("id", "kind", "target", "state", "attempts", "host", "created_at"))
