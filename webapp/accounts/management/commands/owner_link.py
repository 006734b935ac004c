"""Prints the path of a one-time sign-in link for the local owner."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from webapp.accounts.services import link_create, owner_ensure


class Command(BaseCommand):
    help = "Print a one-time sign-in link (its path) for the local owner; earlier unused links stop working."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--username", default="owner")
        parser.add_argument("--minutes", type=int, default=60, help="how long the link works (default 60)")

    def handle(self, *args: Any, **options: Any) -> None:
        token = link_create(owner_ensure(options["username"]), timedelta(minutes=options["minutes"]))
        self.stdout.write(f"/sign-in/link/{token}")
