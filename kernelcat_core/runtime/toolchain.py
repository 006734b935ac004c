"""External compilers as values: found once, called in the sandbox, their answers cached by content.

    toolchain = find_c()                          # gcc or clang on PATH, else the ziglang wheel; None without any
    compile(toolchain, text, flags=("-O3",))      # -> Binary | Failure, never an exception for a bad candidate

`Binary.path("shared")` is what runner.KernelJob and load.load take.
"""

from __future__ import annotations

import importlib.util
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

from kernelcat_core.errors import Failure
from kernelcat_core.runtime import cache as binaries
from kernelcat_core.runtime import nvrtc, runner

Language = Literal["c", "cpp", "cuda", "opencl"]
Kind = Literal["shared", "assembly", "ptx", "cubin", "program"]
ABI = 1  # raise when the contract of host entries (runner.py) changes
_SUFFIX = {"c": "c", "cpp": "cpp", "cuda": "cu", "opencl": "cl"}
_FILE: dict[str, str] = {"shared": "out.so", "assembly": "out.s", "ptx": nvrtc.PTX_FILE, "cubin": nvrtc.CUBIN_FILE,
                         "program": "out.bin"}
_HOST_FLAGS: dict[str, tuple[str, ...]] = {"shared": ("-shared", "-fPIC"), "assembly": ("-S", "-fPIC"),
                                           "program": ()}
_NVCC_FLAGS: dict[str, tuple[str, ...]] = {"ptx": ("-ptx",), "cubin": ("-cubin",)}


@dataclass(frozen=True)
class Toolchain:
    """One external compiler.

    `command` starts with an absolute path; `readable` are folders it reads beyond /usr; `cache_variables` name the
    environment variables that tell it where to keep parts it builds once (zig: its C and C++ libraries).
    """

    name: str
    language: Language
    command: tuple[str, ...]
    version: str
    readable: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    cache_variables: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return f"{self.name} {self.version}"


@dataclass(frozen=True)
class Binary:
    """What a compiler made: files by kind, its log (warnings, resource lines), the seconds it took when it ran."""

    toolchain: Toolchain
    key: str
    paths: tuple[tuple[str, Path], ...]
    log: str
    seconds: float
    cached: bool

    def path(self, kind: Kind) -> Path:
        """The file of one kind; KeyError when it was not asked for."""
        return dict(self.paths)[kind]

    def text(self, kind: Kind) -> str:
        """The file of one kind as text (assembly, PTX)."""
        return self.path(kind).read_text(encoding="utf-8", errors="replace")


@dataclass(frozen=True)
class Diagnostic:
    """One line of a compiler's log; `line` and `column` are 1-based, `column` 0 when the compiler gives none."""

    line: int
    column: int
    severity: str
    message: str


_GNU_STYLE = re.compile(r"^kernel\.\w+:(\d+):(?:(\d+):)? (fatal error|error|warning): (.*)$", re.MULTILINE)
_NVIDIA_STYLE = re.compile(r"^kernel\.\w+\((\d+)\): (catastrophic error|error|warning)(?: #\S+)?: (.*)$", re.MULTILINE)


def diagnostics(log: str) -> tuple[Diagnostic, ...]:
    """Errors and warnings about the compiled text itself, in the log's order (gcc, clang, zig, nvcc, NVRTC styles)."""
    found = [(match.start(), Diagnostic(int(match[1]), int(match[2] or 0), match[3].split()[-1], match[4]))
             for match in _GNU_STYLE.finditer(log)]
    found += [(match.start(), Diagnostic(int(match[1]), 0, match[2].split()[-1], match[3]))
              for match in _NVIDIA_STYLE.finditer(log)]
    return tuple(diagnostic for _, diagnostic in sorted(found, key=lambda pair: pair[0]))


def compile(toolchain: Toolchain, text: str, *, flags: tuple[str, ...] = (), kinds: tuple[Kind, ...] = ("shared",),
            files: Mapping[str, str] | None = None, timeout_s: float = 60.0,
            should_stop: Callable[[], bool] | None = None) -> Binary | Failure:
    """Compile one source text to `kinds` in the sandbox, or take the result from the cache.

    `files` (name -> text) lie beside the source, for its #include lines. For CUDA the architecture is in `flags`
    (-arch=sm_80). Failures: KC-B001 rejected (message = first error with line:column, detail = log), KC-B003 time
    limit, KC-M005, KC-M006.
    """
    if len(kinds) > 1 and toolchain.name != "nvrtc":  # a call a kind anyway: each is found again by itself
        parts: list[Binary] = []
        for kind in kinds:
            part = compile(toolchain, text, flags=flags, kinds=(kind,), files=files, timeout_s=timeout_s,
                           should_stop=should_stop)
            if isinstance(part, Failure):
                return part
            parts.append(part)
        return _joined(parts)
    extra = dict(files or {})
    key = binaries.key(text=text, files=extra, flags=flags, kinds=kinds, toolchain=toolchain.label,
                       command=toolchain.command, machine=_machine_key(flags), abi=ABI)
    entry = binaries.find(key)
    if entry is not None:
        return Binary(toolchain, key, _paths(kinds, entry), entry.facts["log"], entry.facts["seconds"], True)
    job = runner.CommandJob(argv=toolchain.command, files=((source_name(toolchain), text), *extra.items()),
                            readable=toolchain.readable, timeout_s=timeout_s, tool_cache=_tool_cache(toolchain),
                            environment=tuple((name, runner.TOOL_CACHE) for name in toolchain.cache_variables))
    run = _compile_nvrtc if toolchain.name == "nvrtc" else _compile_command
    made = run(toolchain, job, flags, kinds, should_stop)
    if isinstance(made, Failure):
        return made
    entry = binaries.publish(key, made.results, {"log": made.output, "seconds": made.wall_s})
    return Binary(toolchain, key, _paths(kinds, entry), made.output, made.wall_s, False)


