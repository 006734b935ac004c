"""Targets: what to compile for. A Target is a value; backends/ says which exist and aliases device names to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

ExecutionModel = Literal["vector", "simt", "dma"]


@dataclass(frozen=True)
class Target:
    """One architecture of one backend.

    `name` is canonical ("cuda:sm_80"); `model` names the execution model whose lowering it uses; `limits` are plain
    numbers that schedules read (bytes, counts): "lanes" (elements of f32 a vector operation takes), "threads" (most a
    block may have), "near_bytes" (on-chip memory a cell may use), "cores", "storage_types" (0: f8e4m3, f8e5m2, i4 and u4
    have no names there, so kernels get their bytes and decode them), "warp" (threads that exchange values by shuffles; 1:
    none do), "async_copies" (1: copies into shared memory can run beside arithmetic), "tensor_cores" (1: mma.m16n8k16),
    "stand_in" (1: what runs its texts here is another device).
    """

    name: str
    backend: str
    arch: str
    model: ExecutionModel
    label: str
    language: str
    limits: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    def __hash__(self) -> int:
        return hash(self.name)

    def limit(self, key: str, default: int) -> int:
        return self.limits.get(key, default)
