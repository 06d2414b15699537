"""Gradients in one or two bits: what MXNet 1.9.1 sends, and what is kept for later."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import nd
from minimx.core.errors import ArgumentError, DTypeError
from minimx.core.knobs import knobs
from minimx.kvstore import packing
from minimx.kvstore.compression import Compression, packed_bytes


@pytest.fixture(autouse=True)
def _machine() -> Iterator[None]:
    with knobs(MINIMX_SIM_GPUS=2):
        yield


GRADIENT = [0.3, 0.6, -0.7, 0.5, -0.5, 0.1]
#: What two devices with this gradient each pull after each push, under MXNet 1.9.1.
PULLED = [
    [0, 1, -1, 1, -1, 0],
    [1, 1, -1, 1, -1, 0],
    [0, 1, -1, 1, -1, 0],
    [1, 1, -1, 1, -1, 0],
]


def test_the_numbers_of_mxnet() -> None:
    kv = mx.kv.create("device")
    kv.set_gradient_compression({"type": "2bit", "threshold": 0.5})
    kv.init("w", nd.zeros(6))
    out = nd.zeros(6)
    for expected in PULLED:
        kv.push("w", [nd.array(GRADIENT, ctx=mx.gpu(i)) for i in range(2)])
        kv.pull("w", out)
        assert out.asnumpy().tolist() == expected


def reference(kind: str, gradient: Any, residual: Any, threshold: float) -> list[float]:
    """What is sent, and the residual changed, number by number."""
    sent = []
    for i, g in enumerate(gradient):
        residual[i] += g
        if kind == "1bit":
            value = 1.0 if residual[i] > threshold else -1.0
        elif residual[i] >= threshold:
            value = threshold
        else:
            value = -threshold if residual[i] <= -threshold else 0.0
        residual[i] -= np.float32(value)
        sent.append(value)
    return sent


@pytest.mark.parametrize("kind", ["2bit", "1bit"])
@pytest.mark.parametrize("n", [1, 15, 16, 33, 5000])
def test_packing_and_unpacking_say_what_is_sent(kind: str, n: int) -> None:
    rng = np.random.default_rng(n)
    compression = Compression({"type": kind, "threshold": 0.25})
    residual = np.zeros(n, np.float32)
    for _ in range(3):
        gradient = rng.normal(0, 0.5, n).astype(np.float32)
        packed = compression.pack("w", 0, nd.array(gradient))
        assert packed.shape == (packed_bytes(kind, n),)
        out = nd.zeros(n)
        compression.unpack(packed, out)
        expected = reference(kind, gradient, residual, 0.25)
        assert out.asnumpy().tolist() == expected


def test_the_layout_of_bits() -> None:
    gradient = np.array([1, -1, 0, 1, -1] + [0] * 11, np.float32)
    packed, rest = np.zeros(4, np.uint8), np.zeros(16, np.float32)
    packing.pack2(gradient, rest, np.float32(0.5), packed)
    assert packed.tolist() == [0b11100011, 0b10000000, 0, 0]
    packed, rest = np.zeros(4, np.uint8), np.zeros(5, np.float32)
    packing.pack1(gradient[:5], rest, np.float32(0.5), packed)
    assert packed.tolist() == [0b10010000, 0, 0, 0]


def test_fewer_bytes_travel() -> None:
    def bytes_of(params: dict[str, Any] | None) -> int:
        kv = mx.kv.create("device")
        if params:
            kv.set_gradient_compression(params)
        kv.init(0, nd.zeros(16_000))
        values = [nd.ones(16_000, ctx=mx.gpu(i)) for i in range(2)]
        nd.waitall()
        with mx.Record() as record:
            kv.push(0, values)
            nd.waitall()
        return int(record.comm()["nbytes"].sum())

    assert bytes_of(None) == 64_000
    assert bytes_of({"type": "2bit"}) == 4_000
    assert bytes_of({"type": "1bit"}) == 2_000


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({"type": "3bit"}, "'2bit' or '1bit', not '3bit'"),
        ({"type": "2bit", "threshold": 0}, "above 0, not 0"),
        ({"type": "2bit", "threshold": "x"}, "not 'x'"),
        ({"type": "2bit", "threshold": float("nan")}, "not nan"),
        ({"type": "2bit", "treshold": 1}, "Did you mean threshold"),
    ],
)
def test_wrong_settings_are_explained(params: dict[str, Any], text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        mx.kv.create("device").set_gradient_compression(params)


def test_what_cannot_be_compressed() -> None:
    with pytest.raises(ArgumentError, match="adds on the host"):
        mx.kv.create("local").set_gradient_compression({"type": "2bit"})
    kv = mx.kv.create("device")
    kv.set_gradient_compression({"type": "2bit"})
    kv.init("h", nd.zeros(2, dtype="float16"))
    half = [nd.ones(2, ctx=mx.gpu(i), dtype="float16") for i in range(2)]
    with pytest.raises(DTypeError, match="'h' is float16"):
        kv.push("h", half)