def _joined(parts: list[Binary]) -> Binary:
    """Binaries of one text as one; a line that several logs hold is kept once."""
    logs = dict.fromkeys(part.log for part in parts if part.log)
    return Binary(parts[0].toolchain, parts[0].key, tuple(path for part in parts for path in part.paths), "\n".join(logs),
                  sum(part.seconds for part in parts), all(part.cached for part in parts))


def _tool_cache(toolchain: Toolchain) -> Path | None:
    """Where the parts that a toolchain builds once are kept; None for one that builds none."""
    if not toolchain.cache_variables:
        return None
    return binaries.folder() / "tools" / f"{toolchain.name}-{toolchain.version}-{toolchain.language}"


def source_name(toolchain: Toolchain) -> str:
    """The name under which a source text is compiled, as logs show it."""
    return f"kernel.{_SUFFIX[toolchain.language]}"


def _paths(kinds: tuple[Kind, ...], entry: binaries.Entry) -> tuple[tuple[str, Path], ...]:
    return tuple((kind, entry.files[_FILE[kind]]) for kind in kinds)


def _compile_command(toolchain: Toolchain, job: runner.CommandJob, flags: tuple[str, ...], kinds: tuple[Kind, ...],
                     should_stop: Callable[[], bool] | None) -> runner.CommandOutcome | Failure:
    """One compiler call a kind."""
    results: dict[str, bytes] = {}
    logs: list[str] = []
    seconds = 0.0
    for kind in kinds:
        own = (_NVCC_FLAGS if toolchain.language == "cuda" else _HOST_FLAGS)[kind]
        # The source stands before the flags: libraries among them (-lm) must follow what needs them.
        argv = (*toolchain.command, *own, source_name(toolchain), *flags, "-o", _FILE[kind])
        outcome = runner.run_command(replace(job, argv=argv, results=(_FILE[kind],)), should_stop=should_stop)
        if isinstance(outcome, Failure):
            return outcome
        if outcome.status != 0 or _FILE[kind] not in outcome.results:
            return _rejected(toolchain, outcome.output, f"it ended with status {outcome.status}")
        results |= outcome.results
        seconds += outcome.wall_s
        if outcome.output and outcome.output not in logs:
            logs.append(outcome.output)
    return runner.CommandOutcome(0, "\n".join(logs), results, {}, seconds)


def _compile_nvrtc(toolchain: Toolchain, job: runner.CommandJob, flags: tuple[str, ...], kinds: tuple[Kind, ...],
                   should_stop: Callable[[], bool] | None) -> runner.CommandOutcome | Failure:
    options = ("--std=c++17", "-default-device", "-I.", *(f"-I{folder}" for folder in toolchain.include),
               *(flag.replace("-Xptxas=", "--ptxas-options=") for flag in flags))
    wanted = tuple(_FILE[kind] for kind in kinds)
    outcome = runner.run_nvrtc(replace(job, results=wanted), toolchain.command[0], source_name(toolchain), options,
                               should_stop=should_stop)
    if isinstance(outcome, Failure):
        return outcome
    log = str(outcome.report.get("log", outcome.output))
    if outcome.status != 0 or outcome.report.get("status") != 0 or set(outcome.results) != set(wanted):
        return _rejected(toolchain, log, str(outcome.report.get("error") or "it gave no result"))
    return replace(outcome, output=log)


def _rejected(toolchain: Toolchain, log: str, otherwise: str) -> Failure:
    errors = [diagnostic for diagnostic in diagnostics(log) if diagnostic.severity == "error"]
    if errors:
        first = errors[0]
        place = f"{first.line}:{first.column}" if first.column else str(first.line)
        return Failure("KC-B001", f"{toolchain.name} rejects line {place}: {first.message}", log)
    said = next((line for line in log.splitlines() if "error" in line), otherwise)
    return Failure("KC-B001", f"{toolchain.name} rejects the source: {said}", log)


