"""What operators say about memory holds: in place, unchanged, and not read at all.

Every pair of an input and an output that a sheet declares is computed in place and
apart, on the rows of tests/core/ops/samples, and compared to the bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minimx.operators  # noqa: F401  (fills the registry)
from minimx.core.errors import OperatorError
from minimx.core.graph.memory.inplace import Pair, ignored, pairs
from minimx.core.ops.registry import REGISTRY, Op, lookup
from tests.core.ops.interpreter import input_names, saved_values, specs_of
from tests.core.ops.sample import Sample
from tests.core.ops.test_every_op import FORWARD, SAMPLES, op_of

Arrays = list[Any]


def computed(op: Op, inputs: Arrays, pair: Pair | None = None) -> Arrays:
    """The outputs; with a pair, that output lies over that input."""
    inputs = [np.array(a, order="C") for a in inputs]
    plan = op.plan(specs_of(inputs))
    outs = [np.zeros(spec.shape, spec.dtype) for spec in plan.outs]
    if pair is not None:
        flat = inputs[pair.input].reshape(-1)
        spec = plan.outs[pair.output]
        outs[pair.output] = flat.view(spec.dtype).reshape(spec.shape)
    extras: Arrays = []
    if plan.workspace:
        extras.append(np.zeros(plan.workspace, np.uint8))
    if plan.needs_rng:
        extras.append(np.random.default_rng(1))
    plan.kernel(*inputs, *outs, *extras)
    return outs


def granted(op: Op, inputs: Arrays) -> list[Pair]:
    """The declared pairs that a planner might grant."""
    plan = op.plan(specs_of(inputs))
    return [
        pair
        for pair in pairs(op, len(inputs))
        if inputs[pair.input].size == plan.outs[pair.output].size
        and inputs[pair.input].itemsize == plan.outs[pair.output].dtype.itemsize
    ]


def compare(op: Op, inputs: Arrays) -> int:
    """Compute every pair in place and apart; how many there were."""
    apart = computed(op, inputs)
    found = granted(op, inputs)
    for pair in found:
        over = computed(op, inputs, pair)
        assert [x.tobytes() for x in over] == [x.tobytes() for x in apart], pair
        given, out = inputs[pair.input], apart[pair.output]
        if pair.unchanged and given.dtype == out.dtype:
            assert given.tobytes() == out.tobytes()
    return len(found)


def declares(op: Op) -> bool:
    return bool(op.inplace or op.unchanged)


IN_PLACE = [
    pytest.param(sample, dtype, id=f"{sample}-{dtype}")
    for sample in SAMPLES
    for dtype in sample.dtypes
    if lookup(sample.op).eager is None and declares(op_of(sample))
]


@pytest.mark.parametrize(("sample", "dtype"), IN_PLACE)
def test_in_place_gives_the_same_bits(sample: Sample, dtype: str) -> None:
    compare(op_of(sample), [np.asarray(a) for a in sample.cast(dtype)])


@pytest.mark.parametrize("name", sorted(FORWARD))
def test_gradients_in_place_give_the_same_bits(name: str) -> None:
    """The backward operator of a row, on what the forward one would hand it."""
    sample = FORWARD[name]
    op = op_of(sample)
    rules: Any = getattr(op, "backward", ())
    (rule,) = {rule for rule in rules if getattr(rule, "name", "") == name}
    inputs = [np.asarray(a) for a in sample.cast(sample.dtypes[0])]
    outs = computed(op, inputs)
    known = dict(zip(op.saves, saved_values(op, inputs, outs), strict=True))
    dout = np.linspace(-1, 1, outs[0].size).reshape(outs[0].shape)
    given = [dout.astype(inputs[0].dtype), *(known[word] for word in rule.takes)]
    compare(rule.of(**op.settings), given)


@pytest.mark.parametrize(
    "name", ["relu", "broadcast_add", "softmax", "_backward_softmax", "where", "add_n"]
)
def test_large_arrays_are_as_safe_as_small_ones(name: str) -> None:
    """Kernels work in blocks and on several threads once there is enough to do."""
    op = (
        lookup(name).of()
        if name != "_backward_softmax"
        else lookup(name).of(axis=0, scale=1.0, log=False)
    )
    rng = np.random.default_rng(0)
    count = 9 if op.variadic else len(op.inputs)
    inputs = [rng.normal(size=(257, 403)).astype(np.float32) for _ in range(count)]
    assert compare(op, inputs)


BLIND = [
    sample
    for sample in SAMPLES
    if lookup(sample.op).eager is None and op_of(sample).ignores
]


@pytest.mark.parametrize("sample", BLIND, ids=str)
def test_an_input_that_is_ignored_is_not_read(sample: Sample) -> None:
    op = op_of(sample)
    inputs = [np.asarray(a) for a in sample.cast(sample.dtypes[0])]
    places = ignored(op, len(inputs))
    assert places
    other = [a + 1 if k in places else a for k, a in enumerate(inputs)]
    for ours, theirs in zip(computed(op, inputs), computed(op, other), strict=True):
        assert ours.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_declarations_name_what_there_is(name: str) -> None:
    sheet = REGISTRY[name]
    for facts in (sheet.inplace, sheet.unchanged):
        for out, words in facts.items() if isinstance(facts, dict) else ():
            names = (words,) if isinstance(words, str) else words
            assert out == "out" or out[3:].isdigit()
            if isinstance(sheet.inputs, tuple):
                assert set(names) <= {*sheet.inputs}


def test_a_declaration_of_what_is_not_there_is_refused() -> None:
    class Wrong(Op):
        name = "wrong"
        inplace = {"out": "weight"}

    class Twisted(Op):
        name = "twisted"
        unchanged = {"result": "data"}

    with pytest.raises(OperatorError, match="'weight'; it has data"):
        pairs(Wrong(), 1)
    with pytest.raises(OperatorError, match="outputs are called out, out1"):
        pairs(Twisted(), 1)


def test_the_sharing_that_memory_plans_live_on() -> None:
    """The families that a planner may count on; MXNet declares them too."""
    for name in ("relu", "tanh", "negative", "_plus_scalar", "clip", "Activation"):
        assert lookup(name).inplace == {"out": "data"}, name
    for name in ("broadcast_add", "elemwise_mul", "_backward_tanh"):
        assert len(lookup(name).inplace["out"]) == 2, name
    for name in ("identity", "BlockGrad", "make_loss", "Flatten", "squeeze"):
        assert lookup(name).of().unchanged == {"out": "data"}, name
    assert lookup("cast").of(dtype="float32").unchanged == {"out": "data"}
    assert lookup("softmax").of().inplace and not lookup("log_softmax").of().inplace
    assert input_names(lookup("add_n").of(), 3) and pairs(lookup("add_n").of(), 3) == (
        Pair(0, 0, False),
    )
