"""Calls that are built once compute what the kernels compute, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minimx.core.kernels.prebuilt import Prebuilt, calls_of, is_built
from minimx.core.knobs import knobs
from minimx.core.ops.registry import Op, lookup
from minimx.core.ops.spec import Spec


def arrays_for(op: Op, shapes: list[tuple[int, ...]], dtype: str) -> tuple[Any, ...]:
    """A kernel, inputs, and two outputs of other numbers."""
    random = np.random.default_rng(0)
    ins = [random.normal(size=shape).astype(dtype) for shape in shapes]
    plan = op.plan(tuple(Spec.of(shape, np.dtype(dtype)) for shape in shapes))
    outs = [[np.full(s.shape, k, s.dtype) for s in plan.outs] for k in (3, 4)]
    return plan.kernel, ins, *outs


def product(ta: bool = False, tb: bool = False, name: str = "dot") -> Op:
    return lookup(name).of(transpose_a=ta, transpose_b=tb)


CASES: list[tuple[Op, list[tuple[int, ...]]]] = [
    (product(), [(4, 5), (5, 3)]),
    (product(ta=True), [(5, 4), (5, 3)]),
    (product(tb=True), [(4, 5), (3, 5)]),
    (product(ta=True, tb=True), [(5, 40), (3, 5)]),  # two tiles
    (product(), [(2, 3), (3, 70)]),
    (product(), [(16, 64), (64, 256)]),  # many terms, soon added up
    (product(name="batch_dot"), [(3, 4, 5), (3, 5, 6)]),
    (lookup("FullyConnected").of(num_hidden=6), [(5, 9), (6, 9), (6,)]),
    (lookup("FullyConnected").of(num_hidden=6, no_bias=True), [(5, 3, 3), (6, 9)]),
    (lookup("relu").of(), [(4, 5)]),
    (lookup("elemwise_mul").of(), [(4, 5), (4, 5)]),
    (lookup("broadcast_add").of(), [(4, 5), (1,)]),
    (lookup("_plus_scalar").of(scalar=0.1), [(4, 5)]),
    (lookup("_power_scalar").of(scalar=3), [()]),
    (lookup("elemwise_add").of(), [(90, 100), (90, 100)]),  # a longer row
    (lookup("transpose").of(axes=(2, 0, 1)), [(4, 5, 6)]),
    (lookup("transpose").of(axes=(0, 2, 1)), [(5, 3, 40)]),
    (lookup("SliceChannel").of(num_outputs=4), [(5, 8)]),
    (lookup("SliceChannel").of(num_outputs=3, squeeze_axis=True), [(5, 3, 2)]),
    (lookup("_split_v2").of(indices=(0, 1, 4), axis=0), [(6, 2)]),
    (lookup("slice_axis").of(axis=1, begin=1, end=3), [(4, 5, 2)]),
    (lookup("slice").of(begin=(None, 4), end=(2, 0), step=(1, -2)), [(3, 6, 2)]),
    (lookup("slice_like").of(), [(4, 5), (2, 3)]),
    (lookup("_basic_index").of(key=(2, None, (4, -1, -2))), [(3, 6)]),
    (lookup("_basic_index").of(key=(2, 1)), [(3, 6)]),
    (lookup("_backward_basic_index").of(key=((0, 4, 2), 1), shape=(5, 3)), [(2,)]),
    (lookup("Concat").of(dim=1), [(4, 5), (4, 1), (4, 30)]),
    (lookup("Concat").of(dim=0), [(4, 5), (0, 5), (2, 5)]),
    (lookup("stack").of(axis=1), [(4, 5), (4, 5)]),
    (lookup("sum").of(axis=0), [(16, 70)]),
    (lookup("max").of(axis=(0, 1)), [(4, 6, 7)]),
]


@pytest.mark.parametrize(
    ("name", "shapes", "settings"),
    [
        ("Concat", [(4, 5), (4, 1)], {"dim": 1}),
        ("transpose", [(5, 3, 40)], {"axes": (1, 2, 0)}),
        ("_backward_basic_index", [(2,)], {"key": ((0, 4, 2), 1), "shape": (5, 3)}),
    ],
)
@pytest.mark.parametrize("dtype", ["bool", "float16", "int32", "complex128"])
def test_copies_of_any_type(
    name: str, shapes: list[tuple[int, ...]], settings: dict[str, Any], dtype: str
) -> None:
    test_the_same_bits(lookup(name).of(**settings), shapes, dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("op", "shapes"), CASES, ids=lambda x: getattr(x, "name", ""))
def test_the_same_bits(op: Op, shapes: list[tuple[int, ...]], dtype: str) -> None:
    kernel, ins, wanted, found = arrays_for(op, shapes, dtype)
    kernel(*ins, *wanted)
    assert is_built(kernel)
    Prebuilt(calls_of(kernel, [*ins, *found]))()
    for want, have in zip(wanted, found, strict=True):
        assert want.tobytes() == have.tobytes()


@pytest.mark.parametrize(
    ("op", "shapes"),
    [
        (product(), [(400, 500), (500, 300)]),  # for threads
        (product(), [(1, 500), (500, 500)]),  # as few terms, but all must be read
        (product(name="batch_dot"), [(9, 4, 5), (9, 5, 6)]),  # too many
        (product(), [(4, 0), (0, 3)]),  # nothing to multiply
        (lookup("FullyConnected").of(num_hidden=9), [(1000, 2), (9, 2), (9,)]),
        (lookup("broadcast_add").of(), [(4, 5), (5,)]),
        (lookup("sum").of(axis=0), [(100, 2)]),  # many rows
        (lookup("sum").of(axis=1), [(4, 5)]),
        (lookup("mean").of(axis=0), [(4, 5)]),  # a sum, and a division
        (lookup("tile").of(reps=(2,)), [(3,)]),
    ],
)
def test_what_is_more_than_some_short_calls(
    op: Op, shapes: list[tuple[int, ...]]
) -> None:
    assert not is_built(arrays_for(op, shapes, "float32")[0])


def test_a_row_that_threads_share_is_not_one_call() -> None:
    """Alone it is."""
    for size, alone in ((1, False), (10**9, True)):
        with knobs(OMP_NUM_THREADS=2, MXNET_CPU_PARALLEL_SIZE=size):
            kernel, *_ = arrays_for(lookup("relu").of(), [(100, 1000)], "float32")
            assert is_built(kernel) == alone


def test_calls_run_in_their_order() -> None:
    kernel, (x,), (a,), (b,) = arrays_for(lookup("relu").of(), [(3,)], "float32")
    run = Prebuilt([*calls_of(kernel, [x, a]), *calls_of(kernel, [a, b])] * 100)
    x[:] = [1, -1, 2]
    run()
    assert b.tolist() == [1, 0, 2]
    x[:] = [-5, 7, 0]
    run()
    assert b.tolist() == [0, 7, 0]
