"""Mappings of ONNX operators to formulas, one family a file. Importing this package fills the table."""

from importlib import import_module

FAMILIES = ("control", "convolution", "elementwise", "indexing", "layout", "normalisation", "pooling", "products", "reductions",
            "shapes", "sorting", "spatial")

for _family in FAMILIES:
    import_module(f"{__name__}.{_family}")
