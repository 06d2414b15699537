"""Drawings of graphs, with Graphviz or without."""
