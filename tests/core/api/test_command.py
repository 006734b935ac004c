"""The command line as its users run it: exit statuses, JSON forms, where the formula comes from."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from kernelcat_core.__main__ import main
from kernelcat_core.errors import KernelcatError
from kernelcat_core.importers import onnx_definition
from kernelcat_core.importers.onnx_nodes import Node
from kernelcat_core.ir.graph import Graph

MATMUL = "C[i,j] += A[i,k]*B[k,j]"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(arguments)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_show_prints_each_stage(capsys: pytest.CaptureFixture[str]) -> None:
    for stage, text in (("graph", "sum<f32>"), ("tile", "program"), ("source", "int64_t"), ("onnx", "Einsum")):
        status, out, _ = run(capsys, "show", MATMUL, "--stage", stage)
        assert status == 0 and text in out, stage


def test_formula_from_a_file_and_from_standard_input(capsys: pytest.CaptureFixture[str], tmp_path: Path,
                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "m.kc"
    file.write_text(MATMUL)
    _, first, _ = run(capsys, "show", str(file), "--stage", "graph")
    monkeypatch.setattr("sys.stdin", io.StringIO(MATMUL))
    _, second, _ = run(capsys, "show", "-", "--stage", "graph")
    assert first == second != ""


def test_user_errors_exit_with_2_and_a_place(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "check", "C[i,j] = A[i,k]*B[k,j]")
    assert status == 2 and out == "" and "KC-F009" in err and "^" in err and "hint:" in err
    status, out, _ = run(capsys, "check", "C[i,j] = A[i,k]*B[k,j]", "--json")
    error = json.loads(out)["error"]
    assert status == 2 and error["code"] == "KC-F009" and error["line"] == 1 and error["column"] > 1 and error["hint"]
    status, _, err = run(capsys, "show", MATMUL, "--target", "a1000")
    assert status == 2 and "KC-S001" in err


def test_enter_times_a_kernel_of_ones_own(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "twice.c"
    file.write_text("void twice(const float *X, float *Y, long long N) { for (long long i = 0; i < N; i++) Y[i] = 2 * X[i]; }")
    formula = "X: f32[N <= 64]; Y[i] = 2*X[i]"
    status, out, _ = run(capsys, "enter", str(file), formula)
    assert status == 0 and "median" in out and "generated kernel" in out and "audited: " in out
    assert "warning: a run takes less than" in out
    status, out, _ = run(capsys, "enter", str(file), formula.replace("2*", "3*"))
    assert status == 1 and "KC-N001" in out
    status, _, err = run(capsys, "enter", str(tmp_path / "none.c"), formula)
    assert status == 2 and "KC-F019" in err


def test_the_exploits_are_a_suite(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "conformance", "exploits", "--only", "NaN wildcard", "--json")
    report = json.loads(out)
    assert status == 0 and report["passed"] == report["total"] == 3 and report["scored"] == report["escaped"] == 0


def test_check_writes_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    status, text, _ = run(capsys, "check", "Y[i] = 2*X[i]", "--target", "c", "--json", "--out", str(out))
    report = json.loads(text)
    assert status == 0 and report == json.loads(out.read_text()) and report["ok"]
    row = report["targets"][0]
    assert row["target"] == "c" and row["facts"] == ["rendered", "compiled", "executed", "measured"] and row["ok"]
    assert row["max_error"] == 0.0


def test_shapes_and_knobs(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "show", "Y = softmax(X)", "--shape", "X=8x16:f16", "--config", "Y.lanes=128",
                         "--stage", "tile")
    assert status == 0 and "f16" in out and "Y.lanes=128" in out
    for arguments, code in ((("--config", "Y.lanes=7"), "KC-S002"), (("--shape", "X"), "KC-F020"),
                            (("--shape", "Z=4:f32"), "KC-F020"), (("--config", "Y.lanes=x"), "KC-S002")):
        status, out, _ = run(capsys, "show", "Y = softmax(X)", "--json", *arguments)
        answer = json.loads(out)
        found = answer.get("error") or answer["targets"][0]["error"]
        assert found["code"] == code and status == 2


@pytest.mark.parametrize("shapes", [
    ("A=8x16", "B=16x4"), ("A=8x16 B=16x4",),
    ("A=8x16, B=16x4:f32",), ("A=(8, 16)", "B=[16,4]"), ("A=8*16,B=16×4",), ("A=(8,16,)",),
])
def test_shapes_in_every_spelling(capsys: pytest.CaptureFixture[str], shapes: tuple[str, ...]) -> None:
    given = [part for text in shapes for part in ("--shape", text)]
    status, out, err = run(capsys, "show", MATMUL, "--json", *given)
    assert status == 0, err
    assert json.loads(out)["inputs"][0]["shape"] == [8, 16]


def test_targets_say_what_they_can_show(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "targets", "--json")
    rows = {r["target"]: r for r in json.loads(out)["targets"]}
    assert status == 0 and "a100" in rows["cuda:sm_80"]["aliases"] and "ascend910b" in rows["ascend:910b"]["aliases"]
    assert "measured" in rows["c"]["facts_possible"] and "measured" not in rows["ascend:910b"]["facts_possible"]


def test_tune_keeps_the_best(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "tune", "Y = softmax(X)", "--shape", "X=256x512:f32", "--trials", "4", "--json")
    report = json.loads(out)
    times = [t["median_ms"] for t in report["trials"] if t["status"] == "measured"]
    assert status == 0 and len(report["trials"]) == 4 and len(times) >= 1
    compared = report["comparison"]
    if compared is None:
        assert report["best"]["median_ms"] == min(times)
    else:
        assert report["baseline_ms"] == compared["baseline_ms"] and compared["ratio"] >= 1.0
        apart = report["best"]["high_ms"] < compared["baseline_low_ms"]
        assert compared["gain_shown"] == (apart and compared["ratio_low"] > 1.0)
    assert all(t["samples"] for t in report["trials"] if t["status"] == "measured")


def test_tuning_a_model_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "tune", "Y = softmax(X)", "--target", "ascend:910b", "--trials", "2")
    assert status == 2 and "KC-M007" in err


def test_profile_relates_time_to_the_limit(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "profile", "Y = softmax(X)", "--shape", "X=512x512:f32", "--json")
    report = json.loads(out)
    assert status == 0 and report["bytes"] == 2 * 512 * 512 * 4 and 0 < report["limit_ratio"] < 1.5
    assert report["low_ms"] <= report["median_ms"] <= report["high_ms"]


def test_a_tuned_config_is_stored_and_used_again(capsys: pytest.CaptureFixture[str], tmp_path: Path,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELCAT_CACHE", str(tmp_path))
    status, out, err = run(capsys, "tune", "Y = softmax(X)", "--shape", "X=64x256:f32", "--trials", "2")
    lines = dict(line.split(": ", 1) for line in out.strip().splitlines())
    assert status == 0 and lines["workload"].startswith("X=64x256:f32") and "workload X=64x256:f32" in err
    stored = Path(lines["stored"])
    knobs = json.loads(stored.read_text())["config"]
    assert f"--config @{stored}" in lines["use it"] and "--target c" in lines["use it"]
    assert lines["gain"] and "larger shape" in lines["note"]
    for given in (f"@{stored}", lines["config"], lines["config"].replace(",", ", ")):
        status, out, _ = run(capsys, "show", "Y = softmax(X)", "--config", given, "--json")
        assert status == 0 and json.loads(out)["targets"][0]["config"] == knobs
    status, out, _ = run(capsys, "profile", "Y = softmax(X)", "--shape", "X=64x256:f32", "--config", f"@{stored}")
    assert status == 0 and "% of it reached" in out


def test_times_of_open_sizes_are_of_a_workload_worth_timing(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "profile", "Y = softmax(X)", "--json")
    assert json.loads(out)["bytes"] >= 8 << 20
    _, out, _ = run(capsys, "profile", "Y = softmax(X)", "--shape", "X=4x8:f32")
    assert "workload: X=4x8:f32" in out and "larger shape" in out


def test_a_row_of_the_check_stands_as_soon_as_its_target_is_done(capsys: pytest.CaptureFixture[str],
                                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    printed: list[str] = []
    from kernelcat_core.api import facade

    real = facade.check_target

    def slow(a: object, target: str, *rest: object) -> object:
        printed.append(capsys.readouterr().out)
        return real(a, target, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(facade, "check_target", slow)
    status = main(["check", "Y[i] = 2*X[i]", "--target", "cuda:sm_80", "--target", "c", "--seeds", "1"])
    assert status == 0 and printed[0] == "" and "cuda:sm_80" in printed[1] and " ok " in printed[1]
    assert "checked at X=16:f32" in capsys.readouterr().out


def test_refusals_and_slow_models_are_not_failures_of_the_kernel(capsys: pytest.CaptureFixture[str],
                                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    from kernelcat_core.errors import Failure, KernelcatError
    from kernelcat_core.pipeline import checking

    real = checking.hops.render
    monkeypatch.setattr(checking.hops, "run", lambda *_, **__: Failure("KC-M002", "it ran past its limit of 30 s"))

    def render(graph: object, target: str, config: object) -> object:
        if target == "cuda:sm_80":
            raise KernelcatError("KC-R001", "no", hint="other")
        return real(graph, target, config)  # type: ignore[arg-type]

    monkeypatch.setattr(checking.hops, "render", render)
    status, out, _ = run(capsys, "check", "Y[i] = 2*X[i]", "--json")
    verdicts = {t["target"]: (t["verdict"], t["error"]["code"]) for t in json.loads(out)["targets"]}
    assert status == 1 and verdicts == {"c": ("failed", "KC-M002"), "cuda:sm_80": ("refused", "KC-R001"),
                                        "ascend:910b": ("too slow to emulate here", "KC-M002")}
    _, out, _ = run(capsys, "check", "Y[i] = 2*X[i]", "--target", "ascend:910b")
    assert "smaller --shape" in out


@pytest.mark.parametrize("path", ["./nonexist", "/nonexist.kc", "missing.txt", "~/nothing"])
def test_a_path_that_is_no_file_is_said_to_be_none(capsys: pytest.CaptureFixture[str], path: str) -> None:
    status, _, err = run(capsys, "show", path)
    assert status == 2 and f"there is no file {path}" in err


def test_arguments_are_refused_with_the_usage_of_their_command(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, said in ((["tune", "Y = X", "--trials", "-1"], "-1 is less than 1"),
                            (["check", "Y = X", "--seeds", "none"], "is not a whole number"),
                            (["profile", "Y = X", "--nothing"], "unrecognized arguments: --nothing")):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        err = capsys.readouterr().err
        assert ended.value.code == 2 and said in err and f"usage: kernelcat {arguments[0]}" in err


def test_assembly_goes_where_it_is_asked_to(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, out, _ = run(capsys, "build", "Y[i] = 2*X[i]")
    assert status == 0 and len(out.splitlines()) < 8 and "compiled" in out
    _, printed, _ = run(capsys, "build", "Y[i] = 2*X[i]", "--assembly")
    assert len(printed.splitlines()) > 50
    file = tmp_path / "kernel.s"
    _, out, _ = run(capsys, "build", "Y[i] = 2*X[i]", "--assembly", str(file))
    assert file.read_text().rstrip() == printed.rstrip() and str(file) in out


def test_functions_and_operators_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "operators")
    assert status == 0 and "softmax(x, axis=-1)" in out and "bitwise_and" in out
    _, out, _ = run(capsys, "operators", "softmax")
    assert "example: " in out and len(out.splitlines()) <= 4
    status, _, err = run(capsys, "operators", "nothing like this")
    assert status == 2 and "KC-F004" in err


def test_what_onnx_cannot_say_stops_no_target(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(graph: Graph) -> list[Node]:
        raise KernelcatError("KC-R001", "standard ONNX nodes cannot say it")

    monkeypatch.setattr(onnx_definition, "graph_nodes", refused)
    formula = "X: i64[N]\nY[n] = f32(X[n])*2.0"
    status, out, _ = run(capsys, "show", formula, "--json")
    shown = json.loads(out)
    assert status == 0 and shown["ok"] and shown["onnx"].startswith("# ") and "int64_t" in shown["targets"][0]["source"]
    status, _, err = run(capsys, "show", formula, "--stage", "onnx")
    assert status == 2 and err.startswith("# ")


def test_columns_have_one_unit() -> None:
    from kernelcat_core.terminal import milliseconds

    assert milliseconds(0.00119, 0.5) == "1.19 us" and milliseconds(0.933e-3) == "933 ns" and milliseconds(1.5, 0.5) == "1500 us"
