"""One formula of the gallery."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class GalleryItem:
    """`shapes` maps inputs to texts such as "64x128:f32"; they are small enough for a quick check."""

    slug: str
    title: str
    group: str
    formula: str
    shapes: Mapping[str, str]
    summary: str

    def to_dict(self) -> dict[str, Any]:
        return {"slug": self.slug, "title": self.title, "group": self.group, "formula": self.formula,
                "shapes": dict(self.shapes), "summary": self.summary}
