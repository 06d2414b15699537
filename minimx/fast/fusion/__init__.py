"""Neighbouring pointwise operators as one loop."""
