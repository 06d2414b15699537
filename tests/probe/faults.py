"""What a probe found: where, and what was raised instead of an error of the family."""

from __future__ import annotations

import traceback
from dataclasses import asdict, dataclass
from typing import Any

from minimx.core.errors import MXNetError


@dataclass(frozen=True)
class Fault:
    """what: the case; error: what was raised, or happened; where: the last lines."""

    what: str
    error: str
    where: str = ""

    @classmethod
    def of(cls, what: str, reason: BaseException) -> Fault:
        """From an exception."""
        frames = traceback.extract_tb(reason.__traceback__)[-4:]
        lines = [f"{f.filename.split('/twenty/')[-1]}:{f.lineno}" for f in frames]
        words = f"{type(reason).__name__}: {reason!s:.200}"
        return cls(what, words, " > ".join(lines))

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def ours(reason: BaseException) -> bool:
    """Whether an error is one of those that minimx promises."""
    return isinstance(reason, MXNetError)
