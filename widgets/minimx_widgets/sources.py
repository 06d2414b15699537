"""Where a figure comes from, in one word that is the same in all views.

"measured": read off while it ran. "virtual time": computed from the costs of the
operations, as the clock of the record is virtual. "planned": computed from a graph
before it runs. "modelled": computed by replaying a record under other settings.
"predicted": a figure of a whole run that was replayed under other knobs. The page has
the same words in `static/lib/page/sources.js`.
"""

from __future__ import annotations

MEASURED, VIRTUAL = "measured", "virtual time"
PLANNED, MODELLED = "planned", "modelled"
PREDICTED = "predicted"


def of_clock(clock: str) -> str:
    """What times of a record are, whose clock is "wall" or "virtual".

    >>> of_clock("wall"), of_clock("virtual")
    ('measured', 'virtual time')
    """
    return VIRTUAL if clock == "virtual" else MEASURED
