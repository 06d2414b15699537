"""From a block's Python code to a graph."""
