"""Knobs that only minimx has."""

from __future__ import annotations

import os
import sys
from functools import partial

from minimx.core.knobs.knob import Knob

GROUP = "minimx"

declare = partial(Knob, group=GROUP, status="live")


def cache_folder() -> str:
    """Where this kind of system keeps what can be made again."""
    if sys.platform == "win32" and "LOCALAPPDATA" in os.environ:
        return os.path.join(os.environ["LOCALAPPDATA"], "minimx", "cache")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "minimx")


KNOBS = (
    declare(
        name="MINIMX_CUDA",
        type="choice",
        default="auto",
        choices=("auto", "off", "required"),
        scope="restart",
        meaning=(
            "Whether gpu(i) is a CUDA device where numba-cuda finds one with that "
            "number. auto: yes, and a simulated GPU elsewhere. off: all GPUs are "
            "simulated. required: an error where there is no CUDA. With "
            "NUMBA_ENABLE_CUDASIM=1 in the environment, numba's CUDA simulator is the "
            "CUDA that is found: CUDA kernels run thread by thread in Python."
        ),
        observable="The driver of gpu(0), and what `minimx doctor` says of it.",
    ),
    declare(
        name="MINIMX_CUDA_VERBOSE",
        type="bool",
        default=True,
        meaning=(
            "Say once for each operator that it has no CUDA kernel for the inputs it "
            "got, so that it runs on the host between two copies."
        ),
        observable="A warning with the operator's name.",
    ),
    declare(
        name="MINIMX_CLOCK",
        type="choice",
        default="wall",
        choices=("wall", "virtual"),
        scope="restart",
        meaning=(
            "Which clock a record shows. The wall clock measures, and differs from "
            "machine to machine. The virtual clock charges every operation what its "
            "cost model says and is the same everywhere, which is what exact "
            "comparisons and stored notebooks need."
        ),
        observable="The times of a record: measured, or equal in every run.",
    ),
    declare(
        name="MINIMX_RECORD_CAPACITY",
        type="int",
        default=200_000,
        low=1,
        high=100_000_000,
        unit="events per table",
        scope="create",
        made="a Record",
        meaning=(
            "How many events of each kind a record keeps. When it is full, the oldest "
            "make room and are counted as dropped. A record that starts after the "
            "change has the new size."
        ),
        observable="Length and dropped count of a record.",
    ),
    declare(
        name="MINIMX_CACHE",
        type="path",
        default=cache_folder(),
        default_words="minimx in the user's cache",
        scope="restart",
        meaning=(
            "The folder for compiled kernels. The first use of a kernel compiles it, "
            "which takes about a second; later programs load it from here. It can be "
            "deleted at any time. On Linux the default is ~/.cache/minimx."
        ),
        observable="Files in the folder after a kernel was compiled.",
    ),
    declare(
        name="MINIMX_PROGRESS",
        type="bool",
        default=True,
        meaning=(
            "Show progress bars where something takes long, such as compiling kernels "
            "for the first time or fetching data. Off for logs and tests."
        ),
        observable="What `minimx compile` prints.",
    ),
)
