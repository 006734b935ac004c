"""MiniLM (sentence-transformers/all-MiniLM-L6-v2) in plain torch, and its exports to ONNX.

The architecture is BERT's (J. Devlin et al., 2018): post-norm encoder layers with learned positions; weights come from the
model's safetensors file, whose format is a JSON header followed by raw arrays.
"""

from __future__ import annotations

import io
import json
import struct
import warnings
from pathlib import Path
from typing import Any

import numpy as np

HEADS, LAYERS, WIDTH, EPSILON = 12, 6, 384, 1e-12
KINDS = tuple((attention, opset) for attention in ("eager", "sdpa") for opset in (14, 17, 18))
"""Every export: how attention is written, and the opset."""


def read_safetensors(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    """The f32 and integer arrays of a safetensors file by name."""
    types = {"F32": np.float32, "I64": np.int64, "I32": np.int32, "F16": np.float16}
    raw = path.read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + length])
    found = {}
    for name, entry in header.items():
        if name != "__metadata__":
            first, last = (8 + length + o for o in entry["data_offsets"])
            found[name] = np.frombuffer(raw[first:last], types[entry["dtype"]]).reshape(entry["shape"])
    return found


def module(weights: dict[str, np.ndarray[Any, Any]], attention: str) -> Any:
    """The encoder as a torch module: (token ids, attention mask, token types) i64 [B, L] -> hidden states f32 [B, L, 384]."""
    import torch
    from torch import nn
    from torch.nn import functional

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query, self.key, self.value, self.output = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
            self.inner, self.outer = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
            self.first, self.second = nn.LayerNorm(WIDTH, EPSILON), nn.LayerNorm(WIDTH, EPSILON)

        def forward(self, x: Any, mask: Any) -> Any:
            b, length, _ = x.shape
            q, k, v = (f(x).view(b, length, HEADS, WIDTH // HEADS).transpose(1, 2) for f in (self.query, self.key, self.value))
            if attention == "sdpa":
                mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
            else:
                scores = q @ k.transpose(-1, -2) / (WIDTH // HEADS) ** 0.5 + mask
                mixed = scores.softmax(-1) @ v
            x = self.first(x + self.output(mixed.transpose(1, 2).reshape(b, length, WIDTH)))
            return self.second(x + self.outer(functional.gelu(self.inner(x))))

    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.types = nn.Embedding(30522, WIDTH), nn.Embedding(2, WIDTH)
            self.positions = nn.Embedding(512, WIDTH)
            self.norm = nn.LayerNorm(WIDTH, EPSILON)
            self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))

        def forward(self, ids: Any, attention_mask: Any, token_types: Any) -> Any:
            places = torch.arange(ids.shape[1]).unsqueeze(0)
            x = self.norm(self.words(ids) + self.types(token_types) + self.positions(places))
            mask = (1.0 - attention_mask[:, None, None, :].to(torch.float32)) * torch.finfo(torch.float32).min
            for layer in self.layers:
                x = layer(x, mask)
            return x

    made = Encoder()
    names = {"words": "embeddings.word_embeddings", "types": "embeddings.token_type_embeddings",
             "positions": "embeddings.position_embeddings", "norm": "embeddings.LayerNorm"}
    parts = {"query": "attention.self.query", "key": "attention.self.key", "value": "attention.self.value",
             "output": "attention.output.dense", "first": "attention.output.LayerNorm", "inner": "intermediate.dense",
             "outer": "output.dense", "second": "output.LayerNorm"}
    for k in range(LAYERS):
        names.update({f"layers.{k}.{ours}": f"encoder.layer.{k}.{theirs}" for ours, theirs in parts.items()})
    state = {}
    for key in made.state_dict():
        owner, _, kind = key.rpartition(".")
        state[key] = torch.from_numpy(weights[f"{names[owner]}.{kind}"].copy())
    made.load_state_dict(state)
    return made.eval()


def export(encoder: Any, opset: int) -> Any:
    """The module as an onnx.ModelProto with dynamic batch and length."""
    import onnx
    import torch

    example = tuple(torch.ones(2, 8, dtype=torch.int64) for _ in range(3))
    text = io.BytesIO()
    names = ["ids", "attention_mask", "token_types"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(encoder, example, text, input_names=names, output_names=["hidden"], opset_version=opset,
                          dynamic_axes={n: {0: "batch", 1: "length"} for n in (*names, "hidden")}, dynamo=False)
    return onnx.load_from_string(text.getvalue())
