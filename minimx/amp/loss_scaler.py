"""Dynamic loss scaling: as large as it goes, smaller when a gradient overflows.

Gradients of float16 below 6e-8 are zero. So the loss is multiplied by a scale, which
multiplies all gradients, and the update divides by it again. If a gradient overflows,
the step is skipped and the scale halved; after many good steps it is doubled.

The order of events is MXNet's: a step looks at its gradients first and takes over the
scale that the step before decided, so that a change acts two steps later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any, Final

from minimx import nd
from minimx.core.errors import ArgumentError, did_you_mean
from minimx.operators.arrays.precision import loss_scale

#: So many arrays are looked at by one operation.
AT_ONCE: Final = 200


#: What becomes of a scale and a number of good steps in a row, after another step that
#: overflowed or did not.
Policy = Callable[[float, int, bool], tuple[float, int]]


def doubling(
    scale: float,
    good: int,
    overflow: bool,
    max_scale: float = 2.0**24,
    window: int = 2000,
) -> tuple[float, int]:
    """MXNet's policy: half after an overflow, twice after `window` good steps.

    >>> doubling(65536.0, 17, overflow=True)
    (32768.0, 0)
    >>> doubling(8.0, 1999, overflow=False)
    (16.0, 0)
    """
    if overflow:
        return scale / 2, 0
    if good + 1 == window:
        return min(max_scale, scale * 2), 0
    return scale, good + 1


#: What users have registered: a name for `LossScaler(policy=…)` -> a new policy.
registered: dict[str, Callable[[], Policy]] = {}


def policy_called(name: str) -> Policy:
    """A registered policy. Raises `ArgumentError` for an unregistered name."""
    if name not in registered:
        known = ", ".join(registered) or "none"
        raise ArgumentError(
            f"no loss scaler is called {name!r}; registered are {known}. Register it "
            f"by mx.amp.register_scaler, or give None.{did_you_mean(name, registered)}"
        )
    return registered[name]()


class LossScaler:
    """The scale of the loss, and when it changes.

    loss_scale: what the loss is multiplied by. init_scale, max_scale: where it starts
    and ends. scale_seq_len: after so many good steps in a row it is doubled. policy:
    who decides, in place of `doubling`, or the name that `register_scaler` knows it by
    (ours).

    Examples
    --------
    >>> import minimx as mx
    >>> scaler = mx.amp.LossScaler()
    >>> for overflow in (True, True, False):
    ...     _ = scaler.update(overflow)
    >>> scaler.loss_scale
    16384.0
    """

    def __init__(
        self,
        init_scale: float = 2.0**16,
        max_scale: float = 2.0**24,
        scale_seq_len: int = 2000,
        policy: Policy | str | None = None,
    ) -> None:
        self._loss_scale = float(init_scale)
        self._next_loss_scale = float(init_scale)
        self._max_loss_scale = float(max_scale)
        self._scale_seq_len = scale_seq_len
        usual = partial(doubling, max_scale=float(max_scale), window=scale_seq_len)
        if isinstance(policy, str):
            policy = policy_called(policy)
        self._policy: Policy = policy or usual
        self._unskipped = 0
        self.skipped = 0  # steps, in all
        self._finite: Any = None

    @property
    def loss_scale(self) -> float:
        """What the loss is multiplied by now."""
        return self._loss_scale

    @property
    def next_loss_scale(self) -> float:
        """What it will be multiplied by after the next look at gradients."""
        return self._next_loss_scale

    def update(self, overflow: bool) -> bool:
        """A step saw finite gradients, or an overflow; returns whether to skip it."""
        self._loss_scale = self._next_loss_scale
        self._next_loss_scale, self._unskipped = self._policy(
            self._loss_scale, self._unskipped, overflow
        )
        self.skipped += overflow
        return overflow

    def begin(self) -> float:
        """Put the scale in force for loss outputs; returns it.

        Waits for pushed operations first if loss outputs used another scale.
        """
        if loss_scale.used and loss_scale.now != self._loss_scale:
            nd.waitall()  # those on their way look up the scale that they began with
        loss_scale.now = self._loss_scale
        return self._loss_scale

    def launch_check_overflow(self, params: Iterable[Any]) -> None:
        """Begin to look for overflow in the gradients of parameters.

        As in MXNet those of the first device only: on the others they are the same
        once they were summed.
        """
        self._look(p.list_grad()[0] for p in params if p.grad_req != "null")

    def _look(self, gradients: Iterable[Any]) -> None:
        found = None
        for group in _groups(gradients):
            found = nd.multi_all_finite(
                *group, num_arrays=len(group), init_output=found is None, out=found
            )
        self._finite = found

    def wait_and_update(self) -> bool:
        """Whether gradients overflowed in what `launch_check_overflow` looked at.

        Waits for the result, and calls `update` with it.
        """
        found, self._finite = self._finite, None
        overflow = found is not None and not found.asscalar()
        loss_scale.now = 1.0  # the gradients are here; later losses are not scaled
        return self.update(overflow)

    def has_overflow(self, params: Iterable[Any]) -> bool:
        """Whether a gradient of the parameters is not finite, on the first device.

        params: gluon parameters; those with `grad_req="null"` are left out. Waits for
        the gradients, and calls `update`.
        """
        self.launch_check_overflow(params)
        return self.wait_and_update()

    def overflows(self, gradients: Iterable[Any]) -> bool:
        """`has_overflow` for gradients that are NDArrays of one device."""
        self._look(gradients)
        return self.wait_and_update()

    def __repr__(self) -> str:
        return (
            f"LossScaler({self._loss_scale:g}, next {self._next_loss_scale:g}, "
            f"{self._unskipped:,} of {self._scale_seq_len:,} good steps, "
            f"{self.skipped:,} skipped)"
        )


def _groups(arrays: Iterable[Any]) -> Iterator[list[Any]]:
    """Arrays of one device in groups of `AT_ONCE`."""
    left = iter(arrays)
    while group := list(islice(left, AT_ONCE)):
        yield group
