"""CUDA: driver, kernels, launches, captured graphs and streams."""
