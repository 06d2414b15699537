"""The knobs of CUDA devices move what they say they move.

Whether numba's CUDA is the simulator is decided when numba is imported, so what needs
it runs in a process of its own.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from minimx import nd
from minimx.commands.cli import doctor
from minimx.core import drivers
from minimx.core.device import gpu
from minimx.core.errors import DeviceError, KnobError
from minimx.core.knobs import knobs
from minimx.cuda import toolkit
from tests.core.knobs.proofs import defaults, proves, turned

__all__ = ["defaults"]


def simulated(code: str) -> list[str]:
    """What a program prints where numba's simulator is the CUDA there is."""
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
    )
    assert not done.returncode, done.stderr
    return done.stdout.splitlines()


@proves("MINIMX_CUDA")
def test_cuda_can_be_switched_off() -> None:
    lines = simulated(
        "import minimx as mx\n"
        "from minimx.core.drivers import driver_for\n"
        "def look(): print(type(driver_for(mx.gpu(0))).__name__)\n"
        "look()\n"
        "with mx.knobs(MINIMX_CUDA='off'): look()\n"
        "look()\n"
    )
    assert lines == ["PlayedCuda", "SimulatedGPU", "PlayedCuda"]


def test_cuda_that_is_required_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolkit, "look", lambda: toolkit.NOTHING)
    drivers.forget(gpu(0))
    with (
        knobs(MINIMX_CUDA="required"),
        pytest.raises(DeviceError, match="asks for a CUDA device, and there is none"),
    ):
        drivers.driver_for(gpu(0))


@proves("MINIMX_CUDA_VERBOSE")
def test_an_operator_that_visits_the_host_says_so_once() -> None:
    lines = simulated(
        "import warnings, minimx as mx\n"
        "from minimx.cuda import launches\n"
        "def look():\n"
        "    launches._reported.clear()\n"
        "    mx.gpu(0)\n"
        "    with warnings.catch_warnings(record=True) as said:\n"
        "        warnings.simplefilter('always')\n"
        "        for n in (look.n, look.n + 1):\n"
        "            x = mx.nd.ones((n, n), ctx=mx.gpu(0))\n"
        "            mx.nd._npi_eigvals(x).wait_to_read()\n"
        "    look.n += 2\n"
        "    print([str(x.message).split()[0] for x in said])\n"
        "look.n = 1\n"
        "look()\n"
        "with mx.knobs(MINIMX_CUDA_VERBOSE=0): look()\n"
        "look()\n"
    )
    assert lines == ["['_npi_eigvals']", "[]", "['_npi_eigvals']"]


@proves("MXNET_LIBRARY_PATH")
def test_a_file_of_kernels_takes_the_place_of_ours(tmp_path: Path) -> None:
    file = tmp_path / "kernels.py"
    file.write_text(
        "def even(data, scale, log, out):\n"
        "    out[...] = 1 / data.shape[1]\n"
        "KERNELS = {'softmax.softmax': even}\n"
    )

    def look() -> tuple[list[float], str]:
        found = io.StringIO()
        doctor.run(found)
        (line,) = [
            x for x in found.getvalue().splitlines() if x.split()[1] == "kernels"
        ]
        numbers = nd.softmax(nd.array([[0.0, 5.0]])).asnumpy()[0]
        return [round(float(x), 2) for x in numbers], line

    before, during = turned(look, MXNET_LIBRARY_PATH=str(file))
    assert before[0] == [0.01, 0.99] and "minimx/core/kernels/cpu" in before[1]
    assert during[0] == [0.5, 0.5] and f"softmax.softmax from {file}" in during[1]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "no file with an absolute path"),
        ("x = 1", "no attribute 'KERNELS'"),
        ("1 / 0", "ZeroDivisionError"),
        ("KERNELS = {'a.b': 3}", "cannot be called"),
    ],
)
def test_a_file_that_is_no_library_is_refused(
    text: str | None, why: str, tmp_path: Path
) -> None:
    file = tmp_path / "kernels.py"
    if text is not None:
        file.write_text(text)
    with pytest.raises(KnobError, match=why):
        knobs.set(MXNET_LIBRARY_PATH=str(file))
    assert knobs.get("MXNET_LIBRARY_PATH") == ""


@proves("MXNET_CUDA_LIB_CHECKING", "MXNET_CUDNN_LIB_CHECKING")
@pytest.mark.parametrize("library", ["CUDA", "CUDNN"])
def test_an_old_library_is_warned_of(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toolkit, "_has_driver", lambda: True)
    monkeypatch.setattr(toolkit, "cuda_version", lambda: (12, 4))
    monkeypatch.setattr(toolkit, "cudnn_version", lambda: (9, 1))
    monkeypatch.setattr(toolkit, f"{library.lower()}_version", lambda: (7, 5))

    def said() -> list[str]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return toolkit.check_libraries()

    before, during = turned(said, **{f"MXNET_{library}_LIB_CHECKING": 0})
    assert len(before) == 1 and f"the {library} library is 7.5" in before[0]
    assert f"MXNET_{library}_LIB_CHECKING=0" in before[0]
    assert during == []


def test_a_library_newer_than_the_driver_is_warned_of() -> None:
    text = toolkit.version_notice("CUDA", (13, 1), oldest=(12, 0), newest=(12, 4))
    assert "13.1" in text and "Update the driver" in text
    assert toolkit.version_notice("CUDA", (12, 9), oldest=(12, 0), newest=(12, 4)) == ""
