"""Every name in MXNet's lists answers with an array of ours, computed by `mx.np`."""

from __future__ import annotations

from typing import Any

import numpy as onp

import minimx as mx
from minimx import numpy_dispatch_protocol as protocol


def found(room: Any, name: str) -> Any:
    for part in name.split("."):
        room = getattr(room, part)
    return room


def test_each_listed_function_is_in_numpy_and_in_ours() -> None:
    names = protocol._NUMPY_ARRAY_FUNCTION_LIST + protocol._NUMPY_ARRAY_UFUNC_LIST
    assert len(names) == len(set(names)) > 150
    for name in names:
        assert callable(found(onp, name)), name
        assert callable(found(mx.np, name)), name


def test_a_listed_function_of_numpy_gives_an_array_of_ours() -> None:
    x = mx.np.array([[1.0, 4.0], [9.0, 16.0]])
    functions = ("cumsum", "sort", "std", "tril", "linalg.inv", "nan_to_num")
    for name in (*functions, "sqrt", "negative", "floor"):
        got = found(onp, name)(x)
        assert isinstance(got, mx.np.ndarray), name
        onp.testing.assert_allclose(got.asnumpy(), found(onp, name)(x.asnumpy()), 1e-5)


@protocol.with_array_function_protocol
@protocol.with_array_ufunc_protocol
def test_guarded_tests_run() -> None:
    assert onp.add(mx.np.ones(2), 1).sum() == 4
