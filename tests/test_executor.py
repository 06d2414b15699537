"""Executors: their outputs, while the engine is still at work."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import nd
from minimx.ops import softmax


def test_a_copy_of_the_outputs_is_that_of_its_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sheets: Any = softmax
    find = sheets.find

    def slowed(name: str) -> Any:
        kernel = find(name)

        def run(*arrays: Any) -> None:
            time.sleep(0.2)  # the next forward() is asked for meanwhile
            kernel(*arrays)

        return run

    monkeypatch.setattr(softmax, "find", slowed)
    rows = np.array([[0.0, 1.0, 5.0, 2.0, 7.0], [3.0, 1.0, 0.0, 0.0, 9.0]])
    graph = mx.sym.softmax(mx.sym.Variable("data"))
    executor = graph.bind(ctx=mx.cpu(), args={"data": nd.zeros((5,))})
    copies = []
    for row in rows:
        executor.forward(data=nd.array(row))
        copies.append(executor.outputs[0].copy())
    for row, copy in zip(rows, copies, strict=True):
        wanted = np.exp(row) / np.exp(row).sum()
        np.testing.assert_allclose(copy.asnumpy(), wanted, rtol=1e-5)
