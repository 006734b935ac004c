"""Pools with a given number of outputs, positions of maxima, and their inverse."""

from __future__ import annotations

from kernelcat_core.formula.operators.convolution import Padding
from kernelcat_core.formula.operators.definition import Scalar, Tensor, operator, wrong
from kernelcat_core.formula.operators.pooling import NAMES, least, pool_windows, pooled
from kernelcat_core.formula.operators.windows import Sizes, guards, per_axis

_GROUP = "pooling"


def _adaptive(rank: int, name: str, input: Tensor, output_size: Sizes | tuple[int | None, ...], average: bool) -> str:
    """Output o covers positions o*D//O up to ceil((o + 1)*D / O), as PyTorch's adaptive pools."""
    if input.rank not in (rank + 1, rank + 2):
        raise wrong(f"{name} takes input[N, C, {rank} more] (N may be left out)")
    wanted = output_size if isinstance(output_size, tuple) else (output_size,) * rank
    if len(wanted) != rank:
        raise wrong(f"output_size of {name} is a number or {rank} numbers (None: as the input)")
    lead = ["n", "c"][rank + 2 - input.rank:]
    left, places = [*lead], [*lead]
    over: list[str] = []
    tests: list[str] = []
    counts: list[str] = []
    for n, value in enumerate(wanted):
        if value is None:
            left.append(f"o{n}")
            places.append(f"o{n}")
            continue
        (size,) = per_axis(value, 1, f"output_size of {name}")
        known = input.shape[input.rank - rank + n]
        left.append(f"o{n} in {size}")
        if size == 1 or (known is not None and known % size == 0):
            places.append(f"k{n}" if size == 1 else f"o{n}*(D{n}//{size}) + k{n}")
            over.append(f"k{n} in D{n}//{size}" if size > 1 else f"k{n} in D{n}")
            counts.append(f"f32(D{n}//{size})")
            continue
        first, end = f"(o{n}*D{n})//{size}", f"((o{n} + 1)*D{n} + {size - 1})//{size}"
        places.append(f"minimum({first} + k{n}, D{n} - 1)")
        over.append(f"k{n} in (D{n} + {size - 1})//{size} + 1")
        tests.append(f"k{n} < {end} - {first}")
        counts.append(f"f32({end} - {first})")
    sizes = ", ".join([*(a.upper() for a in lead), *(f"D{n}" for n in range(rank))])
    element = f"input[{', '.join(places)}]"
    if not over:
        return f"y[{', '.join(left)}] = {element}"
    if tests:
        element = f"where({' and '.join(tests)}, {element}, {'0' if average else least(input)})"
    body = f"{'sum' if average else 'max'}[{', '.join(over)}]({element})"
    if average:
        body += f" / ({'*'.join(counts)})"
    return f"input: [{sizes}]\ny[{', '.join(left)}] = {body}"


def _positions(rank: int, name: str, input: Tensor, kernel_size: Sizes, stride: Sizes | None, padding: Padding,
               dilation: Sizes, ceil_mode: bool, storage_order: int, whole: bool) -> str:
    found = pool_windows(name, rank, kernel_size, stride, padding, dilation, ceil_mode)
    p = pooled(name, rank, input, found)
    guard = guards(found)
    body = f"where({guard}, {p.element}, {least(input)})" if guard else p.element
    outputs = [f"o{w.n}" for w in found]
    chosen = f"window[{', '.join([*p.lead, *outputs])}]"
    places: list[str] = []
    inner = 1
    for w in reversed(found):
        k = chosen if inner == 1 else f"{chosen}//{inner}"
        k = f"({k} % {w.size})" if w.n else f"({k})"
        place = f"({w.start} + {w.dilation}*{k})" if w.dilation > 1 else f"({w.start} + {k})"
        if w.before != "0":  # nothing in the window is larger than the padding: the first place inside
            place = f"maximum({place}, 0)" if w.dilation == 1 else f"where({place} < 0, {place} % {w.dilation}, {place})"
        places.insert(0, place)
        inner *= int(w.size)
    order = range(rank) if storage_order == 0 else range(rank - 1, -1, -1)
    total = "0"
    for n in order:
        total = places[n] if total == "0" else f"({total})*D{n} + {places[n]}"
    if whole:
        plane = "*".join(f"D{n}" for n in range(rank))
        total += f" + {'(n*C + c)' if len(p.lead) == 2 else 'c'}*{plane}"
    return "\n".join([p.declaration, f"window[{p.left}] = argmax[{p.over}]({body})",
                      f"y[{', '.join([*p.lead, *outputs])}] = {total}"])


