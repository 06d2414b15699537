"""What went wrong on ranks, as one exception."""

from __future__ import annotations

from dataclasses import dataclass

from minimx.core.errors import MXNetError
from minimx.kvstore.dist.order import named


@dataclass(frozen=True)
class Failure:
    """How a run failed on one rank.

    what: a few words, such as "ValueError: no data". trace: the traceback on the rank,
    "" if there is none. follows: it failed because another rank did.
    """

    what: str
    trace: str = ""
    follows: bool = False


class RankError(MXNetError):
    """A run failed: which rank was the cause, and what became of the others.

    rank: the cause, by its number. failures: of each rank that failed, in the order in
    which they were heard of.
    """

    def __init__(self, failures: dict[int, Failure], then: str = "") -> None:
        causes = [rank for rank, one in failures.items() if not one.follows]
        self.rank = (causes or sorted(failures))[0]
        self.failures = failures
        cause = failures[self.rank]
        same: dict[Failure, list[int]] = {cause: []}
        for rank, one in failures.items():
            same.setdefault(one, []).append(rank)
        lines = [_shown(one, who, one is cause) for one, who in same.items()]
        super().__init__("\n".join([*lines, *([then] if then else [])]))


def _shown(one: Failure, ranks: list[int], first: bool = False) -> str:
    """A failure and its ranks; with the traceback, unless another rank was the cause.

    >>> _shown(Failure("JobError: rank 0 died", "Traceback …", follows=True), [1, 2])
    'ranks 1, 2: JobError: rank 0 died'
    """
    text = f"{named(sorted(ranks))}: {one.what}"
    if one.trace and (first or not one.follows):
        return f"{text}\n\n{one.trace.rstrip()}\n"
    return text
