"""Probes, exercises and verdicts of cases: notebooks beside the numbered course."""
