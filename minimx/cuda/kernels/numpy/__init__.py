"""CUDA kernels of operators with NumPy's rules."""
