"""CUDA: kernels as CUDA C++, compiled by nvcc or NVRTC, run here on a functional model of the SIMT machine."""
