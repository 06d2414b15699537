"""Loops of the operators beside the core, for the CPU."""
