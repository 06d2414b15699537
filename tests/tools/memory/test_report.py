"""The message when memory runs out: who holds it, and which knob would help."""

from __future__ import annotations

import re

import pytest

from minimx.core.device import gpu
from minimx.core.errors import MXNetError, OutOfMemory
from minimx.core.events import Owner
from minimx.core.storage.policy import Policy, naive, round_power2, unpooled
from minimx.core.storage.pool import Pool
from minimx.tools.memory import report
from minimx.tools.memory.report import largest_owners
from minimx.tools.simulated_gpu import SimulatedGPU

MIB = 1 << 20
CONV = Owner("Convolution", "net.conv1", "forward", "activation")
FC = Owner("FullyConnected", "net.fc", "forward", "activation")


def pool(policy: Policy, mib: int = 100) -> Pool:
    return Pool(SimulatedGPU(gpu(), mib * MIB), policy)


def refusal(pool: Pool, nbytes: int) -> str:
    with pytest.raises(OutOfMemory) as refused:
        pool.alloc(nbytes, FC)
    assert isinstance(refused.value, MXNetError | MemoryError)
    return str(refused.value)


def test_what_was_asked_what_is_true_what_to_try() -> None:
    full = pool(naive())
    full.alloc(88 * MIB, CONV)
    first, *_ = refusal(full, 20 * MIB).splitlines()
    assert first == (
        "gpu(0): FullyConnected in net.fc (activation, forward) asked for 20 MiB; "
        "12 MiB of 100 MiB is free, and live arrays hold 88 MiB. Delete some arrays, "
        "or shrink the batch."
    )


def test_the_largest_owners_stand_first() -> None:
    full = pool(naive())
    for _ in range(3):
        full.alloc(10 * MIB, CONV)
    full.alloc(50 * MIB, FC)
    lines = refusal(full, 40 * MIB).splitlines()
    at = lines.index("It holds: activation 80 MiB. The largest owners:")
    assert lines[at + 1].split(maxsplit=2) == [
        "50",
        "MiB",
        "FullyConnected in net.fc (activation, forward), 1 block",
    ]
    assert lines[at + 2].endswith(
        "Convolution in net.conv1 (activation, forward), 3 blocks"
    )
    assert largest_owners(full.in_use(), 1) == [(FC, 50 * MIB, 1)]


def test_what_only_the_simulation_refuses_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = "Only the simulation refuses this; the host has room for it."
    message = refusal(pool(naive(), 10), 20 * MIB)
    assert said in message
    assert "MINIMX_SIM_GPU_MEMORY makes a larger simulated GPU" in message
    monkeypatch.setattr(report, "available_memory", lambda otherwise: 19 * MIB)
    assert said not in refusal(pool(naive(), 10), 20 * MIB)


@pytest.mark.parametrize(
    ("category", "advice"),
    [
        ("activation", "100% is for activation: .*MXNET_BACKWARD_DO_MIRROR=1"),
        ("optimizer state", "Adam keeps two numbers"),
        ("parameter", "float16"),
        ("gradient", "grad_req='null'"),
        ("workspace", "workspace="),
        ("data", "prefetch="),
        ("temporary", "MINIMX_SIM_GPU_MEMORY"),
    ],
)
def test_the_advice_fits_what_the_memory_is_for(category: str, advice: str) -> None:
    full = pool(naive())
    full.alloc(90 * MIB, CONV.for_category(category))
    assert re.search(advice, refusal(full, 20 * MIB))
    torn = pool(naive())
    for other in ("parameter", "gradient", "data"):
        torn.alloc(30 * MIB, CONV.for_category(other))
    assert "MINIMX_SIM_GPU_MEMORY" in refusal(torn, 20 * MIB)


def test_when_rounding_takes_what_is_missing() -> None:
    coarse = pool(round_power2(), 10)
    coarse.alloc(5 * MIB, CONV)
    message = refusal(coarse, 5 * MIB)
    assert "a block of 8 MiB" in message
    assert "MXNET_GPU_MEM_POOL_TYPE=Naive would waste less" in message
    slabs = pool(naive(), 4)
    slabs.alloc(2 * MIB + 1, CONV)
    assert "MXNET_GPU_MEM_LARGE_ALLOC_ROUND_SIZE=1" in refusal(slabs, MIB)


def test_when_the_free_memory_lies_in_pieces() -> None:
    torn = pool(unpooled(), 8)
    blocks = [torn.alloc(MIB, CONV) for _ in range(8)]
    for block in blocks[::2]:
        block.free()
    message = refusal(torn, 2 * MIB)
    assert "pieces; the largest has 1 MiB." in message
    assert "MXNET_GPU_MEM_POOL_TYPE=Round" in message


def test_a_piece_that_is_hardly_too_small_tells_by_how_much() -> None:
    torn = pool(unpooled(), 8)
    small = torn.alloc(4096, CONV)
    torn.alloc(4 * MIB, CONV)
    small.free()
    message = refusal(torn, 4 * MIB)
    assert "pieces; the largest has 4 MiB less 4 KiB." in message
