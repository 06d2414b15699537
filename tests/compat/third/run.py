"""Models of GluonCV, GluonNLP and GluonTS under minimx and under MXNet 1.9.1.

    python tests/compat/third/run.py --home .third --mxnet .peers/mxnet [--page FILE]

Two environments are made in `home`, one for each framework, from the package index;
worker.py runs every case in both, with the same parameters and inputs. The page is a
table of how far the numbers are apart.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
#: What the libraries want; MXNet 1.9.1 wants a NumPy that they know as well.
COMMON = [
    "autocfg", "cython<3", "matplotlib", "opencv-python-headless", "pandas<2.3",
    "pillow", "portalocker", "pydantic<3", "pyyaml", "requests", "scipy", "setuptools",
    "toolz~=0.10", "tqdm", "typing-extensions", "wheel", "yacs",
]  # fmt: skip
NUMPY = {
    "minimx": ["numpy>=2,<2.2", "numba>=0.61,<1"],
    "mxnet": ["numpy==1.23.5", "mxnet==1.9.1", "opencv-python-headless<4.9"],
}
LIBRARIES = ["gluoncv==0.10.5.post0", "gluonts==0.16.2"]
#: Its source package holds C that an older Cython wrote, for older Pythons.
SOURCE = "gluonnlp==0.10.0"
#: Relative to the largest number of an array.
TOLERANCE = 2e-3
INTRODUCTION = """
GluonCV 0.10.5, GluonNLP 0.10.0 and GluonTS 0.16.2 as they are published, with `import
mxnet` meaning minimx, beside MXNet 1.9.1. Both have the same parameters and inputs. The
outputs are compared. So are the loss of a training step and the norm of the gradient of
every parameter. For estimators it is the loss of a batch, its gradients, and the shape
of a forecast. The brackets give the largest difference, as a share of the largest
number of its array. Written by `make third`.

GluonCV asks NumPy for `np.float` and its like, which NumPy 2 does not have. The program
that runs the cases gives them back.

The steps draw no random numbers. Those of GluonCV's networks are recorded in training
mode, without dropout. Their batch normalization uses the running statistics. The others
are recorded with train_mode=False. In this mode MXNet's own gradient of max pooling is
another one than in training: in a case of 8 x 8, the sum of its squares is 122.6. In
training it is 298.9, which is what minimx gives in both modes.

`make suites` runs the unit tests of the three libraries. Of those that pass under
MXNet, minimx passes 1,436 of 1,441 (GluonNLP), 2,036 of 2,039 (GluonTS) and 28 of 29
(GluonCV). Of the other nine, five compare with numbers of MXNet's own random generator,
and four fail because of NumPy 2.
"""


def install(home: Path, framework: str) -> Path:
    """The interpreter of an environment with a framework and the libraries."""
    place = home / framework
    python = place / "bin" / "python"
    done = place / "installed"
    if done.exists():
        return python
    print(f"installing {framework} and the libraries into {place}", flush=True)

    def pip(*words: str) -> None:
        command = [python, "-m", "pip", "--disable-pip-version-check", "-q", *words]
        subprocess.run(command, check=True)

    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    pip("install", *COMMON, *NUMPY[framework])
    pip("install", "--no-deps", *LIBRARIES)
    get = ("download", "--no-deps", "--no-binary", ":all:", "--no-build-isolation")
    pip(*get, "-d", str(place), SOURCE)
    (archive,) = place.glob("gluonnlp*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(place, filter="data")
    (folder,) = (path for path in place.glob("gluonnlp*") if path.is_dir())
    for stale in folder.rglob("*.c"):
        stale.unlink()
    pip("install", "--no-deps", "--no-build-isolation", str(folder))
    done.touch()
    return python


def numbers(home: Path, framework: str, python: Path, names: list[str]) -> Any:
    """What the cases give under a framework."""
    out = home / f"{framework}.npz"
    paths = str(ROOT) if framework == "minimx" else ""
    command = [python, HERE / "worker.py", framework, out, *names]
    environment = os.environ | {"PYTHONPATH": paths}
    subprocess.run(command, check=True, env=environment, cwd=home)
    return dict(np.load(out))


def apart(ours: Any, theirs: Any) -> float:
    """The largest difference, as a share of the largest number; inf for other shapes.

    >>> apart(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    0.5
    >>> apart(np.ones(2), np.ones(3))
    inf
    """
    if ours.shape != theirs.shape:
        return float("inf")
    if not ours.size:
        return 0.0
    if ours.dtype.kind in "US":
        return 0.0 if (ours == theirs).all() else float("inf")
    a, b = ours.astype("float64"), theirs.astype("float64")
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    scale = max(np.abs(b[np.isfinite(b)]).max(initial=0), 1e-8)
    with np.errstate(invalid="ignore"):
        distance = np.where(same, 0, np.abs(a - b)) / scale
    return float(np.nan_to_num(distance, nan=np.inf, posinf=np.inf).max())


def rows(ours: Any, theirs: Any) -> list[tuple[str, str, str]]:
    """(case, how many arrays, what came out) for every case."""
    found = []
    for case in dict.fromkeys(name.split("/")[0] for name in theirs):
        keys = [name for name in theirs if name.startswith(f"{case}/")]
        mine = [name for name in ours if name.startswith(f"{case}/")]
        if f"{case}/error" in theirs:
            word = f"MXNet itself fails: {str(theirs[f'{case}/error']).splitlines()[0]}"
        elif f"{case}/error" in ours:
            word = f"**fails**: {str(ours[f'{case}/error']).splitlines()[0]}"
        elif len(mine) != len(keys):
            word = f"**{len(mine)} arrays, not {len(keys)}**"
        else:
            worst = max(apart(ours[name], theirs[name]) for name in keys)
            word = f"equal ({worst:.0e})" if worst <= TOLERANCE else f"**{worst:.1e}**"
        found.append((case, str(len(keys)), word))
    return found


def page(table: list[tuple[str, str, str]]) -> str:
    """The page of the book."""
    equal = sum(word.startswith("equal") for *_, word in table)
    asked = sum(not word.startswith("MXNet") for *_, word in table)
    lines = [
        "# Libraries that were built on MXNet",
        "",
        INTRODUCTION.strip(),
        "",
        f"**{equal} of {asked} are equal**, up to {TOLERANCE:g}.",
        "",
        "| case | arrays | minimx against MXNet |",
        "| --- | ---: | --- |",
        *[f"| {case} | {count} | {word} |" for case, count, word in table],
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Install, run, compare; 1 if a case is not equal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--home", type=Path, default=Path(".third"))
    parser.add_argument("--page", type=Path, help="write the table there")
    parser.add_argument("cases", nargs="*", help="only these")
    given = parser.parse_args()
    home = given.home.resolve()
    found = [
        numbers(home, framework, install(home, framework), given.cases)
        for framework in ("mxnet", "minimx")
    ]
    table = rows(found[1], found[0])
    text = page(table)
    print(text)
    if given.page is not None:
        given.page.write_text(text, encoding="utf-8")
    return int(any("**" in word for *_, word in table))


if __name__ == "__main__":
    sys.exit(main())
