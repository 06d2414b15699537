"""Which algorithm computes a convolution: policies, estimates, measurements."""
