"""HIP: kernels as HIP C++ for AMD GPUs, run here on the functional model of the SIMT machine with warps of 64."""
