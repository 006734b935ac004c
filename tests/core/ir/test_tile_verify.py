"""The rules of tile programs: a sound program passes, and each broken rule is named (KC-S003)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir.expr import Size
from kernelcat_core.ir.tile import Copy, For, If, Let, Stmt, TileModule, TileProgram, Wait
from kernelcat_core.ir.tile_verify import verify
from kernelcat_core.schedule.knobs import Config
from kernelcat_core.schedule.lower import lower
from kernelcat_core.target import Target
from tests.core.schedule.graphs import GRAPHS

DMA = Target("dma", "dma", "dma", "dma", "dma", "c")


def softmax() -> TileModule:
    return lower(GRAPHS["softmax"](), DMA, Config())


def without(body: tuple[Stmt, ...], kind: type) -> tuple[Stmt, ...]:
    """The block and every block inside it, with statements of one kind left out."""
    kept: list[Stmt] = []
    for s in body:
        if not isinstance(s, kind):
            kept.append(replace(s, body=without(s.body, kind)) if isinstance(s, For | If) else s)
    return tuple(kept)


def broken(change: Callable[[TileProgram], TileProgram]) -> str:
    """What the check says about softmax after `change` to its first program."""
    module = softmax()
    with pytest.raises(KernelcatError) as caught:
        verify(replace(module, programs=(change(module.programs[0]), *module.programs[1:])))
    assert caught.value.code == "KC-S003"
    assert "schedule" in caught.value.hint
    return caught.value.message


def test_a_sound_program_passes() -> None:
    verify(softmax())


def test_a_copied_tile_needs_its_wait() -> None:
    assert "while a copy into it is in flight" in broken(lambda p: replace(p, body=without(p.body, Wait)))


def test_a_wait_needs_its_copy() -> None:
    assert "which is not in flight" in broken(lambda p: replace(p, body=without(p.body, Copy)))


def test_two_tiles_need_two_names() -> None:
    assert "names two things" in broken(lambda p: replace(p, tiles=(*p.tiles, p.tiles[0])))


def test_a_tile_must_be_declared() -> None:
    assert "there is no tile" in broken(lambda p: replace(p, tiles=()))


def test_a_tensor_is_not_both_read_and_written() -> None:
    assert "is read and written" in broken(lambda p: replace(p, reads=(*p.reads, *p.writes)))


def test_a_tensor_must_be_declared() -> None:
    assert "not declared for this access" in broken(lambda p: replace(p, reads=()))


def test_a_size_must_be_an_argument() -> None:
    assert "is not an argument" in broken(lambda p: replace(p, body=(Let("n", Size("unheard_of")), *p.body)))
