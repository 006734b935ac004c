"""OpenCL: kernels as OpenCL C 1.2, compiled and run here by PoCL on the CPU."""
