"""`%env NAME=value` acts from the next cell."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest
from IPython.testing.globalipapp import start_ipython

from minimx.core.knobs import KnobWarning, ipython, knobs


@pytest.fixture(scope="module")
def shell() -> Iterator[object]:
    yield start_ipython()  # type: ignore[no-untyped-call]


def test_without_ipython_there_is_nothing_to_do() -> None:
    code = (
        "import sys; from minimx.core.knobs.ipython import install; "
        "print(install(), 'IPython' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False False\n"


def test_env_acts_from_the_next_cell(shell: object) -> None:
    assert ipython.install()
    assert ipython.install()
    run = shell.run_cell  # type: ignore[attr-defined]
    with knobs(MINIMX_PROGRESS=True):
        run("%env MINIMX_PROGRESS=0")
        assert knobs.MINIMX_PROGRESS is True
        run("pass")
        assert knobs.MINIMX_PROGRESS is False


def test_a_typing_error_in_env_warns_at_the_next_cell(shell: object) -> None:
    ipython.install()
    run = shell.run_cell  # type: ignore[attr-defined]
    run("%env MINIMX_CLOCK=sundial")
    with pytest.warns(KnobWarning, match="choose wall or virtual"):
        run("pass")
    assert knobs.MINIMX_CLOCK == "wall"
