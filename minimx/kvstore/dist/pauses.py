"""How the thread of MPI rests while nothing comes: MPI has to be asked again and again.

At first it is asked without a pause, then with short ones; with long ones after `BRISK`
seconds in which nothing was waited for.
"""

from __future__ import annotations

import time
from typing import Final

#: How long MPI is asked without a pause, and the pause afterwards, in seconds; from
#: when on the pause is long, if nothing is waited for.
SPIN: Final = 0.0003
PAUSE: Final = 0.00005
BRISK: Final = 0.02
LONG_PAUSE: Final = 0.001


def rest(waited: float, waiting: bool = True) -> None:
    """Pause, after so many seconds without news; waiting: whether some are wanted."""
    time.sleep(PAUSE if waiting or waited < BRISK else LONG_PAUSE)
