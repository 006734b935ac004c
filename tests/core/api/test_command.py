"""The command line as its users run it: exit statuses, JSON forms, where the formula comes from."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from kernelcat_core.__main__ import main

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


def test_targets_say_what_they_can_show(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "targets", "--json")
    rows = {r["target"]: r for r in json.loads(out)["targets"]}
    assert status == 0 and "a100" in rows["cuda:sm_80"]["aliases"] and "ascend910b" in rows["ascend:910b"]["aliases"]
    assert "measured" in rows["c"]["facts_possible"] and "measured" not in rows["ascend:910b"]["facts_possible"]


def test_tune_keeps_the_best(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "tune", "Y = softmax(X)", "--shape", "X=256x512:f32", "--trials", "4", "--json")
    report = json.loads(out)
    times = [t["median_ms"] for t in report["trials"] if t["status"] == "measured"]
    assert status == 0 and len(report["trials"]) == 4 and report["best"]["median_ms"] == min(times)
    assert all(t["samples"] for t in report["trials"] if t["status"] == "measured")


def test_tuning_a_model_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "tune", "Y = softmax(X)", "--target", "ascend:910b", "--trials", "2")
    assert status == 2 and "KC-M007" in err


def test_profile_relates_time_to_the_limit(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "profile", "Y = softmax(X)", "--shape", "X=512x512:f32", "--json")
    report = json.loads(out)
    assert status == 0 and report["bytes"] == 2 * 512 * 512 * 4 and 0 < report["limit_ratio"] < 1.5
    assert report["low_ms"] <= report["median_ms"] <= report["high_ms"]
