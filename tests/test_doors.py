"""The names of modules that MXNet's programs import from."""

from __future__ import annotations

import importlib
from importlib.machinery import PathFinder

import pytest

import minimx as mx
from minimx.doors import DOORS, NAMES
from minimx.symbol_op import SymbolOp


@pytest.mark.parametrize("door", DOORS)
def test_a_door_leads_to_its_room(door: str) -> None:
    room = importlib.import_module(f"minimx.{DOORS[door]}")
    assert importlib.import_module(f"minimx.{door}") is room


@pytest.mark.parametrize("door", DOORS)
def test_no_door_hides_a_room(door: str) -> None:
    place, _, name = f"minimx.{door}".rpartition(".")
    room = importlib.import_module(place)
    if f"minimx.{DOORS[door]}" == f"{room.__name__}.{name}":
        return  # behind a door the rooms are the same
    folders = getattr(room, "__path__", None)
    assert folders is None or PathFinder.find_spec(name, folders) is None


def test_what_programs_import_is_what_they_know() -> None:
    space: dict[str, object] = {}
    exec("from minimx.gluon.nn.basic_layers import Dense", space)
    exec("from minimx.ndarray.ndarray import NDArray", space)
    assert space["Dense"] is mx.gluon.nn.Dense
    assert space["NDArray"] is mx.nd.NDArray
    assert vars(mx.optimizer)["optimizer"].SGD is mx.optimizer.SGD


@pytest.mark.parametrize("place", NAMES)
def test_a_name_is_what_its_room_has(place: str) -> None:
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
    assert vars(mx.nd)["CachedOp"] is SymbolOp
