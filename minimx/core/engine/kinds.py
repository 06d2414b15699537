"""What kind of work an operation is. It decides on the lane (`lanes.py`)."""

from __future__ import annotations

from typing import Final

NORMAL: Final = 0
COPY_FROM_GPU: Final = 1
COPY_TO_GPU: Final = 2
CPU_PRIORITIZED: Final = 3
GPU_PRIORITIZED: Final = 4
NO_SKIP: Final = 5  # runs even if its vars are poisoned
BULK: Final = 6  # several operations in one (`bulking.py`); they look after failures
SEGMENT: Final = 7  # nodes of a graph that its program joined; never bulked again
