"""CPU kernels of operators that update weights."""
