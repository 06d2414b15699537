"""The same network learns here and in PyTorch: two programs, their tasks, the record.

`make_task` gives weights and batches by seed, `learn` does a task with the programs of
`in_minimx`, and `recorded` is what both libraries learnt when `make same` was last run:
PyTorch is no part of minimx, so its half is read from a file.
"""

from minimx_widgets.course.same.learning import learn
from minimx_widgets.course.same.record import Comparison, recorded
from minimx_widgets.course.same.tasks import SIZES
from minimx_widgets.course.same.tasks import make as make_task

__all__ = ["SIZES", "Comparison", "learn", "make_task", "recorded"]
