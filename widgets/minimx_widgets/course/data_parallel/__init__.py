"""Notebook 13: who sends what to whom, and how much of it hides behind computation.

    workloads    networks as tables of layers, and links for round numbers
    sums         a sum over simulated GPUs, really run: bytes, copies, virtual time
    busiest      an exercise: bytes into the busiest place
    ordering     an exercise: in which order gradients travel, and the stall of a step
    turning      each variable of the kvstore turned once, and what it moves
    nodes        two nodes that stay equal or do not, in one process
    processes    the same between real processes
    compressing  gradients in few bits: bytes, and accuracy
    stories      the guide's data-parallel stories: provoke, see, fix, with numbers
    claims       what the documents say, and verdicts that are computed

Nothing is computed for show: plans come from `minimx.kvstore.planners`, sums from the
stores, times from `minimx.kvstore.simulation`.
"""
