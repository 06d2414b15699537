"""Call operators as a list of cases says, and write down what came out.

    python operator_worker.py MODULE CASES.npz RESULTS.npz

MODULE is `mxnet` or `minimx`. CASES.npz holds `cases`, a JSON list, and the arrays that
it names. Each case is run with gradients where it asks for them. RESULTS.npz holds
`results`, a JSON list of the names of arrays, or of the error that came instead.

This file runs under MXNet's own old interpreter and must not import minimx.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
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
    ("_npx_", "nd.numpy_extension._internal"),
    ("_np_", "nd.numpy._internal"),
    ("_", "nd._internal"),
    ("", "nd"),
)


def is_numpys(op: str) -> bool:
    """Whether an operator belongs to the front end `mx.np`."""
    return op.startswith(("_np", "np"))


def function_of(mx: Any, op: str) -> Callable[..., Any] | None:
    """The function that calls an operator; None if there is no such operator."""
    if op.startswith("np"):
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

    def array(self, op: str, value: Any) -> Any:
        """An array of the flavour that the operator takes."""
        room = self.mx.np if is_numpys(op) else self.mx.nd
        return room.array(value, dtype=value.dtype)

    def call(self, case: dict[str, Any], inputs: list[Any]) -> dict[str, Any]:
        """What a call gives: outputs, gradients, and the inputs afterwards."""
        function = function_of(self.mx, case["op"])
        if function is None:
            return {"absent": True}
        settings = {name: as_tuple(v) for name, v in case["settings"].items()}
        if settings.pop("*", False):  # arrays that are given as one list
            plain = function

            def function(*arrays: Any, **settings: Any) -> Any:
                return plain(list(arrays), **settings)

        arrays = [self.array(case["op"], value) for value in inputs]
        flavour = (
            self.mx.util.np_shape(True)
            if is_numpys(case["op"])
            else contextlib.nullcontext()
        )
        with flavour:
            outs = self._as_list(function(*arrays, **settings))
            if any(length < 0 for out in outs for length in out.shape):
                return {"error": "the shape of the result is not known"}
            shown = {"outs": [out.asnumpy() for out in outs]}
            shown["after"] = [array.asnumpy() for array in arrays]
            if any(case["wants"]):
                shown |= self._backward(function, case, inputs, settings)
        return shown

    def _backward(
        self, function: Any, case: dict[str, Any], inputs: Any, settings: Any
    ) -> dict[str, Any]:
        autograd = self.mx.autograd
        arrays = [self.array(case["op"], value) for value in inputs]
        wanted = [a for a, want in zip(arrays, case["wants"], strict=True) if want]
        for array in wanted:
            array.attach_grad()
        try:
            with autograd.record(train_mode=case["training"]):
                outs = self._as_list(function(*arrays, **settings))
            outs = [out for out in outs if np.dtype(out.dtype).kind == "f"]
            heads = [
                self.array(case["op"], head_gradient(out.shape, out.dtype))
                for out in outs
            ]
            autograd.backward(outs, heads)
            return {"grads": [array.grad.asnumpy() for array in wanted]}
        except Exception as error:  # an operator without a gradient
            return {"no gradient": f"{type(error).__name__}: {error}"[:200]}

    @staticmethod
    def _as_list(outs: Any) -> list[Any]:
        return list(outs) if isinstance(outs, (list, tuple)) else [outs]


def main(module: str, cases_file: str, results_file: str) -> None:
    """Run all cases."""
    warnings.simplefilter("ignore")
    mx = importlib.import_module(module)
    given = np.load(cases_file)
    caller = Caller(mx)
    results: list[dict[str, Any]] = []
    kept: dict[str, Any] = {}
    for number, case in enumerate(json.loads(str(given["cases"]))):
        try:
            shown = caller.call(case, [given[name] for name in case["inputs"]])
        except Exception as error:  # what a call may end with is its answer
            shown = {"error": f"{type(error).__name__}: {error}"[:200]}
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
