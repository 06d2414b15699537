"""`start.ipynb`: a first experiment to run, and the start page as its stored output.

`minimx lab` writes it anew each time that it starts. The page can be read before any
cell is run; running its cell brings it up to date.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from minimx_widgets.course.parts.text import Shown
from minimx_widgets.course.starting.page import start_page
from minimx_widgets.course.translating.markdown import replaced
from minimx_widgets.language import tr

FIRST_LOOK: Final = """\
# Start here

**First, two minutes of looking.** Eight GPUs train one network, and each computes as
fast as it can. For which share of the time do you think they compute, and for which do
they wait? Press ▶ in the toolbar above twice (or <kbd>Shift</kbd>+<kbd>Enter</kbd>
twice). Each GPU is a row of bars, a *worker*: orange and blue is computing, striped is
waiting. If no picture comes, Python was still starting: click into the grey cell and
press ▶ once more."""
EXPERIMENT: Final = """\
from minimx_widgets import KVStoreView
from minimx_widgets.course.data_parallel.workloads import alexnet

KVStoreView(alexnet(32), store="local", cluster="PCIe box", workers=8)"""
AFTERWARDS: Final = """\
Then choose *ring* in place of *local* in the picture. It is the same network on the
same GPUs, and only the way of the gradients has changed. Notebook 13 explains why.

**Then, the course.** Read the notebooks in their order, a part of one at a time. They
ask for a number before they show it. A wrong number costs nothing, and you learn most
from it. Click a card to open its notebook. To bring this page up to date, click just
below this line and press ▶."""
PAGE: Final = """\
from minimx_widgets.course.starting import start_page

start_page()"""


def start_notebook(folder: Path, course: Path | None = None) -> bytes:
    """The notebook as a file has it. folder, course: as for `start_page`."""
    cells = [
        _markdown("start-look", replaced(FIRST_LOOK, tr)),
        _code("start-experiment", EXPERIMENT),
        _markdown("start-course", replaced(AFTERWARDS, tr)),
        _code("start-page", PAGE, start_page(folder, course)),
    ]
    cells[-1]["metadata"] = {"jupyter": {"source_hidden": True}}
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    book = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": kernel},
        "cells": cells,
    }
    return json.dumps(book, indent=1, ensure_ascii=False).encode() + b"\n"


def _markdown(name: str, text: str) -> dict[str, Any]:
    return {"id": name, "cell_type": "markdown", "metadata": {}, "source": text}


def _code(name: str, text: str, stored: Shown | None = None) -> dict[str, Any]:
    outputs = []
    if stored is not None:
        output = {"output_type": "execute_result", "metadata": {}, "execution_count": 1}
        outputs.append({**output, "data": stored._repr_mimebundle_()})
    return {
        "id": name,
        "cell_type": "code",
        "metadata": {},
        "source": text,
        "execution_count": 1 if outputs else None,
        "outputs": outputs,
    }
