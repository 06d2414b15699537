"""How operators that are layers of networks beside the main ones run on CUDA."""
