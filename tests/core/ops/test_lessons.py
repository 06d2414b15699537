"""What the data sheets say when a call does not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minimx.core.errors import DTypeError, MXNetError, OperatorError, ShapeError
from minimx.core.ops.registry import lookup
from minimx.core.ops.spec import Spec

FLOAT32, INT32 = np.dtype(np.float32), np.dtype(np.int32)


def infer(op: str, *shapes: tuple[int, ...], **settings: Any) -> Any:
    specs = [Spec.of(shape, FLOAT32) for shape in shapes]
    return lookup(op).of(**settings).infer(*specs)


@pytest.mark.parametrize(
    ("error", "words", "call"),
    [
        (ShapeError, "broadcast_add", ("elemwise_add", (2, 3), (3,))),
        (ShapeError, "neither is 1", ("broadcast_add", (2, 3), (2,))),
        (ShapeError, "nothing to choose from", ("max", (0, 3))),
        (ShapeError, "nothing to choose from", ("argmax", (3, 0))),
        (ShapeError, "axis 1 does not exist", ("sum", (3,), {"axis": 1})),
        (ShapeError, "Use -1 for one axis", ("Reshape", (2, 3), {"shape": (4,)})),
        (ShapeError, "more axes than", ("Reshape", (2,), {"shape": (0, 0)})),
        (ShapeError, "cannot be split", ("Reshape", (6,), {"shape": (-4, 4, 2)})),
        (ShapeError, "cannot be split", ("Reshape", (6,), {"shape": (-4, -3, -2)})),
        (ShapeError, "give one -1", ("Reshape", (6,), {"shape": (-1, -1)})),
        (ShapeError, "longer than 1", ("squeeze", (2, 3), {"axis": 0})),
        (ShapeError, "name each", ("transpose", (2, 3), {"axes": (0, 0)})),
        (ShapeError, "axis 1 only", ("Concat", (2, 3), (3, 3))),
        (ShapeError, "concat", ("stack", (2, 3), (2, 4))),
        (OperatorError, "at least one", ("Concat",)),
        (OperatorError, "at least one", ("add_n",)),
        (ShapeError, "split_v2", ("split", (2, 3), {"num_outputs": 2})),
        (ShapeError, "squeeze_axis", ("split", (2, 4), {"num_outputs": 2,
                                                        "squeeze_axis": True})),
        (ShapeError, "Use tile", ("broadcast_to", (2,), {"shape": (3,)})),
        (ShapeError, "does not lie in", ("Crop", (1, 1, 4, 4), {"h_w": (5, 2)})),
        (ShapeError, "does not lie in", ("Crop", (1, 1, 4, 4))),
        (ShapeError, "does not lie in", ("Crop", (1, 1, 4, 4), (1, 1, 3, 3),
                                         {"offset": (2, 0)})),
        (ShapeError, "a second array of images", ("Crop", (4, 4), {"h_w": (2, 2)})),
        (OperatorError, "fewer than one copy", ("tile", (2,), {"reps": (1, 0)})),
        (OperatorError, "fewer than one copy",
         ("tile", (2,), {"reps": (-3,), "np_shape": True})),
        (ShapeError, "blocks of 0 x 0", ("space_to_depth", (1, 1, 2, 2),
                                         {"block_size": 0})),
        (ShapeError, "blocks of 2 x 2", ("depth_to_space", (1, 4, 0, 3),
                                         {"block_size": 2})),
        (ShapeError, "blocks of 2 x 2", ("depth_to_space", (1, 2, 1, 1),
                                         {"block_size": 2})),
        (OperatorError, "a probability", ("Dropout", (2,), {"p": 1.5})),
        (ShapeError, "one entry for each", ("broadcast_axis", (1,), {"axis": (0,)})),
        (OperatorError, "constant, edge, reflect",
         ("Pad", (2,), {"mode": "wrap", "pad_width": (1, 1)})),
        (ShapeError, "longer than 2", ("Pad", (2,), {"mode": "reflect",
                                                     "pad_width": (2, 0)})),
        (ShapeError, "input_dim=5",
         ("Embedding", (2,), (4, 3), {"input_dim": 5, "output_dim": 3})),
        (OperatorError, "clip, wrap or raise", ("take", (2,), (1,), {"mode": "x"})),
        (ShapeError, "wants an index of shape (2,)", ("pick", (2, 3), (3,))),
        (OperatorError, "indices, value, both", ("topk", (3,), {"ret_typ": "all"})),
        (ShapeError, "k=4 of 3", ("topk", (3,), {"k": 4})),
        (OperatorError, "never arrives", ("_arange", {"start": 3, "step": 0})),
        (ShapeError, "choose 1 or 2", ("norm", (3,), {"ord": 3})),
        (ShapeError, "has no diagonal", ("diag", (2, 2), {"k": 2})),
        (ShapeError, "has no such part", ("_advanced_index", (2,), (3,), (3,),
                                          {"key": ("array", "array")})),
    ],
)  # fmt: skip
def test_the_message_says_what_to_try(
    error: type[MXNetError], words: str, call: tuple[Any, ...]
) -> None:
    op, *rest = call
    settings = rest.pop() if rest and isinstance(rest[-1], dict) else {}
    with pytest.raises(error) as raised:
        infer(op, *rest, **settings)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("words", "op", "settings"),
    [
        ("less than", "_random_randint", {"low": 3, "high": 3}),
        ("more than", "_random_uniform", {"low": 3, "high": 2}),
        ("negative", "_random_normal", {"scale": -1}),
        ("from 0 to 1", "_random_bernoulli", {"prob": 2}),
        ("must be positive", "_random_exponential", {"lam": 0}),
    ],
)
def test_parameters_of_a_distribution_are_refused_when_it_is_drawn_from(
    words: str, op: str, settings: dict[str, Any]
) -> None:
    kernel = lookup(op).of(**settings).kernel()
    with pytest.raises(OperatorError, match=words):
        kernel(np.empty(1), np.random.default_rng())


def test_mixed_element_types_are_refused() -> None:
    specs = Spec.of((2,), FLOAT32), Spec.of((2,), INT32)
    for op in ("broadcast_add", "elemwise_mul", "Concat", "add_n"):
        with pytest.raises(DTypeError, match="float32 and int32.*astype"):
            lookup(op).of().infer(*specs)


def test_an_index_that_does_not_exist_is_named() -> None:
    x, out = np.zeros((3, 2), np.float32), np.zeros((1, 2), np.float32)
    specs = Spec.of((3, 2), FLOAT32), Spec.of((1,), INT32)
    kernel = lookup("take").of(mode="raise").plan(specs).kernel
    with pytest.raises(OperatorError, match="index 3 does not exist.*length 3"):
        kernel(x, np.array([3], np.int32), out)


def test_what_the_moment_decides_is_not_offered_as_a_setting() -> None:
    with pytest.raises(OperatorError, match="it has: axis, keepdims, exclude[.,] "):
        lookup("sum").of(axes=1)
