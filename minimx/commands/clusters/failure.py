"""What went wrong on ranks, as one exception."""

from __future__ import annotations

from dataclasses import dataclass

from minimx.core.errors import MXNetError


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
        lines = [_shown(self.rank, failures[self.rank], traced=True)]
        lines += [_shown(r, one) for r, one in failures.items() if r != self.rank]
        super().__init__("\n".join([*lines, *([then] if then else [])]))


def _shown(rank: int, one: Failure, traced: bool = False) -> str:
    """A rank's failure; with the traceback if that says more than the others'.

    >>> _shown(1, Failure("JobError: rank 0 died", "Traceback …", follows=True))
    'rank 1: JobError: rank 0 died'
    """
    text = f"rank {rank}: {one.what}"
    if one.trace and (traced or not one.follows):
        return f"{text}\n\n{one.trace.rstrip()}\n"
    return text
