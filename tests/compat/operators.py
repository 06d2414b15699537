"""Call every operator under MXNet 1.9.1 and under minimx, forward and backward.

    python -m tests.compat.operators --mxnet DIRECTORY [--record] [OPERATOR ...]

The calls are the rows of tests/core/ops/samples, in every element type that a row
names, and those of `np_calls.py`, which go by the names of `mx.np`.
Outputs, gradients for the same head gradients, and what the call did to its inputs must
agree. A call in `departures.py` differs on purpose, for the reason given there;
then it is a mistake if it agrees. What MXNet refuses (a type it has no kernel for) or
does not know (minimx's inner operators) is left out.

`--record` keeps MXNet's answers in `answers/operators.npz` for `tests/test_compat.py`.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from minimx.core.ops.registry import lookup
from tests.compat import more_calls, np_calls
from tests.compat.departures import DEPARTURES, HALF_WRITTEN, NO_ANSWER
from tests.compat.spelling import spelled
from tests.core.ops.sample import Sample

HERE = Path(__file__).parent
ANSWERS = HERE / "answers" / "operators.npz"
# Singular vectors and eigenvectors: any library may turn them round.
SIGNLESS = ("_npi_svd", "_npi_eig", "_npi_eigh", "_linalg_syevd", "_linalg_gelqf")
SLACK = {"float16": 2e-2, "float32": 2e-4, "float64": 1e-6}

Answer = dict[str, Any]


def samples() -> list[Sample]:
    """The rows from which every operator is questioned."""
    return [
        row
        for path in sorted((HERE.parent / "core/ops/samples").glob("*.py"))
        for row in importlib.import_module(f"tests.core.ops.samples.{path.stem}").ROWS
    ]


@dataclass
class Case:
    """One call."""

    op: str
    settings: dict[str, Any]
    dtype: str
    inputs: list[Any]
    wants: list[bool]
    training: bool = True
    key: str = field(init=False)

    def __post_init__(self) -> None:
        """The key says what is asked, so that an answer is never taken for another."""
        words = json.dumps([self.op, self.settings, self.dtype, self.wants])
        digest = hashlib.sha1(words.encode())
        for array in self.inputs:
            digest.update(repr((array.shape, array.dtype)).encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        self.key = digest.hexdigest()[:16]

    def __str__(self) -> str:
        settings = ", ".join(f"{k}={v}" for k, v in self.settings.items())
        shapes = " ".join(str(a.shape) for a in self.inputs)
        return f"{self.op}({settings}) of {self.dtype} {shapes}"


def plain(value: Any) -> Any:
    """A setting in JSON's words; raises TypeError for what only minimx knows."""
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(value)


def cases() -> list[Case]:
    """All calls that can be put to both."""
    found = []
    for row in samples():
        sheet = lookup(row.op)
        if row.oracle is None or row.op.startswith("_backward"):
            continue  # random, or one of ours
        try:
            settings = {k: plain(v) for k, v in row.settings.items()}
        except TypeError:
            continue
        # Of operators that behave differently in training, the rows say how they are
        # meant; the others are recorded as a program would.
        modes = "training" in sheet.__dataclass_fields__  # type: ignore[attr-defined]
        training = bool(settings.pop("training", not modes))
        numpys = settings.pop("np_shape", None)
        if numpys and not row.op.startswith("_np"):
            continue  # MXNet has an operator of another name for it
        for dtype in row.dtypes:
            inputs = [np.asarray(a) for a in row.cast(dtype)]
            wants = [sheet.differentiable and want for want in row.wants()]
            words, inputs = spelled(row.op, settings, inputs, dtype)
            found.append(Case(row.op, words, dtype, inputs, wants, training))
    return found + list(_named_cases())


def _named_cases() -> Iterator[Case]:
    """The functions of `mx.np` and its neighbours, in single and double precision."""
    for name, arrays, settings in [*np_calls.calls(), *more_calls.calls()]:
        path = name if name.startswith(("npx.", "nd.")) else f"np.{name}"
        gathered = len(arrays) == 1 and isinstance(arrays[0], list)
        given = list(arrays[0] if gathered else arrays)
        sloped = name.split(".")[-1] not in np_calls.STEPS | more_calls.STEPS
        for dtype in ("float32", "float64"):
            inputs = [a.astype(dtype) if a.dtype.kind == "f" else a for a in given]
            wants = [sloped and a.dtype.kind == "f" for a in inputs]
            words = plain(settings | ({"*": True} if gathered else {}))
            yield Case(path, words, dtype, inputs, wants)


