"""`Block.save` and `load`: names of parts and values, whatever else was made before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import nd
from minimx.core.errors import DataError, ParameterError
from minimx.gluon import nn

X = np.random.RandomState(0).randn(2, 5).astype("float32")


class Chain(nn.Block):
    """Its parts are placed under names that depend on what was made before."""

    def add(self, *blocks: Any) -> Chain:
        for block in blocks:
            self.register_child(block, block.name + str(len(self._children)))
        return self

    def forward(self, x: Any) -> Any:
        for block in self._children.values():
            x = block(x)
        return x


def made() -> Chain:
    return Chain().add(Chain().add(nn.Dense(4), nn.BatchNorm()), nn.Dense(3))


def test_a_block_made_later_takes_over_names_and_values(tmp_path: Path) -> None:
    first = made()
    first.initialize()
    first.hybridize()
    wanted = first(nd.array(X)).asnumpy()
    first.save(str(tmp_path / "kept"))
    again = made()
    with pytest.raises(ParameterError):
        again.load_parameters(tmp_path / "kept-model.params")
    again.load(str(tmp_path / "kept"))
    np.testing.assert_allclose(again(nd.array(X)).asnumpy(), wanted, rtol=1e-6)
    assert again._children.keys() == first._children.keys()
    dense: Any = list(again._children.values())[1]
    assert dense._active


def test_another_block_is_told_which_part_differs(tmp_path: Path) -> None:
    first = made()
    first.initialize()
    first(nd.array(X))
    first.save(str(tmp_path / "kept"))
    other = Chain().add(Chain().add(nn.Dense(4), nn.Dropout(0.5)), nn.Dense(3))
    with pytest.raises(DataError, match=r"part 3 is a Dropout.*batchnorm3"):
        other.load(str(tmp_path / "kept"))
    with pytest.raises(DataError, match="parts"):
        inner = Chain().add(nn.Dense(4), nn.BatchNorm())
        Chain().add(inner).load(str(tmp_path / "kept"))
    with pytest.raises(DataError, match="absent-model.json"):
        other.load(str(tmp_path / "absent"))


def test_types_of_parameters_follow_the_inputs() -> None:
    net = nn.Dense(3, in_units=5)
    net.infer_type(nd.array(X))
    assert net.weight.dtype == np.float32
    net.cast("float16")
    net.infer_type(nd.array(X, dtype="float16"))
    assert net.weight.dtype == np.float16


def test_the_mark_of_an_optimizer_made_under_np() -> None:
    assert mx.optimizer.SGD().allow_np_array is False
    with mx.util.np_array(True):
        assert mx.optimizer.SGD().allow_np_array is True
