"""How operators that update weights run on CUDA."""
