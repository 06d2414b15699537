"""What a notebook of the course is made of, besides prose.

`PredictCard` asks for a number before it shows one. `refused` shows an error that is
wanted. `read_core` shows the source of minimx, `explained` compares sentences, `hints`
unfold one by one, `verdicts` puts documents on trial. A check says what was expected,
what was seen and which idea to look at again.

The probes and checks of each notebook live in a file of its own, named like it.
"""

from minimx_widgets.course.cards import PredictCard
from minimx_widgets.course.checks import Feedback, check
from minimx_widgets.course.text import (
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

__all__ = [
    "Feedback",
    "PredictCard",
    "Shown",
    "check",
    "code",
    "explained",
    "hints",
    "plain_warnings",
    "read_core",
    "refused",
    "table",
    "verdicts",
]
