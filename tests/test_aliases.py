"""The names of modules that MXNet's programs import from, and names that we lack."""

from __future__ import annotations

import importlib
import subprocess
import sys
from functools import reduce
from importlib.machinery import PathFinder
from typing import Any

import pytest

import minimx as mx
from minimx.aliases import ALIASES, NAMES, UNSUPPORTED
from minimx.symbol_op import SymbolOp


@pytest.mark.parametrize("alias", ALIASES)
def test_an_alias_leads_to_its_module(alias: str) -> None:
    module = importlib.import_module(f"minimx.{ALIASES[alias]}")
    own_spec = module.__spec__
    assert importlib.import_module(f"minimx.{alias}") is module
    assert module.__spec__ is own_spec
    assert reduce(getattr, alias.split("."), mx) is module


@pytest.mark.parametrize("alias", ALIASES)
def test_no_alias_hides_a_module(alias: str) -> None:
    place, _, name = f"minimx.{alias}".rpartition(".")
    parent = importlib.import_module(place)
    if f"minimx.{ALIASES[alias]}" == f"{parent.__name__}.{name}":
        return  # an alias of the parent: below it the modules are the same
    folders = getattr(parent, "__path__", None)
    assert folders is None or PathFinder.find_spec(name, folders) is None


def test_what_programs_import_is_what_they_know() -> None:
    space: dict[str, object] = {}
    exec("from minimx.gluon.nn.basic_layers import Dense", space)
    exec("from minimx.ndarray.ndarray import NDArray", space)
    assert space["Dense"] is mx.gluon.nn.Dense
    assert space["NDArray"] is mx.nd.NDArray
    optimizers: Any = mx.optimizer
    assert optimizers.optimizer.SGD is mx.optimizer.SGD


@pytest.mark.parametrize("place", NAMES)
def test_a_name_is_what_its_module_has(place: str) -> None:
    home, names = NAMES[place]
    found = importlib.import_module(f"minimx.{place}")
    for name in names.split():
        own = getattr(importlib.import_module(f"minimx.{home}"), name)
        assert getattr(found, name) is own


def test_names_that_programs_import_from_where_mxnet_defines_them() -> None:
    space: dict[str, object] = {}
    exec(
        "from minimx.gluon.data.vision.datasets import ImageFolderDataset\n"
        "from minimx.gluon.rnn.rnn_cell import ResidualCell\n"
        "from minimx.symbol.symbol import Variable\n",
        space,
    )
    assert space["ImageFolderDataset"] is mx.gluon.data.vision.ImageFolderDataset
    assert space["ResidualCell"] is mx.gluon.rnn.ResidualCell
    assert space["Variable"] is mx.sym.Variable
    arrays: Any = mx.nd
    assert arrays.CachedOp is SymbolOp


def test_all_else_is_imported_when_it_is_used() -> None:
    program = """
import sys
import minimx as mx
ours = [name for name in sys.modules if name.split(".")[0] == "minimx"]
assert len(ours) <= 250, len(ours)
late = {"gluon", "np", "npx", "symbol", "graph", "optimizer", "image", "io", "profiler"}
assert not late & {name.split(".")[1] for name in ours if "." in name}
(mx.nd.ones(3) + 1).asnumpy()
net = mx.gluon.nn.Dense(2)
net.initialize()
assert net(mx.nd.ones((1, 3))).shape == (1, 2)
assert mx.numpy.ones(2).sum() == 2 and mx.viz is mx.visualization
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def place(path: str) -> Any:
    return reduce(getattr, path.split(".")[1:], mx)


@pytest.mark.parametrize("path", UNSUPPORTED)
def test_the_table_holds_only_what_is_unsupported(path: str) -> None:
    there = place(path)
    assert [name for name in UNSUPPORTED[path] if hasattr(there, name)] == []


@pytest.mark.parametrize("path", UNSUPPORTED)
def test_what_is_unsupported_says_so(path: str) -> None:
    name, what = next(iter(UNSUPPORTED[path].items()))
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
