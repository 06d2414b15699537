"""Launches on CUDA of operators on any arrays: algebra, sorting, random numbers."""
