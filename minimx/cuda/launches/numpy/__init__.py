"""How operators with NumPy's rules run on CUDA."""
