"""Live previews and the read-only catalog (targets, operators, gallery), all answered by killable children."""

from __future__ import annotations

from typing import Any, Literal

from ninja import Field, Schema

from webapp.common.schemas import ErrorBody

Stage = Literal["graph", "tile", "onnx", "source"]


class PreviewRequest(Schema):
    """`request_id` comes back unchanged so that the client can drop stale answers."""

    source: str
    shapes: dict[str, str] = {}
    targets: list[str] = Field(default=["c", "cuda:sm_80", "ascend:910b"], max_length=12)
    configs: dict[str, dict[str, Any]] = {}
    stages: list[Stage] = ["graph", "tile", "onnx", "source"]
    request_id: str = Field("", max_length=64)


class Fact(Schema):
    """One evidence fact (rendered, compiled, emulated, executed, measured); each stands by itself."""

    fact: str
    digest: str = ""
    toolchain: str = ""
    device: str = ""
    detail: str = ""


class TensorShape(Schema):
    name: str
    dtype: str
    shape: list[int]
    symbolic: list[str]


class Knob(Schema):
    """One choice of the schedule: its legal values and the one taken when `configs` names none."""

    name: str
    values: list[Any]
    default: Any


class TargetPreview(Schema):
    """`source_digest` keys the evidence of this very text; `error` is set when the target cannot express it."""

    target: str
    label: str
    language: str = ""
    architecture: str = ""
    source: str = ""
    tile: str = ""
    entry: str = ""
    launch: str = ""
    source_digest: str = ""
    config: dict[str, Any] = {}
    knobs: list[Knob] = []
    facts: list[Fact] = []
    error: ErrorBody | None = None


class PreviewAnswer(Schema):
    """`ok` false means that the formula itself is wrong; then `error` has its place and `targets` is empty."""

    request_id: str
    ok: bool
    digest: str = ""
    inputs: list[TensorShape] = []
    outputs: list[TensorShape] = []
    graph: str = ""
    onnx: str = ""
    targets: list[TargetPreview] = []
    error: ErrorBody | None = None
    milliseconds: float


class CatalogTarget(Schema):
    """A target and what this server could show for it; `online` says whether a host with it is connected now."""

    target: str
    label: str
    aliases: list[str] = []
    languages: list[str] = []
    facts_possible: list[str] = []
    missing: list[str] = []
    device: str | None = None
    online: bool = False


class CatalogOperator(Schema):
    name: str
    signature: str
    summary: str
    example: str


class GalleryItem(Schema):
    slug: str
    title: str
    group: str
    formula: str
    shapes: dict[str, str]
    summary: str
