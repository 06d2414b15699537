"""A leak check: everything that a piece of program allocated is freed.

    with mx.storage.check_leaks():
        predict(net, images)             # raises MemoryLeak if an array stays behind

What is counted are blocks, not bytes: an array that takes the place of another is found
even if the two are equally large.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import TracebackType

from minimx.core.errors import MemoryLeak
from minimx.core.storage.pool import Block, Pool
from minimx.core.storage.stats import human
from minimx.tools.memory.report import largest_owners, who

OWNERS_SHOWN = 10


class LeakCheck:
    """Compares what is in use at the end of a `with` block with the beginning.

    found: the blocks allocated inside that are still in use; filled at the end.
    """

    def __init__(
        self, pools: Callable[[], Iterable[Pool]], settle: Callable[[], object]
    ) -> None:
        """`settle` lets operations in the background end, and rubbish be collected."""
        self._pools = pools
        self._settle = settle
        self._before: set[int] = set()
        self.found: list[Block] = []

    def __enter__(self) -> LeakCheck:
        self._settle()
        self._before = {block.id for block in self._in_use()}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Raise `MemoryLeak` if something stays behind; not on top of another error."""
        if error is not None:
            return
        self._settle()
        self.found = [block for block in self._in_use() if block.id not in self._before]
        if self.found:
            raise MemoryLeak(str(self))

    def _in_use(self) -> list[Block]:
        return [block for pool in self._pools() for block in pool.in_use()]

    def __str__(self) -> str:
        if not self.found:
            return "Everything that was allocated is freed."
        total = human(sum(block.requested for block in self.found))
        lines = [
            f"{total} in {len(self.found):,} blocks were allocated and are still in "
            "use. Somebody holds arrays from inside: a variable, a list of results, a "
            "recorded computation that a loss still refers to."
        ]
        largest_first = sorted(self.found, key=lambda block: -block.requested)
        for pool in dict.fromkeys(block.pool for block in largest_first):
            blocks = [block for block in self.found if block.pool is pool]
            for owner, nbytes, count in largest_owners(blocks, OWNERS_SHOWN):
                lines.append(f"  {human(nbytes):>9} on {pool.name} {who(owner, count)}")
        return "\n".join(lines)

    __repr__ = __str__
