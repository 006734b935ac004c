"""KernelBuilder and KernelProfiler: the object form of the API, for one target or several at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernelcat_core.api import facade
from kernelcat_core.api.operator import BoundOperator, RegisteredOperator, register
from kernelcat_core.backends import resolve
from kernelcat_core.errors import KernelcatError

Buildable = RegisteredOperator | BoundOperator | str


@dataclass(frozen=True)
class Build:
    """What building for one target gave. `ok` is False when a vendor's compiler refused (`log` says why).

    `facts` are words of evidence ("rendered", "compiled"); `assembly` is PTX for CUDA, assembly for CPUs, empty where no
    vendor compiler is at hand. Hand-written source with a reference formula is also run and compared: then `ok` is False
    when it differs.
    """

    name: str
    target: str
    ok: bool
    source: str
    assembly: str
    facts: tuple[str, ...]
    log: str
    resources: Mapping[str, str]
    files: Mapping[str, str]
    formula: str

    @property
    def ptx(self) -> str:
        """The PTX of a CUDA build."""
        return self.assembly if self.target.startswith("cuda") else ""


class KernelBuilder:
    """Builds operators for a target ("a100", "cuda:sm_80", "ascend910b", "cpu") or for several."""

    def __init__(self, target: str | None = None, *, targets: Sequence[str] | None = None) -> None:
        if (target is None) == (targets is None):
            raise KernelcatError("KC-S001", "give either target= or targets=",
                                 hint='KernelBuilder(target="a100") or KernelBuilder(targets=["a100", "cpu"])')
        self.names: tuple[str, ...] = (target,) if target is not None else tuple(targets or ())
        self.targets = tuple(resolve(n)[1] for n in self.names)
        self.operators: dict[str, RegisteredOperator] = {}
        self._single = target is not None

    def register_op(self, function: Callable[..., str] | None = None, *, reference: str | None = None,
                    launch: Mapping[str, Any] | None = None) -> Any:
        """Register an operator with this builder; with or without arguments, as kernelcat.register_op."""
        def add(f: Callable[..., str]) -> RegisteredOperator:
            operator = register(f, reference=reference, launch=launch)
            self.operators[operator.name] = operator
            return operator

        return add if function is None else add(function)

    def build(self, operator: Buildable | None = None, *, opt_level: str = "O3", config: Mapping[str, int] | None = None,
              **parameters: Any) -> Any:
        """Build `operator` (default: the one registered last; a formula works too) with the given parameters.

        Returns a Build, or with several targets a dict from each target's given name to its Build.
        """
        bound = self._bind(operator, parameters)
        builds = {name: self._build(bound, t.name, opt_level, config) for name, t in zip(self.names, self.targets)}
        return builds[self.names[0]] if self._single else builds

    def _build(self, bound: BoundOperator, target: str, opt_level: str, config: Mapping[str, int] | None) -> Build:
        if bound.native is not None:
            r = facade.build_native(bound.native, target, opt_level, bound.formula or None, bound.launch)
        else:
            r = facade.build(bound.formula, target, None, config, opt_level)
        return Build(bound.name, r["target"], r["ok"], r["source"], r["assembly"], tuple(r["facts"]), r["log"],
                     r["resources"], r["files"], bound.formula)

    def check(self, operator: Buildable | None = None, *, shapes: Mapping[str, str] | None = None, seeds: int = 3,
              **parameters: Any) -> dict[str, Any]:
        """Compare the operator's kernels on all targets of this builder with the oracle (see kernelcat check)."""
        bound = self._bind(operator, parameters)
        if bound.native is not None:
            return facade.check_native(bound.native, bound.formula, [t.name for t in self.targets], shapes, seeds, bound.launch)
        return facade.check(bound.formula, [t.name for t in self.targets], shapes, seeds)

    def _bind(self, operator: Buildable | None, parameters: Mapping[str, Any]) -> BoundOperator:
        if operator is None:
            if not self.operators:
                raise KernelcatError("KC-F019", "there is nothing to build", hint="decorate a function with @builder.register_op")
            operator = list(self.operators.values())[-1]
        if isinstance(operator, str):
            operator = self.operators.get(operator, BoundOperator("formula", operator, ""))
        return operator.bind(**parameters) if isinstance(operator, RegisteredOperator) else operator


class KernelProfiler:
    """Times operators on the device of a target and relates them to its limits."""

    def __init__(self, target: str = "c") -> None:
        self.target = resolve(target)[1]

    def profile(self, operator: Buildable, *, shapes: Mapping[str, str] | None = None, config: Mapping[str, int] | None = None,
                **parameters: Any) -> dict[str, Any]:
        """Median, interval, rates and the share of the machine's limit (see kernelcat profile)."""
        if isinstance(operator, RegisteredOperator):
            operator = operator.bind(**parameters)
        text = operator if isinstance(operator, str) else operator.formula
        return facade.profile(text, self.target.name, shapes, config)