@cache
def cpu_features() -> str:
    """Vector and other features of this processor, sorted, as /proc/cpuinfo names them; "" where unknown."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return ""
    match = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
    return " ".join(sorted(match[1].split())) if match else ""


def _machine_key(flags: tuple[str, ...]) -> str:
    """What of this machine a binary depends on: its features count only for code made for "native"."""
    native = any(flag.endswith("=native") for flag in flags)
    return f"{platform.machine()} {cpu_features() if native else ''}"


def _version(command: tuple[str, ...]) -> str:
    """Version text of a compiler that this machine's owner installed; "" when it does not run."""
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True,
                             stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError):
        return ""
    text = ran.stdout.strip()
    release = re.search(r"release [\d.]+, V([\d.]+)|\b(\d+\.\d+(?:\.\d+)?)\b", text)
    return next((group for group in release.groups() if group), "") if release else text[:40]


def _ziglang(language: Language) -> Toolchain | None:
    found = importlib.util.find_spec("ziglang")
    if found is None or not found.submodule_search_locations:
        return None
    home = Path(next(iter(found.submodule_search_locations)))
    binary = str(home / "zig")
    version = _version((binary, "version"))
    if not version:
        return None
    return Toolchain("zig", language, (binary, "cc" if language == "c" else "c++"), version, (str(home),),
                     cache_variables=("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"))


def _compiles(toolchain: Toolchain) -> bool:
    """Whether a compiler really makes a shared object here (headers and linker may be missing).

    Also has a toolchain build the parts that it keeps: zig takes five seconds for C and a minute for C++, once.
    """
    tool_cache = _tool_cache(toolchain)
    if tool_cache is not None and tool_cache.is_dir():
        return True
    linkage = "" if toolchain.language == "c" else '#include <vector>\nextern "C" '
    probe = f"#include <stdint.h>\n{linkage}int probe(void **t, const int64_t *s) {{ return t == 0 && s == 0; }}\n"
    argv = (*toolchain.command, *_HOST_FLAGS["shared"], source_name(toolchain), "-O1", "-o", _FILE["shared"])
    outcome = runner.run_command(runner.CommandJob(
        argv, files=((source_name(toolchain), probe),), results=(_FILE["shared"],), readable=toolchain.readable,
        environment=tuple((name, runner.TOOL_CACHE) for name in toolchain.cache_variables), timeout_s=300,
        tool_cache=tool_cache, fill_tool_cache=True))
    return isinstance(outcome, runner.CommandOutcome) and outcome.status == 0 and bool(outcome.results)


@cache
def _find_host(language: Language) -> Toolchain | None:
    for name in ("gcc", "clang") if language == "c" else ("g++", "clang++"):
        path = shutil.which(name)
        version = _version((path, "--version")) if path else ""
        if path and version:
            toolchain = Toolchain(name, language, (path,), version)
            if _compiles(toolchain):
                return toolchain
    zig = _ziglang(language)
    return zig if zig is not None and _compiles(zig) else None


def find_c() -> Toolchain | None:
    """The C compiler that kernels for this machine use; None (hint: `HINTS["c"]`) without one."""
    return _find_host("c")


def find_cpp() -> Toolchain | None:
    """The C++ compiler that functional models use; None (hint: `HINTS["cpp"]`) without one."""
    return _find_host("cpp")


@cache
def find_nvcc() -> Toolchain | None:
    """nvcc of a CUDA toolkit, on PATH or in its usual place."""
    path = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    version = _version((path, "--version")) if path else ""
    return Toolchain("nvcc", "cuda", (path,), version) if path and version else None


@cache
def find_nvrtc() -> Toolchain | None:
    """NVRTC of the nvidia-cuda-* wheels or a toolkit."""
    found = nvrtc.discover()
    if found is None:
        return None
    readable = (str(Path(found.library).parent), *found.include)
    asked = runner.run_nvrtc(runner.CommandJob((), readable=readable), found.library, "", ())
    if isinstance(asked, Failure) or "version" not in asked.report:
        return None
    return Toolchain("nvrtc", "cuda", (found.library,), str(asked.report["version"]), readable, found.include)


def find_cuda() -> Toolchain | None:
    """A compiler for CUDA C++: NVRTC first (faster, no host compiler), else nvcc; None without either."""
    return find_nvrtc() or find_nvcc()


HINTS: dict[Language, str] = {
    "c": "install gcc or clang, or `pip install ziglang`",
    "cpp": "install g++ or clang++, or `pip install ziglang`",
    "cuda": "`pip install kernelcat[cuda]`, or install the CUDA toolkit so that nvcc is on PATH",
    "opencl": "`pip install kernelcat[opencl]`",
}


def missing(language: Language) -> Failure:
    """The failure to return where no toolchain for `language` was found."""
    return Failure("KC-B002", f"this machine has no compiler for {language}", "", HINTS[language])


if __name__ == "__main__":  # make setup: what takes long the first time is done before anyone waits for it
    for found in (find_c(), find_cpp(), find_cuda()):
        if found is not None:
            print(f"{found.language}: {found.label}")
