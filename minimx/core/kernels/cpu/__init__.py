"""Plain loops over numbers, compiled by numba for the CPU."""
