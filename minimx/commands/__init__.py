"""The command `minimx`, and the benchmarks that it runs."""
