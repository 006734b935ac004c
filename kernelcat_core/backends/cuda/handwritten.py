"""Hand-written CUDA kernels: the Source of a text that a person wrote, with the entry that runs it on the functional model.

The kernel's parameters are matched by name: pointers to tensors, numbers to sizes or to tensors of rank 0.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from kernelcat_core.backends.cuda.renderer import MODEL_ENTRY
from kernelcat_core.backends.cuda.spell import IndexSpeller, name, storage
from kernelcat_core.codegen.source import Source
from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir.expr import Expr, Size, add, index, mul, op, product
from kernelcat_core.ir.graph import Tensor
from kernelcat_core.target import Target

DEFAULT_BLOCK = 256


def source(
    text: str,
    kernel: str,
    parameters: Sequence[tuple[str, str]],
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    sizes: Sequence[str],
    launch: Mapping[str, Any],
    target: Target,
) -> Source:
    """The Source of the hand-written `kernel` in `text`.

    `parameters` are (type, name) as written. `launch` has "grid" and "block", each a number, text over the sizes
    ("ceil(N / 256)"), or a sequence of up to three of them, and "shared" (dynamic bytes). Without "grid" there is one
    thread an element of the first output. Raises KC-F005 for parameters and launches that cannot be matched.
    """
    tensors = {t.name: k for k, t in enumerate((*inputs, *outputs))}
    ranks = {t.name: t.rank for t in (*inputs, *outputs)}
    e = IndexSpeller()
    lines = [
        f'extern "C" __attribute__((visibility("default"))) int {_entry(kernel)}(void **tensors, const int64_t *sizes) {{'
    ]
    lines += [f"  const int64_t size_{name(s)} = sizes[{k}];" for k, s in enumerate(sizes)]
    lines.append("  kc_forget_tensors();")
    for t, k in zip((*inputs, *outputs), tensors.values(), strict=True):
        elements = _sized(product(t.shape), e)
        size, writable = t.dtype.itemsize, int(k >= len(inputs))
        lines.append(f'  kc_tensor("{name(t.name)}", tensors[{k}], (size_t)({elements}) * {size}, {size}, {writable});')
    for number, (kind, own) in enumerate(parameters):
        value = _argument(kind, own, tensors, ranks, sizes, {t.name: storage(t.dtype) for t in inputs})
        lines.append(f"  {_mutable(kind)} argument_{number} = ({_mutable(kind)}){value};")
    block = _extents(launch.get("block", DEFAULT_BLOCK), sizes)
    elements_out = product(outputs[0].shape) if outputs else index(1)
    threads = product(block)
    whole = [op("floordiv", add(elements_out, add(threads, index(-1))), threads)]
    grid = _extents(launch["grid"], sizes) if "grid" in launch else whole
    pointers = ", ".join(f"(void *)&argument_{k}" for k in range(len(parameters)))
    dims = [", ".join(f"(unsigned)({_sized(x, e)})" for x in group) for group in (grid, block)]
    shared = int(launch.get("shared", 0))
    lines += [
        f"  void *arguments[] = {{{pointers or 'nullptr'}}};",
        f"  if ({_sized(product(grid), e)} <= 0) return 0;",
        f"  cudaFuncSetAttribute({kernel}, cudaFuncAttributeMaxDynamicSharedMemorySize, {shared});" if shared else "",
        f"  return cudaLaunchKernel({kernel}, dim3({dims[0]}), dim3({dims[1]}), arguments, {shared}, 0);",
        "}",
        "",
    ]
    host = e.support() + "\n" + "\n".join(x for x in lines if x) + "\n"
    words = f"{dims[0].replace('(unsigned)', '').replace('size_', '')} blocks of {dims[1].replace('(unsigned)', '')} threads"
    return Source(text, _entry(kernel), "cuda", target.name, ((kernel, words),), ((MODEL_ENTRY, host),))


def _entry(kernel: str) -> str:
    return f"{kernel}_entry"


def _mutable(kind: str) -> str:
    """A parameter's type for a local variable: without __restrict__, and without const after the last *."""
    kept = [w for w in kind.replace("*", " * ").split() if w not in ("__restrict__", "__restrict", "restrict")]
    while kept and kept[-1] == "const":
        kept.pop()
    if "*" not in kept:
        kept = [w for w in kept if w != "const"]
    return " ".join(kept)


def _argument(
    kind: str,
    own: str,
    tensors: Mapping[str, int],
    ranks: Mapping[str, int],
    sizes: Sequence[str],
    types: Mapping[str, str],
) -> str:
    if "*" in kind:
        if own in tensors:
            return f"tensors[{tensors[own]}]"
        hint = f"tensors here: {', '.join(tensors)}"
        raise KernelcatError(
            "KC-F005", f"the kernel's pointer {own!r} is no tensor of the reference formula", hint=hint
        )
    if own in sizes:
        return f"size_{name(own)}"
    if own in types and ranks[own] == 0:
        return f"*(const {types[own]} *)tensors[{tensors[own]}]"
    known = [*sizes, *(n for n in types if ranks[n] == 0)]
    hint = f"numbers here: {', '.join(known) or 'none'}"
    raise KernelcatError("KC-F005", f"the kernel's parameter {own!r} is neither a size nor a scalar input", hint=hint)


class _Sizes(IndexSpeller):
    """Spells sizes as the host's variables, which must not meet the kernel's names."""

    def _leaf(self, e: Any) -> str:
        return f"size_{name(e.name)}" if isinstance(e, Size) else super()._leaf(e)


def _sized(value: Expr, noted: IndexSpeller) -> str:
    speller = _Sizes()
    text = speller.text(value)
    noted.used.update(speller.used)
    return text


def _extents(given: Any, sizes: Sequence[str]) -> list[Expr]:
    parts = list(given) if isinstance(given, list | tuple) else [given]
    if not 1 <= len(parts) <= 3:
        raise KernelcatError(
            "KC-F005", "a grid or block has one to three numbers", hint='launch={"grid": "ceil(N / 256)"}'
        )
    return [index(p) if isinstance(p, int) else _formula(str(p), sizes) for p in parts]


def _formula(text: str, sizes: Sequence[str]) -> Expr:
    """An extent over sizes: + - * // and ceil(a / b), min, max."""
    try:
        return _node(ast.parse(text.strip(), mode="eval").body, sizes)
    except (SyntaxError, ValueError, RecursionError):
        known = f"sizes here: {', '.join(sizes) or 'none'}; + - * // ceil(a / b) min max"
        raise KernelcatError("KC-F005", f"the launch extent {text!r} cannot be read", hint=known) from None


def _node(n: ast.expr, sizes: Sequence[str]) -> Expr:
    match n:
        case ast.Constant(value=int() as value):
            return index(value)
        case ast.Name(id=own) if own in sizes:
            return Size(own)
        case ast.BinOp(left=left, op=sign, right=right):
            a, b = _node(left, sizes), _node(right, sizes)
            names = {ast.Add: "add", ast.Sub: "sub", ast.FloorDiv: "floordiv", ast.Mod: "mod"}
            if isinstance(sign, ast.Mult):
                return mul(a, b)
            if type(sign) in names:
                return op(names[type(sign)], a, b)
        case ast.Call(func=ast.Name(id="ceil"), args=[ast.BinOp(left=left, op=ast.Div(), right=right)]):
            a, b = _node(left, sizes), _node(right, sizes)
            return op("floordiv", add(a, add(b, index(-1))), b)
        case ast.Call(func=ast.Name(id="min" | "max" as own), args=[first, second]):
            return op(own, _node(first, sizes), _node(second, sizes))
    raise ValueError(ast.dump(n))
