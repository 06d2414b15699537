"""`minimx compile`: compile every kernel now, with a bar that shows how far it is."""

from __future__ import annotations

import shutil
import time
from typing import TextIO


def run(out: TextIO) -> int:
    """Compile, or load from the cache, and say how long it took."""
    from minimx.kernels import warm_up
    from minimx.knobs import knobs

    bar = Bar(out) if knobs.get("MINIMX_PROGRESS") else None
    start, steps = time.perf_counter(), 0
    for done, total, name in warm_up():
        steps = total
        if bar is not None:
            bar.show(done, total, name)
    if bar is not None:
        bar.close()
    seconds = time.perf_counter() - start
    folder = knobs.get("MINIMX_CACHE")
    print(f"{steps} kernels are ready after {seconds:.0f} s, in {folder}.", file=out)
    return 0


class Bar:
    """A progress bar on a terminal; elsewhere a line for every tenth part."""

    def __init__(self, out: TextIO) -> None:
        self.out = out
        self.start = time.perf_counter()
        self.tenth = -1
        self.open = False

    def show(self, done: int, total: int, name: str) -> None:
        """`done` of `total` steps are finished; `name` is the latest."""
        if self.out.isatty():
            self.out.write("\r" + self._line(done, total, name))
            self.out.flush()
            self.open = True
        elif (tenth := 10 * done // max(total, 1)) != self.tenth:
            self.tenth = tenth
            print(f"{done} of {total}  {name}", file=self.out, flush=True)

    def close(self) -> None:
        """Leave the line of the bar."""
        if self.open:
            self.out.write("\n")
            self.open = False

    def _line(self, done: int, total: int, name: str) -> str:
        columns = shutil.get_terminal_size().columns
        elapsed = time.perf_counter() - self.start
        left = f", {elapsed / done * (total - done):.0f} s left" if done else ""
        filled = 24 * done // max(total, 1)
        line = f"[{'#' * filled}{'.' * (24 - filled)}] {done}/{total}{left}  {name}"
        return line[: columns - 1].ljust(columns - 1)
