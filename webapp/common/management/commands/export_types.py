"""Writes the REST and live contracts for the front end's type generator."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser


class Command(BaseCommand):
    help = "Write openapi.json (REST) and events.schema.json (websocket) into a folder."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--out", type=Path, default=settings.ROOT / "frontend" / "src" / "generated")

    def handle(self, *args: Any, **options: Any) -> None:
        # Loaded by name: `common` is below the apps, and the contract joins them all.
        api = import_module("webapp.config.api").api
        events_schema = import_module("webapp.config.contract").events_schema
        folder: Path = options["out"]
        folder.mkdir(parents=True, exist_ok=True)
        contracts = {"openapi.json": api.get_openapi_schema(), "events.schema.json": events_schema()}
        for name, schema in contracts.items():
            text = json.dumps(schema, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
            (folder / name).write_text(text, encoding="utf-8")
            self.stdout.write(str(folder / name))
