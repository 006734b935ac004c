"""Plain values in, JSON-able dicts out: what the command line, the web and the workers call.

User errors raise KernelcatError; a candidate that fails is part of the answer.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernelcat_core import formula as language
from kernelcat_core.backends import REGISTRY, resolve
from kernelcat_core.backends.device import Device, shown
from kernelcat_core.codegen.native import Native
from kernelcat_core.errors import Failure, KernelcatError
from kernelcat_core.ir.expr import evaluate
from kernelcat_core.ir.graph import Graph, Tensor
from kernelcat_core.pipeline import hops
from kernelcat_core.pipeline import native as hand_written
from kernelcat_core.pipeline.cases import cases
from kernelcat_core.pipeline.checking import check_target
from kernelcat_core.pipeline.evidence import Evidence
from kernelcat_core.pipeline.profiling import profile as profile_kernel
from kernelcat_core.pipeline.tuning import tune as tune_kernel
from kernelcat_core.pipeline.workloads import for_timing
from kernelcat_core.pipeline.workloads import warnings as workload_warnings
from kernelcat_core.runtime import cache as binaries
from kernelcat_core.schedule.knobs import Config
from kernelcat_core.tuner.session import Trial

Report = dict[str, Any]
_GENERATED = ("text generated from the formula, nothing by hand; 4 cases agreed with the formula before it was timed; timed "
              "by its own process, in turn with the default config; not below what this machine's memory allows")
"""What is checked of a tuned kernel (pipeline/tuning.py)."""
STAGES = ("formula", "graph", "tile", "onnx", "source")


def preview(source: str, targets: Sequence[str], shapes: Mapping[str, str] | None = None,
            configs: Mapping[str, Mapping[str, int]] | None = None, stages: Sequence[str] = STAGES) -> Report:
    """Every stage of a formula as text, for each target; compiles and runs nothing.

    A wrong formula is `{"ok": False, "error": ...}`; a target that cannot express it has its own `error`.
    """
    try:
        a = hops.analyse(source, shapes)
        onnx = _onnx(a) if "onnx" in stages else ""
    except KernelcatError as error:
        return {"ok": False, "error": _located(error, source).to_dict()}
    shown = [_preview_target(a, t, (configs or {}).get(t, {}), stages) for t in targets]
    return {"ok": True, "digest": a.graph.digest, "inputs": [_tensor(t, a.workload) for t in a.graph.inputs],
            "outputs": [_tensor(a.graph.tensors[n], a.workload) for n in a.graph.outputs],
            "formula": _written(a) if "formula" in stages else "", "graph": a.graph.text if "graph" in stages else "",
            "onnx": onnx, "targets": shown}


def _located(error: KernelcatError, source: str) -> KernelcatError:
    return error if error.source is not None or error.span is None else error.located(source)


def _onnx(a: hops.Analysis) -> str:
    from kernelcat_core.importers.onnx_definition import onnx_text

    try:
        return onnx_text(a.lowered)
    except KernelcatError as error:
        return f"# {error.message}\n"  # what ONNX cannot say, the targets may: it is a view, never a condition


def _written(a: hops.Analysis) -> str:
    from kernelcat_core.formula.writing import print_graph_formula

    try:
        return print_graph_formula(a.graph)
    except KernelcatError as error:
        return f"# {error.message}\n"


def _tensor(t: Tensor, workload: Mapping[str, int]) -> Report:
    return {"name": t.name, "dtype": t.dtype.name, "shape": [evaluate(d, workload) for d in t.shape],
            "symbolic": [hops.dim_text(d) for d in t.shape]}


def _preview_target(a: hops.Analysis, name: str, config: Mapping[str, int], stages: Sequence[str]) -> Report:
    try:
        _, target = resolve(name)
        shown: Report = {"target": target.name, "label": target.label, "language": target.language,
                         "architecture": target.arch, "source": "", "tile": "", "entry": "", "launch": "", "config": {},
                         "knobs": [], "facts": [], "error": None, "source_digest": ""}
    except KernelcatError as error:
        return {"target": name, "label": name, "language": "", "architecture": "", "source": "", "tile": "", "entry": "",
                "launch": "", "config": {}, "knobs": [], "facts": [], "error": error.to_dict(), "source_digest": ""}
    try:
        r = hops.render(a.graph, target.name, Config.of(config))
    except KernelcatError as error:
        return {**shown, "error": error.to_dict()}
    fact = Evidence(r.source.digest, target.name, target.arch, "", "", "", "rendered")
    knobs = [{"name": k.name, "values": list(k.values), "default": k.default}
             for k in hops.space(a.graph, target.name).knobs]
    return {**shown, "source": r.source.text if "source" in stages else "",
            "tile": r.module.text if "tile" in stages else "", "entry": r.source.entry, "knobs": knobs,
            "launch": "\n".join(f"{p}: {text}" for p, text in r.source.launch), "config": r.config.as_dict(),
            "facts": [fact.to_dict()], "source_digest": r.source.digest}


def build(source: str, target: str, shapes: Mapping[str, str] | None = None, config: Mapping[str, int] | None = None,
          opt_level: str = "O3") -> Report:
    """Compile for one target; a rejection is `ok: False` with the compiler's log."""
    a = _analyse(source, shapes)
    return build_graph(a.graph, target, config, opt_level)


