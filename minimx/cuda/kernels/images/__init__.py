"""CUDA kernels of operators on images, on boxes in them, and on regions."""
