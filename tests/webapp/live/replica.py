"""What a browser does with live messages, in Python: the law is checked with it."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def put(rows: list[Json], row: Json, key: str) -> list[Json]:
    """`rows` with `row` in place of the one with the same key, sorted by key."""
    return sorted([old for old in rows if old[key] != row[key]] + [row], key=lambda kept: kept[key])


def applied(state: Json, event: Json) -> Json:
    """The snapshot after one event; the rules that WEB's message types state."""
    state = dict(state)
    match event["type"]:
        case "job_changed" if "job" in state:
            state["outcome"] = event["outcome"] if event["outcome"] is not None else state["outcome"]
        case "job_changed":
            state["jobs"] = put(state["jobs"], event["job"], "id")
        case "trials_recorded":
            for trial in event["trials"]:
                state["trials"] = put(state["trials"], trial, "index")
        case "log_appended":
            for line in event["lines"]:
                state["log"] = put(state["log"], line, "number")
        case "artifact_added":
            state["artifacts"] = put(state["artifacts"], event["artifact"], "name")
        case "evidence_added":
            for row in event["rows"]:
                state["evidence"] = put(state["evidence"], row, "id")
        case "operator_changed":
            kept = [row for row in state["operators"] if row["id"] != event["operator"]["id"]]
            state["operators"] = kept if event["deleted"] else [*kept, event["operator"]]
        case "host_changed":
            state["items"] = put(state["items"], event["host"], "name")
        case "board_ranked":
            state = event["board"]
        case other:
            raise AssertionError(f"an event the browser does not know: {other}")
    if "job" in state and "job" in event:
        state["job"] = event["job"]
    return state


def comparable(state: Json) -> Json:
    """Lists of named rows in one order, since their order is the page's business."""
    def ordered(value: Any) -> Any:
        if isinstance(value, list) and value and isinstance(value[0], dict):
            name = next((key for key in ("index", "number", "id", "name") if key in value[0]), None)
            return sorted(value, key=lambda row: row[name]) if name else value
        return value

    return {key: ordered(value) for key, value in state.items()}
