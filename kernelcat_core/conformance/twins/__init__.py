"""Planted faults: kernels that each break one rule of a functional model, which has to name the rule and the line."""
