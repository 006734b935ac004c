"""Attention: dense, causal, masked, in windows, with shared heads, and sparse by blocks."""

from __future__ import annotations

from kernelcat_core.formula.operators.definition import OnnxNode, Scalar, Tensor, operator, wrong
from kernelcat_core.formula.operators.windows import per_axis

_RANKS = {"query": 3, "key": 3, "value": 3, "mask": 2, "sparsity_mask": 2}
_NAMES = {"q": "query", "k": "key", "v": "value", "is_causal": "causal", "attn_mask": "mask", "Q": "query", "K": "key",
          "V": "value"}


def _lead(query: Tensor, key: Tensor, value: Tensor, name: str) -> list[str]:
    """Names of the batch axes."""
    if not query.rank == key.rank == value.rank >= 2:
        raise wrong(f"{name} takes query[.., L, D], key[.., S, D] and value[.., S, E] with equal leading axes")
    return [f"b{n}" for n in range(query.rank - 2)]


def _shared_heads(query: Tensor, key: Tensor, asked: bool) -> bool:
    """Whether several query heads (the last leading axis) share one head of key and value."""
    if query.rank < 3:
        return False
    q, k = query.shape[-3], key.shape[-3]
    return asked or (q is not None and k is not None and q != k)


def _prologue(lead: list[str], scale: Scalar | None, grouped: bool = False) -> tuple[list[str], str, list[str]]:
    """Declarations, the scaled score of query row q and key row s, and the leading indices of key and value."""
    sizes = [f"B{n}" for n in range(len(lead))]
    own, places = list(sizes), list(lead)
    lines = [f"query: [{', '.join([*sizes, 'L', 'D'])}]"]
    if grouped:
        own[-1] = "G"
        places[-1] = f"{lead[-1]}//({sizes[-1]}//G)"
    lines += [f"key: [{', '.join([*own, 'S', 'D'])}]", f"value: [{', '.join([*own, 'S', 'E'])}]"]
    if grouped:
        lines.append(f"_: [{sizes[-1]}, {sizes[-1]}//G*G]")
    q, k = ", ".join([*lead, "q", "d"]), ", ".join([*places, "s", "d"])
    product = f"sum[d](query[{q}]*key[{k}])"
    return lines, f"{product} / sqrt(D)" if scale is None else f"{product}*scale", places


def _epilogue(lead: list[str], empty_rows: bool, places: list[str]) -> list[str]:
    """Softmax of score[.., q, s] over s, and its product with value. Rows with nothing allowed give 0."""
    row, element = ", ".join([*lead, "q"]), ", ".join([*lead, "q", "s"])
    shift = f"top[{row}]"
    weight = f"exp(score[{element}] - {shift})"
    lines = [f"top[{row}] = max[s](score[{element}])"]
    if empty_rows:
        lines = [f"high[{row}] = max[s](score[{element}])", f"top[{row}] = where(isfinite(high[{row}]), high[{row}], 0.0)"]
    lines.append(f"total[{row}] = sum[s]({weight})")
    share = f"{weight} / total[{row}]"
    if empty_rows:
        share = f"where(total[{row}] != 0, {share}, 0.0)"
    lines.append(f"share[{element}] = {share}")
    lines.append(f"y[{', '.join([*lead, 'q', 'e'])}] = sum[s](share[{element}]*value[{', '.join([*places, 's', 'e'])}])")
    return lines


def _masked(score: str, lead: list[str], query: Tensor, key: Tensor, mask: Tensor | None) -> tuple[str, bool]:
    """The score under a mask that broadcasts, and whether a row may be left with nothing."""
    if mask is None:
        return score, False
    if mask.rank > query.rank:
        raise wrong(f"mask has at most {query.rank} axes: [.., L, S]")
    names, full = [*lead, "q", "s"], [*query.shape[:-1], key.shape[-2]]
    own = names[len(names) - mask.rank:]
    sizes = full[len(full) - mask.rank:]
    place = ["0" if d == 1 and n != 1 else a for a, d, n in zip(own, mask.shape, sizes, strict=True)]
    element = f"mask[{', '.join(place)}]" if place else "mask"
    if mask.dtype.kind == "b":
        return f"where({element}, {score}, -inf)", True
    return f"{score} + {element}", False


