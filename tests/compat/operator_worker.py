"""Call operators as a list of cases says, and write down what came out.

    python operator_worker.py MODULE CASES.npz RESULTS.npz

MODULE is `mxnet` or `minimx`. CASES.npz holds `cases`, a JSON list, and the arrays that
it names. Each case is run with gradients where it asks for them. RESULTS.npz holds
`results`, a JSON list of the names of arrays, or of the error that came instead.
Under MXNet every case has a process of its own: a call that writes over foreign memory
would spoil the next ones.

Settings that begin with a star are for this file: "*" gives the arrays as one list,
"*first" comes before the arrays, "*out" names the inputs that are written, "*stypes"
says how each input is stored.

This file runs under MXNet's own old interpreter and must not import minimx.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import pickle
import sys
import tempfile
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

# Where MXNet keeps the functions of operators whose names begin like this.
ROOMS = (
    ("_contrib_", "nd.contrib"),
    ("_linalg_", "nd.linalg"),
    ("_image_", "nd.image"),
    ("_sparse_", "nd.sparse"),
    ("_npi_", "nd.numpy._internal"),
    ("_npx_", "numpy_extension._op"),
    ("_np_", "numpy._op"),
    ("_", "nd._internal"),
    ("", "nd"),
)


def is_numpys(op: str) -> bool:
    """Whether an operator belongs to the front end `mx.np`."""
    return op.startswith(("_np", "np"))


def function_of(mx: Any, op: str) -> Callable[..., Any] | None:
    """The function that calls an operator; None if there is no such operator."""
    if op.startswith(("np", "nd.")):
        found = mx
        for part in op.split("."):
            found = getattr(found, part, None)
        return found  # type: ignore[no-any-return]
    if mx.__name__ == "minimx":
        known: Any = importlib.import_module("minimx.nd.functions")
        return known.FUNCTIONS.get(op)  # type: ignore[no-any-return]
    for prefix, path in ROOMS:
        if not op.startswith(prefix):
            continue
        place = mx
        for part in path.split("."):
            place = getattr(place, part, None)
        for name in (op.removeprefix(prefix), op):
            with contextlib.suppress(AttributeError):
                return getattr(place, name)  # type: ignore[no-any-return]
    return None


def as_tuple(value: Any) -> Any:
    """JSON has no tuples; operators want no lists."""
    return tuple(map(as_tuple, value)) if isinstance(value, list) else value


def head_gradient(shape: tuple[int, ...], dtype: Any) -> Any:
    """Numbers around 1, the same for the same shape."""
    return np.random.RandomState(7).uniform(0.5, 1.5, shape).astype(dtype)


class Caller:
    """Runs cases under one of the two."""

    def __init__(self, mx: Any) -> None:
        self.mx = mx

    def array(self, op: str, value: Any, stype: str | None = None) -> Any:
        """An array of the flavour that the operator takes."""
        room = self.mx.np if is_numpys(op) else self.mx.nd
        array = room.array(value, dtype=value.dtype)
        return array if stype is None else array.tostype(stype)

    def arrays(self, case: dict[str, Any], inputs: list[Any]) -> list[Any]:
        """The inputs, each stored as the case says."""
        stypes = case["settings"].get("*stypes", [None] * len(inputs))
        pairs = zip(inputs, stypes, strict=True)
        return [self.array(case["op"], value, stype) for value, stype in pairs]

    def outputs(self, case: dict[str, Any], arrays: list[Any]) -> list[Any]:
        """Make the call."""
        settings = {
            name: as_tuple(v)
            for name, v in case["settings"].items()
            if not name.startswith("*")
        }
        written = [arrays[k] for k in case["settings"].get("*out", ())]
        if written:
            settings["out"] = written if len(written) > 1 else written[0]
        given: list[Any] = [arrays] if case["settings"].get("*") else arrays
        if "*first" in case["settings"]:
            given = [case["settings"]["*first"], *given]
        function = function_of(self.mx, case["op"])
        assert function is not None
        return self._as_list(function(*given, **settings))

    def call(self, case: dict[str, Any], inputs: list[Any]) -> dict[str, Any]:
        """What a call gives: outputs, gradients, and the inputs afterwards."""
        if function_of(self.mx, case["op"]) is None:
            return {"absent": True}
        arrays = self.arrays(case, inputs)
        flavour = (
            self.mx.util.np_shape(True)
            if is_numpys(case["op"])
            else contextlib.nullcontext()
        )
        with flavour:
            outs = self.outputs(case, arrays)
            if any(length < 0 for out in outs for length in getattr(out, "shape", ())):
                return {"error": "the shape of the result is not known"}
            shown = {"outs": [self.plain(out) for out in outs]}
            shown["after"] = [array.asnumpy() for array in arrays]
            if any(case["wants"]):
                shown |= self._backward(case, inputs)
        return shown

    @staticmethod
    def plain(out: Any) -> Any:
        """An output in NumPy's words; functions of mx.np also return plain numbers."""
        array = out.asnumpy() if hasattr(out, "asnumpy") else np.asarray(out)
        if array.dtype.kind not in "biufc":
            raise TypeError(f"the result is no array: {out}")
        return array

    def _backward(self, case: dict[str, Any], inputs: list[Any]) -> dict[str, Any]:
        autograd, training = self.mx.autograd, case["training"]
        arrays = self.arrays(case, inputs)
        wanted = [a for a, want in zip(arrays, case["wants"], strict=True) if want]
        for array in wanted:
            array.attach_grad()
        try:
            with autograd.record(train_mode=training):
                outs = self.outputs(case, arrays)
            outs = [out for out in outs if np.dtype(out.dtype).kind == "f"]
            heads = [
                self.array(case["op"], head_gradient(out.shape, out.dtype))
                for out in outs
            ]
            autograd.backward(outs, heads, train_mode=training)
            return {"grads": [array.grad.asnumpy() for array in wanted]}
        except Exception as error:  # an operator without a gradient
            return {"no gradient": f"{type(error).__name__}: {error}"[:200]}

    @staticmethod
    def _as_list(outs: Any) -> list[Any]:
        return list(outs) if isinstance(outs, (list, tuple)) else [outs]


