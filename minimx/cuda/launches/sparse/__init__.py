"""How operators on sparse arrays run on CUDA."""
