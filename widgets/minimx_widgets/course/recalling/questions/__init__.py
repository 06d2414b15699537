"""The questions, by subject; each file has a list `QUESTIONS`, notebook by notebook."""
