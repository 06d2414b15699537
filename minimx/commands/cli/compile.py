"""`minimx compile`: compile every kernel now, with a bar that shows how far it is.

`minimx compile --cython` builds the compiled call path (fast/compiled) instead.
"""

from __future__ import annotations

import sys
import time
from typing import TextIO


def run(out: TextIO, cython: bool = False) -> int:
    """Compile, or load from the cache, and say how long it took.

    Returns 1 for a build by Cython that is impossible; standard error says why.
    """
    from minimx.core.errors import MXNetError
    from minimx.core.kernels import warm_up
    from minimx.core.knobs import knobs
    from minimx.fast import ahead
    from minimx.fast.compiled.building import build
    from minimx.tools.progress import Bar

    start, steps = time.perf_counter(), 0
    what = "modules" if cython else "kernels"
    if not cython:
        ahead.begin(everything=True)
    try:
        with Bar(out) as bar, knobs(MINIMX_PROGRESS=False):
            for done, total, name in build() if cython else warm_up():
                steps = total
                bar.show(done, total, name)
    except MXNetError as reason:
        print(reason, file=sys.stderr)
        return 1
    seconds = time.perf_counter() - start
    folder = knobs.get("MINIMX_CACHE")
    print(f"{steps} {what} are ready after {seconds:.0f} s, in {folder}.", file=out)
    return 0
