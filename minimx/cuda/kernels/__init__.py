"""Loops over numbers for CUDA, compiled by numba."""
