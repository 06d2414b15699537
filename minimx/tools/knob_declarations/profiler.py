"""Knobs of the profiler."""

from __future__ import annotations

from functools import partial

from minimx.core.knobs.knob import Knob

GROUP = "profiler"

declare = partial(Knob, group=GROUP, scope="live", status="live")

KNOBS = (
    declare(
        name="MXNET_PROFILER_AUTOSTART",
        sources=(
            "env-vars-1.x.md:167",
            "env-vars-2.0.md:262",
        ),
        type="bool",
        default=False,
        meaning=(
            "Profile from the start without a change to the program. The result is "
            "written to profile.json in the working folder at the end."
        ),
        observable="The file profile.json.",
    ),
    declare(
        name="MXNET_PROFILER_MODE",
        sources=(
            "env-vars-1.x.md:171",
            "env-vars-2.0.md:266",
        ),
        type="int",
        default=13,
        low=0,
        high=15,
        defaults_by_document={"1.x": "0", "2.0": "13"},
        meaning=(
            "What an automatically started profiler records, as a sum: 1 for graphs, 2 "
            "for single operators, 4 for calls of the interface, 8 for memory. The "
            "default 13 leaves single operators out. The 1.x page still describes an "
            "older switch with the values 0 and 1; `MINIMX_PROFILER_MODE_OF` chooses."
        ),
        observable="Events per category for 1, 2, 4, 8 and 15.",
    ),
    declare(
        name="MINIMX_PROFILER_MODE_OF",
        type="choice",
        default="2.0",
        choices=("2.0", "1.x"),
        meaning=(
            "Which document says what MXNET_PROFILER_MODE means. In that of 2.0 it is "
            "a sum of bits; in that of 1.x 0 means pieces of graphs and 1 operators of "
            "every kind. MXNet itself follows the former from 1.2 on."
        ),
        observable="Whether mode 1 profiles single operators.",
    ),
)
