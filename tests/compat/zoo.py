"""The networks of the zoo under MXNet 1.9.1 and under minimx: structure and numbers.

    python tests/compat/zoo.py --mxnet DIRECTORY [--record] [NETWORK ...]

All networks must have the same parameters, by name, shape and order. Those of the
performance tables are run at full size with weights that MXNet wrote, forward in
prediction and forward and backward in training mode: outputs, gradients and running
statistics must agree to 1e-4. Small ones of every family are run as well. Inception-BN,
which MXNet has as an example only, goes to it as a graph that minimx wrote.

`--record` keeps MXNet's answers about structures and small networks in
`answers/zoo.json` for `tests/gluon/model_zoo/test_originals.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
ANSWERS = HERE / "answers" / "zoo.json"
TABLES = [
    *["alexnet", "vgg16", "inceptionbn", "inceptionv3"],
    *["resnet50_v1", "resnet50_v2", "resnet152_v1", "resnet152_v2"],
]
TOLERANCE = 1e-4
#: A bias before BatchNorm has no gradient; what is there is rounding.
NOTHING = 1e-9


def work(python: str, module: str, *arguments: str) -> str:
    """What the worker prints under one of the two."""
    # MXNet's oneDNN refuses to join arrays of a few channels.
    environment = dict(os.environ, PYTHONPATH=str(HERE.parents[1]))
    if module == "mxnet":
        environment["MXNET_MKLDNN_ENABLED"] = "0"
        environment["MXNET_STORAGE_FALLBACK_LOG_VERBOSE"] = "0"
    done = subprocess.run(
        [python, str(HERE / "zoo_worker.py"), module, *arguments],
        capture_output=True,
        text=True,
        env=environment,
        timeout=1800,
    )
    if done.returncode:
        raise RuntimeError(f"{arguments} under {module}:\n{done.stderr[-2000:]}")
    return done.stdout


def apart(ours: Any, theirs: Any) -> float:
    """The largest difference of two arrays, beside the largest number in them."""
    ours, theirs = np.asarray(ours, "float64"), np.asarray(theirs, "float64")
    if ours.shape != theirs.shape:
        return float("inf")
    difference = np.abs(ours - theirs).max()
    size = np.abs(theirs).max()
    return 0.0 if difference < NOTHING else float(difference / size)


def worst(ours: Any, theirs: Any) -> Any:
    """(how far, name) of the array that is furthest off, or that is missing."""
    if set(ours) != set(theirs):
        return float("inf"), sorted(set(ours) ^ set(theirs))
    return max((apart(ours[key], theirs[key]), key) for key in theirs)


def full_size(name: str, pythons: dict[str, str]) -> list[str]:
    """Run a network under both; what is wrong."""
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        if name == "inceptionbn":
            work(pythons["minimx"], "minimx", "graph", folder, name)
        work(pythons["mxnet"], "mxnet", "make", folder, name)
        work(pythons["minimx"], "minimx", "read", folder, name)
        for theirs in sorted(Path(folder).glob("*-mxnet-*.npz")):
            ours = theirs.with_name(theirs.name.replace("-mxnet-", "-minimx-"))
            mode, dtype = theirs.stem.split("-")[-2:]
            far, where = worst(np.load(ours), np.load(theirs))
            training = "training" if mode == "True" else "prediction"
            print(f"{name}, {training} in {dtype}: {far:.1e} ({where})", flush=True)
            if not far < TOLERANCE:
                wrong.append(f"{name} in {training}")
    return wrong


def asked(python: str, module: str) -> dict[str, Any]:
    """Structures and small networks under one of the two."""
    with tempfile.TemporaryDirectory() as folder:
        work(sys.executable, "minimx", "graph", folder, "InceptionBN")
        return {
            "structure": json.loads(work(python, module, "structure")),
            "small": json.loads(work(python, module, "small", folder)),
        }


def in_lines(answers: dict[str, Any]) -> str:
    """JSON with a line for each network."""
    parts = (
        f"{json.dumps(part)}: {{\n"
        + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in networks.items())
        + "\n}"
        for part, networks in answers.items()
    )
    return "{\n" + ",\n".join(parts) + "\n}\n"


def compare(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """Which structures and which small networks differ."""
    wrong = []
    for name, structure in theirs["structure"].items():
        if ours["structure"][name] != structure:
            wrong.append(f"{name}: {ours['structure'][name]}, not {structure}")
    for name, numbers in theirs["small"].items():
        far, where = worst(ours["small"][name], numbers)
        print(f"small {name}: {far:.1e} ({where})")
        if not far < TOLERANCE:
            wrong.append(f"small {name}")
    return wrong


def main() -> int:
    """Compare; the exit status says whether all agree."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--mxnet", type=Path, required=True, help="an environment")
    parser.add_argument("--record", action="store_true", help="keep MXNet's answers")
    parser.add_argument("networks", nargs="*", default=TABLES)
    args = parser.parse_args()
    pythons = {
        "mxnet": str(args.mxnet / "bin" / "python"),
        "minimx": sys.executable,
    }
    answers = {module: asked(python, module) for module, python in pythons.items()}
    wrong = compare(answers["minimx"], answers["mxnet"])
    if args.record:
        ANSWERS.write_text(in_lines(answers["mxnet"]))
    for name in args.networks:
        wrong += full_size(name, pythons)
    print("\n".join(wrong) or "All networks agree.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
