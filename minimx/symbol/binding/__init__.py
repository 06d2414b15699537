"""Arrays for a symbol: inference of their shapes, sharing, executors."""
