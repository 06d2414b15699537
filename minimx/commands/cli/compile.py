"""`minimx compile`: compile every kernel now, with a bar that shows how far it is."""

from __future__ import annotations

import time
from typing import TextIO


def run(out: TextIO) -> int:
    """Compile, or load from the cache, and say how long it took."""
    from minimx.core.kernels import warm_up
    from minimx.core.knobs import knobs
    from minimx.fast import ahead
    from minimx.tools.progress import Bar

    start, steps = time.perf_counter(), 0
    ahead.begin(everything=True)
    with Bar(out) as bar, knobs(MINIMX_PROGRESS=False):
        for done, total, name in warm_up():
            steps = total
            bar.show(done, total, name)
    seconds = time.perf_counter() - start
    folder = knobs.get("MINIMX_CACHE")
    print(f"{steps} kernels are ready after {seconds:.0f} s, in {folder}.", file=out)
    return 0
