"""Mappings of ONNX operators to formulas, one family a file. Importing this package fills the table."""

from importlib import import_module

FAMILIES = (
    "attention", "bits", "control", "convolution", "elementwise", "indexing", "layout", "ml", "normalisation", "pooling",
    "products", "quantization", "random", "recurrent", "reductions", "sequences", "shapes", "signals", "sorting", "spatial",
    "training", "trees", "vision")

for _family in FAMILIES:
    import_module(f"{__name__}.{_family}")
