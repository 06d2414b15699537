"""CPU kernels of operators on any arrays: linear algebra, sorting, random numbers."""
