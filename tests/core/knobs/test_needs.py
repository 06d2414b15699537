"""A knob that is set where its library or its device is absent warns once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import warnings
from typing import Any

import pytest

from minimx.core.knobs import Knobs, KnobWarning
from minimx.core.knobs.declarations import DECLARATIONS
from minimx.fast.onednn import library as dnnl
from tests.fast.onednn.test_library import Listed, installed, listed

__all__ = ["installed"]

ONEDNN, CACHE = dnnl.KNOBS[:2]
CHECKS = ("MXNET_CUDA_LIB_CHECKING", "MXNET_CUDNN_LIB_CHECKING")


def absent(name: str, value: Any) -> str:
    return "" if value is False else f"no library ({value})"


def said(**environ: str) -> tuple[Knobs, list[str]]:
    """Fresh knobs whose room came after them, and what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        knobs = Knobs(DECLARATIONS, environ)
        knobs.needs((ONEDNN, CACHE), absent)
    return knobs, [str(one.message) for one in caught]


def test_it_is_said_once_for_each_knob() -> None:
    knobs, early = said()
    assert early == []
    with pytest.warns(KnobWarning) as caught:
        knobs.set(MXNET_ONEDNN_ENABLED=True)  # its default, and yet it was set
        knobs.set(MXNET_ONEDNN_ENABLED=True)
        with knobs(MXNET_ONEDNN_CACHE_NUM=2):
            knobs.MXNET_ONEDNN_CACHE_NUM = 3
    assert [str(one.message) for one in caught] == [
        f"{ONEDNN} is set, but cannot act: no library (True)",
        f"{CACHE} is set, but cannot act: no library (2)",
    ]
    assert {one.filename for one in caught} == {__file__}


def test_a_value_that_is_obeyed_and_a_default_say_nothing() -> None:
    knobs, early = said(MXNET_ONEDNN_ENABLED="0")
    assert early == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        knobs.set(MXNET_ONEDNN_ENABLED=None, MXNET_ONEDNN_CACHE_NUM="")
        knobs.reset()


def test_what_the_environment_said_at_the_start_is_looked_at() -> None:
    _, early = said(MXNET_ONEDNN_CACHE_NUM="7")
    assert early == [f"{CACHE} is set, but cannot act: no library (7)"]


def test_a_reason_that_is_found_later_is_told_then() -> None:
    knobs = Knobs(DECLARATIONS, {})
    reasons: list[str] = []
    look = knobs.needs(CACHE, lambda name, value: "".join(reasons))
    knobs.set(MXNET_ONEDNN_CACHE_NUM=7)
    reasons.append("it is damaged")
    with pytest.warns(KnobWarning, match=f"^{CACHE} is set.*: it is damaged$"):
        look()
    look()  # once


@pytest.fixture
def fresh() -> None:
    """Nothing is known of the library yet; `installed` forgets what was found."""
    dnnl.listed.cache_clear()
    dnnl.loaded.cache_clear()


@pytest.fixture
def looked(
    installed: list[Listed], fresh: None, monkeypatch: pytest.MonkeyPatch
) -> Any:
    """Knobs of their own that ask the true room."""
    knobs = Knobs(DECLARATIONS, {})
    look = knobs.needs(dnnl.KNOBS, dnnl.why_not)
    monkeypatch.setattr(dnnl, "_look_again", look)
    monkeypatch.setattr(dnnl, "_damaged", [])
    yield knobs
    dnnl.listed.cache_clear()
    dnnl.loaded.cache_clear()


def test_without_onednn(looked: Knobs) -> None:
    with pytest.warns(KnobWarning, match="not installed.*pip install 'minimx.onednn.'"):
        looked.set(MXNET_ONEDNN_ENABLED=1)


def test_a_file_that_does_not_load_is_told_of_at_the_first_computation(
    looked: Knobs, installed: list[Listed], tmp_path: Any
) -> None:
    torn = tmp_path / "libdnnl.so"
    torn.write_bytes(b"no library")
    installed.append(listed(torn))
    looked.set(MXNET_ONEDNN_CACHE_NUM=5)  # loads nothing, and so knows nothing
    with pytest.warns(KnobWarning, match=rf"{CACHE} is set.*{torn} does not load: "):
        assert dnnl.loaded() is None
    with pytest.warns(KnobWarning, match=rf"{ONEDNN} is set.*{torn} does not load: "):
        looked.set(MXNET_ONEDNN_ENABLED=1)


PROGRAM = """
import json, warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import minimx as mx
    at_import = len(caught)
    for _ in range(2):
        mx.knobs.set(MXNET_ONEDNN_ENABLED=1, MXNET_ONEDNN_CACHE_NUM=4)
        mx.knobs.set(MXNET_CUDA_LIB_CHECKING=0, MXNET_CUDNN_LIB_CHECKING=0)
        mx.knobs.reset()
from minimx.cuda import toolkit
from minimx.fast.onednn import library as dnnl
mapped = "dnnl" in open("/proc/self/maps").read()
print(json.dumps({
    "said": [str(one.message) for one in caught], "at import": at_import,
    "oneDNN": dnnl.listed(), "mapped": mapped, "CUDA": toolkit._has_driver(),
    "lines": sorted({one.filename for one in caught}),
}))
"""


def run(**environ: str) -> dict[str, Any]:
    """The warnings of a program that turns all four knobs, twice."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environ},
    )
    assert not done.returncode, done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/maps")


@linux
def test_a_program_is_told_of_each_once() -> None:
    found = run()
    absent = [*(() if found["oneDNN"] else (ONEDNN, CACHE))]
    absent += [*(() if found["CUDA"] else CHECKS)]
    assert [text.split()[0] for text in found["said"]] == absent
    assert all("pip install" in text for text in found["said"])
    assert found["at import"] == 0
    assert found["lines"] in ([], ["<string>"])
    assert not found["mapped"]  # neither the import nor a turn loaded the library


@linux
def test_the_environment_is_told_at_the_import() -> None:
    found = run(MXNET_ONEDNN_CACHE_NUM="2", MXNET_CUDNN_LIB_CHECKING="1")
    early = {text.split()[0] for text in found["said"][: found["at import"]]}
    assert (CACHE in early) == (not found["oneDNN"])
    assert (CHECKS[1] in early) == (not found["CUDA"])
    assert not found["mapped"]


@linux
def test_the_simulator_has_no_library_to_check() -> None:
    program = """
    import minimx as mx
    mx.knobs.set(MXNET_CUDA_LIB_CHECKING=1)
    mx.nd.ones(2, ctx=mx.gpu()).wait_to_read()
    mx.nd.ones(2, ctx=mx.gpu()).wait_to_read()
    """
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
    )
    assert not done.returncode, done.stderr
    lines = [line for line in done.stderr.splitlines() if "cannot act" in line]
    assert len(lines) == 1
    assert "MXNET_CUDA_LIB_CHECKING is set" in lines[0]
    assert "numba's simulator stands for CUDA" in lines[0]
