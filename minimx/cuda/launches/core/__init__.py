"""How operators of the core run on CUDA."""
