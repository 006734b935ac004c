"""The formula language (docs/notation.md): text to syntax tree to graph."""

from __future__ import annotations

from kernelcat_core.formula import operators as operators
from kernelcat_core.formula.catalog import CatalogEntry, operators_catalog
from kernelcat_core.formula.gallery import gallery
from kernelcat_core.formula.gallery_item import GalleryItem
from kernelcat_core.formula.language import resolve
from kernelcat_core.formula.lower import Lowered, OperatorCall, lower
from kernelcat_core.formula.parser import parse
from kernelcat_core.formula.printer import print_formula
from kernelcat_core.formula.shapes import TensorSpec, parse_shape
from kernelcat_core.formula.syntax import Formula
from kernelcat_core.formula.workload import default_workload

__all__ = ["CatalogEntry", "Formula", "GalleryItem", "Lowered", "OperatorCall", "TensorSpec", "default_workload",
           "gallery", "lower", "operators", "operators_catalog", "parse", "parse_shape", "print_formula", "resolve"]
