"""Look for faults that tests did not think of, for as long as one likes.

    python -m tests.probe readers --seconds 600 --seed 7
    python -m tests.probe interrupts | kills | operators | all

Prints each fault (an error that is none of minimx's, a wrong answer, a damaged file, a
call that does not come back) and ends with 1 if there was one. CI runs the same for
some seconds, with the same seed each time (test_probe.py).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

from tests.probe.faults import Fault

KINDS = ("readers", "interrupts", "kills", "operators")


def run(kind: str, seed: int, each: int, seconds: float) -> Iterator[Fault]:
    """The faults of one kind."""
    if kind == "operators":
        from tests.probe import operators

        yield from operators.probe(seed, seconds=seconds)
        return
    import minimx as mx
    from tests.probe import interrupts, kills, readers

    if kind == "interrupts":
        yield from interrupts.probe(seed, each, seconds)
    elif kind == "kills":
        with mx.knobs(MXNET_ENGINE_TYPE="NaiveEngine"):
            yield from kills.probe(seed, each, seconds)
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield from readers.probe(Path(folder), seed, each, seconds)


def main() -> int:
    """Parse the command line and go."""
    parser = argparse.ArgumentParser(prog="python -m tests.probe")
    parser.add_argument("kind", choices=[*KINDS, "all"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--each", type=int, default=10**9, help="times for each case")
    parser.add_argument("--seconds", type=float, default=60)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    found = 0
    for kind in KINDS if asked.kind == "all" else [asked.kind]:
        for fault in run(kind, asked.seed, asked.each, asked.seconds):
            found += 1
            print(f"{fault.what}\n    {fault.error}\n    {fault.where}", flush=True)
    print(f"{found} faults")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
