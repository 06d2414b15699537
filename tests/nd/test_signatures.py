"""Functions written from the rows of a table are as if written by hand."""

from __future__ import annotations

import inspect
import pickle
from pathlib import Path
from typing import Any

import pytest

import minimx
from minimx import nd, np
from minimx.nd.signatures import functions


def body(name: str, *args: Any, **kwargs: Any) -> Any:
    return name, args, kwargs


def test_a_row_hands_its_arguments_on() -> None:
    table = """
    plain(a, b=(1, 2), *, c=None)
        One.

        More.

    named(a, *rest, flag=True, **others) -> int: other.name
        Two.
    """
    made = functions(body, __name__, table, inputs=1, contract="For all.")
    assert made["plain"](1, c=3) == ("plain", (1,), {"b": (1, 2), "c": 3})
    found = made["named"](1, 2, 3, x=4)
    assert found == ("other.name", (1, 2, 3), {"flag": True, "x": 4})
    assert made["plain"].__doc__ == "One.\n\nMore.\n\nFor all."
    expected = "(a, *rest, flag: 'bool' = True, **others) -> 'int'"
    assert str(inspect.signature(made["named"])) == expected


def test_what_is_no_row_is_refused() -> None:
    with pytest.raises(ValueError, match="not a signature"):
        functions(body, __name__, "without(parameters) ends here")


@pytest.mark.parametrize("function", [np.random.uniform, np.sum, nd.random.normal])
def test_they_are_as_if_written_by_hand(function: Any) -> None:
    assert pickle.loads(pickle.dumps(function)) is function
    assert f"def {function.__name__}(" in inspect.getsource(function)
    # The engine tells the user's lines from ours by their files.
    home = Path(minimx.__file__).parent
    assert Path(function.__code__.co_filename).is_relative_to(home)


def test_python_refuses_wrong_arguments() -> None:
    random: Any = np.random
    with pytest.raises(TypeError, match=r"uniform\(\) got an unexpected keyword"):
        random.uniform(lower=0)
    with pytest.raises(TypeError, match=r"weibull\(\) missing 1 required"):
        random.weibull()
