"""Records: what the runtime did, when, for whom, under which knobs."""

from typing import Any

from minimx.core.extensions import provided
from minimx.core.record.record import Batch, Conditions, Cursor, Record
from minimx.core.record.tables import MEMORY_EVENTS, TABLES, TENSOR_KINDS, dtype_of

__all__ = [
    "MEMORY_EVENTS", "TABLES", "TENSOR_KINDS", "Batch", "Conditions", "Cursor",
    "Curve", "Record", "dtype_of", "memory_curve",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in ("Curve", "memory_curve"):
        return getattr(provided("record curves"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
