"""The failure lab's cases: what goes wrong in trainings, how it shows, what cures it.

Reading order: `case.py` (what may be wrong, and what one may try), `program.py` (the
training that every case is a variant of), `trial.py` (who is right), `evidence.py`
(what instruments saw). The view is `minimx_widgets.FailureLab`.
"""

from minimx_widgets.failures.case import CAUSES, REMEDIES, Case, Cause, draw
from minimx_widgets.failures.trial import Trial, Verdict, judged, tried, truth

__all__ = [
    "CAUSES",
    "REMEDIES",
    "Case",
    "Cause",
    "Trial",
    "Verdict",
    "draw",
    "judged",
    "tried",
    "truth",
]