def build_graph(graph: Graph, target: str, config: Mapping[str, int] | None = None, opt_level: str = "O3") -> Report:
    """The same for a graph."""
    r = hops.render(graph, target, Config.of(config or {}))
    device = hops.device_of(r)
    started = time.perf_counter()
    compiled = hops.compiled(r, opt_level)
    rows = [Evidence(r.source.digest, r.target.name, r.target.arch, "", "", "", "rendered")]
    report: Report = {"ok": True, "target": r.target.name, "source": r.source.text, "source_digest": r.source.digest,
                      "files": dict(r.source.files), "assembly": "", "log": "", "resources": {}, "config": r.config.as_dict()}
    if isinstance(compiled, Failure):
        report |= {"ok": False, "log": compiled.detail or compiled.message, "error": compiled.to_dict()}
    elif compiled is None:
        report["log"] = "rendered only: " + "; ".join(device.describe().missing)
    else:
        rows.append(Evidence(r.source.digest, r.target.name, r.target.arch, compiled.toolchain, "", "", "compiled"))
        report |= {"assembly": compiled.assembly, "log": compiled.log, "resources": dict(compiled.resources)}
    return {**report, "facts": [row.fact for row in rows], "rows": [row.to_dict() for row in rows],
            "seconds": time.perf_counter() - started}


def build_native(native: Native, target: str, opt_level: str = "O3", reference: str | None = None,
                 launch: Mapping[str, Any] | None = None) -> Report:
    """Compile a hand-written kernel; with a `reference` formula also run it and compare."""
    text = hand_written.source(native, target)
    backend, t = resolve(target)
    device: Device = backend.load_device()()
    started = time.perf_counter()
    compiled = device.compile(text, t, opt_level)
    report: Report = {"ok": not isinstance(compiled, Failure), "target": t.name, "source": native.text,
                      "source_digest": text.digest, "files": {}, "assembly": "", "log": "", "resources": {}, "config": {}}
    rows: list[Report] = []
    if isinstance(compiled, Failure):
        report |= {"log": compiled.detail or compiled.message, "error": compiled.to_dict()}
    elif compiled is not None:
        rows = [Evidence(text.digest, t.name, t.arch, compiled.toolchain, "", "", "compiled").to_dict()]
        report |= {"assembly": compiled.assembly, "log": compiled.log, "resources": dict(compiled.resources)}
    if report["ok"] and reference is not None:
        seen = hand_written.check(native, _analyse(reference, None), target, launch).to_dict()
        rows = [r for r in seen["rows"] if r["fact"] != "rendered"]
        report |= {"ok": seen["ok"], "log": seen["message"] or report["log"]}
    return {**report, "facts": [r["fact"] for r in rows], "rows": rows, "seconds": time.perf_counter() - started}


def check_native(native: Native, reference: str, targets: Sequence[str], shapes: Mapping[str, str] | None = None,
                 seeds: int = 3, launch: Mapping[str, Any] | None = None) -> Report:
    """Compare a hand-written kernel with its `reference` formula; raises KC-F019 without one."""
    if not reference:
        raise KernelcatError("KC-F019", f"{native.name} has no reference formula to be compared with",
                             hint='register it with reference="Y = ..."')
    a = _analyse(reference, shapes)
    reports = [hand_written.check(native, a, t, launch, seeds).to_dict() for t in targets]
    return {"ok": all(r["ok"] for r in reports), "digest": a.graph.digest, "targets": reports}


def _analyse(source: str, shapes: Mapping[str, str] | None) -> hops.Analysis:
    try:
        return hops.analyse(source, shapes)
    except KernelcatError as error:
        raise _located(error, source) from None


def check(source: str, targets: Sequence[str], shapes: Mapping[str, str] | None = None, seeds: int = 3,
          on_progress: Callable[[str], None] | None = None, *, configs: Mapping[str, Mapping[str, int]] | None = None,
          on_target: Callable[[Report], None] | None = None) -> Report:
    """Compare the kernels of all `targets` with the oracle on the same cases; what could be shown, fact by fact.

    `on_target` gets each target's report as soon as it is there; `configs` maps targets to knobs.
    """
    a = _analyse(source, shapes)
    for t in targets:
        resolve(t)
    if on_progress is not None:
        on_progress("computing the reference")
    shared = list(cases(a, seeds))
    reports = []
    for t in targets:
        seen = check_target(a, t, shared, Config.of((configs or {}).get(t, {})), on_progress).to_dict()
        reports.append(seen)
        if on_target is not None:
            on_target(seen)
    return {"ok": all(r["ok"] for r in reports), "digest": a.graph.digest, "workload": hops.workload_text(a), "targets": reports}


