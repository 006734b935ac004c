"""Conformance with others' suites: the ONNX package's node tests, PyTorch's operator samples. Passing lists are kept."""
