"""The last state of a lab, kept in a file, for when its kernel ends.

The file is that of `save_run`, with the newest rows of the record. It lies in the
folder of MINIMX_CACHE and not in the browser: a browser keeps no record of some
megabytes, and a lab may train without a page. It is not in the learner's folder, which
stays as it was. A notebook has one file for each title of a lab; what was not written
for a month goes.

Writing takes a moment of the interpreter, so it is done in a thread of its own, seldom,
and never for longer than a small share of the time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path

from minimx.core.errors import DataError
from minimx.core.kernels import threads
from minimx_widgets import kernel
from minimx_widgets.inbox import Inbox, Message
from minimx_widgets.saving.run_file import SavedRun, open_run

#: Seconds between two writings, at least; and so many times as long as one takes.
EVERY, SHARE = 10.0, 30.0
#: The newest rows of each table that are kept.
ROWS = 20_000
#: Seconds after which a file that was not written again is removed.
MONTH = 30 * 86_400.0
_FOLDER = "last runs"

#: Files that this process has written: they hold what it knows itself.
_mine: set[Path] = set()


class LastRun:
    """The file of one lab. `write` is called with its path, in a thread of this one.

    title: of the lab as it was made, which tells the labs of a notebook apart.
    """

    def __init__(self, title: str, write: Callable[[Path], None]) -> None:
        self.path = _path_of(title)
        self._write = write
        self._next = 0.0
        self._inbox = Inbox(self._do, name="minimx last run", overtake=True)

    @property
    def found(self) -> SavedRun | None:
        """What an earlier kernel has left; None if there is nothing."""
        if self.path is None or self.path in _mine or not self.path.exists():
            return None
        try:
            return open_run(self.path)
        except DataError:  # written by a minimx of another version, or half a disk ago
            return None

    @property
    def age(self) -> float:
        """Seconds since the file was written."""
        return 0.0 if self.path is None else time.time() - self.path.stat().st_mtime

    def keep(self, *, now: bool = False) -> None:
        """Something may be new; it is written if that is due, or `now`. Never waits."""
        if self.path is not None and (now or time.monotonic() >= self._next):
            self._next = time.monotonic() + EVERY
            self._inbox.put({"kind": "set", "name": "keep"})

    def close(self) -> None:
        """Write no more."""
        self._inbox.close()

    def _do(self, _message: Message) -> None:
        if self.path is None:
            return
        began = time.monotonic()
        with contextlib.suppress(DataError, OSError):  # a full disk must not stop it
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._write(self.path)
            _mine.add(self.path)
            _remove_old(self.path.parent)
        took = time.monotonic() - began
        self._next = time.monotonic() + max(EVERY, SHARE * took)


def _path_of(title: str) -> Path | None:
    """The file for a lab of this notebook; None outside of a notebook's kernel."""
    if not kernel.in_kernel():
        return None
    where = os.environ.get("JPY_SESSION_NAME") or os.getcwd()
    name = hashlib.sha256(f"{where}\0{title}".encode()).hexdigest()[:20]
    return threads.cache_dir() / _FOLDER / f"{name}.npz"


def _remove_old(folder: Path) -> None:
    oldest = time.time() - MONTH
    for one in folder.glob("*.npz"):
        if one.stat().st_mtime < oldest:
            one.unlink()
