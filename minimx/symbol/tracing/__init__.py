"""Arrays that are written down instead of computed; recorded calls as graphs."""