def tune(source: str, target: str, trials: int, shapes: Mapping[str, str] | None = None, *, seed: int = 0,
         strategy: str | None = None, on_trial: Callable[[Report], None] | None = None,
         should_stop: Callable[[], bool] | None = None, on_progress: Callable[[str], None] | None = None) -> Report:
    """Search for the fastest config on this machine; `on_trial` gets each trial as it is measured.

    Sizes that `shapes` leaves open are made large enough to time. "best" and "baseline_ms" (the default config) come from
    one interleaved run at the end, "comparison" says what it shows (null when the default was the best of the trials).
    """
    a = for_timing(_analyse(source, shapes))
    tell: Callable[[Trial], None] | None = None if on_trial is None else (lambda t: on_trial(t.to_dict()))
    if on_progress is not None:
        on_progress(f"workload {hops.workload_text(a)}")
    tuned = tune_kernel(a, target, trials, seed=seed, strategy=strategy, on_trial=tell, should_stop=should_stop,
                        on_progress=on_progress)
    compared = None if tuned.comparison is None else tuned.comparison.to_dict()
    first = tuned.trials[0].outcome.median_ms if tuned.trials else None
    best = None if tuned.best is None else tuned.best.to_dict()
    return {"ok": best is not None, "target": tuned.target, "device": tuned.device,
            "workload": hops.workload_text(a), "digest": a.graph.digest, "best": best,
            "baseline_ms": first if compared is None else compared["baseline_ms"], "comparison": compared,
            "warnings": workload_warnings(None if best is None else best["median_ms"]),
            "audited": "" if best is None else _GENERATED,
            "trials": [t.to_dict() for t in tuned.trials], "source": tuned.source, "source_digest": tuned.source_digest}


def keep_tuned(source: str, report: Report) -> str:
    """Store the best config of a tune in the user's cache folder; returns the path of the file, "" when there is none."""
    if report["best"] is None:
        return ""
    path = binaries.folder() / "configs" / f"{report['digest'][:12]}-{report['target'].replace(':', '-')}.json"
    path.parent.mkdir(exist_ok=True)
    kept = {"formula": source, "target": report["target"], "workload": report["workload"], "device": report["device"],
            "median_ms": report["best"]["median_ms"], "comparison": report["comparison"], "config": report["best"]["config"]}
    path.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    return str(path)


def profile(source: str, target: str, shapes: Mapping[str, str] | None = None, config: Mapping[str, int] | None = None
            ) -> Report:
    """Time a kernel and relate it to the machine's measured limits; open sizes are made large enough to time."""
    a = for_timing(_analyse(source, shapes))
    report = profile_kernel(a, target, Config.of(config or {})).to_dict()
    return {**report, "workload": hops.workload_text(a), "warnings": workload_warnings(report["median_ms"])}


def targets() -> list[Report]:
    """Every target, what this machine can show of it, and what to install for more."""
    rows = []
    for backend in REGISTRY.values():
        device: Device = backend.load_device()()
        about = device.describe()
        for t in backend.targets:
            names = sorted(n for n, canonical in backend.aliases.items() if canonical == t.name)
            rows.append({"target": t.name, "label": t.label, "aliases": names, "languages": [t.language],
                         "facts_possible": [shown(f, t) for f in about.facts], "missing": list(about.missing),
                         "device": about.name})
    return rows


def operators() -> list[Report]:
    """The named operators, for completion and documentation."""
    return [o.to_dict() for o in language.operators_catalog()]


def gallery() -> list[Report]:
    """Formulas to start from."""
    return [item.to_dict() for item in language.gallery()]


def conformance(name: str, on_progress: Callable[[str], None] | None = None, targets: Sequence[str] = (
        "c", "cuda:sm_80", "ascend:910b")) -> Report:
    """The suite `name` over `targets`: {"total", "passed", "failed", "unsupported"}."""
    if name != "gallery":
        raise KernelcatError("KC-F005", f"there is no suite {name!r}", hint="suites: gallery")
    failed: list[str] = []
    unsupported: dict[str, str] = {}
    total = 0
    for item in language.gallery():
        report = check(item.formula, targets, item.shapes, seeds=2, on_progress=on_progress)
        for t in report["targets"]:
            total += 1
            case = f"{item.slug} on {t['target']}"
            if t["message"].startswith("KC-R001"):
                unsupported[case] = t["message"]
            elif not t["ok"]:
                failed.append(f"{case}: {t['message']}")
    return {"total": total, "passed": total - len(failed) - len(unsupported), "failed": failed, "unsupported": unsupported}
