"""CUDA kernels of operators on sparse arrays."""
