"""Settings from the environment, and the exported contracts."""

from __future__ import annotations

import io
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jsonschema
import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection

from webapp.config import environment


def test_the_secret_key_is_made_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SECRET_KEY", raising=False)
    with ThreadPoolExecutor(8) as threads:
        keys = set(threads.map(lambda _: environment.secret_key(tmp_path), range(8)))
    assert len(keys) == 1
    assert len(keys.pop()) >= 50
    assert (tmp_path / "secret_key").stat().st_mode & 0o077 == 0
    assert [path.name for path in tmp_path.iterdir()] == ["secret_key"]
    monkeypatch.setenv("SECRET_KEY", "given")
    assert environment.secret_key(tmp_path) == "given"


def test_a_postgres_address(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://kc:p%40ss@db:5433/kernelcat")
    row = environment.database(tmp_path)
    assert row["ENGINE"].endswith("postgresql")
    wanted = {"NAME": "kernelcat", "USER": "kc", "PASSWORD": "p@ss", "HOST": "db", "PORT": "5433"}
    assert {name: row[name] for name in wanted} == wanted


def test_another_database_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DATABASE_URL", "mysql://x/y")
    with pytest.raises(ValueError, match="mysql"):
        environment.database(tmp_path)


@pytest.mark.django_db
def test_sqlite_is_opened_for_many_writers() -> None:
    if connection.vendor != "sqlite":
        pytest.skip("not SQLite")
    with connection.cursor() as cursor:
        values = [cursor.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
    assert values == ["wal", 1]
    assert settings.DATABASES["default"]["OPTIONS"]["transaction_mode"] == "IMMEDIATE"
    assert not settings.DATABASES["default"].get("ATOMIC_REQUESTS")


@pytest.mark.django_db
def test_models_and_migrations_agree() -> None:
    call_command("makemigrations", "--check", "--dry-run", stdout=io.StringIO())


def test_debug_is_off_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEBUG", raising=False)
    assert not environment.flag("DEBUG")
    monkeypatch.setenv("DEBUG", "Yes")
    assert environment.flag("DEBUG")


def test_contracts_are_valid_schemas_with_every_event(tmp_path: Path) -> None:
    call_command("export_types", "--out", str(tmp_path), stdout=io.StringIO())
    events = json.loads((tmp_path / "events.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(events)
    named = set(events["$defs"])
    assert {"Event", "ServerMessage", "ClientMessage", "Snapshot", "JobSnapshot", "BoardDetail"} <= named
    kinds = set(events["$defs"]["Event"]["discriminator"]["mapping"])
    assert kinds == {
        "job_changed", "trials_recorded", "log_appended", "artifact_added", "evidence_added", "operator_changed",
        "host_changed", "board_ranked",
    }  # fmt: skip
    openapi = json.loads((tmp_path / "openapi.json").read_text())
    assert openapi["openapi"].startswith("3.1")
    for path, methods in openapi["paths"].items():
        for method, operation in methods.items():
            assert operation["summary"], (path, method)


def test_the_exported_contracts_are_the_committed_ones(tmp_path: Path) -> None:
    committed = settings.ROOT / "frontend" / "src" / "generated"
    if not committed.is_dir():
        pytest.skip("the front end has no generated types here")
    call_command("export_types", "--out", str(tmp_path), stdout=io.StringIO())
    for name in ("openapi.json", "events.schema.json"):
        assert (committed / name).read_text() == (tmp_path / name).read_text(), "run: make types"
