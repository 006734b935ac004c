"""Mappings of ATen operators to formulas, one family a file. Importing this package fills the table."""

from importlib import import_module

FAMILIES = ("elementwise", "layout", "products", "reductions")

for _family in FAMILIES:
    import_module(f"{__name__}.{_family}")
