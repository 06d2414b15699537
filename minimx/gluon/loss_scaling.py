"""Steps that are skipped because a scaled loss overflowed; see `minimx.amp`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minimx.core import events
from minimx.gluon.parameter import Parameter
from minimx.nd import all_finite


def overflowed(
    scaler: Any,
    parameters: Sequence[Parameter],
    learning: Sequence[Parameter],
    step: int,
) -> bool:
    """Whether a step is to be skipped, for a gradient that overflowed.

    scaler: the loss scaler, which looks at the gradients of `parameters`. learning:
    those of them that learn. step: its number, for the record.
    """
    scale, skipped = scaler.loss_scale, bool(scaler.has_overflow(parameters))
    if events.recorder is not None:
        found = _not_finite(learning) if skipped else []
        # Backward comes from the loss: what is nearest to it overflowed first.
        name, layer = found[-1] if found else ("", "")
        events.recorder.scaling(step, scale, skipped, name, layer, len(found))
    return skipped


def _not_finite(parameters: Sequence[Parameter]) -> list[tuple[str, str]]:
    """Name and layer of the parameters whose gradient holds infinity or NaN."""
    return [
        (parameter.name, parameter.layer)
        for parameter in parameters
        if not all_finite(parameter.list_grad()[0]).asscalar()
    ]
