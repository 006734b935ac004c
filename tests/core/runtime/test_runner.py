"""The sandbox against code that means harm: every attempt ends in a coded failure, and nothing is left behind."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from kernelcat_core.errors import Failure
from kernelcat_core.runtime import client, runner, toolchain
from kernelcat_core.runtime.runner import KernelJob, KernelOutcome, Needs, TensorSpec

N = 1000
A = np.arange(N, dtype=np.float32)
B = 2 * A
CRASHES = {
    "null_pointer": "SIGSEGV", "read_past_end": "SIGSEGV", "stack_bomb": "SIGSEGV", "abort_itself": "SIGABRT",
    "illegal_instruction": "SIGILL",
}
REFUSED = (
    "memory_bomb", "fork_bomb", "clone_directly", "thread_bomb", "run_program", "tcp_socket", "unix_socket",
    "read_shadow", "read_passwd", "read_home", "list_root", "read_environment_of_parent", "write_outside",
    "delete_outside", "change_mode", "kill_parent", "kill_everyone", "thread_signal_parent", "trace_parent",
    "new_session", "become_root", "user_namespace", "memory_file", "shared_memory", "raise_limits", "truncate_arena",
    "old_system_calls",
)


@pytest.fixture(scope="module")
def library() -> Path:
    compiler = toolchain.find_c()
    assert compiler is not None
    text = (Path(__file__).parent / "hostile.c").read_text()
    binary = toolchain.compile(compiler, text, flags=("-O1", "-pthread", "-fno-optimize-sibling-calls"))
    assert isinstance(binary, toolchain.Binary), binary
    return binary.path("shared")


def run(library: Path, entry: str, **changes: object) -> KernelOutcome | Failure:
    spec = TensorSpec((N,), np.dtype(np.float32))
    settings = {"timeout_s": 5.0, "memory_bytes": 256 << 20, **changes}
    return runner.run_kernel(KernelJob(library, entry, (A, B), (spec,), (N,), **settings))  # type: ignore[arg-type]


def test_an_honest_kernel_gives_its_outputs(library: Path) -> None:
    outcome = run(library, "add")
    assert isinstance(outcome, KernelOutcome)
    np.testing.assert_array_equal(outcome.outputs[0], A + B)
    assert outcome.samples_s == ()


def test_a_timed_run_gives_samples_and_outputs(library: Path) -> None:
    outcome = run(library, "add", repeats=7)
    assert isinstance(outcome, KernelOutcome)
    assert len(outcome.samples_s) == 7
    assert all(0 < sample < 1e-3 for sample in outcome.samples_s)
    assert outcome.calls_per_sample > 1
    np.testing.assert_array_equal(outcome.outputs[0], A + B)


def test_an_output_that_is_not_written_stays_poison(library: Path) -> None:
    outcome = run(library, "tell_threads")
    assert isinstance(outcome, KernelOutcome)
    assert (outcome.outputs[0][2:].view(np.uint8) == runner.POISON).all()


def test_threads_reach_the_kernel_by_symbol_and_environment(library: Path) -> None:
    outcome = run(library, "tell_threads", threads=3)
    assert isinstance(outcome, KernelOutcome)
    assert list(outcome.outputs[0][:2]) == [3, 3]


@pytest.mark.parametrize("entry", CRASHES)
def test_a_crash_is_a_failure_that_names_the_signal(library: Path, entry: str) -> None:
    outcome = run(library, entry)
    assert isinstance(outcome, Failure)
    assert outcome.code == "KC-M001"
    assert CRASHES[entry] in outcome.message


@pytest.mark.parametrize("entry", REFUSED)
def test_an_escape_is_refused(library: Path, tmp_path: Path, entry: str) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    victim.chmod(0o666)
    for folder in victim.parents:  # reachable for anyone, so that only the sandbox stands before it
        if folder.stat().st_uid == os.getuid() and str(folder).startswith(str(tmp_path.parents[1])):
            folder.chmod(0o755)
    outcome = run(library, entry, environment=(("HOSTILE_PATH", str(victim)),))
    assert isinstance(outcome, Failure), entry
    assert outcome.code == "KC-M001"
    assert "refused" in outcome.message, outcome
    assert victim.read_text() == "precious"
    assert victim.stat().st_mode & 0o777 == 0o666


@pytest.mark.parametrize("entry", ["write_past_end", "write_before_start"])
def test_a_write_beside_a_tensor_is_found(library: Path, entry: str) -> None:
    outcome = run(library, entry)
    assert isinstance(outcome, Failure)
    assert (outcome.code, outcome.message) == ("KC-M001", "the kernel wrote outside output 0")


def test_a_changed_input_is_found(library: Path) -> None:
    outcome = run(library, "change_input")
    assert isinstance(outcome, Failure)
    assert outcome.code == "KC-M003"
    assert A[0] == 0


@pytest.mark.parametrize(("entry", "message"), [
    ("status_three", "status 3"), ("own_message", "size must be even"), ("no_such_entry", "exports no function"),
    ("exit_early", "ended with status 0")])
def test_a_reported_error_is_a_failure(library: Path, entry: str, message: str) -> None:
    outcome = run(library, entry)
    assert isinstance(outcome, Failure)
    assert outcome.code == "KC-M001"
    assert message in outcome.message


@pytest.mark.parametrize("entry", ["infinite_loop", "sleep_forever"])
def test_the_time_limit_ends_a_run(library: Path, entry: str) -> None:
    before = time.monotonic()
    outcome = run(library, entry, timeout_s=0.4)
    assert isinstance(outcome, Failure)
    assert outcome.code == "KC-M002"
    assert time.monotonic() - before < 2


def test_output_has_a_limit(library: Path) -> None:
    outcome = run(library, "huge_output")
    assert isinstance(outcome, Failure)
    assert outcome.code == "KC-M005"
    assert len(outcome.detail) <= 2000


def test_a_run_can_be_cancelled(library: Path) -> None:
    stop = threading.Event()
    threading.Timer(0.2, stop.set).start()
    before = time.monotonic()
    spec = TensorSpec((N,), np.dtype(np.float32))
    job = KernelJob(library, "infinite_loop", (A, B), (spec,), (N,), timeout_s=30)
    outcome = runner.run_kernel(job, should_stop=stop.is_set)
    assert isinstance(outcome, Failure)
    assert outcome.code == "KC-M006"
    assert time.monotonic() - before < 2
    assert _no_child_burns_cpu()


def _no_child_burns_cpu() -> bool:
    """Whether no descendant of this process is running two looks apart (a killed run needs a moment)."""
    from kernelcat_core.supervise import processes

    deadline = time.monotonic() + 2
    while time.monotonic() < deadline:
        states = [(Path("/proc") / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()[0]
                  for pid in processes.descendants(os.getpid()) if (Path("/proc") / str(pid)).exists()]
        if "R" not in states:
            return True
        time.sleep(0.05)
    return False


def test_sizes_zero_and_scalars(library: Path) -> None:
    empty = np.empty((0,), np.float32)
    job = KernelJob(library, "add", (empty, empty), (TensorSpec((0,), np.dtype(np.float32)),), (0,))
    outcome = runner.run_kernel(job)
    assert isinstance(outcome, KernelOutcome)
    assert outcome.outputs[0].shape == (0,)
    scalar = np.float32(3).reshape(())
    job = KernelJob(library, "add", (scalar, scalar), (TensorSpec((), np.dtype(np.float32)),), (1,))
    outcome = runner.run_kernel(job)
    assert isinstance(outcome, KernelOutcome)
    assert outcome.outputs[0] == 6


def test_several_threads_share_the_zygote(library: Path) -> None:
    outcomes: list[KernelOutcome | Failure] = []
    workers = [threading.Thread(target=lambda: outcomes.append(run(library, "add"))) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [isinstance(outcome, KernelOutcome) for outcome in outcomes] == [True] * 6


def test_a_lost_zygote_is_started_again(library: Path) -> None:
    run(library, "add")
    zygote = client._zygote
    assert zygote is not None
    zygote.process.kill()
    zygote.process.wait()
    assert isinstance(run(library, "add"), KernelOutcome)


def test_a_sandboxed_run_is_cheap(library: Path) -> None:
    run(library, "add")
    seconds = []
    for _ in range(9):
        before = time.perf_counter()
        run(library, "add")
        seconds.append(time.perf_counter() - before)
    assert sorted(seconds)[4] < 0.05  # 5 ms on an idle machine


def test_active_layers_are_reported() -> None:
    assert {"limits", "seccomp"} <= set(client.layers())


def command(script: str, **changes: object) -> runner.CommandOutcome | Failure:
    job = runner.CommandJob(("/bin/sh", "-c", script), timeout_s=5.0, **changes)  # type: ignore[arg-type]
    return runner.run_command(job)


def test_a_command_sees_its_files_and_leaves_results() -> None:
    outcome = command("tr a-z A-Z < in.txt > out.txt; echo done", files=(("in.txt", "abc"),), results=("out.txt",))
    assert isinstance(outcome, runner.CommandOutcome)
    assert (outcome.status, outcome.output, outcome.results) == (0, "done\n", {"out.txt": b"ABC"})


@pytest.mark.parametrize("script", [
    "cat /etc/passwd", "ls /var", "ls /proc", "echo x > /var/tmp/escaped", "echo x > ../escaped", "kill -9 1",
    "kill -9 -1", "kill -9 $PPID", "mount -t tmpfs x .", "exec 3<>/dev/tcp/127.0.0.1/1"])
def test_a_command_cannot_leave_its_folder(script: str) -> None:
    outcome = command(script)
    assert isinstance(outcome, runner.CommandOutcome)
    assert outcome.status != 0


def test_a_result_is_never_a_link() -> None:
    outcome = command("ln -s /etc/shadow out.txt", results=("out.txt",))
    assert isinstance(outcome, runner.CommandOutcome)
    assert outcome.results == {}


def test_a_command_leaves_no_process_behind() -> None:
    outcome = command("(trap '' HUP TERM; while :; do :; done) & exit 0")
    assert isinstance(outcome, runner.CommandOutcome)
    assert _no_child_burns_cpu()


def test_a_fork_bomb_of_a_command_ends() -> None:
    before = time.monotonic()
    outcome = command("f() { f | f & }; f; while :; do :; done", processes=32)
    assert isinstance(outcome, Failure)
    assert outcome.code in {"KC-B003", "KC-M005"}
    assert time.monotonic() - before < 10
    assert _no_child_burns_cpu()


def test_a_file_has_a_limit() -> None:
    outcome = command("head -c 3000000 /dev/zero > big", file_bytes=1 << 20, results=("big",))
    assert isinstance(outcome, runner.CommandOutcome)
    assert outcome.status != 0
    assert len(outcome.results["big"]) <= 1 << 20


def test_a_command_has_no_environment_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELCAT_SECRET_OF_A_TEST", "1")
    outcome = command("env")
    assert isinstance(outcome, runner.CommandOutcome)
    assert "SECRET" not in outcome.output


def test_a_scratch_folder_only_for_those_who_need_one(tmp_path: Path) -> None:
    text = """#include <stdint.h>
