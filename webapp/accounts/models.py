"""People and their one-time sign-in links."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.db import models


class User(AbstractUser):
    """A person. `layout` is the front end's own JSON; the server only keeps it."""

    theme = models.CharField(max_length=10, default="system")
    language = models.CharField(max_length=10, blank=True, default="")
    layout = models.JSONField(default=dict, blank=True)


class SignInLink(models.Model):
    """A link that signs its user in once. Only the sha256 of the token is kept."""

    token_digest = models.CharField(max_length=64, primary_key=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="sign_in_links")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"link for {self.user_id}"
