"""The host side of an Ascend operator: its tiling struct, tiling function, shape inference and definition.

Every program of a module is an operator of its own; those of one module are launched in order, with the module's
temporaries as outputs of one and inputs of another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kernelcat_core.backends.ascendc.names import Operator, Paths, operators
from kernelcat_core.backends.ascendc.spell import DIALECT
from kernelcat_core.codegen.cstyle import Speller, identifier, support_text
from kernelcat_core.ir.expr import Load, Size, Var, product
from kernelcat_core.ir.graph import Tensor
from kernelcat_core.ir.tile import TileModule, TileProgram

_DTYPES: Mapping[str, str] = {
    "f64": "DT_DOUBLE",
    "f32": "DT_FLOAT",
    "f16": "DT_FLOAT16",
    "bf16": "DT_BF16",
    "i8": "DT_INT8",
    "i16": "DT_INT16",
    "i32": "DT_INT32",
    "i64": "DT_INT64",
    "u8": "DT_UINT8",
    "u16": "DT_UINT16",
    "u32": "DT_UINT32",
    "u64": "DT_UINT64",
    "bool": "DT_BOOL",
}


def size_name(name: str) -> str:
    """The C++ name of a size, as field and variable."""
    return identifier(name, DIALECT.reserved)


def speller() -> Speller:
    """Spells size expressions on the host."""

    def leaf(e: Load | Var | Size) -> str:
        assert isinstance(e, Size)
        return size_name(e.name)

    return Speller(HOST, leaf)


HOST = type(DIALECT)(name="host C++", qualifier="static inline", reserved=DIALECT.reserved)


def tiling_text(module: TileModule) -> str:
    """The header with one tiling struct a program: every size of the module, i64."""
    lines = [
        f"// Tiling data of {module.name}: the sizes that kernels get at run time.",
        "#pragma once",
        '#include "register/tilingdata_base.h"',
        "",
        "namespace optiling {",
    ]
    for o in operators(module).values():
        lines.append(f"BEGIN_TILING_DATA_DEF({o.tiling})")
        lines += [f"TILING_DATA_FIELD_DEF(int64_t, {size_name(s)});" for s in (module.sizes or ("unused",))]
        lines += ["END_TILING_DATA_DEF;", f"REGISTER_TILING_DATA_CLASS({o.type}, {o.tiling})", ""]
    return "\n".join([*lines, "}  // namespace optiling", ""])


def size_places(p: TileProgram) -> dict[str, tuple[int, int]]:
    """Size -> (input, axis) of the program where it can be read; sizes that are missing become attributes."""
    found: dict[str, tuple[int, int]] = {}
    for number, t in enumerate(p.reads):
        for axis, e in enumerate(t.shape):
            if isinstance(e, Size):
                found.setdefault(e.name, (number, axis))
    return found


def attributes(module: TileModule, p: TileProgram) -> tuple[str, ...]:
    """Sizes that no input of the program shows, in the order of the operator's attributes."""
    places = size_places(p)
    return tuple(s for s in module.sizes if s not in places)


def host_text(module: TileModule) -> str:
    """Tiling, shape inference and definition of every program's operator."""
    spell = speller()
    named = operators(module)
    bodies = [
        line
        for p in module.programs
        for line in (
            "",
            *_tiling(module, p, named[p.name], spell),
            "",
            *_infer(module, p, named[p.name], spell),
        )
    ]
    functions = support_text(spell.used, HOST)
    return "\n".join(
        [
            f"// Host side of {module.name}: its operators, how they are tiled and their output shapes.",
            f'#include "{Paths(module.name).tiling}"',
            '#include "register/op_def_registry.h"',
            '#include "tiling/platform/platform_ascendc.h"',
            "",
            "namespace optiling {",
            *([functions] if functions else []),
            *bodies,
            "}  // namespace optiling",
            "",
            "namespace ops {",
            *(line for p in module.programs for line in _definition(module, p, named[p.name])),
            "}  // namespace ops",
            "",
        ]
    )


def _sizes(module: TileModule, p: TileProgram, shape: str) -> Iterator[str]:
    """Read every size of the module from the operator's context; `shape` gives the shape of input {0}."""
    places = size_places(p)
    missing = attributes(module, p)
    for s in module.sizes:
        if s in places:
            number, axis = places[s]
            yield f"    const int64_t {size_name(s)} = {shape.format(number)}.GetDim({axis});"
        else:
            yield f"    const int64_t {size_name(s)} = *context->GetAttrs()->GetInt({missing.index(s)});"


def _tiling(module: TileModule, p: TileProgram, o: Operator, spell: Speller) -> list[str]:
    cells = spell.text(product([a.size for a in p.grid]))
    return [
        f"static ge::graphStatus {o.type}Tiling(gert::TilingContext *context) {{",
        *_sizes(module, p, "context->GetInputShape({0})->GetStorageShape()"),
        f"    {o.tiling} tiling;",
        *(f"    tiling.set_{size_name(s)}({size_name(s)});" for s in module.sizes),
        "    const auto platform = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());",
        "    const int64_t cores = platform.GetCoreNumAiv();",
        f"    const int64_t cells = {cells};",
        "    context->SetBlockDim(static_cast<uint32_t>(cells < 1 ? 1 : cells < cores ? cells : cores));",
        "    tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());",
        "    context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());",
        "    context->GetWorkspaceSizes(1)[0] = 0;",
        "    return ge::GRAPH_SUCCESS;",
        "}",
    ]


def _infer(module: TileModule, p: TileProgram, o: Operator, spell: Speller) -> list[str]:
    lines = [f"static ge::graphStatus {o.type}InferShape(gert::InferShapeContext *context) {{"]
    lines += _sizes(module, p, "(*context->GetInputShape({0}))")
    for number, t in enumerate(p.writes):
        lines.append(f"    gert::Shape *shape_{number} = context->GetOutputShape({number});")
        lines.append(f"    shape_{number}->SetDimNum({len(t.shape)});")
        lines += [f"    shape_{number}->SetDim({k}, {spell.text(d)});" for k, d in enumerate(t.shape)]
    used = [f"    (void){size_name(s)};" for s in module.sizes]
    return [*lines, *used, "    return ge::GRAPH_SUCCESS;", "}"]


def _definition(module: TileModule, p: TileProgram, o: Operator) -> list[str]:
    lines = [
        f"class {o.type} : public OpDef {{",
        "public:",
        f"    explicit {o.type}(const char *name) : OpDef(name) {{",
    ]
    for kind, tensors in (("Input", p.reads), ("Output", p.writes)):
        lines += [f"        {_port(kind, t)}" for t in tensors]
    lines += [f'        this->Attr("{size_name(s)}").Int();' for s in attributes(module, p)]
    lines.append(f"        this->SetInferShape(optiling::{o.type}InferShape);")
    lines.append(f"        this->AICore().SetTiling(optiling::{o.type}Tiling);")
    lines.append('        this->AICore().AddConfig("ascend910b");')
    return [*lines, "    }", "};", f"OP_ADD({o.type});"]


def _port(kind: str, t: Tensor) -> str:
    return (
        f'this->{kind}("{identifier(t.name, DIALECT.reserved)}").ParamType(REQUIRED)'
        f".DataType({{ge::{_DTYPES[t.dtype.name]}}}).Format({{ge::FORMAT_ND}});"
    )
