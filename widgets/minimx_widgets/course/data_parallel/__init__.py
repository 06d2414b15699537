"""Notebook 13: who sends what to whom, and how much of it hides behind computation.

workloads   networks as tables of layers, and clusters for round numbers
sums        a sum over simulated GPUs, really run: bytes, copies, virtual time
turning     each variable of the kvstore turned once, and what it moves
ordering    the exercise: in which order gradients travel, and the stall of a step
bytes       the exercise: bytes over the busiest link
stories     the guide's data-parallel stories: provoke, see, fix, with numbers
processes   the stories between real processes
claims      what the documents say, and a verdict that is computed
"""
