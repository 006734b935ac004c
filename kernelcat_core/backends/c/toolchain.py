"""Compiler flags of the C backend.

No -ffast-math: NaN, infinities and signed zeros keep their meaning. -ffp-contract=fast lets a * b + c round once. Integer
overflow wraps, as in NumPy.
"""

from __future__ import annotations

OPT_LEVELS = ("O0", "O1", "O2", "O3")
FLAGS = ("-std=gnu11", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast", "-fwrapv",
         "-Wall", "-Wno-psabi", "-Wno-unused")
