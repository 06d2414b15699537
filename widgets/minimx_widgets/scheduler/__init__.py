"""The scheduler step by step: programs of operations, the moves of an engine, a view.

`program.py` says what is to be done, `stepping.py` does it on the queues of the real
engine (`minimx.core.engine.var`), one move at a time, `lines.py` keeps the moves, and
`view.py` shows them. `optimum.py` proves what the best schedule is.
"""
