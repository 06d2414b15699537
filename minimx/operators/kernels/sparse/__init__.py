"""CPU kernels of operators on sparse arrays."""
