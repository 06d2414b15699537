"""A process that only serves: it never comes further in the program than the import.

As in MXNet, the program is the same for all processes; DMLC_ROLE says what each is.
"""

from __future__ import annotations

import sys

from minimx.kvstore.dist.job import job
from minimx.kvstore.dist.start import launched


def serve_if_launched() -> None:
    """Serve until all workers have ended, then exit; nothing in other processes.

    The exit code is 0, or 1 if a worker has failed.
    """
    if not launched():
        return
    # This runs while `minimx` is being imported; other threads, which import parts of
    # it when they need them, would wait for the end of that.
    sys.modules["minimx"].__spec__._initializing = False  # type: ignore[union-attr]
    job().serve().serve()
    sys.exit(0)
