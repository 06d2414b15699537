"""Operators that are layers of networks beside the main ones."""
