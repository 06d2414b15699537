"""Random programs give the same bits on every engine and device.

A program is a list of steps over a growing list of 4 × 4 arrays: operators, views,
writes into arrays, waits. Three of the arrays are weights; the program runs under
`record()`, its last array is the loss, and the weights take a step, twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minimx as mx
from minimx import nd
from minimx.core import autograd

SIDE, WEIGHTS = 4, 3
PROGRAMS = 60

#: What a step computes from two arrays; every result is 4 × 4 and of moderate size.
STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda a, b: 0.5 * (a + b),
    "difference": lambda a, b: a - b,
    "product": lambda a, b: nd.tanh(a * b),
    "quotient": lambda a, b: a / (1 + b * b),
    "larger": nd.maximum,
    "matrix product": lambda a, b: nd.dot(a, b) / SIDE,
    "product with transpose": lambda a, b: nd.dot(a, b, transpose_b=True) / SIDE,
    "dense": lambda a, b: nd.FullyConnected(a, b, num_hidden=SIDE, no_bias=True) / SIDE,
    "sigmoid": lambda a, b: nd.sigmoid(a),
    "relu": lambda a, b: nd.relu(a),
    "softmax": lambda a, b: nd.softmax(a, axis=0),
    "normalised": lambda a, b: nd.LayerNorm(a, b[0], b[1]),
    "centred": lambda a, b: a - a.mean(axis=1, keepdims=True),
    "row sums": lambda a, b: nd.broadcast_add(a, b.sum(axis=0, keepdims=True)) / SIDE,
    "largest": lambda a, b: a - b.max(axis=1, keepdims=True),
    "transposed": lambda a, b: a.T,
    "reversed": lambda a, b: nd.flip(a, axis=1),
    "reshaped": lambda a, b: a.reshape((2, 8)).reshape((SIDE, SIDE)),
    "halves": lambda a, b: nd.concat(a[:2], b[2:], dim=0),
    "columns": lambda a, b: nd.concat(a[:, :1], b[:, 1:], dim=1),
    "rows by number": lambda a, b: nd.take(a, nd.array([3, 0, 0, 1], ctx=a.context)),
    "chosen": lambda a, b: nd.where(a > b, a, 0.5 * b),
    "sorted": lambda a, b: nd.sort(a, axis=0),
    "picked": lambda a, b: a + nd.pick(b, nd.argmax(a, axis=1), keepdims=True),
    "conv": lambda a, b: nd.Convolution(
        a.reshape((1, 1, SIDE, SIDE)), b[:3, :3].reshape((1, 1, 3, 3)),
        kernel=(3, 3), pad=(1, 1), num_filter=1, no_bias=True,
    ).reshape((SIDE, SIDE)) / SIDE,
    "detached": lambda a, b: a.detach() + b,
    "squashed": lambda a, b: nd.clip(a, -1, 1),
}  # fmt: skip

#: What a step does to arrays that are no part of the tape.
SIDE_EFFECTS: dict[str, Callable[[Any, Any], Any]] = {
    "wait": lambda scratch, a: a.wait_to_read(),
    "row": lambda scratch, a: scratch.__setitem__(1, a[0]),
    "column": lambda scratch, a: scratch.__setitem__((slice(None), 2), 0.5),
    "add": lambda scratch, a: scratch.__iadd__(a),
    "through a view": lambda scratch, a: scratch[2:].__imul__(0.5),
    "copy": lambda scratch, a: a.copyto(scratch),
}

Step = tuple[str, int, int]


def programs() -> st.SearchStrategy[list[Step]]:
    names = st.sampled_from([*STEPS, *STEPS, *SIDE_EFFECTS])
    number = st.integers(0, 100)
    return st.lists(st.tuples(names, number, number), min_size=3, max_size=25)


def run(program: list[Step], device: Any) -> list[bytes]:
    """The losses, the last scratch array and the weights, as bytes."""
    rng = np.random.default_rng(5)
    weights = [
        nd.array(rng.uniform(-1, 1, (SIDE, SIDE)), ctx=device) for _ in range(WEIGHTS)
    ]
    for weight in weights:
        weight.attach_grad()
    scratch = nd.zeros((SIDE, SIDE), ctx=device)
    shown = []
    for _ in range(2):
        values = list(weights)
        with autograd.record():
            for name, i, j in program:
                a, b = values[i % len(values)], values[j % len(values)]
                if name in STEPS:
                    values.append(STEPS[name](a, b))
                else:
                    with autograd.pause():
                        SIDE_EFFECTS[name](scratch, a.detach())
            loss = sum((value * value).mean() for value in values)
        loss.backward()
        for weight in weights:
            weight -= 0.1 * weight.grad
        shown.append(loss)
    return [array.asnumpy().tobytes() for array in (*shown, scratch, *weights)]


ENGINES: dict[str, dict[str, Any]] = {
    "one by one": {"MXNET_ENGINE_TYPE": "NaiveEngine"},
    "pooled": {"MXNET_ENGINE_TYPE": "ThreadedEngine"},
    "per device": {"MXNET_ENGINE_TYPE": "ThreadedEnginePerDevice"},
    "four workers": {"MXNET_CPU_WORKER_NTHREADS": 4, "MXNET_GPU_WORKER_NTHREADS": 3},
    "no bulks": {"MXNET_EXEC_BULK_EXEC_TRAIN": 0, "MXNET_CPU_WORKER_NTHREADS": 2},
    "virtual clock": {"MINIMX_CLOCK": "virtual"},
}


@settings(max_examples=PROGRAMS)
@given(programs())
def test_a_program_gives_the_same_bits_everywhere(program: list[Step]) -> None:
    with mx.knobs(MXNET_ENGINE_TYPE="NaiveEngine"):
        expected = run(program, mx.cpu())
    for name, knobs in ENGINES.items():
        with mx.knobs(**knobs):
            for device in (mx.cpu(), mx.gpu(0)):
                assert run(program, device) == expected, (name, device)


@pytest.mark.parametrize("name", [*STEPS, *SIDE_EFFECTS])
def test_every_step_is_a_program(name: str) -> None:
    first, second = (
        run([(name, 0, 1), (name, 3, 2)], device) for device in (mx.cpu(), mx.gpu(0))
    )
    assert first == second
