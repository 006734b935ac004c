"""Reverse mode: the gradient of any graph, as a graph of the same primitives.

Following the chain rule backwards (S. Linnainmaa, 1970), each tensor between the outputs and what is asked for gets one
cotangent tensor of its own shape and type. Index maps are inverted, so that what was gathered is gathered back (the
gradient of a convolution is a convolution); only subscripts computed from tensors need a Scatter.
"""

from kernelcat_core.ir.differentiate.gradient import Gradients, gradient, gradients

__all__ = ["Gradients", "gradient", "gradients"]