def _unpool(rank: int, name: str, input: Tensor, indices: Tensor, kernel_size: Sizes, stride: Sizes | None,
            padding: Padding, output_size: tuple[int, ...] | None, whole: bool) -> str:
    """Position p holds the element of some window over p whose index says p, else 0 (a gather, nothing is scattered)."""
    found = pool_windows(name, rank, kernel_size, stride, padding, 1)
    p = pooled(name, rank, input, found)
    wanted = None if output_size is None else per_axis(output_size, rank, f"output_size of {name}")
    lengths = [f"(D{w.n} - 1)*{w.stride} - {w.before} - {w.after} + {w.size}" if wanted is None else str(wanted[w.n])
               for w in found]
    left = ", ".join([*(f"{a} in {a.upper()}" for a in p.lead), *(f"p{w.n} in {length}" for w, length in
                                                                  zip(found, lengths, strict=True))])
    windows = [f"(p{w.n} + {w.before})//{w.stride} - t{w.n}" for w in found]
    over = ", ".join(f"t{w.n} in {-(-int(w.size) // w.stride)}" for w in found)
    place = ", ".join([*p.lead, *windows])
    flat = "p0"
    for w in found[1:]:
        flat = f"({flat})*({lengths[w.n]}) + p{w.n}"
    if whole:
        plane = "*".join(f"({length})" for length in lengths)
        flat += f" + {'(n*C + c)' if len(p.lead) == 2 else 'c'}*{plane}"
    # a guard that always holds: windows before the first or after the last read 0, and `here` says that they are none
    here = " and ".join(f"0 <= {o} and {o} < D{w.n}" for w, o in zip(found, windows, strict=True))
    match = f"{here} and where(p0 >= 0, indices[{place}], 0) == {flat}"
    spot = ", ".join([*p.lead, *(f"p{w.n}" for w in found)])
    return "\n".join([p.declaration, p.declaration.replace("input", "indices"), f"hit[{left}] = any[{over}]({match})",
                      f"top[{left}] = max[{over}](where({match}, where(p0 >= 0, input[{place}], 0), {least(input)}))",
                      f"y[{spot}] = where(hit[{spot}], top[{spot}], 0)"])


def _define(rank: int) -> None:
    ranks = {"input": rank + 2, "indices": rank + 2}

    def adaptive_avg_pool(input: Tensor, output_size: Sizes | tuple[int | None, ...] = 1) -> str:
        return _adaptive(rank, f"adaptive_avg_pool{rank}d", input, output_size, True)

    def adaptive_max_pool(input: Tensor, output_size: Sizes | tuple[int | None, ...] = 1) -> str:
        return _adaptive(rank, f"adaptive_max_pool{rank}d", input, output_size, False)

    def max_pool_indices(input: Tensor, kernel_size: Sizes = 2, stride: Sizes | None = None, padding: Padding = 0,
                         dilation: Sizes = 1, ceil_mode: bool = False, storage_order: int = 0, whole: bool = False) -> str:
        return _positions(rank, f"max_pool{rank}d_indices", input, kernel_size, stride, padding, dilation, ceil_mode,
                          storage_order, whole)

    def max_unpool(input: Tensor, indices: Tensor, kernel_size: Sizes = 2, stride: Sizes | None = None,
                   padding: Padding = 0, output_size: tuple[int, ...] | None = None, whole: bool = False) -> str:
        return _unpool(rank, f"max_unpool{rank}d", input, indices, kernel_size, stride, padding, output_size, whole)

    for kind, build, summary in (("avg", adaptive_avg_pool, "mean"), ("max", adaptive_max_pool, "largest element")):
        name = f"adaptive_{kind}_pool{rank}d"
        operator(name, group=_GROUP, summary=f"{summary} of equal parts, {'a given number' if rank == 1 else 'given numbers'}"
                 " of them", example=f"{name}(X, output_size=3)", aliases=f"Adaptive{kind.title()}Pool{rank}d", ranks=ranks,
                 renames=NAMES)(build)
    operator(f"max_pool{rank}d_indices", group=_GROUP,
             summary="row-major positions of the maxima of max_pool in each plane (in the whole tensor with whole=True)",
             example=f"max_pool{rank}d_indices(X, 2)", ranks=ranks, renames=NAMES)(max_pool_indices)
    operator(f"max_unpool{rank}d", group=_GROUP, summary="elements put back where max_pool_indices says, 0 elsewhere",
             example=f"max_unpool{rank}d(X, I, 2)", aliases=f"MaxUnpool{rank}d",
             ranks=ranks, renames=NAMES)(max_unpool)


for _rank in (1, 2, 3):
    _define(_rank)


def _across(x: Tensor, size: int, before: int, name: str) -> str:
    if x.rank < 3:
        raise wrong(f"{name} takes x[N, C, ...]")
    (count,) = per_axis(size, 1, f"size of {name}")
    rest = [f"i{n}" for n in range(2, x.rank)]
    here, near = ", ".join(["i0", "c", *rest]), ", ".join(["i0", f"c + k - {before}", *rest])
    sizes = ", ".join(["N", "C", *(f"D{n}" for n in range(2, x.rank))])
    left = ", ".join(f"{i} in {s}" for i, s in zip(["i0", "c", *rest], sizes.split(", "), strict=True))
    return "\n".join([
        f"x: [{sizes}]",
        f"y[{left}] = x[{here}] / (bias + alpha/{count}*sum[k in {count}]("
        f"where(0 <= c + k - {before} and c + k - {before} < C, x[{near}]**2, 0)))**beta"])


@operator("lrn", group="normalisation", summary="each element divided by a power of the squares of nearby channels",
          aliases="LRN", example="lrn(X, 3)", ranks={"x": 4}, renames={"input": "x"})
def lrn(x: Tensor, size: int, alpha: Scalar = 0.0001, beta: Scalar = 0.75, bias: Scalar = 1.0) -> str:
    return _across(x, size, (size - 1) // 2, "lrn")


@operator("local_response_norm", group="normalisation", summary="lrn whose even windows lie one channel earlier (PyTorch)",
          aliases="LocalResponseNorm", example="local_response_norm(X, 3)", ranks={"x": 4},
          renames={"input": "x", "k": "bias"})
def local_response_norm(x: Tensor, size: int, alpha: Scalar = 0.0001, beta: Scalar = 0.75, bias: Scalar = 1.0) -> str:
    return _across(x, size, size // 2, "local_response_norm")
