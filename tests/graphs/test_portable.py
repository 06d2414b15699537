"""Exported graphs hold what MXNet has, or exporting says which line it has not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import gluon, nd
from minimx.core.errors import OperatorError
from minimx.core.ops.registry import lookup
from minimx.graphs.portable import OURS


class Part(gluon.HybridBlock):
    """What a function makes of an array, in the manner of MXNet 2."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


def exported(function: Any, x: Any, folder: Path) -> tuple[list[str], Any, Any]:
    """The operators in the file; what the block gives, and what the file gives."""
    net = Part(function)
    by_hand = net(x)
    net.hybridize()
    assert net(x).asnumpy().tobytes() == by_hand.asnumpy().tobytes()
    graph, values = net.export(str(folder / "net"))
    nodes = json.loads(Path(graph).read_text())["nodes"]
    again = gluon.SymbolBlock.imports(graph, ["data"], values)
    kinds = [node["op"] for node in nodes if node["op"] != "null"]
    return kinds, by_hand.asnumpy(), again(x).asnumpy()


KEYS: list[Any] = [
    np.s_[0], np.s_[-1], np.s_[:, 1], np.s_[1:], np.s_[::-1], np.s_[::2, ::-3],
    np.s_[2:0:-1], np.s_[:, None], np.s_[None, 0, 1, 2], np.s_[0, None, 1, 2, None],
    np.s_[..., -1], np.s_[1, ..., 2:], np.s_[0, 1, 2], np.s_[:, :, :], np.s_[0:1],
    np.s_[2:9, 3],
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize("numpy", [False, True], ids=["nd", "np"])
def test_parts_are_written_in_operators_of_mxnet(
    key: Any, numpy: bool, tmp_path: Path
) -> None:
    with mx.util.np_shape(numpy), mx.util.np_array(numpy):
        room = mx.np if numpy else nd
        x = room.arange(60).reshape((3, 4, 5))
        kinds, wanted, found = exported(lambda x: x[key] * 2, x, tmp_path)
    np.testing.assert_array_equal(wanted, found)
    assert set(kinds) <= {"slice", "squeeze", "expand_dims", "_mul_scalar"}


def test_a_graph_of_parts_is_good_for_batches_of_any_size(tmp_path: Path) -> None:
    net = Part(lambda x: x[:, 0] + x[:, 1:, None].sum(axis=(1, 2)))
    net.hybridize()
    net(nd.ones((3, 4)))
    again = gluon.SymbolBlock.imports(*_with_input(net.export(str(tmp_path / "net"))))
    assert again(nd.ones((7, 4))).asnumpy().tolist() == [4] * 7


def _with_input(files: tuple[str, str]) -> tuple[str, list[str], str]:
    return files[0], ["data"], files[1]


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_an_index_array_becomes_take(axis: int, tmp_path: Path) -> None:
    at = nd.array([-1, 0, 1], dtype="int32")
    key: Any = (*[slice(None)] * axis, at)
    x = nd.arange(24).reshape((2, 3, 4))
    kinds, wanted, found = exported(lambda x: x[key], x, tmp_path)
    assert kinds == ["take"]
    np.testing.assert_array_equal(wanted, found)
    kinds, wanted, found = exported(lambda x: x[..., at], x, tmp_path)
    np.testing.assert_array_equal(wanted, found)


def test_shapes_of_numpy_keep_an_open_length(tmp_path: Path) -> None:
    with mx.util.np_shape(True), mx.util.np_array(True):
        x = mx.np.ones((4, 6))
        kinds, _, _ = exported(lambda x: x.reshape(-1, 3) + 1, x, tmp_path)
        text = (tmp_path / "net-symbol.json").read_text()
    assert kinds == ["_np_reshape", "_plus_scalar"]
    assert '"newshape": "(-1, 3)"' in text


def test_what_mxnet_cannot_say_is_an_error_that_names_the_line(tmp_path: Path) -> None:
    at = nd.array([0, 1], dtype="int32")
    net = Part(lambda x: x[at, at])
    net.hybridize()
    net(nd.ones((3, 4)))
    with pytest.raises(OperatorError, match=r"test_portable\.py:\d+, computes"):
        net.export(str(tmp_path / "net"))
    assert not list(tmp_path.iterdir())


def test_what_is_ours_exists() -> None:
    for name in OURS - {"_constant"}:
        assert lookup(name).name == name
