"""Sparse arrays are attached by the wing that has them; without it, it is an error."""

from __future__ import annotations

from typing import Any

import pytest

import minimx as mx
from minimx.core.arrays import sparse
from minimx.core.errors import OperatorError


def test_what_was_attached_is_asked_for_other_storage_types() -> None:
    assert mx.nd.zeros((2, 3), stype="csr").stype == "csr"
    x = mx.nd.ones((2, 3))
    x.attach_grad(stype="row_sparse")
    assert x.grad is not None
    assert x.grad.stype == "row_sparse"


def test_without_the_wing_only_dense_arrays_can_be_made(monkeypatch: Any) -> None:
    monkeypatch.setattr(sparse, "_attached", [])
    assert mx.nd.zeros((2, 3)).stype == "default"
    with pytest.raises(OperatorError, match=r"import minimx\.nd\.sparse"):
        mx.nd.zeros((2, 3), stype="csr")
    with pytest.raises(OperatorError, match=r"import minimx\.nd\.sparse"):
        mx.nd.ones((2, 3)).attach_grad(stype="row_sparse")
