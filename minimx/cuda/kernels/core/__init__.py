"""CUDA kernels of operators of the core."""
