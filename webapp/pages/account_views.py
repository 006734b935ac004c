"""Signing in and out, settings."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth import logout
from django.contrib.auth.mixins import LoginRequiredMixin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views import View
from django.views.decorators.http import require_GET, require_POST

from kernelcat_core.errors import KernelcatError
from webapp.accounts.schemas import PreferencesPatch
from webapp.accounts.selectors import signed_in
from webapp.accounts.services import link_use, password_sign_in, preferences_update
from webapp.common.errors import status_of
from webapp.pages.context import page_render
from webapp.pages.views import problem

THEMES = ("system", "light", "dark")
LANGUAGE_NAMES = (("en", "English"), ("zh-hans", "简体中文"))  # each in itself, as its readers look for it


class SignInView(View):
    """Name and password, or the hint how to get a link."""

    def get(self, request: HttpRequest) -> HttpResponse:
        if request.user.is_authenticated:
            return redirect(settings.LOGIN_REDIRECT_URL)
        return page_render(request, "sign_in", {"next": request.GET.get("next", ""), "languages": LANGUAGE_NAMES})

    def post(self, request: HttpRequest) -> HttpResponse:
        username = request.POST.get("username", "")
        try:
            password_sign_in(request, username, request.POST.get("password", ""))
        except KernelcatError as error:
            shown = {"next": request.POST.get("next", ""), "error": error, "username": username, "languages": LANGUAGE_NAMES}
            return page_render(request, "sign_in", shown, status=status_of(error.code))
        return redirect(_inside(request, request.POST.get("next", "")))


@require_GET
def sign_in_link(request: HttpRequest, token: str) -> HttpResponse:
    """Signs in with a one-time link. GET only: a HEAD from a link checker must not use it up."""
    try:
        link_use(request, token)
    except KernelcatError as error:
        return problem(request, error)
    return redirect(settings.LOGIN_REDIRECT_URL)


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect("sign-in")


class SettingsView(LoginRequiredMixin, View):
    """Theme and language."""

    def get(self, request: HttpRequest) -> HttpResponse:
        shown = {"themes": [("system", _("As the system")), ("light", _("Light")), ("dark", _("Dark"))]}
        return page_render(request, "settings", {**shown, "languages": LANGUAGE_NAMES})

    def post(self, request: HttpRequest) -> HttpResponse:
        wanted = {name: request.POST[name] for name in ("theme", "language") if request.POST.get(name)}
        known = {code for code, _name in settings.LANGUAGES}
        if wanted.get("theme", "system") in THEMES and wanted.get("language", "en") in known:
            preferences_update(signed_in(request), PreferencesPatch.model_validate(wanted))
        return redirect("settings")


def _inside(request: HttpRequest, target: str) -> str:
    """`target` if it stays on this site, else the start page."""
    allowed = url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure())
    return target if allowed else settings.LOGIN_REDIRECT_URL
