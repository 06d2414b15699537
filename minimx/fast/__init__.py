"""Fast kernels beside the plain ones: fusion, C loops, tuning, oneDNN."""