def ask(python: str, module: str, asked: list[Case]) -> dict[str, Answer]:
    """What one of the two answers, by the keys of the cases."""
    with tempfile.TemporaryDirectory() as here:
        given, answered = Path(here, "cases.npz"), Path(here, "results.npz")
        _write(asked, given)
        done = subprocess.run(
            [python, HERE / "operator_worker.py", module, given, answered],
            env=dict(os.environ, PYTHONPATH=str(HERE.parents[1])),
            timeout=1800,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise RuntimeError(f"operators under {module}:\n{done.stderr[-2000:]}")
        return _unpacked(answered, [case.key for case in asked])


def _write(asked: list[Case], given: Path) -> None:
    """The cases as a file for the worker."""
    arrays = {
        f"{n}.{k}": array
        for n, case in enumerate(asked)
        for k, array in enumerate(case.inputs)
    }
    words = [
        {
            "op": case.op,
            "settings": case.settings,
            "inputs": [f"{n}.{k}" for k in range(len(case.inputs))],
            "wants": case.wants,
            "training": case.training,
        }
        for n, case in enumerate(asked)
    ]
    np.savez(given, cases=json.dumps(words), **arrays)


def _unpacked(path: Path, keys: list[str]) -> dict[str, Answer]:
    with np.load(path) as stored:
        answers = json.loads(str(stored["results"]))
        for answer in answers:
            for part in ("outs", "after", "grads"):
                if part in answer:
                    answer[part] = [stored[name] for name in answer[part]]
    return dict(zip(keys, answers, strict=True))


def keep(asked: list[Case], answers: dict[str, Answer]) -> None:
    """Write down what MXNet said; inputs that it left alone need no writing."""
    for case in asked:
        after = answers[case.key].get("after", [])
        pairs = zip(after, case.inputs, strict=False)
        if after and all(np.array_equal(a, b, equal_nan=_real(a)) for a, b in pairs):
            del answers[case.key]["after"]
    arrays: dict[str, Any] = {}
    words = {}
    for key, answer in answers.items():
        words[key] = {k: v for k, v in answer.items() if k in ("absent", "error")}
        if "no gradient" in answer:
            words[key]["no gradient"] = ""
        if "error" in answer:
            words[key]["error"] = ""
        for part in ("outs", "after", "grads"):
            for k, value in enumerate(answer.get(part, ())):
                arrays[f"{key}.{part}.{k}"] = value
    np.savez_compressed(ANSWERS, words=json.dumps(words), **arrays)


def _real(array: Any) -> bool:
    return bool(array.dtype.kind == "f")


def kept() -> dict[str, Answer]:
    """What MXNet said when it was last asked."""
    with np.load(ANSWERS) as stored:
        answers: dict[str, Answer] = json.loads(str(stored["words"]))
        for name in stored.files:
            key, _, part = name.partition(".")
            if part:
                answers[key].setdefault(part.split(".")[0], []).append(stored[name])
    return answers


def close(theirs: Any, ours: Any, dtype: str, signless: bool = False) -> bool:
    """Equal within the tolerance of the element type that was computed in.

    signless: the sign of a vector means nothing.
    """
    if theirs.shape != ours.shape or theirs.dtype != ours.dtype:
        return False
    if theirs.dtype.kind != "f":
        return bool(np.array_equal(theirs, ours))
    slack = max(SLACK.get(dtype, 0), SLACK[theirs.dtype.name])
    theirs, ours = theirs.astype(np.float64), ours.astype(np.float64)
    if signless:
        theirs, ours = abs(theirs), abs(ours)
    return bool(np.allclose(ours, theirs, rtol=slack, atol=slack, equal_nan=True))


def difference(case: Case, theirs: Answer, ours: Answer) -> str | None:
    """In what the two differ; None where they agree."""
    for word in ("absent", "error"):
        if word in ours:
            return f"minimx: {ours.get('error', 'absent')}"
    half = [n for key, n in HALF_WRITTEN.items() if str(case).startswith(key)]
    written = slice(*half) if half else slice(None)
    signless = case.op in SIGNLESS
    for part, expected, given in (
        ("outs", theirs.get("outs", [])[written], ours["outs"][written]),
        ("after", theirs.get("after", case.inputs), ours["after"]),
    ):
        found = _first_difference(expected, given, case.dtype, signless)
        if found:
            return f"{part}: {found}"
    if "grads" in theirs and not half:
        if "grads" not in ours:
            zero = all(not grad.any() for grad in theirs["grads"])
            return None if zero else f"minimx: {ours.get('no gradient')}"
        if signless:  # the gradient belongs to the vectors that came out
            return None
        found = _first_difference(theirs["grads"], ours["grads"], case.dtype)
        return f"gradient: {found}" if found else None
    return None


def _first_difference(
    theirs: list[Any], ours: list[Any], dtype: str, signless: bool = False
) -> str | None:
    if len(theirs) != len(ours):
        return f"{len(theirs)} arrays against {len(ours)}"
    for k, (their, our) in enumerate(zip(theirs, ours, strict=True)):
        if not close(their, our, dtype, signless):
            return (
                f"{k}: MXNet {their.dtype}{list(their.shape)} {their.ravel()[:6]}, "
                f"minimx {our.dtype}{list(our.shape)} {our.ravel()[:6]}"
            )
    return None


@dataclass
class Verdict:
    """What came out of a comparison, by operator."""

    compared: dict[str, int] = field(default_factory=dict)
    backward: set[str] = field(default_factory=set)
    wrong: dict[str, list[str]] = field(default_factory=dict)
    unexplained: list[str] = field(default_factory=list)
    #: Keys of `DEPARTURES`: {key: whether a call really differs}.
    excused: dict[str, bool] = field(default_factory=dict)

    @property
    def agreeing(self) -> list[str]:
        """Operators of which every call agrees."""
        return [op for op in self.compared if op not in self.wrong]

    def add(self, case: Case, their: Answer, our: Answer) -> None:
        """Count one call."""
        self.compared[case.op] = self.compared.get(case.op, 0) + 1
        if "grads" in their:
            self.backward.add(case.op)
        found = difference(case, their, our)
        key = next((key for key in DEPARTURES if str(case).startswith(key)), None)
        if key is not None:
            self.excused[key] = self.excused.get(key, False) or found is not None
        if found:
            line = f"{case}\n    {found}"
            self.wrong.setdefault(case.op, []).append(line)
            if key is None:
                self.unexplained.append(line)

    def surprises(self) -> list[str]:
        """Calls that differ without a reason, or agree in spite of one."""
        agreeing = [
            f"{key}: listed in departures.py, and agrees"
            for key, differs in self.excused.items()
            if not differs
        ]
        return self.unexplained + agreeing

    def __str__(self) -> str:
        share = 100 * len(self.agreeing) / max(1, len(self.compared))
        return (
            f"{len(self.compared)} operators compared in "
            f"{sum(self.compared.values())} calls, {len(self.backward)} of them "
            f"backward as well; {len(self.agreeing)} agree ({share:.1f} %), "
            f"{len(self.wrong)} differ"
        )


def judge(
    asked: list[Case], theirs: dict[str, Answer], ours: dict[str, Answer]
) -> Verdict:
    """Compare the answers to all cases that MXNet knows."""
    verdict = Verdict()
    for case in asked:
        if str(case).startswith(tuple(NO_ANSWER)):
            continue
        their = theirs.get(case.key)
        if their is None or "absent" in their or "error" in their:
            continue
        verdict.add(case, their, ours[case.key])
    return verdict


def main() -> int:
    """Compare the operators named, or all; the status says whether there is news."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mxnet", type=Path, required=True, help="an environment")
    parser.add_argument("--record", action="store_true", help="keep MXNet's answers")
    parser.add_argument("operators", nargs="*")
    args = parser.parse_args()
    asked = [c for c in cases() if not args.operators or c.op in args.operators]
    theirs = ask(str(args.mxnet / "bin" / "python"), "mxnet", asked)
    ours = ask(sys.executable, "minimx", asked)
    verdict = judge(asked, theirs, ours)
    surprises = verdict.surprises()
    print(*surprises, sep="\n", end="\n" if surprises else "")
    print(verdict)
    for key in sorted(verdict.excused):
        print(f"  {key}: {DEPARTURES[key]}")
    if args.record and not args.operators:
        keep(asked, theirs)
    return 1 if surprises else 0


if __name__ == "__main__":
    sys.exit(main())
