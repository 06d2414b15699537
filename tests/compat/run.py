"""Run the programs of this folder under MXNet 1.9.1 and under minimx, and compare.

    python tests/compat/run.py --mxnet DIRECTORY [--record] [PROGRAM ...]

DIRECTORY is a virtual environment with mxnet 1.9.1 and numpy < 1.24. Every cell of a
program must show the same under both: the same text, the same shapes, dtypes and
numbers (to 1e-4), the same kind of error (what MXNet asserts, minimx refuses with an
error of its own family). A cell whose title says `differs: …` is one where minimx
departs from MXNet on purpose; then it is a mistake if they agree.

`--record` keeps MXNet's answers in `answers/`, where `tests/test_compat.py` finds them:
so every change of minimx is held against MXNet, also where no MXNet is installed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PROGRAMS = sorted((HERE / "programs").glob("*.py"))
NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:e[-+]?\d+)?|\bnan\b|[-+]?\binf\b")
NUMPY_SCALAR = re.compile(r"\bnp\.\w+\(([^()]*)\)")

Answer = dict[str, Any]


def answers_of(python: str, program: Path, module: str) -> list[Answer]:
    """What each cell of a program shows under one of the two."""
    environment = dict(os.environ, PYTHONPATH=str(HERE.parents[1]))
    environment.pop("MXNET_ENGINE_TYPE", None)
    done = subprocess.run(
        [python, str(HERE / "worker.py"), str(program), module],
        capture_output=True,
        text=True,
        env=environment,
        timeout=600,
    )
    if done.returncode:
        raise RuntimeError(f"{program.name} under {module}:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def kept_answers(program: Path) -> list[Answer]:
    """What MXNet showed when it was last asked."""
    path = HERE / "answers" / f"{program.stem}.json"
    return json.loads(path.read_text())  # type: ignore[no-any-return]


def keep(program: Path, answers: list[Answer]) -> None:
    """Write down MXNet's answers, without its words and what is to differ anyway."""
    lines = []
    for answer in answers:
        kept = {"line": answer["line"], "title": answer["title"]}
        if "error" in answer and not is_to_differ(answer):
            kept["error"] = answer["error"][:1]
        elif not is_to_differ(answer):
            kept |= {k: v for k, v in answer.items() if k in ("printed", "value")}
        lines.append(json.dumps(kept, ensure_ascii=False))
    path = HERE / "answers" / f"{program.stem}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n")


def is_to_differ(answer: Answer) -> bool:
    """Whether minimx departs from MXNet in this cell on purpose."""
    return str(answer["title"]).startswith("differs:")


def same_number(a: float, b: float) -> bool:
    """Equal as far as two libraries can agree on float32 results."""
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    return a == b or math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-5)


def same_text(a: str, b: str) -> bool:
    """Equal but for spacing, the library's name, and last places of numbers."""

    def parts(text: str) -> tuple[str, list[float]]:
        text = NUMPY_SCALAR.sub(r"\1", text.replace("minimx", "mxnet"))
        return (
            "".join(NUMBER.sub("#", text).split()),
            [float(number) for number in NUMBER.findall(text)],
        )

    words_a, numbers_a = parts(a)
    words_b, numbers_b = parts(b)
    return (
        words_a == words_b
        and len(numbers_a) == len(numbers_b)
        and all(map(same_number, numbers_a, numbers_b))
    )


def same_value(a: Any, b: Any) -> bool:
    """Whether two described values are the same."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same_value(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same_value, a, b))
    if isinstance(a, str) and isinstance(b, str):
        return same_text(a, b)
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return same_number(float(a), float(b))
    return bool(a == b)


def same_cell(theirs: Answer, ours: Answer) -> bool:
    """Whether a cell shows the same; our error may be a more particular one."""
    if ("error" in theirs) != ("error" in ours):
        return False
    if "error" in theirs:
        kind = theirs["error"][0]
        return (kind if kind != "AssertionError" else "MXNetError") in ours["error"]
    return same_text(theirs["printed"], ours["printed"]) and same_value(
        theirs.get("value"), ours.get("value")
    )


def brief(answer: Answer) -> str:
    """What a cell shows, for a reader."""
    if "error" in answer:
        return f"{answer['error'][0]}: {answer.get('message', '…')}"
    value = json.dumps(answer.get("value"), ensure_ascii=False)
    return f"{answer['printed']}{'' if value == 'null' else value}"[:800]


def difference(program: Path, theirs: Answer, ours: Answer) -> str:
    """Both answers to a cell, for a reader."""
    return (
        f"\n{program.name}:{ours['line']} {ours['title']}"
        f"\n  MXNet:  {brief(theirs)}\n  minimx: {brief(ours)}"
    )


def main() -> int:
    """Compare the programs named, or all; the exit status says whether all agree."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mxnet", type=Path, required=True, help="an environment")
    parser.add_argument("--record", action="store_true", help="keep MXNet's answers")
    parser.add_argument("programs", nargs="*", type=Path)
    args = parser.parse_args()
    failed = 0
    for program in args.programs or PROGRAMS:
        theirs = answers_of(str(args.mxnet / "bin" / "python"), program, "mxnet")
        ours = answers_of(sys.executable, program, "minimx")
        wrong = [
            difference(program, their, our)
            for their, our in zip(theirs, ours, strict=True)
            if same_cell(their, our) is is_to_differ(our)
        ]
        print(*wrong, sep="\n", end="\n" if wrong else "")
        print(f"{program.name}: {len(ours) - len(wrong)} of {len(ours)} cells agree")
        failed += len(wrong)
        if args.record:
            keep(program, theirs)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
