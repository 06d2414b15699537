"""Exported networks and records go from MXNet 1.9.1 to minimx and back.

    python tests/compat/exchange.py --mxnet DIRECTORY [--record]

DIRECTORY is a virtual environment with mxnet 1.9.1. Six networks (see
`exchange_worker.py`) are exported by each and read by the other: the outputs must be
equal to 1e-5. `--record` keeps MXNet's files in `answers/exchange/`, for the tests.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
KEPT = HERE / "answers" / "exchange"
NETWORKS = ("lenet", "resnet", "reader", "in_numpy", "indexed", "controlled")
READ = (*NETWORKS, "records")
FILES = ("records.rec", "records.idx")
TOLERANCE = 1e-5


def work(python: str, module: str, task: str, place: Path) -> Any:
    """What the worker prints under one of the two."""
    environment = dict(os.environ, PYTHONPATH=str(HERE.parents[1]))
    done = subprocess.run(
        [python, str(HERE / "exchange_worker.py"), module, task, str(place)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=600,
    )
    if done.returncode:
        raise RuntimeError(f"{task} under {module}:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def too_far(apart: dict[str, list[float]]) -> list[str]:
    """What is not the same to the reader: networks, or the records."""
    return [name for name in READ if not max(apart[name]) < TOLERANCE]


def nodes(place: Path, name: str) -> list[dict[str, Any]]:
    """The nodes of an exported graph, with numbers spelt in one way.

    Left away: what does not change the graph (`cudnn_off`, a setting at its default).
    """
    found: dict[str, Any] = json.loads((place / f"{name}-symbol.json").read_text())
    for node in found["nodes"]:
        attrs = node.get("attrs", {})
        attrs.pop("cudnn_off", None)
        node["attrs"] = {word: _number(text) for word, text in attrs.items()}
    return list(found["nodes"])


def _number(text: str) -> Any:
    try:
        return float(text.strip("(),"))
    except ValueError:
        return text


def main() -> int:
    """Exchange the files; the exit status says whether all outputs are equal."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mxnet", type=Path, required=True, help="an environment")
    parser.add_argument("--record", action="store_true", help="keep MXNet's files")
    args = parser.parse_args()
    theirs = str(args.mxnet / "bin" / "python")
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        for maker, reader in (("mxnet", "minimx"), ("minimx", "mxnet")):
            place = Path(folder, maker)
            place.mkdir()
            pythons = {"mxnet": theirs, "minimx": sys.executable}
            work(pythons[maker], maker, "make", place)
            apart = work(pythons[reader], reader, "read", place)
            print(f"{maker} → {reader}: {apart}")
            failed += too_far(apart)
        for name in FILES:
            both = [Path(folder, who, name).read_bytes() for who in ("mxnet", "minimx")]
            if both[0] != both[1]:
                print(f"{name}: the bytes differ")
                failed.append(name)
        if args.record:
            shutil.rmtree(KEPT, ignore_errors=True)
            shutil.copytree(Path(folder, "mxnet"), KEPT)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
