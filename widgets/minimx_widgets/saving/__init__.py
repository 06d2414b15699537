"""What is kept of a run: the state of a view as one string, a run as one file."""
