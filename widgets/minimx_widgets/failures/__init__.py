"""The failure lab's cases: what goes wrong in programs, how it shows, what cures it.

Reading order: `causes.py` (what may be wrong, and what one may try), `case.py` (the
case of a number), `program.py` and `jobs/program.py` (the two programs that every case
is a variant of), `trial.py` (who is right), `evidence.py` and `jobs/seen.py` (what
instruments saw), `probes.py` (what they cost, and what may be predicted). The view is
`minimx_widgets.FailureLab`.
"""

from minimx_widgets.failures.case import Case, draw, number_of, series
from minimx_widgets.failures.causes import CAUSES, JOB, REMEDIES, TRAINING, Cause
from minimx_widgets.failures.probes import PROBES
from minimx_widgets.failures.trial import Trial, Verdict, judged, tried, truth

__all__ = [
    "CAUSES",
    "JOB",
    "PROBES",
    "REMEDIES",
    "TRAINING",
    "Case",
    "Cause",
    "Trial",
    "Verdict",
    "draw",
    "judged",
    "number_of",
    "series",
    "tried",
    "truth",
]
