"""Small real and generated data that come in the box; NumPy arrays, no network."""
