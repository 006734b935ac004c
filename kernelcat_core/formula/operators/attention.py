"""Attention: dense, causal, masked, and sparse by blocks."""

from __future__ import annotations

from kernelcat_core.formula.operators.definition import OnnxNode, Scalar, Tensor, operator, wrong

_RANKS = {"query": 3, "key": 3, "value": 3, "mask": 2, "sparsity_mask": 2}
_NAMES = {"q": "query", "k": "key", "v": "value", "is_causal": "causal", "attn_mask": "mask", "Q": "query", "K": "key",
          "V": "value"}


def _lead(query: Tensor, key: Tensor, value: Tensor, name: str) -> list[str]:
    """Names of the batch axes."""
    if not query.rank == key.rank == value.rank >= 2:
        raise wrong(f"{name} takes query[.., L, D], key[.., S, D] and value[.., S, E] with equal leading axes")
    return [f"b{n}" for n in range(query.rank - 2)]


def _prologue(lead: list[str], scale: Scalar | None) -> tuple[list[str], str]:
    """Declarations, and the scaled score of query row q and key row s."""
    sizes = [f"B{n}" for n in range(len(lead))]
    lines = [f"query: [{', '.join([*sizes, 'L', 'D'])}]", f"key: [{', '.join([*sizes, 'S', 'D'])}]",
             f"value: [{', '.join([*sizes, 'S', 'E'])}]"]
    q, k = ", ".join([*lead, "q", "d"]), ", ".join([*lead, "s", "d"])
    product = f"sum[d](query[{q}]*key[{k}])"
    return lines, f"{product} / sqrt(D)" if scale is None else f"{product}*scale"


def _epilogue(lead: list[str], empty_rows: bool) -> list[str]:
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
        share = f"where(total[{row}] > 0, {share}, 0.0)"
    lines.append(f"share[{element}] = {share}")
    lines.append(f"y[{', '.join([*lead, 'q', 'e'])}] = sum[s](share[{element}]*value[{', '.join([*lead, 's', 'e'])}])")
    return lines


@operator("attention", group="attention", summary="softmax(query key^T * scale) value; scale is 1/sqrt(D) if left out",
          aliases="Attention scaled_dot_product_attention sdpa", example="attention(query, key, value)", ranks=_RANKS,
          renames=_NAMES, onnx=OnnxNode("Attention", ("query", "key", "value"),
                                        lambda a: {"is_causal": int(a["causal"]), "scale": a["scale"]},
                                        applies=lambda a: a["query"].rank == 4 and a["mask"] is None))
def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, scale: Scalar | None = None,
              causal: bool = False) -> str:
    lead = _lead(query, key, value, "attention")
    lines, score = _prologue(lead, scale)
    element = ", ".join([*lead, "q", "s"])
    if mask is None:
        chosen = f"where(s <= q, {score}, -inf)" if causal else score
        return "\n".join([*lines, f"score[{element}] = {chosen}", *_epilogue(lead, False)])
    if mask.rank not in (2, query.rank):
        raise wrong(f"mask has 2 or {query.rank} axes: [.., L, S]")
    place = f"mask[{', '.join([*lead[len(lead) - mask.rank + 2:], 'q', 's'])}]"
    if mask.dtype.kind == "b":
        masked = f"where({place}, {score}, -inf)"
    else:
        masked = f"{score} + {place}"
    if causal:
        masked = f"where(s <= q, {masked}, -inf)"
    return "\n".join([*lines, f"score[{element}] = {masked}", *_epilogue(lead, mask.dtype.kind == "b")])


@operator("sparse_attention", group="attention",
          summary="attention where a block of queries meets a block of keys only if the mask of blocks says so",
          aliases="block_sparse_attention SparseAttention", example="sparse_attention(query, key, value, sparsity_mask)",
          ranks=_RANKS, renames={**_NAMES, "mask": "sparsity_mask"})
def sparse_attention(query: Tensor, key: Tensor, value: Tensor, sparsity_mask: Tensor,
                     scale: Scalar | None = None) -> str:
    lead = _lead(query, key, value, "sparse_attention")
    if sparsity_mask.rank not in (2, query.rank):
        raise wrong(f"sparsity_mask has 2 or {query.rank} axes: [.., blocks of queries, blocks of keys]")
    lines, score = _prologue(lead, scale)
    own = lead[len(lead) - sparsity_mask.rank + 2:]
    sizes = [f"B{n[1:]}" for n in own]
    lines.append(f"sparsity_mask: [{', '.join([*sizes, 'QB', 'KB'])}]")
    place = f"sparsity_mask[{', '.join([*own, 'q//(L//QB)', 's//(S//KB)'])}]"
    allowed = place if sparsity_mask.dtype.kind == "b" else f"{place} != 0"
    element = ", ".join([*lead, "q", "s"])
    return "\n".join([*lines, f"score[{element}] = where({allowed}, {score}, -inf)", *_epilogue(lead, True)])
