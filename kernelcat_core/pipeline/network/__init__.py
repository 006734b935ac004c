"""Whole networks on generated kernels: a graph becomes a plan of kernels with a memory layout, and runs."""
