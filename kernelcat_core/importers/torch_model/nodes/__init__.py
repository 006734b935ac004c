"""Mappings of ATen operators to formulas, one family a file. Importing this package fills the table."""

from importlib import import_module

FAMILIES = ("backward", "convolution", "distances", "elementwise", "indexing", "layout", "pooling", "products",
            "reductions", "sorting", "prims")

for _family in FAMILIES:
    import_module(f"{__name__}.{_family}")
