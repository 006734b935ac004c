"""Pages for people."""

from __future__ import annotations

from django.urls import path
from django.views.i18n import set_language

from webapp.pages import account_views, views

urlpatterns = [
    path("", views.start, name="start"),
    path("healthz", views.health, name="health"),
    path("sign-in", account_views.SignInView.as_view(), name="sign-in"),
    path("sign-in/link/<str:token>", account_views.sign_in_link, name="sign-in-link"),
    path("sign-out", account_views.sign_out, name="sign-out"),
    path("language", set_language, name="set_language"),
    path("settings", account_views.SettingsView.as_view(), name="settings"),
    path("operators", views.operators, name="operators"),
    path("operators/new", views.operator_unsaved, name="operator-new"),
    path("operators/<str:operator_id>", views.operator, name="operator"),
    path("operators/<str:operator_id>/v/<int:number>", views.operator, name="operator-version"),
    path("gallery", views.gallery, name="gallery"),
    path("jobs", views.jobs, name="jobs"),
    path("jobs/<str:job_id>", views.job, name="job"),
    path("hosts", views.hosts, name="hosts"),
    path("boards", views.boards, name="boards"),
    path("boards/<str:board_id>", views.board, name="board"),
]
