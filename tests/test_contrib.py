"""`mx.contrib`: the operators of `nd.contrib` and `sym.contrib` under older names."""

from __future__ import annotations

import pytest

import minimx as mx


def test_the_rooms_are_the_same() -> None:
    assert mx.contrib.nd.box_nms is mx.nd.contrib.box_nms
    assert mx.contrib.ndarray is mx.nd.contrib
    assert mx.contrib.symbol is mx.sym.contrib


def test_what_is_not_there_says_so() -> None:
    with pytest.raises(AttributeError, match="not in minimx yet"):
        mx.contrib.text  # type: ignore[attr-defined]  # noqa: B018
