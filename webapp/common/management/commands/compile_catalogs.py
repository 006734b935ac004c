"""Compiles webapp/locale/*/LC_MESSAGES/django.po to .mo, without the gettext tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from webapp.common.catalog import mo_write, po_read


class Command(BaseCommand):
    help = "Compile the message catalogs after a change of a .po file."

    def handle(self, *args: Any, **options: Any) -> None:
        for root in settings.LOCALE_PATHS:
            for path in Path(root).glob("*/LC_MESSAGES/django.po"):
                path.with_suffix(".mo").write_bytes(mo_write(po_read(path.read_text(encoding="utf-8"))))
                self.stdout.write(str(path.with_suffix(".mo")))
