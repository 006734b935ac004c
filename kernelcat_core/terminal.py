"""Reports as text for a terminal: pure functions from the JSON forms of kernelcat_core.api."""

from __future__ import annotations

import shlex
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


def milliseconds(value: float | None, like: float | None = None) -> str:
    """With a unit that fits the value, or the one that fits `like`, so that a column has one unit."""
    if value is None:
        return "-"
    scale = abs(value if like is None else like)
    name, factor = ("ms", 1.0) if scale >= 1 else ("us", 1e3) if scale >= 1e-3 else ("ns", 1e6)
    return f"{value * factor:.4g} {name}" if abs(value * factor) < 1e4 else f"{value * factor:.0f} {name}"


def show(shown: Report, stage: str) -> str:
    """One stage; per target under a heading when there are several."""
    if stage in ("formula", "graph", "onnx"):
        return str(shown[stage]).rstrip()
    parts = []
    for t in shown["targets"]:
        body = t["error"]["text"] if t["error"] else t[stage]
        parts.append(f"== {t['target']} ==\n{body}" if len(shown["targets"]) > 1 else body)
    return "\n\n".join(p.rstrip() for p in parts)


class CheckTable:
    """The table of a check, a row as each target is done, so that a slow target hides nothing."""

    def __init__(self, targets: Sequence[str], quiet: bool) -> None:
        self._widths = (max(8, *map(len, targets)), 24, 48, 9)
        self._quiet = quiet
        self._begun = False

    def row(self, t: Report) -> None:
        if self._quiet:
            return
        clear_progress()
        if not self._begun:
            print(self._line("target", "verdict", "facts", "max error", "message"), flush=True)
            self._begun = True
        error = "-" if t["max_error"] is None else f"{t['max_error']:.3g}"
        print(self._line(t["target"], t["verdict"], ", ".join(t["facts"]), error, t["message"]), flush=True)

    def _line(self, *cells: str) -> str:
        return "  ".join([c.ljust(w) for c, w in zip(cells, self._widths)] + list(cells[len(self._widths):])).rstrip()

    def rest(self, report: Report) -> str:
        """What follows the rows: the sizes they are for, and next steps."""
        hints = {t["error"]["hint"]: None for t in report["targets"] if t["error"] and t["error"]["hint"]}
        return "\n".join([f"checked at {report['workload']} and at other sizes where they are open",
                          *(f"hint: {h}" for h in hints)])


def entry(report: Report) -> str:
    """The time of a hand-written kernel beside the generated one's and what was audited, or why it has none."""
    if not report["ok"]:
        return str(report["message"])
    best = report["best"]
    lines = [f"{report['target']} on {report['device']}, {report['workload']}",
             f"median {best['median_ms']:.4g} ms, interval {best['low_ms']:.4g} to {best['high_ms']:.4g}"]
    if report["baseline_ms"] is not None:
        lines.append(f"generated kernel, timed in turn: {report['baseline_ms']:.4g} ms")
    return "\n".join([*lines, f"audited: {report['audited']}", *(f"warning: {w}" for w in report["warnings"])])


def build(report: Report, assembly: str | None) -> str:
    """Facts, resources and where the assembly is; the assembly itself where it is asked for."""
    if not report["ok"]:
        return str(report["log"])
    text = report["assembly"].rstrip()
    if assembly == "-" and text:
        return str(text)
    lines = [f"{report['target']}: {', '.join(report['facts'])}", *(f"{k}: {v}" for k, v in report["resources"].items())]
    if text and assembly:
        lines.append(f"assembly: {assembly}")
    elif text:
        lines.append(f"assembly: {text.count(chr(10)) + 1} lines (--assembly prints them, --assembly FILE writes them)")
    elif report["log"]:
        lines.append(report["log"])
    return "\n".join(lines)


def config_text(config: Report) -> str:
    """Knobs in the form that --config takes."""
    return ",".join(f"{k}={v}" for k, v in config.items())


