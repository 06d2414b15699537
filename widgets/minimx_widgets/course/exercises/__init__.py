"""Checks of the exercises of those notebooks that have a file of probes beside them."""
