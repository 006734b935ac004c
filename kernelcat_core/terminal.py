"""Reports as text for a terminal: pure functions from the JSON forms of kernelcat_core.api."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

Report = dict[str, Any]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns aligned left, numbers right."""
    cells = [list(head), *[list(r) for r in rows]]
    widths = [max(len(r[k]) for r in cells) for k in range(len(head))]
    lines = []
    for r in cells:
        parts = [c.rjust(w) if c[:1].isdigit() else c.ljust(w) for c, w in zip(r, widths)]
        lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)


def milliseconds(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3g} ms" if value >= 1e-3 else f"{value * 1e3:.3g} us"


def show(shown: Report, stage: str) -> str:
    """One stage; per target under a heading when there are several."""
    if stage in ("graph", "onnx"):
        return str(shown[stage]).rstrip()
    parts = []
    for t in shown["targets"]:
        body = t["error"]["text"] if t["error"] else t[stage]
        parts.append(f"== {t['target']} ==\n{body}" if len(shown["targets"]) > 1 else body)
    return "\n\n".join(p.rstrip() for p in parts)


def check(report: Report) -> str:
    rows = [[t["target"], "ok" if t["ok"] else "FAILED", ", ".join(t["facts"]),
             "-" if t["max_error"] is None else f"{t['max_error']:.3g}", t["message"]] for t in report["targets"]]
    return table(["target", "verdict", "facts", "max error", "message"], rows)


def build(report: Report) -> str:
    if not report["ok"]:
        return str(report["log"])
    resources = "\n".join(f"{k}: {v}" for k, v in report["resources"].items())
    return "\n".join(p for p in (report["assembly"].rstrip(), resources, "facts: " + ", ".join(report["facts"])) if p)


def tune(report: Report) -> str:
    best = report["best"]
    if best is None:
        return "no config could be measured"
    gain = report["baseline_ms"] / best["median_ms"] if report["baseline_ms"] else None
    knobs = ", ".join(f"{k}={v}" for k, v in best["config"].items())
    speed = "" if gain is None else f", {gain:.2f}x of the default ({milliseconds(report['baseline_ms'])})"
    return f"best of {len(report['trials'])}: {milliseconds(best['median_ms'])}{speed}\nconfig: {knobs}"


def trial(quiet: bool) -> Callable[[Report], None] | None:
    """Prints each trial as it comes, unless the answer is JSON."""
    if quiet:
        return None

    def write(t: Report) -> None:
        what = milliseconds(t["median_ms"]) if t["status"] == "measured" else (t["error"] or {}).get("message", t["status"])
        print(f"{t['index']:4d}  {what:>12}  " + ", ".join(f"{k}={v}" for k, v in t["config"].items()), file=sys.stderr)

    return write


def progress(quiet: bool) -> Callable[[str], None] | None:
    if quiet or not sys.stderr.isatty():
        return None

    def write(line: str) -> None:
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)

    return write


def profile(report: Report) -> str:
    lines = [f"{report['target']} on {report['device']}: {milliseconds(report['median_ms'])} "
             f"({milliseconds(report['low_ms'])} to {milliseconds(report['high_ms'])})",
             f"{report['gbps']:.3g} GB/s, {report['gflops']:.3g} GFLOP/s",
             f"limit {milliseconds(report['limit_ms'])} ({report['roofline']['bound']} bound): "
             f"{report['limit_ratio'] * 100:.0f}% of it reached"]
    return "\n".join(lines)


def targets(rows: Sequence[Report]) -> str:
    shown = [[r["target"], r["device"] or "-", ", ".join(r["facts_possible"]), "; ".join(r["missing"])] for r in rows]
    return table(["target", "runs on", "can show", "for more"], shown)


def bench(report: Report) -> str:
    rows = [[r["name"], milliseconds(r["ours_ms"]),
             f"{r['best']} {milliseconds(r['peers'][r['best']])}" if r["best"] else "-", _number(r["ratio"]),
             f"{_number(r['ratio_low'])}-{_number(r['ratio_high'])}", _number(r["limit_ratio"])] for r in report["rows"]]
    text = table(["operator", "ours", "best peer", "ratio", "interval", "of limit"], rows)
    return text + f"\ngeometric mean of the ratios: {_number(report['geomean_ratio'])}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def suite(report: Report, failures: Sequence[str]) -> str:
    """Totals of another's suite, then what fails and why."""
    lines = [f"{report['passed']} of {report['total']} passed; of those with f32, i32, i64 and bool alone "
             f"{report['common_passed']} of {report['common_total']}"]
    return "\n".join([*lines, *(f"failed: {text}" for text in failures)])


def coverage(report: Report) -> str:
    """Totals, then a line an operator."""
    lines = [", ".join(f"{n} {how}" for how, n in report["totals"].items())]
    lines += [f"{o['domain']}.{o['name']}: {o['how']}{' (' + o['note'] + ')' if o['note'] else ''}" for o in report["operators"]]
    return "\n".join(lines)


def conformance(report: Report) -> str:
    lines = [f"{report['passed']} of {report['total']} passed"]
    lines += [f"failed: {case}" for case in report["failed"]]
    lines += [f"unsupported: {case}: {why}" for case, why in report["unsupported"].items()]
    return "\n".join(lines)
