"""Settings that come from the environment, read and checked in one place."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse


def flag(name: str, default: bool = False) -> bool:
    """A switch: 1, true, yes and on (any case) mean on."""
    value = os.environ.get(name)
    return default if value is None else value.strip().lower() in {"1", "true", "yes", "on"}


def words(name: str, default: str) -> list[str]:
    """A comma-separated list."""
    return [word.strip() for word in os.environ.get(name, default).split(",") if word.strip()]


def home_folder(root: Path) -> Path:
    """Where this installation keeps its state: KERNELCAT_HOME, else ./var. Made on first use, for its owner only."""
    home = Path(os.environ.get("KERNELCAT_HOME") or root / "var").resolve()
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    return home


def secret_key(home: Path) -> str:
    """SECRET_KEY from the environment, else from a file that the first run writes (several may race for it)."""
    given = os.environ.get("SECRET_KEY")
    if given:
        return given
    path = home / "secret_key"
    draft = home / f"secret_key.{secrets.token_hex(6)}"
    if not path.exists():
        draft.touch(mode=0o600)
        draft.write_text(secrets.token_urlsafe(48))
        try:
            os.link(draft, path)  # unlike a rename, a link never replaces the key another process just made
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text().strip()


def database(home: Path) -> dict[str, Any]:
    """DATABASE_URL (postgres://user:password@host:port/name or sqlite:///path), else SQLite in the home folder.

    SQLite gets WAL, IMMEDIATE transactions and a long busy time-out: with Django's defaults several writing processes
    lose updates and fail as "locked".
    """
    url = urlparse(os.environ.get("DATABASE_URL", ""))
    if url.scheme in {"postgres", "postgresql"}:
        return {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": unquote(url.path.lstrip("/")),
            "USER": unquote(url.username or ""),
            "PASSWORD": unquote(url.password or ""),
            "HOST": url.hostname or "",
            "PORT": str(url.port or ""),
            "CONN_MAX_AGE": 60,
            "CONN_HEALTH_CHECKS": True,
        }
    if url.scheme not in {"", "sqlite"}:
        raise ValueError(f"DATABASE_URL: unknown scheme {url.scheme!r}; use postgres:// or sqlite:///")
    path = Path(unquote(url.path)) if url.path else home / "kernelcat.sqlite3"
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(path),
        "OPTIONS": {
            "timeout": 20,
            "transaction_mode": "IMMEDIATE",
            "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;PRAGMA foreign_keys=ON;",
        },
        "TEST": {"NAME": str(home / "test.sqlite3")},  # a file: threads cannot share an in-memory database
    }
