"""The knobs of a pool as controls of the pool map: bytes have units there."""

from __future__ import annotations

import re
from typing import Any

from minimx.core.knobs import knobs
from minimx.core.knobs.knob import human_size
from minimx_widgets.views.knob_panel import describe

MEMORY = "MINIMX_SIM_GPU_MEMORY"
# Where the sliders end of knobs whose upper bound is out of reach.
LARGEST = {"PAGE_SIZE": 1 << 20, "ROUND_SIZE": 64 << 20, "GPU_MEMORY": 16 << 30}
_SIZED = re.compile(r"(\d+)\s*([KMGT])(?:i?B)?", re.IGNORECASE)


def _in_bytes(name: str) -> bool:
    declared = knobs.declared[name]
    return declared.type == "size" or declared.unit == "bytes"


def value_text(name: str, value: Any) -> str:
    """The value of a knob for reading: bytes with their unit."""
    if _in_bytes(name):
        return human_size(int(value))
    return knobs.declared[name].format(value)


def value_of(name: str, value: Any) -> Any:
    """A value that a knob can take, also as text, and bytes with a unit, as "2MiB"."""
    declared = knobs.declared[name]
    if isinstance(value, str):
        sized = _SIZED.fullmatch(value.strip()) if _in_bytes(name) else None
        if sized:
            value = str(int(sized[1]) << 10 * (1 + "KMGT".index(sized[2].upper())))
        value = declared.parse(value)
    return declared.check(value)


def control(name: str) -> dict[str, Any]:
    """The description of a knob, for a control that tries values."""
    found = describe(knobs.declared[name]) | {"live": True}
    if _in_bytes(name):
        found["type"] = "size"
    ends = (high for ending, high in LARGEST.items() if name.endswith(ending))
    found["high"] = next(ends, found["high"])
    return found
