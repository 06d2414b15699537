"""Operators that compute on integers of eight bits, and what prepares them."""
