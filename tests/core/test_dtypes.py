"""Names, codes and NumPy types mean one element type; bfloat16 is one of them."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import nd
from minimx.core import autograd
from minimx.core.dtypes import BFLOAT16_CODE, NAMES, bfloat16, code_of, resolve
from minimx.core.errors import DTypeError


@pytest.mark.parametrize("name", [*NAMES, "bfloat16"])
def test_a_name_a_type_and_a_code_mean_the_same(name: str) -> None:
    dtype = resolve(name)
    assert dtype == resolve(dtype) == resolve(dtype.type) == resolve(code_of(dtype))


@pytest.mark.parametrize("wrong", ["float8", "complex64", 99, object()])
def test_what_is_no_element_type_is_refused(wrong: object) -> None:
    with pytest.raises(DTypeError, match="is not one of minimx's"):
        resolve(wrong)


def test_without_its_package_bfloat16_is_explained(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(DTypeError, match="pip install ml_dtypes"):
        resolve("bfloat16")


def test_bfloat16_has_the_range_of_float32_and_few_digits() -> None:
    x = nd.array([1.001, 1.01, 3e38], dtype="bfloat16")
    assert x.dtype == bfloat16().type == bfloat16() == x.dtype
    np.testing.assert_array_equal(
        x.astype("float32").asnumpy(),
        np.array([1, 1.0078125, 3e38]).astype(bfloat16()).astype(np.float32),
    )


def test_bfloat16_is_also_what_programs_of_mxnet_write_for_it() -> None:
    fields = np.dtype([("bfloat16", np.uint16)])
    assert resolve(fields) == bfloat16()
    x = nd.ones((2,), dtype=fields)
    assert x.dtype == fields and x.dtype == "bfloat16" and x.dtype != np.float32
    assert np.dtype(x.dtype) == bfloat16() == resolve(x.dtype) == x.asnumpy().dtype
    assert x.dtype(1.01) == 1.0078125
    assert {bfloat16().type: "found"}[x.dtype] == "found"
    assert pickle.loads(pickle.dumps(x.dtype)) == fields
    assert (nd.ones((2,), dtype=x.dtype) + x).asnumpy().tolist() == [2, 2]
    with pytest.raises(DTypeError, match="is not one of minimx's"):
        resolve(np.dtype([("other", np.uint16)]))
    half: Any = mx.sym.amp_cast(mx.sym.var("h", dtype=fields), dtype=x.dtype)
    assert half.infer_type()[1] == [fields]


def test_networks_compute_in_bfloat16() -> None:
    rng = np.random.default_rng(0)
    data, weight = rng.normal(size=(4, 6)), rng.normal(size=(3, 6))
    found = {}
    for dtype in ("float32", "bfloat16"):
        x, w = nd.array(data, dtype=dtype), nd.array(weight, dtype=dtype)
        w.attach_grad()
        with autograd.record():
            y = nd.FullyConnected(x, w, num_hidden=3, no_bias=True)
            loss = nd.log_softmax(nd.relu(y) + 1).sum()
        loss.backward()
        assert w.grad.dtype == x.dtype
        found[dtype] = w.grad.astype("float32").asnumpy()
    np.testing.assert_allclose(found["bfloat16"], found["float32"], rtol=0.1, atol=0.1)
    assert not np.array_equal(found["bfloat16"], found["float32"])


def test_bfloat16_goes_to_files_and_back(tmp_path: Path) -> None:
    x = nd.array([[1, 2], [3, 1e30]], dtype="bfloat16")
    nd.save(tmp_path / "x.params", {"x": x})
    loaded: Any = nd.load(tmp_path / "x.params")
    for again in (loaded["x"], pickle.loads(pickle.dumps(x))):
        assert again.dtype == x.dtype
        np.testing.assert_array_equal(again.asnumpy(), x.asnumpy())
    stored = (tmp_path / "x.params").read_bytes()
    assert BFLOAT16_CODE.to_bytes(4, "little") in stored


@pytest.mark.parametrize("room", [mx.nd, mx.np])
def test_whole_numbers_wrap_around_in_a_smaller_type(room: Any) -> None:
    assert room.array([300, -1, 1.5], dtype="uint8").asnumpy().tolist() == [44, 255, 1]
    assert room.array(300, dtype="uint8").asnumpy() == 44
    assert room.array([2**40 + 3], dtype="int32").asnumpy().tolist() == [3]
    assert room.full((2,), 300, dtype="uint8").asnumpy().tolist() == [44, 44]
    with pytest.raises(DTypeError, match="no array of numbers"):
        room.array([2**70], dtype="int32")


def test_a_list_beside_a_small_array_wraps_around() -> None:
    assert (nd.zeros(1, dtype="uint8") + [300]).asnumpy().tolist() == [44]
