"""Where the values of a graph lie: who may share memory with whom."""
