"""What is not there yet says so, and nothing that is there is called absent."""

from __future__ import annotations

import importlib
from functools import reduce
from typing import Any

import pytest

import minimx as mx
from minimx.absent import LATER


def place(path: str) -> Any:
    if path == "HybridBlock":
        return mx.gluon.nn.Dense(2)
    return reduce(getattr, path.split(".")[1:], mx)


@pytest.mark.parametrize("path", LATER)
def test_the_table_holds_only_what_is_absent(path: str) -> None:
    there = place(path)
    assert [name for name in LATER[path] if hasattr(there, name)] == []


@pytest.mark.parametrize("path", LATER)
def test_what_is_absent_says_so(path: str) -> None:
    name, what = next(iter(LATER[path].items()))
    with pytest.raises(AttributeError, match="is not in minimx yet") as raised:
        getattr(place(path), name)
    assert what in str(raised.value)


@pytest.mark.parametrize(
    ("path", "typo", "meant"),
    [
        ("mx", "gluo", "gluon"),
        ("mx.nd", "relluu", "relu"),
        ("mx.gluon", "trainer_", "Trainer"),
        ("mx.gluon.nn", "Dens", "Dense"),
        ("mx.nd.linalg", "gem2", "gemm2"),
    ],
)
def test_a_typo_gets_a_suggestion(path: str, typo: str, meant: str) -> None:
    with pytest.raises(AttributeError, match=f"Did you mean {meant}"):
        getattr(place(path), typo)


def test_names_are_listed_for_completion() -> None:
    assert {"nd", "gluon", "autograd"} <= set(dir(mx))
    assert {"softmax", "array", "linalg"} <= set(dir(mx.nd))


def test_nd_under_its_other_names() -> None:
    assert importlib.import_module("minimx.ndarray") is mx.nd
    assert mx.ndarray is mx.nd
    assert mx.nd.ndarray.NDArray is mx.nd.NDArray
