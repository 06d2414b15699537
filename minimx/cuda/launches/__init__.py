"""How operators run on CUDA: which kernel of `cuda/kernels` each one launches, and how.

To see how an operator runs, search `minimx/cuda` for its name in quotes. There are four
ways, of which the first two need no launch:

    a formula                        its sheet is `Pointwise`, or made by `unary`, …:
                                     the CPU's formula becomes a CUDA kernel
    @runs("LRN", types=real)         the default: above a function of `cuda/kernels`,
                                     called with inputs, settings, outputs
                                     (`kernels/default_launch.py`)
    @composed("moments")             a rule of other operators (`composing.py`)
    @implements("softmax", types=…)  all others: a function here, which gets the
    def soft(op, data): ...          operator and its inputs' specs, returns the launch

A launch is a callable `(*ins, *outs[, generator])` on device arrays of at least one
axis; None says that settings are not known. `types` is a predicate on the specs of the
inputs, as those of `kernels/default_launch.py`.

`Plan.on_cuda` asks here when an operator first runs on a CUDA device. An operator that
has no launch, or none for its settings, runs on the host: its inputs are copied there,
its outputs back. That keeps every program right, and is slow, so a warning says it once
for each operator (MINIMX_CUDA_VERBOSE).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from functools import cache, wraps
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import numpy as np

from minimx.core.drivers import copies
from minimx.core.dtypes import NARROW
from minimx.core.knobs import knobs
from minimx.core.operators.pointwise import Pointwise
from minimx.core.ops.registry import REGISTRY, Kernel, Op, Plan
from minimx.core.ops.spec import Spec
from minimx.cuda import kernels
from minimx.cuda.kernels.default_launch import DEFAULTS, Maker, Types

_makers: dict[str, Maker] = {}
_reported: set[str] = set()


def implements(*names: str, types: Types | None = None) -> Callable[[Maker], Maker]:
    """Enter the rule that makes the launches of some operators.

    types: where this predicate on the specs of the inputs is false, the rule is not
    asked; there is no launch then.
    """

    def enter(maker: Maker) -> Maker:
        @wraps(maker)
        def make(op: Any, *specs: Spec) -> Kernel | None:
            return maker(op, *specs) if types is None or types(*specs) else None

        _makers.update(dict.fromkeys(names, make))
        return make

    return enter


@cache
def makers() -> dict[str, Maker]:
    """What makes the launch of each operator that has a CUDA implementation.

    A maker is called with an operator and the specs of its inputs; it returns the
    launch, or None where it knows none for these. Imports numba's CUDA part.
    """
    for path, package in ((kernels.__path__, kernels.__name__), (__path__, __name__)):
        for file in walk_packages(path, f"{package}."):
            import_module(file.name)
    _makers.update(DEFAULTS)
    for name, sheet in REGISTRY.items():
        if issubclass(sheet, Pointwise) and sheet.kernel is Pointwise.kernel:
            _makers.setdefault(name, _makers["pointwise"])
    return _makers


def found(op: Op, specs: tuple[Spec, ...], outs: tuple[Spec, ...]) -> Kernel | None:
    """The launch of an operator for inputs and outputs of these specs, or None.

    Arrays of two-byte numbers may go through float32: `launches.half`.
    """
    maker = makers().get(op.name)
    if maker is None:
        return None
    launch = maker(op, *specs)
    if launch is None and any(spec.dtype in NARROW for spec in (*specs, *outs)):
        from minimx.cuda.launches.half import in_single

        launch = in_single(maker, op, specs, outs)
    return launch


class CudaPlan:
    """How an operator runs on CUDA for given specs; `Plan` says the same for the CPU.

    kernel: the launch, `(*ins, *outs[, generator])` on device arrays. native: whether
    that is a kernel on the device, rather than the CPU's on copies; the CPU's also runs
    where an input or output has no elements.
    """

    workspace = 0

    def __init__(self, op: Op, specs: tuple[Spec, ...], plan: Plan) -> None:
        launch = None
        if Plan.dry_run:
            launch = plan.kernel
        elif all(spec.size for spec in (*specs, *plan.outs)):
            launch = found(op, specs, plan.outs)
        self.native = launch is not None
        self.kernel: Kernel = launch or staged(op, specs, plan)


def staged(op: Op, specs: Iterable[Spec], plan: Plan) -> Kernel:
    """The operator's CPU kernel between copies from the device and back.

    Waits for the device. Warns once for each operator (MINIMX_CUDA_VERBOSE).
    """
    kernel, ins, outs = plan.kernel, tuple(specs), plan.outs
    names = op.inputs if not isinstance(op.inputs, str) else (op.inputs,)
    changed = [names.index(name) for name in op.mutates]
    count, nbytes = len(ins), plan.workspace
    _report(op.name)

    def run(*arrays: Any) -> None:
        hosts = [
            _shaped(copies.fetch(array, spec.dtype), spec)
            for array, spec in zip(arrays[:count], ins, strict=True)
        ]
        results = [np.empty(spec.shape, spec.dtype) for spec in outs]
        extras = arrays[count + len(outs) :]
        scratch = [np.empty(nbytes, np.uint8)] if nbytes else []
        kernel(*hosts, *results, *scratch, *extras)
        for index in changed:
            copies.copyto(arrays[index], hosts[index])
        for target, result in zip(arrays[count:], results, strict=False):
            copies.copyto(target, result)

    return run


def _shaped(array: Any, spec: Spec) -> Any:
    """An array as the kernels of the CPU expect it: CUDA's have at least one axis."""
    return array if array.shape == spec.shape else array.reshape(spec.shape)


def _report(name: str) -> None:
    """One notice for each operator that has to visit the host."""
    if name in _reported or not knobs.get("MINIMX_CUDA_VERBOSE"):
        return
    _reported.add(name)
    warnings.warn(
        f"{name} has no CUDA kernel for these inputs: it runs on the host, between two "
        "copies. MINIMX_CUDA_VERBOSE=0 silences this.",
        stacklevel=2,
    )
