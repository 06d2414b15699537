"""Operators that only the NumPy front end has."""
