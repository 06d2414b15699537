"""Examples of the knobs that only minimx has."""

from __future__ import annotations

from minimx.tools.knob_examples import Example
from minimx.tools.knob_examples.needs import CUDA

EXAMPLES = {
    "MINIMX_CUDA": Example(
        acts_in="minimx.cuda.toolkit.stack",
        needs=CUDA,
        code="""\
from minimx.core.drivers import driver_for
print("gpu(0) is simulated:", "Simulated" in type(driver_for(mx.gpu(0))).__name__)""",
        expect={
            "auto": "gpu(0) is simulated: False",
            "off": "gpu(0) is simulated: True",
        },
    ),
    "MINIMX_CUDA_VERBOSE": Example(
        acts_in="minimx.cuda.launches._report",
        needs=CUDA,
        code="""\
import warnings
size = 2 + mx.knobs.MINIMX_CUDA_VERBOSE  # shapes that no call before had
with warnings.catch_warnings(record=True) as said:
    mx.nd._npi_eigvals(mx.nd.ones((size, size), ctx=mx.gpu(0))).wait_to_read()
print(len(said), "warnings")""",
        expect={"0": "0 warnings", "1": "1 warnings"},
    ),
    "MINIMX_CLOCK": Example(
        acts_in="minimx.core.engine._make",
        reads="clock",
        code="""\
with mx.Record() as seen:
    mx.nd.dot(mx.nd.ones((64, 64)), mx.nd.ones((64, 64))).wait_to_read()
took = (seen.ops()["t_end"] - seen.ops()["t_start"])[-1]
print("11,486 ns to the nanosecond:", took == 11_486)""",
        expect={
            "wall": "11,486 ns to the nanosecond: False",
            "virtual": "11,486 ns to the nanosecond: True",
        },
    ),
    "MINIMX_RECORD_CAPACITY": Example(
        acts_in="minimx.core.record.record.Record.__init__",
        code="""\
seen = mx.Record()
for step in range(10):
    seen.metric(step, "loss", 1.0)
print(len(seen.metrics()), "rows, and", seen.dropped["metrics"], "gone")""",
        expect={
            "10000000": "10 rows, and 0 gone",
            "4": "4 rows, and 6 gone",
        },
    ),
    "MINIMX_CACHE": Example(
        acts_in="minimx.core.kernels.threads.cache_dir",
        code="""\
from minimx.core.kernels import threads
print(threads.cache_dir())""",
        expect={
            "/tmp/kernels-one": "/tmp/kernels-one",
            "/tmp/kernels-two": "/tmp/kernels-two",
        },
    ),
    "MINIMX_PROGRESS": Example(
        acts_in="minimx.tools.progress.Bar.__init__",
        code="""\
import io
from minimx.tools.progress import Bar
out = io.StringIO()
Bar(out).show(3, 10, "files")
print(repr(out.getvalue()))""",
        expect={
            "1": "'3 of 10  files\\n'",
            "0": "''",
        },
    ),
}
