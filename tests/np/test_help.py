"""Help for NumPy's manners: everything says what it does, and every example runs."""

from __future__ import annotations

import doctest
import importlib
import inspect
from typing import Any

import pytest

import minimx as mx
from minimx.nd.help import examples
from minimx.np.help import EXAMPLES as OF_NP
from minimx.npx.operators import EXAMPLES as OF_NPX

ROOMS = {
    "np": mx.np,
    "np.linalg": mx.np.linalg,
    "np.random": mx.np.random,
    "npx": mx.npx,
    "npx.random": mx.npx.random,
    "npx.image": mx.npx.image,
    "np.ndarray": mx.np.ndarray,
}
#: Those that take any number of arguments, or further words, in NumPy as well.
OPEN = {
    "np.apply_along_axis", "np.broadcast_arrays", "np.genfromtxt", "np.ix_", "np.pad",
    "np.piecewise", "np.ndarray.item", "np.ndarray.reshape", "npx.savez",
}  # fmt: skip


def members(room: Any) -> dict[str, Any]:
    """The public functions of a room, the methods and properties of a class."""
    names = [name for name in dir(room) if not name.startswith("_")]
    found = {name: inspect.getattr_static(room, name, None) for name in names}
    found = {name: value or getattr(room, name) for name, value in found.items()}
    return {
        name: value
        for name, value in found.items()
        if isinstance(value, property) or inspect.isfunction(value)
    }


MEMBERS = {
    f"{place}.{name}": member
    for place, room in ROOMS.items()
    for name, member in members(room).items()
}


@pytest.mark.parametrize("name", MEMBERS)
def test_everything_says_what_it_does_and_shows_it(name: str) -> None:
    text = inspect.getdoc(MEMBERS[name]) or ""
    first, _, example = text.partition(">>> ")
    assert first.strip()
    assert example


@pytest.mark.parametrize("name", sorted(MEMBERS.keys() - OPEN))
def test_every_signature_names_its_parameters(name: str) -> None:
    if not isinstance(MEMBERS[name], property):
        parameters = inspect.signature(MEMBERS[name]).parameters
        assert not {"args", "kwargs", "kw"} & parameters.keys()


@pytest.mark.parametrize("place", [place for place in ROOMS if place != "np.ndarray"])
def test_completion_lists_what_is_public_and_nothing_else(place: str) -> None:
    room = ROOMS[place]
    names = dir(room)
    assert names == sorted(set(names))
    assert all(hasattr(room, name) for name in names)
    assert set(getattr(room, "__all__", ())) <= set(names)
    # Nothing that the module only works with.
    helpers = {
        "Any",
        "annotations",
        "onp",
        "lookup",
        "call",
        "as_ndarray",
        "install_namespace",
    }
    assert not helpers & set(names)


def test_npx_offers_what_mxnet_offers_and_what_users_register() -> None:
    ours = set(dir(mx.npx))
    assert {"fully_connected", "batch_norm", "multibox_prior", "foreach"} <= ours
    assert "FullyConnected" not in ours
    with pytest.raises(AttributeError, match="fully_connected"):
        _ = mx.npx.fully_conected


@pytest.mark.parametrize("file", [OF_NP, OF_NPX], ids=["np", "npx"])
def test_the_examples_show_what_they_say(file: Any) -> None:
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(verbose=False)
    said: list[str] = []
    for name, text in examples(file).items():
        names = {"mx": mx, "np": mx.np, "npx": mx.npx}
        test = parser.get_doctest(text + "\n", names, name, None, None)
        runner.run(test, out=said.append)
    assert runner.tries > len(examples(file))
    assert not said, "".join(said)


@pytest.mark.parametrize("name", ["creation", "multiarray", "calling.promotion"])
def test_examples_that_stand_in_the_code(name: str) -> None:
    module = importlib.import_module(f"minimx.np.{name}")
    known = {"mx": mx, "np": mx.np, "npx": mx.npx}
    result = doctest.testmod(module, extraglobs=known)
    assert result.attempted
    assert not result.failed
