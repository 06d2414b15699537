"""Examples of the simulated machine, in times of the virtual clock."""

from __future__ import annotations

from functools import partial

from minimx.tools.knob_examples import Example
from minimx.tools.knob_examples.needs import SIMULATED

simulated = partial(Example, needs=SIMULATED)

COPY = """\
x = mx.nd.ones((3_000_000,))
with mx.knobs(MINIMX_CLOCK="virtual"), mx.Record() as seen:
    x.as_in_context(mx.gpu()).wait_to_read()
print(*seen.ops()["t_end"] - seen.ops()["t_start"], "ns")"""

EXAMPLES = {
    "MINIMX_SIM_GPUS": simulated(
        acts_in="minimx.core.drivers.num_gpus",
        code="print(mx.num_gpus())",
        expect={"1": "1", "3": "3"},
    ),
    "MINIMX_SIM_GPU_MEMORY": simulated(
        acts_in="minimx.core.drivers.machine.card",
        code='print(mx.gpu_memory_info(0)[1] >> 20, "MiB")',
        expect={"1GiB": "1024 MiB", "64MiB": "64 MiB"},
    ),
    "MINIMX_SIM_GPU_PRESET": simulated(
        acts_in="minimx.core.drivers.machine.card",
        code='print(mx.gpu_memory_info(0)[1] >> 20, "MiB")',
        expect={"V100/16": "1024 MiB", "K80/16": "768 MiB", "M60": "8192 MiB"},
    ),
    "MINIMX_SIM_LINKS": simulated(
        acts_in="minimx.core.drivers.machine.link_between",
        code="""\
with mx.knobs(MINIMX_SIM_GPUS=2, MINIMX_CLOCK="virtual"):
    x = mx.nd.ones((3_000_000,), ctx=mx.gpu(0))
    with mx.Record() as seen: x.as_in_context(mx.gpu(1)).wait_to_read(); del x
print(*seen.ops()["t_end"] - seen.ops()["t_start"], "ns")""",
        expect={
            "pcie": "1005000 ns",
            "mesh": "526739 ns",
            "nvswitch": "91957 ns",
        },
    ),
    "MINIMX_SIM_LAUNCH": simulated(
        acts_in="minimx.core.drivers.machine.card",
        reads="_COSTS",
        code=COPY,
        expect={
            "5": "1005000 ns",
            "20": "1020000 ns",
        },
    ),
    "MINIMX_SIM_DRIVER_CALL": simulated(
        acts_in="minimx.core.drivers.machine.card",
        reads="_COSTS",
        code="""\
mx.storage.empty_cache(mx.gpu())
with mx.knobs(MINIMX_CLOCK="virtual"), mx.Record() as seen:
    mx.nd.ones((1000,), ctx=mx.gpu()).wait_to_read()
    mx.nd.ones((1000,), ctx=mx.gpu()).wait_to_read()
print(*seen.ops()["t_end"] - seen.ops()["t_start"], "ns")""",
        expect={
            "0": "5008 5008 ns",
            "100": "105008 5008 ns",
        },
    ),
    "MINIMX_SIM_HOST_BANDWIDTH": simulated(
        acts_in="minimx.core.drivers.machine.card",
        reads="_COSTS",
        code=COPY,
        expect={
            "12": "1005000 ns",
            "4": "3005000 ns",
        },
    ),
    "MINIMX_SIM_DELAY": simulated(
        acts_in="minimx.core.engine.delay.Delay.__call__",
        reads="factor",
        code="""\
x = mx.nd.ones((100, 100), ctx=mx.gpu())
with mx.Record() as seen: x.as_in_context(mx.cpu()).wait_to_read()
took = seen.ops()["t_end"] - seen.ops()["t_start"]
print("at least 80 ms:", max(took) >= 80e6)""",
        expect={"0": "at least 80 ms: False", "10000": "at least 80 ms: True"},
    ),
}
