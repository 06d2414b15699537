"""Examples of the profiler's knobs; they leave profile.json in the working folder."""

from __future__ import annotations

from minimx.tools.knob_examples import Example

EXAMPLES = {
    "MXNET_PROFILER_AUTOSTART": Example(
        acts_in="minimx.profiler.session._autostart",
        code="""\
from minimx.profiler.session import profiler
print("the profiler is at", profiler.state)""",
        expect={
            "0": "the profiler is at stop",
            "1": "the profiler is at run",
        },
    ),
    "MXNET_PROFILER_MODE": Example(
        acts_in="minimx.profiler.session._autostart",
        code="""\
from pathlib import Path
from minimx.profiler.check import load_events
with mx.knobs(MXNET_PROFILER_AUTOSTART=1):
    mx.nd.ones((2, 2)).wait_to_read()
print(sorted({e["cat"] for e in load_events(Path("profile.json")) if "cat" in e}))""",
        expect={
            "13": "['Device Storage', 'MXNET_C_API']",
            "2": "['operator']",
            "4": "['MXNET_C_API']",
            "8": "['Device Storage']",
        },
    ),
    "MINIMX_PROFILER_MODE_OF": Example(
        acts_in="minimx.profiler.settings.of_mode",
        code="""\
from pathlib import Path
from minimx.profiler.check import load_events
with mx.knobs(MXNET_PROFILER_AUTOSTART=1, MXNET_PROFILER_MODE=1):
    mx.nd.ones((2, 2)).wait_to_read()
print(sorted({e["cat"] for e in load_events(Path("profile.json")) if "cat" in e}))""",
        expect={
            "2.0": "[]",
            "1.x": "['operator']",
        },
    ),
}
