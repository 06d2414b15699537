"""Predictions: a question, a number, a judgement, and a memory of all of them.

Reading order: `units.py`, `reading.py` (what a learner wrote), `ledger.py` (the file of
answers), `card.py` (a question on the page), `progress.py` (how well a learner knows
what they know).
"""
