"""Graphs: computations written down before they run, as immutable values."""
