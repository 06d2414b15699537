"""What a notebook of the course is made of, besides prose.

`PredictCard` asks for a number before it shows one, and `my_predictions` looks back at
all of them. `recall` and `exit_ticket` ask what a learner needs again. `refused` shows
an error that is wanted. `read_core` shows the source of minimx,
`explained` compares sentences, `hints` unfold one by one. `verdicts` shows what
became of the sentences of documents, as `claims.of` decides them. A check says what was
expected, what was seen and which idea to look at again.

The probes and checks of each notebook live in a file of its own, named like it; where
they are too many for one file, the checks are in `exercises/`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from minimx_widgets.course.parts.checks import Feedback, check
from minimx_widgets.course.parts.own_kernels import own_kernels
from minimx_widgets.course.parts.text import (
    Shown,
    code,
    explained,
    hints,
    plain_warnings,
    read_core,
    refused,
    table,
    verdicts,
)
from minimx_widgets.course.predicting.card import PredictCard
from minimx_widgets.course.predicting.progress import (
    export_predictions,
    my_predictions,
)
from minimx_widgets.course.recalling.rounds import exit_ticket, recall

if TYPE_CHECKING:
    from minimx_widgets.course.exercises import knob_checks, tape_checks

__all__ = [
    "Feedback",
    "PredictCard",
    "Shown",
    "check",
    "code",
    "exit_ticket",
    "explained",
    "export_predictions",
    "hints",
    "knob_checks",
    "my_predictions",
    "plain_warnings",
    "read_core",
    "recall",
    "refused",
    "table",
    "tape_checks",
    "verdicts",
]

own_kernels()


def __getattr__(name: str) -> object:
    """Checks of exercises, imported by the notebooks that ask for them."""
    if name in ("knob_checks", "tape_checks"):
        return import_module(f"{__name__}.exercises.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
