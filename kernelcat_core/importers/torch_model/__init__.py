"""PyTorch graphs of ATen operators: every operator becomes a formula of a trace. Importing this does not import torch."""
