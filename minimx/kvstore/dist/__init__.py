"""Stores whose workers are processes, on one machine or several, over MPI.

    minimx launch -n 4 train.py          (or: mpiexec -n 4 python train.py)

In every process `mx.kv.create("dist_sync")` gives a store that knows its `rank`. What
the processes send to each other goes over MPI, on one thread in each process.

Reading order: `order.py` (which collective is next, and why that cannot deadlock),
`job.py` (the thread that talks to MPI), `sums.py` (of arrays, dense, packed or by
rows), `store.py` (what a user calls). `parity.py` compares the ranks before training
begins. Nothing that is received is unpickled: what travels is the memory of arrays, and
JSON.
"""
