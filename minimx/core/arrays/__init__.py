"""Arrays: memory with a shape, and the way of one call to the engine."""
