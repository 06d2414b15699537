"""Intel's library oneDNN, where it is installed."""
