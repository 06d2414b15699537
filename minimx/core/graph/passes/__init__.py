"""What becomes of a graph before it runs; `prepare.py` calls each pass."""
