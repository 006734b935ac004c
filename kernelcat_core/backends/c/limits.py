"""Plain numbers that schedules for a CPU read. They steer speed only: the text adapts to the compiler's vector width."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

# lanes: f32 elements of one 512-bit vector (narrower machines take two or four vectors instead); near_bytes: what a cell
# may keep on the stack, half of a small L2; cores: what the default tile sizes are balanced for.
LIMITS: Mapping[str, int] = MappingProxyType({"lanes": 16, "near_bytes": 512 * 1024, "cores": 2, "threads": 1})
