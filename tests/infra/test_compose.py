"""A team's server: the compose file against the specification's schema, the Dockerfiles by their rules."""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILES = sorted((ROOT / "docker").glob("*.Dockerfile"))
INSTRUCTIONS = {"FROM", "RUN", "COPY", "ENV", "WORKDIR", "USER", "VOLUME", "EXPOSE", "CMD"}


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    parsed = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    assert isinstance(parsed, dict)
    return parsed


def schema() -> dict[str, Any]:
    folder = resources.files("check_jsonschema") / "builtin_schemas" / "vendor"
    parsed = json.loads((folder / "compose-spec.json").read_text())
    assert isinstance(parsed, dict)
    return parsed


def validate(document: dict[str, Any]) -> None:
    rules = schema()
    jsonschema.validators.validator_for(rules)(rules).validate(document)


def test_the_compose_file_follows_the_specification(compose: dict[str, Any]) -> None:
    validate(compose)


def test_the_schema_refuses_what_is_wrong(compose: dict[str, Any]) -> None:
    broken = {**compose, "services": {"web": {"image": "x", "port": ["8000:8000"]}}}
    with pytest.raises(jsonschema.ValidationError):
        validate(broken)


def test_the_services_are_the_four_and_the_migration(compose: dict[str, Any]) -> None:
    assert set(compose["services"]) == {"postgres", "redis", "web", "worker", "migrate"}
    assert compose["services"]["web"]["depends_on"]["migrate"]["condition"] == "service_completed_successfully"


def test_dependencies_and_volumes_exist(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        assert set(service.get("depends_on", {})) <= set(compose["services"]), name
        named = {volume.split(":")[0] for volume in service.get("volumes", ())}
        assert named <= set(compose["volumes"]), name
        for build in [service["build"]] if "build" in service else []:
            assert (ROOT / build["dockerfile"]).is_file(), name


def test_no_secret_has_a_default(compose: dict[str, Any]) -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    for name in ("SECRET_KEY", "POSTGRES_PASSWORD", "REDIS_PASSWORD"):
        assert re.search(rf"\$\{{{name}:\?", text), f"{name} must be required"
        assert not re.search(rf"\$\{{{name}:?-", text), f"{name} must have no default"


def instructions(path: Path) -> list[tuple[str, str]]:
    """A Dockerfile as (INSTRUCTION, arguments), continuation lines joined, comments dropped."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n", " ", "\n".join(lines))
    return [(first, rest) for first, _, rest in (line.partition(" ") for line in joined.splitlines() if line.strip())]


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.name)
def test_a_dockerfile_is_well_formed(path: Path) -> None:
    parsed = instructions(path)
    assert parsed[0][0] == "FROM"
    assert {name for name, _ in parsed} <= INSTRUCTIONS
    commands = [arguments for name, arguments in parsed if name == "CMD"]
    assert len(commands) == 1
    assert isinstance(json.loads(commands[0]), list), "the exec form: signals reach the program"
    last_user = [arguments for name, arguments in parsed if name == "USER"][-1]
    assert last_user != "root"


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.name)
def test_what_a_dockerfile_copies_is_there(path: Path) -> None:
    for name, arguments in instructions(path):
        if name == "COPY" and not arguments.startswith("--from"):
            *sources, _ = arguments.split()
            for source in sources:
                assert (ROOT / source).exists(), f"{path.name} copies {source}"


def test_there_are_two_dockerfiles() -> None:
    assert [path.name for path in DOCKERFILES] == ["web.Dockerfile", "worker.Dockerfile"]
