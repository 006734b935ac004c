"""This machine's processor: what it is, and what it reaches (measured once, kept in the user's cache folder)."""

from __future__ import annotations

import json
import os
import platform
import re
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np

from kernelcat_core.errors import Failure
from kernelcat_core.runtime import cache as binaries
from kernelcat_core.runtime import runner, toolchain

_LEVELS = ("l1", "l2", "l3")


@dataclass(frozen=True)
class Cpu:
    """Facts from the operating system. Caches are bytes: l1, l2 of one core, l3 of the package (0 = unknown or none).

    `cores` is how many processors this process may use; `vector_bits` is the widest float vector.
    """

    name: str
    machine: str
    cores: int
    l1_bytes: int
    l2_bytes: int
    l3_bytes: int
    vector_bits: int
    memory_bytes: int
    features: tuple[str, ...]

    @property
    def digest(self) -> str:
        """Changes when any fact does; measurements are kept under it."""
        return binaries.key(**asdict(self))[:16]


@dataclass(frozen=True)
class Peaks:
    """What `cores` cores reached together: f32 operations a second, bytes a second of copies in each level."""

    flops: float
    l2_bytes_per_s: float
    l3_bytes_per_s: float
    dram_bytes_per_s: float
    l2_bytes: int
    l3_bytes: int
    threads: int

    def bandwidth(self, working_set: int) -> float:
        """Bytes a second for data of `working_set` bytes, by the level that holds it (three quarters of its size)."""
        if working_set < 0.75 * self.l2_bytes * self.threads:
            return self.l2_bytes_per_s
        if working_set < 0.75 * self.l3_bytes:
            return self.l3_bytes_per_s
        return self.dram_bytes_per_s


@cache
def this_cpu() -> Cpu:
    """The processor this process runs on."""
    features = tuple(toolchain.cpu_features().split())
    sizes = dict.fromkeys(_LEVELS, 0)
    for index in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        kind, level = _read(index / "type"), _read(index / "level")
        if kind != "Instruction" and f"l{level}" in sizes:
            sizes[f"l{level}"] = _bytes(_read(index / "size"))
    name = re.search(r"^model name\s*:\s*(.*)$", _read(Path("/proc/cpuinfo")), re.MULTILINE)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Cpu(name[1].strip() if name else platform.processor() or platform.machine(), platform.machine(),
               usable_cores(), sizes["l1"], sizes["l2"], sizes["l3"], _vector_bits(features), memory, features)


def usable_cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _bytes(text: str) -> int:
    match = re.fullmatch(r"(\d+)([KMG]?)", text)
    return int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[match[2]] if match else 0


def _vector_bits(features: tuple[str, ...]) -> int:
    if "avx512f" in features:
        return 512
    return 256 if "avx" in features else 128


def peaks(refresh: bool = False) -> Peaks | Failure:
    """Measured peaks of this machine with all usable cores; about a second the first time, then from the cache.

    A busy machine makes a probe too low, never too high, so `refresh` measures again and keeps the higher of each.
    Failure KC-B002 where there is no C compiler, else what the probe's run gave.
    """
    cpu = this_cpu()
    stored = binaries.folder() / "devices" / f"{cpu.digest}.json"
    known = _stored(stored)
    if known is not None and not refresh:
        return known
    measured = _measure(cpu)
    if isinstance(measured, Failure):
        return measured
    best = measured if known is None else _higher(known, measured)
    stored.parent.mkdir(exist_ok=True)
    draft = stored.with_suffix(f".{os.getpid()}")
    draft.write_text(json.dumps(asdict(best)))
    draft.rename(stored)
    return best


def _stored(path: Path) -> Peaks | None:
    try:
        return Peaks(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def _higher(first: Peaks, second: Peaks) -> Peaks:
    return Peaks(max(first.flops, second.flops), max(first.l2_bytes_per_s, second.l2_bytes_per_s),
                 max(first.l3_bytes_per_s, second.l3_bytes_per_s),
                 max(first.dram_bytes_per_s, second.dram_bytes_per_s), second.l2_bytes, second.l3_bytes,
                 second.threads)


def _measure(cpu: Cpu) -> Peaks | Failure:
    compiler = toolchain.find_c()
    if compiler is None:
        return toolchain.missing("c")
    text = (Path(__file__).parent / "probe.c").read_text()
    # zig, a clang, has no tuning for every "native" processor name; -march=native alone is understood by all.
    binary = toolchain.compile(compiler, text, flags=("-O3", "-march=native", "-pthread"))
    if isinstance(binary, Failure):
        return binary
    library = binary.path("shared")
    l2_half = int(0.3 * cpu.l2_bytes) or 1 << 17
    l3_half = int(0.3 * cpu.l3_bytes / cpu.cores) or 1 << 20
    dram_half = max(64 << 20, 2 * cpu.l3_bytes // cpu.cores)
    rates = [_rate(library, "probe_flops", cpu.cores, 0, 4_000_000)]
    rates += [_rate(library, "probe_copy", cpu.cores, half, max(2, (96 << 20) // half))
              for half in (l2_half, l3_half, dram_half)]
    good = [rate for rate in rates if not isinstance(rate, Failure)]
    if len(good) < len(rates):
        return next(rate for rate in rates if isinstance(rate, Failure))
    flops, l2, l3, dram = good
    return Peaks(flops, l2, l3, dram, cpu.l2_bytes, cpu.l3_bytes, cpu.cores)


def _rate(library: Path, entry: str, threads: int, nbytes: int, passes: int) -> float | Failure:
    """Best units a second of one probe over five runs; a peak is a maximum, so noise only lowers it.

    A failed run counts only when all five failed.
    """
    job = runner.KernelJob(library, entry, (), (runner.TensorSpec((2,), np.dtype(np.float64)),),
                           (threads, nbytes, passes), threads=threads, memory_bytes=4 << 30, timeout_s=30)
    outcomes = [runner.run_kernel(job) for _ in range(5)]
    rates = [float(o.outputs[0][0] / o.outputs[0][1]) for o in outcomes if isinstance(o, runner.KernelOutcome)]
    failures = [o for o in outcomes if isinstance(o, Failure)]
    return max(rates) if rates else failures[0]
