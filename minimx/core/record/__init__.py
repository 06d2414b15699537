"""Records: what the runtime did, when, for whom, under which knobs."""

from minimx.core.record.curves import Curve, memory_curve
from minimx.core.record.record import Batch, Conditions, Cursor, Record
from minimx.core.record.tables import MEMORY_EVENTS, TABLES, TENSOR_KINDS, dtype_of

__all__ = [
    "MEMORY_EVENTS",
    "TABLES",
    "TENSOR_KINDS",
    "Batch",
    "Conditions",
    "Cursor",
    "Curve",
    "Record",
    "dtype_of",
    "memory_curve",
]
