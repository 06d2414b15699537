"""All questions that can be asked again, in the order of the course.

of("08")                 # the questions of a notebook: its exit ticket
before("09")             # those of all notebooks before it: its recall
PREFERRED["09"]          # which of them a learner without a ledger is asked
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Final

from minimx_widgets.course.recalling.question import Question

#: Notebooks in the order in which they are read; the cases beside their subjects.
ORDER: Final = (
    *("00", "01", "02", "03", "04", "05", "06", "07", "colours", "08", "09", "10"),
    *("conv", "11", "12", "13", "14", "same", "rely", "every", "15", "16"),
)
#: The files with the questions, in the folder `questions`.
FILES: Final = ("engine", "graphs", "memory", "kernels", "together", "cases")
#: By notebook, the questions of earlier ones that it builds on. Those of 00 are of
#: what one knows before.
PREFERRED: Final[Mapping[str, Sequence[str]]] = {
    "00": ("00/child", "00/copied"),
    "01": ("00/blocks", "00/colleague"),
    "02": ("01/several-workers", "00/blocks"),
    "03": ("02/readers", "01/several-workers"),
    "04": ("01/reading", "03/chain"),
    "05": ("01/small-operations", "00/alive"),
    "06": ("05/pieces", "04/kept-again"),
    "07": ("06/neighbours", "03/chain"),
    "colours": ("07/range", "03/chain"),
    "08": ("07/smallest", "06/neighbours"),
    "09": ("06/neighbours", "04/kept-again"),
    "10": ("05/pieces", "06/alive"),
    "conv": ("08/cutoff-again", "10/loop"),
    "11": ("10/loop", "09/again"),
    "12": ("01/benchmark", "colours/two-causes"),
    "13": ("03/priority", "12/ninety"),
    "14": ("01/benchmark", "05/pieces"),
    "same": ("11/mean", "conv/rounding"),
    "rely": ("01/reading", "12/ninety"),
    "every": ("08/cutoff-again", "05/pieces"),
    "15": ("13/apart", "rely/momentum"),
    "16": ("08/classes", "08/pieces"),
}


@functools.cache
def every() -> Mapping[str, Question]:
    """All questions by name, in the order of the course."""
    found: dict[str, Question] = {}
    for file in FILES:
        module = import_module(f"{__package__}.questions.{file}")
        for each in module.QUESTIONS:
            if each.name in found:
                raise ValueError(f"two questions have the name {each.name!r}")
            found[each.name] = each
    ordered = sorted(found.values(), key=lambda each: ORDER.index(each.notebook))
    return {each.name: each for each in ordered}


def of(notebook: str) -> list[Question]:
    """The questions of a notebook, without those that only its recall asks.

    Raises ValueError where there is no such notebook.
    """
    _known(notebook)
    warm = PREFERRED[notebook]
    mine = [each for each in every().values() if each.notebook == notebook]
    return [each for each in mine if each.name not in warm]


def before(notebook: str) -> list[Question]:
    """The questions of all notebooks before one; of the first one its own beginning.

    Raises ValueError where there is no such notebook.
    """
    _known(notebook)
    earlier = ORDER[: ORDER.index(notebook)]
    if not earlier:
        return [every()[name] for name in PREFERRED[notebook]]
    return [each for each in every().values() if each.notebook in earlier]


def _known(notebook: str) -> None:
    if notebook not in ORDER:
        names = ", ".join(ORDER)
        raise ValueError(f"there is no notebook {notebook!r}; there are {names}.")
