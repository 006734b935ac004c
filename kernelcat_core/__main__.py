"""The `kernelcat` command."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kernelcat_core import arguments, terminal
from kernelcat_core.errors import KernelcatError

Answer = tuple[dict[str, Any], str, int]
_DEFAULT_TARGETS = ["c", "cuda:sm_80", "ascend:910b"]


def _show(a: argparse.Namespace) -> Answer:
    from kernelcat_core import api

    targets = a.target or _DEFAULT_TARGETS[:1]
    config = arguments.config(a.config)
    shown = api.preview(arguments.formula_text(a.formula), targets, arguments.shapes(a.shape), dict.fromkeys(targets, config))
    if not shown["ok"]:
        return {"error": shown["error"]}, shown["error"]["text"], 2
    failed = [t for t in shown["targets"] if t["error"]]
    status = 2 if failed and a.stage in ("tile", "source") else 2 if a.stage == "onnx" and shown["onnx"].startswith("# ") else 0
    return shown, terminal.show(shown, a.stage), status


def _check(a: argparse.Namespace) -> Answer:
    from kernelcat_core import api

    targets = a.target or _DEFAULT_TARGETS
    config = arguments.config(a.config)
    table = terminal.CheckTable(targets, a.json)
    report = api.check(arguments.formula_text(a.formula), targets, arguments.shapes(a.shape), seeds=a.seeds,
                       on_progress=terminal.progress(a.json), on_target=table.row,
                       configs=dict.fromkeys(targets, config) if config else None)
    return report, table.rest(report), 0 if report["ok"] else 1


def _build(a: argparse.Namespace) -> Answer:
    from kernelcat_core import api

    target = (a.target or _DEFAULT_TARGETS[:1])[0]
    report = api.build(arguments.formula_text(a.formula), target, arguments.shapes(a.shape), arguments.config(a.config),
                       a.opt_level)
    if a.assembly and a.assembly != "-" and report["assembly"]:
        Path(a.assembly).write_text(report["assembly"], encoding="utf-8")
    return report, terminal.build(report, a.assembly), 0 if report["ok"] else 1


def _tune(a: argparse.Namespace) -> Answer:
    from kernelcat_core import api

    target = (a.target or _DEFAULT_TARGETS[:1])[0]
    formula = arguments.formula_text(a.formula)
    report = api.tune(formula, target, a.trials, arguments.shapes(a.shape), seed=a.seed, strategy=a.strategy,
                      on_trial=terminal.trial(a.json), on_progress=terminal.note(a.json))
    stored = api.keep_tuned(formula, report)
    return {**report, "stored": stored}, terminal.tune(report, a.formula, stored), 0 if report["ok"] else 1


def _profile(a: argparse.Namespace) -> Answer:
    from kernelcat_core import api

    target = (a.target or _DEFAULT_TARGETS[:1])[0]
    report = api.profile(arguments.formula_text(a.formula), target, arguments.shapes(a.shape), arguments.config(a.config))
    return report, terminal.profile(report), 0 if report["ok"] else 1


def _enter(a: argparse.Namespace) -> Answer:
    from kernelcat_core.api.entering import enter

    try:
        text = Path(a.kernel).read_text(encoding="utf-8")
    except OSError as error:
        raise KernelcatError("KC-F019", f"{a.kernel} cannot be read: {error.strerror}",
                             hint="give the path of a file with one kernel, and its formula") from error
    target = (a.target or _DEFAULT_TARGETS[:1])[0]
    report = enter(text, arguments.formula_text(a.formula), target, arguments.shapes(a.shape),
                   on_progress=terminal.progress(a.json))
    return report, terminal.entry(report), 0 if report["ok"] else 1


def _operators(a: argparse.Namespace) -> Answer:
    from kernelcat_core import api

    rows = [r for r in api.operators() if a.name in ("", r["name"]) or a.name.lower() in f"{r['name']} {r['summary']}".lower()]
    exact = [r for r in rows if r["name"] == a.name]
    if not rows:
        raise KernelcatError("KC-F004", f"no operator or function has {a.name!r} in its name or description",
                             hint="`kernelcat operators` lists all")
    return {"operators": exact or rows}, terminal.operators(exact or rows), 0


def _targets(a: argparse.Namespace) -> Answer:
    from kernelcat_core import api

    rows = api.targets()
    return {"targets": rows}, terminal.targets(rows), 0


def _bench(a: argparse.Namespace) -> Answer:
    from kernelcat_core import bench

    report = bench.run(a.name, terminal.progress(a.json), a.only)
    return report, terminal.bench(report), 0


_SUITES = ("gallery", "corpus", "onnx", "torch", "models", "torch-models", "exploits", "twins")


def _conformance(a: argparse.Namespace) -> Answer:
    if a.name == "onnx":
        from kernelcat_core.conformance import onnx_suite

        report = onnx_suite.run(a.only, terminal.progress(a.json))
        return report, terminal.suite(report, list(onnx_suite.failures(report["outcomes"]))), 1 if report["failed"] else 0
    if a.name == "torch":
        from kernelcat_core.conformance import torch_suite

        report = torch_suite.run(a.only, progress=terminal.progress(a.json))
        return report, torch_suite.text(report), 1 if report["failed"] else 0
    if a.name == "torch-models":
        from kernelcat_core.conformance import torch_models

        report = torch_models.run(a.only, terminal.progress(a.json))
        return report, torch_models.text(report), 1 if report["failed"] else 0
    if a.name == "models":
        from kernelcat_core.conformance import models

        report = models.run(a.only, terminal.progress(a.json))
        return report, "\n".join(models.lines(report)), 1 if report["failed"] else 0
    if a.name == "corpus":
        from kernelcat_core.conformance import corpus

        report = corpus.run(a.target or _DEFAULT_TARGETS[:1], a.only, terminal.progress(a.json))
        return report, "\n".join(corpus.lines(report)), 1 if report["failed"] else 0
    if a.name == "exploits":
        from kernelcat_core.conformance import exploits_suite

        report = exploits_suite.run(a.only, terminal.progress(a.json))
        return report, "\n".join(exploits_suite.lines(report)), 1 if report["failed"] else 0
    if a.name == "twins":
        from kernelcat_core.conformance.twins import suite as twins

        report = twins.run(a.only, terminal.progress(a.json))
        return report, "\n".join(twins.lines(report)), 1 if report["failed"] else 0
    from kernelcat_core import api

    report = api.conformance(a.name, on_progress=terminal.progress(a.json))
    return report, terminal.conformance(report), 1 if report["failed"] else 0


def _coverage(a: argparse.Namespace) -> Answer:
    from kernelcat_core.importers import coverage

    report = coverage.report(a.name)
    return report, terminal.coverage(report), 0


def _up(a: argparse.Namespace) -> Answer:
    from kernelcat_core import supervise

    return {}, "", supervise.up(port=a.port)


def _worker(a: argparse.Namespace) -> Answer:
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
    formula.add_argument("--shape", action="append", default=[], metavar="X=4096x1024:f32",
                         help="an input's shape; sizes that are not given are chosen: small ones to check, larger ones to time")
    several = argparse.ArgumentParser(add_help=False)
    several.add_argument("--target", action="append", metavar="TARGET",
                         help="c, cuda:sm_80, ascend:910b or a device name; may be repeated")
    single = argparse.ArgumentParser(add_help=False)
    single.add_argument("--target", action="append", metavar="TARGET",
                        help="c, cuda:sm_80, ascend:910b or a device name (default: c)")
    config = argparse.ArgumentParser(add_help=False)
    config.add_argument("--config", action="append", default=[], metavar="KNOB=VALUE,...",
                        help="knobs by hand, or @FILE as kernelcat tune wrote it")

    def add(name: str, run: Callable[[argparse.Namespace], Answer], text: str,
            *parents: argparse.ArgumentParser) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".", parents=list(parents),
                                  formatter_class=arguments.Formatter)
        sub.set_defaults(run=run)
        return sub

    show = add("show", _show, "print a stage of the way from formula to source", common, formula, several, config)
    show.add_argument("--stage", choices=("formula", "graph", "tile", "source", "onnx"), default="source", help="what to print")
    check = add("check", _check, "compare every target's kernel with the oracle (default targets: c, cuda:sm_80, ascend:910b)",
                common, formula, several, config)
    check.add_argument("--seeds", type=arguments.at_least(1), default=3, help="draws of inputs at the given shapes")
    build = add("build", _build, "compile for one target", common, formula, single, config)
    build.add_argument("--opt-level", default="O3", choices=("O0", "O1", "O2", "O3"), help="of the vendor's compiler")
    build.add_argument("--assembly", nargs="?", const="-", metavar="FILE", help="print the assembly, or write it to FILE")
    tune = add("tune", _tune, "search for the fastest config", common, formula, single)
    tune.add_argument("--trials", type=arguments.at_least(1), default=24, help="how many configs to measure")
    tune.add_argument("--seed", type=int, default=0, help="of the search: the same one proposes the same configs")
    tune.add_argument("--strategy", default=None, help="local, evolve or random (default: local)")
    add("profile", _profile, "time a kernel and relate it to the machine's limits", common, formula, single, config)
    # The kernel stands before the formula, which may be left out for standard input.
    by_hand = argparse.ArgumentParser(add_help=False)
    by_hand.add_argument("kernel", metavar="FILE", help="one hand-written kernel in the target's language")
    add("enter", _enter, "check and time a hand-written kernel as a board does", common, by_hand, formula, single)
    operators = add("operators", _operators, "list the functions and named operators of the notation", common)
    operators.add_argument("name", nargs="?", default="", help="one of them, or a word to look for")
    add("targets", _targets, "what this machine can show, and what to install for more", common)
    bench = add("bench", _bench, "compare with other libraries in one interleaved run", common)
    bench.add_argument("name", choices=("cpu",))
    bench.add_argument("--only", default="", metavar="TEXT", help="rows whose name holds TEXT")
    conformance = add("conformance", _conformance, "run a conformance suite", common)
    conformance.add_argument("name", choices=_SUITES)
    conformance.add_argument("--target", action="append", metavar="TARGET", help="for corpus; c if left out")
    conformance.add_argument("--only", default="", metavar="TEXT", help="cases whose name holds TEXT")
    coverage = add("coverage", _coverage, "what is imported of a source, and how", common)
    coverage.add_argument("name", choices=("onnx", "torch"))
    up = add("up", _up, "start the web IDE, a worker and all they need")
    up.add_argument("--port", type=int, default=None, help="default: $PORT, else 8000")
    add("worker", _worker, "start a worker only")
    return top


def _parsed(given: Sequence[str] | None) -> argparse.Namespace:
    """The arguments; what a subcommand does not know is refused with that subcommand's usage."""
    top = parser()
    a, unknown = top.parse_known_args(given)
    if unknown:
        chosen = next(x for x in top._actions if isinstance(x, argparse._SubParsersAction)).choices[a.command]
        chosen.error(f"unrecognized arguments: {' '.join(unknown)}")
    return a


def main(given: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status: 0 fine, 1 a check failed, 2 a user error."""
    a = _parsed(given)
    as_json = bool(getattr(a, "json", False))
    try:
        run: Callable[[argparse.Namespace], Answer] = a.run
        report, text, status = run(a)
    except KernelcatError as error:
        report, text, status = {"error": error.to_dict()}, str(error), 2
    except KeyboardInterrupt:
        return 130
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
