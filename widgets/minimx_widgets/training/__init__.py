"""Trainings as programs of small steps, and what is measured of them."""
