"""The `kernelcat` command."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kernelcat_core import terminal
from kernelcat_core.errors import KernelcatError

_DEFAULT_TARGETS = ["c", "cuda:sm_80", "ascend:910b"]


def _formula_text(argument: str | None) -> str:
    """The formula: the argument itself, the contents of a file it names, or standard input for - or nothing."""
    if argument is None or argument == "-":
        return sys.stdin.read()
    if "\n" not in argument and len(argument) < 256:
        path = Path(argument)
        if path.suffix and path.is_file():
            return path.read_text(encoding="utf-8")
    return argument


def _shapes(pairs: Sequence[str]) -> dict[str, str]:
    shapes = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise KernelcatError("KC-F020", f"--shape {pair!r} names no input",
                                 hint="write --shape X=4096x1024:f32")
        shapes[name.strip()] = text.strip()
    return shapes


def _config(pairs: Sequence[str]) -> dict[str, int]:
    values = {}
    for pair in pairs:
        name, _, text = pair.partition("=")
        try:
            values[name.strip()] = int(text)
        except ValueError:
            raise KernelcatError("KC-S002", f"--config {pair!r} is not a knob and a number",
                                 hint="write --config Y.lanes=1024") from None
    return values


def _show(a: argparse.Namespace) -> tuple[dict[str, Any], str, int]:
    from kernelcat_core import api

    targets = a.target or _DEFAULT_TARGETS[:1]
    shown = api.preview(_formula_text(a.formula), targets, _shapes(a.shape), {t: _config(a.config) for t in targets})
    if not shown["ok"]:
        return {"error": shown["error"]}, shown["error"]["text"], 2
    failed = [t for t in shown["targets"] if t["error"]]
    status = 2 if failed and a.stage in ("tile", "source") else 0
    return shown, terminal.show(shown, a.stage), status


def _check(a: argparse.Namespace) -> tuple[dict[str, Any], str, int]:
    from kernelcat_core import api

    report = api.check(_formula_text(a.formula), a.target or _DEFAULT_TARGETS, _shapes(a.shape), seeds=a.seeds,
                       on_progress=terminal.progress(a.json))
    return report, terminal.check(report), 0 if report["ok"] else 1


def _build(a: argparse.Namespace) -> tuple[dict[str, Any], str, int]:
    from kernelcat_core import api

    target = (a.target or _DEFAULT_TARGETS[:1])[0]
    report = api.build(_formula_text(a.formula), target, _shapes(a.shape), _config(a.config), a.opt_level)
    return report, terminal.build(report), 0 if report["ok"] else 1


def _tune(a: argparse.Namespace) -> tuple[dict[str, Any], str, int]:
    from kernelcat_core import api

    target = (a.target or _DEFAULT_TARGETS[:1])[0]
    report = api.tune(_formula_text(a.formula), target, a.trials, _shapes(a.shape), seed=a.seed, strategy=a.strategy,
                      on_trial=terminal.trial(a.json))
    return report, terminal.tune(report), 0 if report["ok"] else 1


def _profile(a: argparse.Namespace) -> tuple[dict[str, Any], str, int]:
    from kernelcat_core import api

    target = (a.target or _DEFAULT_TARGETS[:1])[0]
    report = api.profile(_formula_text(a.formula), target, _shapes(a.shape))
    return report, terminal.profile(report), 0 if report["ok"] else 1


def _targets(a: argparse.Namespace) -> tuple[dict[str, Any], str, int]:
    from kernelcat_core import api

    rows = api.targets()
    return {"targets": rows}, terminal.targets(rows), 0


def _bench(a: argparse.Namespace) -> tuple[dict[str, Any], str, int]:
    from kernelcat_core import bench

    report = bench.run(a.name, terminal.progress(a.json), a.only)
    return report, terminal.bench(report), 0


def _conformance(a: argparse.Namespace) -> tuple[dict[str, Any], str, int]:
    if a.name == "onnx":
        from kernelcat_core.conformance import onnx_suite

        report = onnx_suite.run(a.only, terminal.progress(a.json))
        return report, terminal.suite(report, list(onnx_suite.failures(report["outcomes"]))), 1 if report["failed"] else 0
    from kernelcat_core import api

    report = api.conformance(a.name, on_progress=terminal.progress(a.json))
    return report, terminal.conformance(report), 1 if report["failed"] else 0


def _coverage(a: argparse.Namespace) -> tuple[dict[str, Any], str, int]:
    from kernelcat_core.importers import coverage

    report = coverage.report(a.name)
    return report, terminal.coverage(report), 0


def _up(a: argparse.Namespace) -> tuple[dict[str, Any], str, int]:
    from kernelcat_core import supervise

    return {}, "", supervise.up(port=a.port)


def _worker(a: argparse.Namespace) -> tuple[dict[str, Any], str, int]:
    from kernelcat_core import supervise

    return {}, "", supervise.worker()


def parser() -> argparse.ArgumentParser:
    """The command line; every subcommand but up and worker takes --json and --out."""
    top = argparse.ArgumentParser(prog="kernelcat", description="Operators as formulas, kernels for every accelerator.")
    commands = top.add_subparsers(dest="command", required=True)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--json", action="store_true", help="print one JSON object")
    common.add_argument("--out", metavar="FILE", help="write the JSON object to FILE")
    formula = argparse.ArgumentParser(add_help=False)
    formula.add_argument("formula", nargs="?", help="a formula, a file that holds one, or - for standard input")
    formula.add_argument("--shape", action="append", default=[], metavar="X=4096x1024:f32", help="an input's shape")
    formula.add_argument("--target", action="append", metavar="TARGET", help="c, cuda:sm_80, ascend:910b or a device name")
    config = argparse.ArgumentParser(add_help=False)
    config.add_argument("--config", action="append", default=[], metavar="KNOB=VALUE", help="set a knob by hand")

    def add(name: str, run: Callable[[argparse.Namespace], tuple[dict[str, Any], str, int]], text: str,
            *parents: argparse.ArgumentParser) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, parents=list(parents))
        sub.set_defaults(run=run)
        return sub

    show = add("show", _show, "print a stage of the way from formula to source", common, formula, config)
    show.add_argument("--stage", choices=("graph", "tile", "source", "onnx"), default="source")
    check = add("check", _check, "compare every target's kernel with the oracle", common, formula)
    check.add_argument("--seeds", type=int, default=3)
    build = add("build", _build, "compile for one target", common, formula, config)
    build.add_argument("--opt-level", default="O3", choices=("O0", "O1", "O2", "O3"))
    tune = add("tune", _tune, "search for the fastest config", common, formula)
    tune.add_argument("--trials", type=int, default=24)
    tune.add_argument("--seed", type=int, default=0)
    tune.add_argument("--strategy", default=None, help="local, evolve or random")
    add("profile", _profile, "time a kernel and relate it to the machine's limits", common, formula)
    add("targets", _targets, "what this machine can show, and what to install for more", common)
    bench = add("bench", _bench, "compare with other libraries in one interleaved run", common)
    bench.add_argument("name", choices=("cpu",))
    bench.add_argument("--only", default="", metavar="TEXT", help="rows whose name holds TEXT")
    conformance = add("conformance", _conformance, "run a conformance suite", common)
    conformance.add_argument("name", choices=("gallery", "onnx"))
    conformance.add_argument("--only", default="", metavar="TEXT", help="cases whose name holds TEXT (onnx)")
    coverage = add("coverage", _coverage, "what is imported of a source, and how", common)
    coverage.add_argument("name", choices=("onnx",))
    up = add("up", _up, "start the web IDE, a worker and all they need")
    up.add_argument("--port", type=int, default=None)
    add("worker", _worker, "start a worker only")
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status: 0 fine, 1 a check failed, 2 a user error."""
    a = parser().parse_args(arguments)
    as_json = bool(getattr(a, "json", False))
    try:
        run: Callable[[argparse.Namespace], tuple[dict[str, Any], str, int]] = a.run
        report, text, status = run(a)
    except KernelcatError as error:
        report, text, status = {"error": error.to_dict()}, str(error), 2
    if getattr(a, "out", None):
        Path(a.out).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    try:
        if as_json:
            print(json.dumps(report), flush=True)
        elif text:
            print(text, file=sys.stderr if status == 2 else sys.stdout, flush=True)
    except BrokenPipeError:  # `kernelcat show ... | head`: the reader has what it wanted
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return status


if __name__ == "__main__":
    sys.exit(main())
