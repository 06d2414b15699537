"""Fast CPU kernels of the operators whose plain ones are in the core."""
