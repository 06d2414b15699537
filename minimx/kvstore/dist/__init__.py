"""Stores whose workers are processes, on one machine or several, over MPI.

    minimx launch -n 4 train.py          (or: mpiexec -n 4 python train.py)

In every process `mx.kv.create("dist_sync")` gives a store that knows its `rank`. What
the processes send to each other goes over MPI, on one thread in each process.

Reading order: `order.py` (which collective is next, and why that cannot deadlock),
`job.py` (the thread that talks to MPI), `sums.py` (sums of arrays, dense, packed or by
rows), `store.py` (what a user calls). Around it: `start.py` begins MPI, `roles.py`
says who works and who serves, `parity.py` compares the workers before training begins,
`control.py` carries small messages, `collectives.py` the memory of arrays, and
`liveness.py` looks whether the other processes are alive.

Where values are kept by servers: the package `servers`.

What travels is the memory of arrays, and JSON. One thing is pickled, between processes
of the same job only: the optimizer that rank 0 gives to the servers.
"""
