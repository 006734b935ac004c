"""The backends this installation has: one line each. Everything else finds them here."""

from __future__ import annotations

import difflib
from importlib import import_module

from kernelcat_core.backends.manifest import Backend
from kernelcat_core.errors import KernelcatError
from kernelcat_core.target import Target

_MANIFESTS = (
    "kernelcat_core.backends.c.manifest",
    "kernelcat_core.backends.cuda.manifest",
    "kernelcat_core.backends.hip.manifest",
    "kernelcat_core.backends.opencl.manifest",
    "kernelcat_core.backends.wgsl.manifest",
    "kernelcat_core.backends.ascendc.manifest",
    "kernelcat_core.backends.bangc.manifest",
)


def _registry() -> dict[str, Backend]:
    found: list[Backend] = [import_module(path).BACKEND for path in _MANIFESTS]
    return {b.name: b for b in found}


REGISTRY: dict[str, Backend] = _registry()


def resolve(name: str) -> tuple[Backend, Target]:
    """The backend and target of a canonical name ("cuda:sm_80") or a device name ("a100"), in any case.

    Raises KernelcatError KC-S001 when there is none.
    """
    wanted = name.strip().lower()
    for backend in REGISTRY.values():
        canonical = backend.aliases.get(wanted, wanted)
        for target in backend.targets:
            if target.name == canonical:
                return backend, target
    known = [t.name for b in REGISTRY.values() for t in b.targets]
    devices = [a for b in REGISTRY.values() for a in b.aliases]
    close = difflib.get_close_matches(wanted, [*known, *devices], n=1)
    first = ", ".join(b.targets[0].name for b in REGISTRY.values())
    raise KernelcatError("KC-S001", f"no target is called {name!r}",
                         hint=(f"did you mean {close[0]!r}? " if close else f"for example {first}; ") +
                         "`kernelcat targets` lists targets and devices")
