"""The compiled call path: the same files, built by Cython, and used where they fit.

`make calls` installs Cython, runs these and other tests on a build.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from minimx.commands.cli import compile as command
from minimx.core.errors import MXNetError
from minimx.core.knobs import knobs
from minimx.fast import compiled
from minimx.fast.compiled import building

pytest.importorskip("Cython", reason="Cython is not installed (make calls)")
pytestmark = pytest.mark.xdist_group("compiled calls")

ROOT = Path(__file__).parents[3]
PROGRAM = Path(__file__).with_name("program.py")
FILES = (
    "import sys, minimx; from minimx.core.arrays import launch;"
    "minimx.nd.ones((3,)).asnumpy(); print(*["
    "sys.modules['minimx.' + name].__file__ for name in sys.argv[1:]])"
)


@pytest.fixture(scope="module", autouse=True)
def build() -> Path:
    """The build for these sources, in the cache of kernels that all tests share."""
    try:
        building._linker()
    except MXNetError as reason:
        pytest.skip(str(reason))
    out = io.StringIO()
    assert command.run(out, cython=True) == 0
    assert "10 modules are ready" in out.getvalue()
    return compiled.fitting()


def run(*words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """A process under these knobs; others about the build are at their defaults."""
    kept = {k: v for k, v in os.environ.items() if "_CYTHON" not in k}
    path = os.pathsep.join(filter(None, [str(ROOT), kept.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, *words],
        env={**kept, "PYTHONPATH": path, **settings},
        capture_output=True,
        text=True,
    )


def files(**settings: str) -> list[str]:
    """The files that the listed modules come from."""
    done = run("-c", FILES, *compiled.MODULES, **settings)
    assert not done.returncode, done.stderr
    return done.stdout.split()


def test_all_modules_come_from_the_build(build: Path) -> None:
    found = files()
    assert len(found) == len(compiled.MODULES)
    assert found == [str(build / compiled.file_of(name)) for name in compiled.MODULES]
    assert all(name.endswith(".so") for name in found)


def test_zero_gives_plain_python() -> None:
    assert all(name.endswith(".py") for name in files(MXNET_ENABLE_CYTHON="0"))
    switched_off = {"MXNET_ENABLE_CYTHON": "0", "MXNET_ENFORCE_CYTHON": "1"}
    assert all(name.endswith(".py") for name in files(**switched_off))


def test_plain_and_compiled_agree_to_the_bit() -> None:
    plain = run(str(PROGRAM), MXNET_ENABLE_CYTHON="0")
    built = run(str(PROGRAM), MXNET_ENFORCE_CYTHON="1")
    assert not plain.returncode, plain.stderr
    assert not built.returncode, built.stderr
    assert len(plain.stdout.splitlines()) > 200
    assert built.stdout.splitlines() == plain.stdout.splitlines()


def test_enforcing_fails_without_a_build_and_passes_with_one(tmp_path: Path) -> None:
    enforced = {"MXNET_ENFORCE_CYTHON": "1"}
    assert files(**enforced) == files()
    done = run("-c", "import minimx", MINIMX_CACHE=str(tmp_path), **enforced)
    assert done.returncode == 1
    assert "ImportError: MXNET_ENFORCE_CYTHON=1" in done.stderr
    assert compiled.COMMAND in done.stderr
    alone = run("-c", "import minimx", MINIMX_CACHE=str(tmp_path))
    assert (alone.returncode, alone.stderr) == (0, "")


def test_a_build_of_other_sources_is_not_used(
    tmp_path: Path, build: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither in a process that starts, nor once a source has changed."""
    (tmp_path / "calls" / "0123456789").mkdir(parents=True)
    settings = {"MINIMX_CACHE": str(tmp_path), "MXNET_ENFORCE_CYTHON": "1"}
    done = run("-c", "import minimx", **settings)
    assert done.returncode == 1
    assert "are of other sources or for another Python" in done.stderr
    assert compiled.why_not() == ""
    changed = tmp_path / "launch.py"
    changed.write_bytes(compiled.sources()[2].read_bytes() + b"\n")
    rest = [path for path in compiled.sources() if path.name != "launch.py"]
    monkeypatch.setattr(compiled, "sources", lambda: [*rest[:2], changed, *rest[2:]])
    assert "of other sources" in compiled.why_not()
    assert compiled.fitting() != build


def test_without_cython_or_a_compiler_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with knobs(MINIMX_CACHE=str(tmp_path)):
        monkeypatch.setenv("PATH", "")
        assert command.run(io.StringIO(), cython=True) == 1
        assert "needs a C compiler" in capsys.readouterr().err
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
        assert command.run(io.StringIO(), cython=True) == 1
        assert "pip install 'minimx[cython]'" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_what_a_compiler_says_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "FLAGS", ("--no-such-flag",))
    monkeypatch.setattr(compiled, "MODULES", ())
    with knobs(MINIMX_CACHE=str(tmp_path)):
        with pytest.raises(MXNetError, match="launchers could not be compiled"):
            list(building.build())
        assert not list((tmp_path / "calls").iterdir())
        assert compiled.why_not()


def test_doctor_says_which_path_is_used(tmp_path: Path) -> None:
    def line(**settings: str) -> str:
        done = run("-m", "minimx", "doctor", **settings)
        (found,) = (x for x in done.stdout.splitlines() if " small calls " in x)
        return found

    assert "compiled by Cython" in line()
    assert "as MXNET_ENABLE_CYTHON=0 asks" in line(MXNET_ENABLE_CYTHON="0")
    assert "no build" in line(MINIMX_CACHE=str(tmp_path))
