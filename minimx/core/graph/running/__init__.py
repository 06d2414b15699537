"""How a prepared graph runs, call after call."""
