"""Signing in and out, one-time links, preferences."""

from __future__ import annotations

import hashlib
import json
import secrets
from datetime import timedelta

from django.conf import settings
from django.contrib.auth import authenticate, login
from django.core.cache import cache
from django.http import HttpRequest
from django.utils import timezone

from webapp.accounts.models import SignInLink, User
from webapp.accounts.schemas import PreferencesPatch
from webapp.common.errors import WebError
from webapp.workspaces.services import personal_workspace_ensure

BACKEND = "django.contrib.auth.backends.ModelBackend"
LAYOUT_LIMIT_BYTES = 16 * 1024


def token_digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def owner_ensure(username: str = "owner") -> User:
    """The local owner; made without a usable password, so that only a link from this machine lets them in."""
    user, created = User.objects.get_or_create(
        username=username, defaults={"is_staff": True, "is_superuser": True}
    )
    if created:
        user.set_unusable_password()
        user.save(update_fields=["password"])
    return user


def link_create(user: User, lifetime: timedelta = timedelta(hours=1)) -> str:
    """A fresh token for `user`; earlier links that were not used stop working."""
    SignInLink.objects.filter(user=user, used_at=None).delete()
    token = secrets.token_urlsafe(32)
    SignInLink.objects.create(
        token_digest=token_digest(token), user=user, expires_at=timezone.now() + lifetime
    )
    return token


def link_use(request: HttpRequest, token: str) -> User:
    """Signs in with a link. One conditional UPDATE decides, so of two simultaneous uses one wins (KC-W008)."""
    now = timezone.now()
    links = SignInLink.objects.filter(
        token_digest=token_digest(token), used_at=None, expires_at__gt=now, user__is_active=True
    )
    if links.update(used_at=now) != 1:
        raise WebError(
            "KC-W008",
            "This sign-in link was used already or has expired.",
            hint="Print a fresh one: python manage.py owner_link",
        )
    user = SignInLink.objects.select_related("user").get(token_digest=token_digest(token)).user
    _enter(request, user)
    return user


def password_sign_in(request: HttpRequest, username: str, password: str) -> User:
    """Signs in with name and password; too many failures from one address or for one name pause both (KC-W007)."""
    keys = [f"sign-in:address:{_address(request)}", f"sign-in:name:{token_digest(username.lower())}"]
    if any(int(cache.get(key) or 0) >= settings.SIGN_IN_ATTEMPTS for key in keys):
        raise WebError(
            "KC-W007",
            "Too many failed attempts.",
            hint=f"Wait {settings.SIGN_IN_WINDOW_S // 60} minutes, then try again.",
        )
    user = authenticate(request, username=username, password=password)
    if user is None:
        for key in keys:
            cache.add(key, 0, settings.SIGN_IN_WINDOW_S)
            cache.incr(key)
        raise WebError("KC-W001", "Name and password do not match.", hint="Check both and try again.")
    assert isinstance(user, User)
    cache.delete(keys[1])
    _enter(request, user)
    return user


def preferences_update(user: User, patch: PreferencesPatch) -> User:
    """Changes only the fields that were sent; a layout of more than 16 KiB is refused (KC-W005)."""
    changed = patch.model_dump(exclude_none=True)
    if len(json.dumps(changed.get("layout", {}))) > LAYOUT_LIMIT_BYTES:
        raise WebError("KC-W005", "The layout is larger than 16 KiB.", hint="Reset the pane arrangement.")
    for name, value in changed.items():
        setattr(user, name, value)
    user.save(update_fields=list(changed))
    return user


def _enter(request: HttpRequest, user: User) -> None:
    login(request, user, backend=BACKEND)
    personal_workspace_ensure(user)


def _address(request: HttpRequest) -> str:
    return str(request.META.get("REMOTE_ADDR", ""))