#include <stdio.h>
#include <string.h>
static int save(size_t bytes) {
  static char some[100000];
  FILE *file = fopen("kept", "wb");
  size_t done = file ? fwrite(some, 1, bytes, file) : 0;
  return !file || fclose(file) || done != bytes;
}
int small(void **t, const int64_t *s) { memcpy(t[2], t[0], s[0] * 4); return save(1000); }
int large(void **t, const int64_t *s) { memcpy(t[2], t[0], s[0] * 4); return save(100000); }
int secret(void **t, const int64_t *s) { memcpy(t[2], t[0], s[0] * 4); return !fopen("SECRET", "r"); }
"""
    secret = tmp_path / "secret"
    secret.write_text("for those who are let in")
    compiler = toolchain.find_c()
    assert compiler is not None
    made = toolchain.compile(compiler, text.replace("SECRET", str(secret)), flags=("-O1",))
    assert isinstance(made, toolchain.Binary), made
    path = made.path("shared")
    room = Needs(scratch_bytes=5000)
    assert isinstance(run(path, "small", needs=room), KernelOutcome)
    assert isinstance(run(path, "small"), Failure)
    assert isinstance(run(path, "large", needs=room), Failure)
    assert isinstance(run(path, "secret"), Failure)
    assert isinstance(run(path, "secret", needs=Needs((str(secret),))), KernelOutcome)
