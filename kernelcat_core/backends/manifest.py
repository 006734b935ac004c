"""What a backend says about itself. A manifest is data: it imports neither its renderer nor its device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from kernelcat_core.target import Target


@dataclass(frozen=True)
class Backend:
    """Our code for one family of targets.

    `aliases` maps device names in lower case ("a100") to canonical target names ("cuda:sm_80"). `render` and `device`
    are dotted paths, "package.module:attribute", loaded on first use: `render(module, target) -> Source` and a class
    `Device()`; `native`, where hand-written kernels can be run, is `source(native, arguments, tensors, sizes, launch,
    target) -> Source`; `bundle`, where networks can be run, is `bundle(modules, target) -> Source` with an entry a module.
    """

    name: str
    label: str
    language: str
    targets: tuple[Target, ...]
    aliases: Mapping[str, str] = field(default_factory=dict)
    render: str = ""
    device: str = ""
    native: str = ""
    bundle: str = ""

    def load_render(self) -> Any:
        return _load(self.render)

    def load_device(self) -> Any:
        return _load(self.device)

    def load_native(self) -> Any:
        """The adapter for hand-written kernels, or None."""
        return _load(self.native) if self.native else None

    def load_bundle(self) -> Any:
        """The renderer of many kernels as one text, or None."""
        return _load(self.bundle) if self.bundle else None


def _load(path: str) -> Any:
    module, _, attribute = path.partition(":")
    return getattr(import_module(module), attribute)