def answer(caller: Caller, case: dict[str, Any], inputs: list[Any]) -> dict[str, Any]:
    """What a call gives, or the error that it ends with."""
    try:
        return caller.call(case, inputs)
    except Exception as error:  # what a call may end with is its answer
        return {"error": f"{type(error).__name__}: {error}"[:200]}


def answer_apart(caller: Caller, case: dict[str, Any], inputs: Any) -> dict[str, Any]:
    """The same, in a child process, which may break down."""
    with tempfile.TemporaryFile() as told:
        child = os.fork()
        if not child:
            pickle.dump(answer(caller, case, inputs), told)
            told.flush()
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            return {"error": "it ended the process"}
        told.seek(0)
        return pickle.load(told)  # type: ignore[no-any-return]


def main(module: str, cases_file: str, results_file: str) -> None:
    """Run all cases."""
    warnings.simplefilter("ignore")
    mx = importlib.import_module(module)
    given = np.load(cases_file)
    ask = answer_apart if module == "mxnet" else answer
    caller = Caller(mx)
    results: list[dict[str, Any]] = []
    kept: dict[str, Any] = {}
    for number, case in enumerate(json.loads(str(given["cases"]))):
        shown = ask(caller, case, [given[name] for name in case["inputs"]])
        for part in ("outs", "after", "grads"):
            names = []
            for k, value in enumerate(shown.get(part, ())):
                names.append(f"{number}.{part}.{k}")
                kept[names[-1]] = value
            if part in shown:
                shown[part] = names
        results.append(shown)
    np.savez_compressed(results_file, results=json.dumps(results), **kept)


if __name__ == "__main__":
    main(*sys.argv[1:])
