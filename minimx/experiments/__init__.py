"""Replay: a recorded run, decided again by the same policies under other settings.

    found = rerun(record, MXNET_ENGINE_TYPE="NaiveEngine")    # predicted
    found.measure(program)                                    # beside a run of it
    align(before, after)                                      # the same operations
    why(before, after)                                        # what made the difference

Public as `mx.replay`; `book/replay.md` says what can be turned and how exact it is.

Reading order: `operations.py` (what a record says of the program), `schedule.py` (when
it would run), `rerun.py` with `groups.py` (which knobs) and `unknown.py`; `memory.py`
(requests in another order), `graphs.py` and `recut.py` (graphs prepared once more),
`machine.py` (other cards). Then `align.py`, `why.py` and `reasons.py`. The pool's own
replay is `minimx/core/replay`.
"""

from minimx.core.replay import History, PoolReplay, Steps, replay_pool
from minimx.experiments.align import Alignment, align
from minimx.experiments.rerun import Measured, Rerun, measured, rerun
from minimx.experiments.why import Cause, Why, why, why_each

__all__ = [
    "Alignment", "Cause", "History", "Measured", "PoolReplay", "Rerun", "Steps", "Why",
    "align", "measured", "replay_pool", "rerun", "why", "why_each",
]  # fmt: skip