def tune(report: Report, formula: str | None, stored: str) -> str:
    """The outcome, what the final comparison shows, and how to use it."""
    best, compared = report["best"], report["comparison"]
    if best is None:
        failed = next((t["error"] for t in report["trials"] if t["error"]), None)
        return "no config could be measured" + (f"\nfirst failure: {failed['code']}: {failed['message']}" if failed else "")
    first = report["baseline_ms"]
    lines = [f"workload: {report['workload']} on {report['device']}",
             f"best of {len(report['trials'])}: {milliseconds(best['median_ms'], first)} ({_interval(best, first)}); "
             f"default config: {milliseconds(first)}"]
    if compared is None or best["index"] == 0:
        lines.append("gain: none, the default config is the fastest that was measured")
    elif compared["gain_shown"]:
        lines.append(f"gain: {compared['ratio']:.2f}x ({compared['ratio_low']:.2f} to {compared['ratio_high']:.2f}), "
                     f"both timed again in turn, {compared['rounds']} rounds")
    else:
        lines.append(f"gain: no gain shown; timed again in turn, best and default overlap (ratio {compared['ratio']:.2f}, "
                     f"{compared['ratio_low']:.2f} to {compared['ratio_high']:.2f})")
    lines += [f"note: {w}" for w in report["warnings"]]
    lines.append(f"config: {config_text(best['config'])}")
    if stored:
        lines.append(f"stored: {stored}")
        shown = "-" if formula is None else shlex.quote(formula)
        shapes = " ".join(f"--shape {shlex.quote(p)}" for p in report["workload"].split(", ") if p)
        lines.append(f"use it: kernelcat profile {shown} --target {report['target']} {shapes} --config @{shlex.quote(stored)}")
    return "\n".join(lines)


def _interval(times: Report, like: float | None) -> str:
    return f"{milliseconds(times['low_ms'], like)} to {milliseconds(times['high_ms'], like)}"


def trial(quiet: bool) -> Callable[[Report], None] | None:
    """Prints each trial as it comes, unless the answer is JSON; all in the unit of the first time."""
    if quiet:
        return None
    first: list[float] = []

    def write(t: Report) -> None:
        if t["status"] == "measured":
            first.append(t["median_ms"])
            what = milliseconds(t["median_ms"], first[0])
        else:
            what = str((t["error"] or {}).get("message", t["status"]))
        print(f"{t['index'] + 1:4d}  {what:>12}  {config_text(t['config'])}", file=sys.stderr, flush=True)

    return write


def note(quiet: bool) -> Callable[[str], None] | None:
    """Lines about what is being done, kept on the screen."""
    return None if quiet else (lambda line: print(line, file=sys.stderr, flush=True))


def clear_progress() -> None:
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)


def progress(quiet: bool) -> Callable[[str], None] | None:
    if quiet or not sys.stderr.isatty():
        return None

    def write(line: str) -> None:
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)

    return write


def profile(report: Report) -> str:
    median = report["median_ms"]
    lines = [f"workload: {report['workload']}",
             f"{report['target']} on {report['device']}: {milliseconds(median)} ({_interval(report, median)})",
             f"{report['gbps']:.3g} GB/s, {report['gflops']:.3g} GFLOP/s",
             f"limit {milliseconds(report['limit_ms'], median)} ({report['roofline']['bound']} bound): "
             f"{report['limit_ratio'] * 100:.0f}% of it reached", *(f"note: {w}" for w in report["warnings"])]
    return "\n".join(lines)


def operators(rows: Sequence[Report]) -> str:
    """A line each; one alone with its example."""
    if len(rows) == 1:
        r = rows[0]
        names = f"\nalso called: {', '.join(r['aliases'])}" if r.get("aliases") else ""
        return f"{r['signature']}\n{r['summary']}{names}\nexample: {r['example']}"
    return "\n".join(f"{r['signature']}  {r['summary']}" for r in rows)


def targets(rows: Sequence[Report]) -> str:
    shown = [[r["target"], r["device"] or "-", ", ".join(r["facts_possible"]), "; ".join(r["missing"])] for r in rows]
    return table(["target", "runs on", "can show", "for more"], shown)


def bench(report: Report) -> str:
    """A row an operator, the reasons for missing peers under the table."""
    rows = []
    for r in report["rows"]:
        peer = f"{r['best']} {milliseconds(r['peers'][r['best']], r['ours_ms'])}" if r["best"] else "-"
        between = f"{_number(r['ratio_low'])}-{_number(r['ratio_high'])}" if r["best"] else "-"
        rows.append([r["name"], milliseconds(r["ours_ms"]), peer, _number(r["ratio"]), between, _number(r["limit_ratio"])])
    lines = [table(["operator", "ours", "best peer", "ratio", "interval", "of limit"], rows),
             f"geometric mean of the ratios: {_number(report['geomean_ratio'])}",
             "ratio = best peer's time / ours; of limit = least time of the operations as written, at measured peaks / ours"]
    lines += [f"{name}: {why}" for name, why in report["absent"].items()]
    lines += [f"{r['name']}: without {peer}: {why}" for r in report["rows"] for peer, why in r["skipped"].items()]
    return "\n".join(lines)


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
