"""The contenders: a library, in an interpreter of its own, with its settings.

MXNet and PyTorch want other versions of NumPy than we do, so each lives in a virtual
environment: `<peers>/mxnet` and `<peers>/torch`. An environment that is there already,
from elsewhere, serves as well; the others are made by

    python -m tests.benchmarks.peers <peers> mxnet torch
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from minimx.fast.compiled import why_not
from minimx.fast.onednn.library import listed
from tests.benchmarks.cases import GROUPS, Case


@dataclass(frozen=True)
class Peer:
    """One competitor."""

    name: str
    #: The library's import name, and the file in `programs/` that uses it.
    library: str
    program: str
    #: An expression, after the import, that computes and fetches a first result.
    first: str
    settings: Mapping[str, str] = field(default_factory=dict)
    #: The groups of cases that it takes part in.
    groups: frozenset[str] = frozenset(GROUPS)

    def python(self, peers: Path) -> Path:
        """The interpreter that has the library; it may not exist."""
        if self.library in ("minimx", "numpy"):
            return Path(sys.executable)
        return peers / self.library / "bin" / "python"

    def environment(self) -> dict[str, str]:
        """The variables it runs under: the user's without any MXNet knob.

        Compiled bytecode may be kept, as where programs are installed.
        """
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("MXNET_", "MINIMX_", "PYTHONDONTWRITEBYTECODE"))
            or name == "MINIMX_CACHE"
        }
        return kept | dict(self.settings)


NAIVE = {"MXNET_ENGINE_TYPE": "NaiveEngine"}
PER_DEVICE = {"MXNET_ENGINE_TYPE": "ThreadedEnginePerDevice"}
#: What minimx has without its extras, wherever they are installed: numba, BLAS.
PLAIN = {"MXNET_ONEDNN_ENABLED": "0", "MXNET_ENABLE_CYTHON": "0"}
WITH_ONEDNN = PLAIN | {"MXNET_ONEDNN_ENABLED": "1"}
COMPILED = PLAIN | {"MXNET_ENABLE_CYTHON": "1", "MXNET_ENFORCE_CYTHON": "1"}
#: Where the engine decides: large networks and starts are measured under the default.
SHORT = frozenset(GROUPS) - {"start", "resnet", "memory", "networks"}
#: Where oneDNN decides.
LARGE = frozenset({"training", "resnet", "memory", "networks"})
#: Where the call path decides.
SMALL = frozenset({"calls"})
_MX = "(library.nd.ones(4) + 1).asnumpy()"
_TORCH = "(library.ones(4) + 1).numpy()"

PEERS = (
    Peer("minimx naive", "minimx", "mxnet_api", _MX, NAIVE | PLAIN, SHORT),
    Peer("minimx", "minimx", "mxnet_api", _MX, PER_DEVICE | PLAIN),
    Peer("minimx onednn", "minimx", "mxnet_api", _MX, PER_DEVICE | WITH_ONEDNN, LARGE),
    Peer("minimx compiled naive", "minimx", "mxnet_api", _MX, NAIVE | COMPILED, SMALL),
    Peer("minimx compiled", "minimx", "mxnet_api", _MX, PER_DEVICE | COMPILED, SMALL),
    Peer("mxnet naive", "mxnet", "mxnet_api", _MX, NAIVE, SHORT),
    Peer("mxnet", "mxnet", "mxnet_api", _MX, PER_DEVICE),
    Peer("torch", "torch", "torch_api", _TORCH),
    Peer("numpy", "numpy", "numpy_api", "library.ones(4) + 1"),
    Peer(
        "onednn alone",
        "minimx",
        "onednn_api",
        "",
        PER_DEVICE | WITH_ONEDNN,
        frozenset({"resnet"}),
    ),
)


def takes_part(peer: Peer, case: Case) -> bool:
    """Whether a contender has a case, as far as its library and its groups tell."""
    return case.library in ("", peer.library) and case.group in peer.groups


def present(wanted: Iterable[str], folder: Path, onednn: Path) -> list[Peer]:
    """The contenders that are wanted and installed; says which are left out.

    folder: where the other libraries' environments are. onednn: a prefix into which
    oneDNN was installed, for contenders that need it; not needed where the interpreter
    that runs this has it.
    """
    found = []
    for peer in PEERS:
        if peer.name not in wanted:
            continue
        if not peer.python(folder).exists():
            print(f"{peer.name} is left out: no {peer.library} in {folder.name}/")
        elif "compiled" in peer.name and (why := why_not()):
            print(f"{peer.name} is left out: {why}")
        elif "onednn" not in peer.name or listed():
            found.append(peer)
        elif paths := sorted(onednn.glob("lib*/python*/site-packages")):
            known = filter(None, [str(paths[-1]), os.environ.get("PYTHONPATH")])
            settings = {**peer.settings, "PYTHONPATH": os.pathsep.join(known)}
            found.append(replace(peer, settings=settings))
        else:
            print(f"{peer.name} is left out: no oneDNN in {onednn.name}/")
    return found


def versions(peers: Iterable[Peer], folder: Path) -> dict[str, str]:
    """The versions of the libraries that take part, by name."""
    pythons = {peer.library: peer.python(folder) for peer in peers}
    ask = "import sys; from importlib.metadata import version; "
    ask += "print(version(sys.argv[1]))"
    return {
        library: subprocess.run(
            [python, "-c", ask, library], capture_output=True, text=True, check=True
        ).stdout.strip()
        for library, python in pythons.items()
        if library != "minimx"
    }


#: The last NumPy that MXNet 1.9.1 works with has wheels up to Python 3.11.
REQUIREMENTS = {"mxnet": ["mxnet==1.9.1", "numpy==1.23.5"], "torch": ["torch", "numpy"]}
PYTHON = "3.11"


def install(folder: Path, libraries: Iterable[str]) -> None:
    """Make the environments that are missing. CalledProcessError if one fails."""
    uv = shutil.which("uv")
    for library in libraries:
        home = folder / library
        python = home / "bin" / "python"
        if python.exists():
            print(f"{library}: {home} is there already")
            continue
        print(f"{library}: installing into {home}", flush=True)
        wanted = REQUIREMENTS[library]
        if uv is not None:
            _run(uv, "venv", "--quiet", "--python", PYTHON, str(home))
            _run(uv, "pip", "install", "--quiet", "--python", str(python), *wanted)
        else:
            _run(_older_python(), "-m", "venv", str(home))
            _run(str(python), "-m", "pip", "install", "--quiet", *wanted)


def _older_python() -> str:
    if sys.version_info[:2] == (3, 11):
        return sys.executable
    found = shutil.which(f"python{PYTHON}")
    if found is None:
        raise FileNotFoundError(
            f"MXNet 1.9.1 needs Python {PYTHON}, and there is no python{PYTHON} here. "
            "Install it, or uv, which fetches one."
        )
    return found


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


if __name__ == "__main__":
    install(Path(sys.argv[1]), sys.argv[2:])
