"""What documents claim, and verdicts that are computed: never typed.

Reading order:
    claim        a `Claim`: quotation, place, kind, experiment, and who decides
    page         all of them in a table, on a terminal, in the book
    others       one module for each notebook, named like the notebook's other module

`of("05")` makes the experiments of a notebook; `every()` knows all claims. Those of
notebooks 13, 15 and 16, and of two cases, live beside their experiments.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from minimx_widgets.course.claims.claim import Claim

_HERE, _COURSE = __name__, __name__.rpartition(".")[0]
#: By notebook, named as in its cards, the module with its claims.
MODULES: Mapping[str, str] = {
    "00": f"{_HERE}.knob_board",
    "01": f"{_HERE}.timing",
    "02": f"{_HERE}.depending",
    "03": f"{_HERE}.working",
    "04": f"{_HERE}.taping",
    "05": f"{_HERE}.bulking",
    "06": f"{_HERE}.planning",
    "07": f"{_HERE}.sharing",
    "colours": f"{_HERE}.colouring",
    "08": f"{_HERE}.pooling",
    "09": f"{_HERE}.mirroring",
    "10": f"{_HERE}.fusing",
    "11": f"{_HERE}.rounding",
    "12": f"{_HERE}.batching",
    "13": f"{_COURSE}.data_parallel.claims",
    "14": f"{_HERE}.profiling",
    "15": f"{_COURSE}.cases.filing_claims",
    "16": f"{_COURSE}.own_policies.claims",
    "conv": f"{_HERE}.convolving",
    "every": f"{_COURSE}.cases.trying_claims",
    "rely": f"{_COURSE}.cases.relying_claims",
    "same": f"{_HERE}.same",
}


def in_notebook(notebook: str) -> list[Claim]:
    """The claims of one notebook, in its order; KeyError for one that has none."""
    found = vars(import_module(MODULES[notebook])).values()
    return [one for one in found if isinstance(one, Claim)]


def every() -> list[Claim]:
    """The claims of all notebooks, in their order."""
    return [one for notebook in MODULES for one in in_notebook(notebook)]


def of(notebook: str, **measured: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The rows for `verdicts`: each experiment is made, and its claim decided.

    measured: by name of a claim, numbers that the notebook has already; the experiment
    is not made again. TypeError for a name that is no claim of this notebook.
    """
    claims = in_notebook(notebook)
    if unknown := set(measured) - {one.name for one in claims}:
        names = ", ".join(one.name for one in claims)
        raise TypeError(f"of({notebook!r}): no claim {sorted(unknown)}, but {names}.")
    return [one.row(measured.get(one.name)) for one in claims]
