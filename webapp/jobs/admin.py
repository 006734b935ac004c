from django.contrib import admin

from webapp.jobs.models import Job


@admin.register(Job)
class JobAdmin(admin.ModelAdmin[Job]):
    list_display = ("id", "kind", "target", "state", "attempts", "host", "created_at")
    list_filter = ("state", "kind", "target")
