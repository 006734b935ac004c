"""All HTTP addresses."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path, re_path

from webapp.config.api import api
from webapp.pages import views

urlpatterns = [
    path("api/", api.urls),
    re_path(r"^api/.*$", views.api_unknown),
    path("admin/", admin.site.urls),
    path("", include("webapp.pages.urls")),
]
handler404 = "webapp.pages.views.page_missing"
handler500 = "webapp.pages.views.server_failed"
