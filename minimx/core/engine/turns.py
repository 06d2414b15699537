"""How often threads take turns with the interpreter while engines have workers.

A thread that wants the interpreter waits as long as the switch interval before it gets
it from one that is busy with it. Two things pull in two directions:

A worker that comes back from a long kernel wants its turn soon. Measured with kernels
of 55 µs, pushed every 29 µs on two cores: of 1000 kernels 4 were done when the last one
was pushed with Python's own 5 ms, 46 with 0.5 ms, 196 with 0.05 ms.

Each change of turns costs, on two cores, some tens of microseconds in which no thread
works. Short operations hold the interpreter anyway, or give it back for less time than
that, so nothing is won by taking turns after every twentieth of them. A training step
of 1400 operations, cells unrolled over 20 words, took 48 ms with turns of 0.1 ms, 42
with 0.5 ms, 37 with 2 ms, 36 with 5 ms, and 31 without threads.
"""

from __future__ import annotations

import sys
from typing import Final

# In seconds: while there are long operations, and while all are short.
OFTEN: Final = 1e-4
RARELY: Final = 2e-3

#: After so many short operations in a row a worker has seen enough.
ENOUGH: Final = 64

# The interval before an engine changed it; None while it is the user's.
_users: float | None = None


def take(seconds: float | None) -> None:
    """Let threads take turns every so many seconds, or as the user has it if shorter.

    None: again as often as the user had it.
    """
    global _users
    if seconds is None:
        if _users is not None:
            sys.setswitchinterval(_users)
            _users = None
        return
    if _users is None:
        _users = sys.getswitchinterval()
    sys.setswitchinterval(min(seconds, _users))