@operator("attention", group="attention", summary="softmax(query key^T * scale) value; scale is 1/sqrt(D) if left out",
          aliases="Attention scaled_dot_product_attention sdpa", example="attention(query, key, value)",
          ranks={**_RANKS, "slopes": 1}, renames=_NAMES,
          onnx=OnnxNode("Attention", ("query", "key", "value"),
                        lambda a: {"is_causal": int(a["causal"]), "scale": a["scale"]},
                        applies=lambda a: a["query"].rank == 4 and a["mask"] is None and not any(
                            a[n] for n in ("enable_gqa", "causal_offset", "window", "softcap")) and a["slopes"] is None))
def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, scale: Scalar | None = None,
              causal: bool = False, enable_gqa: bool = False, causal_offset: int = 0,
              window: tuple[int | None, int | None] | None = None, softcap: float = 0.0,
              slopes: Tensor | None = None) -> str:
    """Key row s is seen by query row q if s <= q + causal_offset (causal) and within window = (before, after) of it.

    With a softcap c scores become c*tanh(score/c) before the mask; slopes[heads] add slope*(s - q) (ALiBi).
    """
    lead = _lead(query, key, value, "attention")
    grouped = _shared_heads(query, key, enable_gqa)
    lines, score, places = _prologue(lead, scale, grouped)
    element = ", ".join([*lead, "q", "s"])
    if softcap:
        score = f"{float(softcap)!r}*tanh(({score})*{1 / float(softcap)!r})"
    if slopes is not None:
        if slopes.rank != 1 or not lead:
            raise wrong("slopes of attention is one number for each head (the axis before the last two)")
        score = f"{score} + slopes[{lead[-1]}]*(s - q - ({causal_offset}))"
    chosen, empty = _masked(score, lead, query, key, mask)
    tests = []
    if causal:
        tests.append(f"s <= q + {causal_offset}" if causal_offset > 0 else f"s <= q - {-causal_offset}" if causal_offset
                     else "s <= q")
    if window is not None:
        if not isinstance(window, tuple) or len(window) != 2:
            raise wrong("window of attention is a pair (before, after), each a number or None")
        for reach, test in zip(window, ("q + ({1}) - s <= {0}", "s - q - ({1}) <= {0}"), strict=True):
            if reach is not None:
                tests.append(test.format(*per_axis(reach, 1, "window of attention", 0), causal_offset))
    if tests:
        chosen = f"where({' and '.join(tests)}, {chosen}, -inf)"
    empty = empty or (bool(tests) and (causal_offset < 0 or window is not None))
    return "\n".join([*lines, f"score[{element}] = {chosen}", *_epilogue(lead, empty, places)])


@operator("sparse_attention", group="attention",
          summary="attention where a block of queries meets a block of keys only if the mask of blocks says so",
          aliases="block_sparse_attention SparseAttention", example="sparse_attention(query, key, value, sparsity_mask)",
          ranks=_RANKS, renames={**_NAMES, "mask": "sparsity_mask"})
def sparse_attention(query: Tensor, key: Tensor, value: Tensor, sparsity_mask: Tensor,
                     scale: Scalar | None = None) -> str:
    lead = _lead(query, key, value, "sparse_attention")
    if sparsity_mask.rank not in (2, query.rank):
        raise wrong(f"sparsity_mask has 2 or {query.rank} axes: [.., blocks of queries, blocks of keys]")
    lines, score, places = _prologue(lead, scale)
    own = lead[len(lead) - sparsity_mask.rank + 2:]
    sizes = [f"B{n[1:]}" for n in own]
    lines.append(f"sparsity_mask: [{', '.join([*sizes, 'QB', 'KB'])}]")
    place = f"sparsity_mask[{', '.join([*own, 'q//(L//QB)', 's//(S//KB)'])}]"
    allowed = place if sparsity_mask.dtype.kind == "b" else f"{place} != 0"
    element = ", ".join([*lead, "q", "s"])
    return "\n".join([*lines, f"score[{element}] = where({allowed}, {score}, -inf)", *_epilogue(lead, True, places)])
