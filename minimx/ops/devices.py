"""Operators whose kernels are not the same on every kind of device."""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar, Self


class ByDevice:
    """An operator with a twin that makes its plans for GPUs.

    The twin is for plans only: calls, tapes and graphs keep the operator itself.
    """

    #: For which kind of device it makes plans.
    kind: ClassVar[str] = "cpu"

    def on(self, kind: str) -> Self:
        """What makes the plans for a kind of device; all but "gpu" are as "cpu"."""
        kind = kind if kind == "gpu" else "cpu"
        if kind == self.kind:
            return self
        twin: Any = self.__dict__.get("_twin")
        if twin is None:
            twin = self.__dict__["_twin"] = copy(self)
            twin.__dict__.update(plans={}, kind=kind)
        return twin  # type: ignore[no-any-return]
