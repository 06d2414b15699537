"""CUDA kernels of operators that are layers of networks beside the main ones."""
