"""100,000 random operations over 50 vars: every engine, the same as one by one."""

from __future__ import annotations

import random
from functools import partial

import pytest

from minimx.core import engine
from minimx.core.device import cpu, gpu
from minimx.core.engine import Var
from minimx.core.knobs import knobs

N_VARS, N_OPERATIONS = 50, 100_000
MODULUS = 1_000_003

Operation = tuple[tuple[int, ...], tuple[int, ...]]


def program(seed: int) -> list[Operation]:
    """Up to three reads and one or two writes each."""
    dice = random.Random(seed)
    numbers = range(N_VARS)
    return [
        (
            tuple(dice.sample(numbers, dice.randrange(4))),
            tuple(dice.sample(numbers, dice.choice((1, 1, 1, 2)))),
        )
        for _ in range(N_OPERATIONS)
    ]


def mix(
    values: list[int], number: int, reads: tuple[int, ...], writes: tuple[int, ...]
) -> None:
    """Change the written values so that any change of order would show."""
    seen = number
    for i in reads:
        seen += values[i]
    for i in writes:
        values[i] = (values[i] * 31 + seen) % MODULUS


PROGRAM = program(7)


@pytest.fixture(scope="module")
def expected() -> list[int]:
    """What comes out when one operation follows the other."""
    values = list(range(N_VARS))
    for number, (reads, writes) in enumerate(PROGRAM):
        mix(values, number, reads, writes)
    return values


ENGINES: dict[str, dict[str, object]] = {
    "naive": {"MXNET_ENGINE_TYPE": "NaiveEngine"},
    "pooled": {"MXNET_ENGINE_TYPE": "ThreadedEngine"},
    "per device": {"MXNET_CPU_WORKER_NTHREADS": 2},
    "virtual": {"MINIMX_CLOCK": "virtual", "MXNET_CPU_WORKER_NTHREADS": 2},
}


@pytest.mark.stress
@pytest.mark.parametrize("bulk", [0, 15])
@pytest.mark.parametrize("name", ENGINES)
def test_100_000_random_operations(name: str, bulk: int, expected: list[int]) -> None:
    devices = cpu(), gpu(), cpu(1)
    props = engine.NORMAL, engine.NORMAL, engine.CPU_PRIORITIZED, engine.COPY_TO_GPU
    variables = [Var() for _ in range(N_VARS)]
    values = list(range(N_VARS))
    with knobs(**ENGINES[name]), engine.bulk(bulk):
        push = engine.current.push
        for number, (reads, writes) in enumerate(PROGRAM):
            push(
                partial(mix, values, number, reads, writes),
                devices[number // 20 % 3],
                [variables[i] for i in reads],
                [variables[i] for i in writes],
                "mix",
                priority=0 if bulk else number % 5,
                prop=engine.NORMAL if bulk else props[number % 4],
            )
            if number % 10_000 == 0:
                engine.wait_to_read(variables[0])
        engine.wait_all()
    assert values == expected
    counts = [0] * N_VARS
    for _, writes in PROGRAM:
        for i in writes:
            counts[i] += 1
    assert [var.version for var in variables] == counts
