"""CUDA kernels of operators that update weights."""
