"""Mappings of ONNX operators to formulas, one family a file. Importing this package fills the table."""

from kernelcat_core.importers.onnx_model.nodes import control as control
from kernelcat_core.importers.onnx_model.nodes import elementwise as elementwise
from kernelcat_core.importers.onnx_model.nodes import layout as layout
from kernelcat_core.importers.onnx_model.nodes import products as products
from kernelcat_core.importers.onnx_model.nodes import reductions as reductions
from kernelcat_core.importers.onnx_model.nodes import shapes as shapes
