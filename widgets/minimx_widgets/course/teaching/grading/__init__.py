"""Grading: what was handed in is run where it may do no harm, and judged by our checks.

Reading order: `slicing.py` (what an attempt needs of its notebook), `rules.py` (what no
attempt may say), `confining.py` (what its process may not do), `judging.py` (one
attempt, in that process), `supervising.py` (its limits, from outside), `folder.py` (all
learners, and the table of points).
"""
