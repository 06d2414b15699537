"""The knobs of sparse arrays move what they say they move."""

from __future__ import annotations

import threading
import warnings

import pytest

from minimx import nd, symbol
from tests.core.knobs.proofs import defaults, proves, turned

__all__ = ["defaults"]


@proves("MXNET_STORAGE_FALLBACK_LOG_VERBOSE")
def test_dense_computations_of_sparse_arrays_are_told_or_not() -> None:
    def observe() -> int:
        told: list[int] = []

        def call() -> None:  # a thread of its own: every one is told once
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                nd.exp(nd.sparse.zeros("csr", (2, 2)))
            told.append(len(seen))

        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
        return told[0]

    assert turned(observe, MXNET_STORAGE_FALLBACK_LOG_VERBOSE=False) == (1, 0)


@proves("MXNET_INFER_STORAGE_TYPE_VERBOSE_LOGGING")
def test_storage_types_of_a_graph_are_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def observe() -> str:
        x = symbol.var("x", stype="csr")
        symbol.dot(x, symbol.var("w"), name="y").simple_bind(x=(2, 3), w=(3, 1))
        return capsys.readouterr().out

    before, during = turned(observe, MXNET_INFER_STORAGE_TYPE_VERBOSE_LOGGING=True)
    assert before == ""
    assert [line.split()[1] for line in during.splitlines()] == [
        "csr", "default", "default",
    ]  # fmt: skip
