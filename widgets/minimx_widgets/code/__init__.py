"""From what a view shows to the lines of the running package that act on it."""
