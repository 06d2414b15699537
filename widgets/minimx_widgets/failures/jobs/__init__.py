"""A job on two nodes with every weak spot of its kind: slow, unequal, wasteful.

Reading order: `facts.py` (sizes, and what a run shows), `node.py` (a network and its
optimizer on one simulated GPU), `program.py` (the job that every case is a variant
of), `seen.py` (what instruments saw).
"""
