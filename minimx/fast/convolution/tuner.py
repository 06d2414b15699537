"""Measures what the policy of `choosing.py` asks for, and keeps it.

    choose(direction, at, dtype, rules)   the candidates, with times if rules.tune
    rules_now(direction, ...)             what the knobs of the moment say

A time is the shortest of three runs after one that does not count, on arrays of its
own: nothing that the program computes, counts or draws is touched. Once measured, it is
kept for as long as the process lives, so that a call alone and the same call inside a
graph take the same algorithm; what depends on a knob is kept by that knob's value.

A simulated GPU and the virtual clock have no time of their own, and what a program
computes there must not hang on how busy the machine was: the model of cost decides.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import numpy as np

from minimx.core.dtypes import resolve
from minimx.core.graph.running import settings
from minimx.core.kernels import find, threads
from minimx.core.kernels.convolution import (
    DATA,
    FORWARD,
    MODES,
    WEIGHT,
    Algorithm,
    Geometry,
)
from minimx.core.knobs import knobs
from minimx.core.ops import registry
from minimx.cuda import toolkit
from minimx.fast.convolution.choosing import (
    DISABLED,
    OFF,
    WORDS,
    Candidate,
    Rules,
    candidates,
    decided,
    table,
    timed,
)

#: Seconds after which an algorithm is given up.
PATIENCE = 1.0
#: An algorithm so many times slower than another is not run again.
HOPELESS = 2.0
RUNS = 3
#: An algorithm that needs more bytes of workspace than this is not tried.
MOST = 2 << 30

#: What a choice hangs on, besides shapes and settings: forgotten when one is turned.
KNOBS = (
    *DISABLED.values(),
    "MINIMX_CLOCK",
    "MINIMX_CPU_AUTOTUNE",
    "MINIMX_CUDNN_INVERTED_LIMIT",
    "MXNET_CPU_NNPACK_NTHREADS",
    "MXNET_CUDNN_ALGO_VERBOSE_LEVEL",
    "MXNET_CUDNN_ALLOW_FFT",
    "MXNET_CUDNN_ALLOW_REDUCED_PRECISION_REDUCTION",
    "MXNET_CUDNN_ALLOW_WINOGRAD",
    "MXNET_CUDNN_AUTOTUNE_DEFAULT",
    "MXNET_CUDNN_HEUR_MODE",
    "MXNET_ENFORCE_DETERMINISM",
    "MXNET_ONEDNN_ENABLED",
    "MXNET_ONEDNN_FORCE_FC_AB_FORMAT",
    "MXNET_USE_ONEDNN_RNN",
    "OMP_NUM_THREADS",
)

Choice = tuple[Candidate, ...]

_KERNELS = {FORWARD: "forward", "data": "data_gradient", WEIGHT: "weight_gradient"}
_lock = threading.RLock()
_times: dict[Any, dict[int, float]] = {}
_reported: set[Any] = set()


def rules_now(
    direction: str, *, limit: int, tune: str | None, off: bool, narrow: str, gpu: bool
) -> Rules:
    """The rules for one layer, from its settings and the knobs.

    limit: bytes of workspace. tune, off: `cudnn_tune` and `cudnn_off`. narrow: the name
    of the arrays' type if it has two bytes. gpu: they are on a simulated one. Only a
    layer's own word and MINIMX_CPU_AUTOTUNE take the stopwatch; without them the CPU
    goes by the heuristic, a GPU by the model of cost.
    """
    asked = tune is not None or knobs.get("MINIMX_CPU_AUTOTUNE")
    if off:
        tune = OFF
    elif tune is None:
        default = MODES[knobs.get("MXNET_CUDNN_AUTOTUNE_DEFAULT")]
        tune = default if gpu or asked else OFF
    return Rules(
        tune=tune,
        limit=limit,
        inverted=knobs.get("MINIMX_CUDNN_INVERTED_LIMIT"),
        stopwatch=asked and knobs.get("MINIMX_CLOCK") != "virtual",
        model=knobs.get("MXNET_CUDNN_HEUR_MODE") == 1,
        fft=knobs.get("MXNET_CUDNN_ALLOW_FFT"),
        winograd=knobs.get("MXNET_CUDNN_ALLOW_WINOGRAD"),
        reduced=knobs.get("MXNET_CUDNN_ALLOW_REDUCED_PRECISION_REDUCTION"),
        onednn=knobs.get("MXNET_ONEDNN_ENABLED"),
        deterministic=knobs.get("MXNET_ENFORCE_DETERMINISM"),
        disabled=tuple(sorted(set(knobs.get(DISABLED[direction])))),
        plain=off,
        threads=threads.count(),
        narrow=narrow,
    )


def as_on_cuda(rules: Rules) -> Rules:
    """The same rules on a CUDA device.

    A real one measures, as MXNet does; the threads of numba's simulator are Python's.
    """
    real_time = knobs.get("MINIMX_CLOCK") != "virtual" and not toolkit.simulated()
    return replace(rules, cuda=True, stopwatch=real_time)


def choose(
    direction: str, at: Geometry, dtype: Any, rules: Rules, *, log: bool = True
) -> Choice:
    """All candidates, with the times of those that were measured.

    log: print what MXNET_CUDNN_ALGO_VERBOSE_LEVEL asks for. Raises `OperatorError` if
    none may be chosen.
    """
    found = guessed(direction, at, dtype, rules)
    decided(found)
    if rules.measures and at.images:
        found = timed(found, measured(at, dtype, found, rules))
    if log:
        _announce(direction, at, np.dtype(dtype), rules, found)
    return found


def guessed(direction: str, at: Geometry, dtype: Any, rules: Rules) -> Choice:
    """All candidates, without times; there may be none to choose."""
    return candidates(direction, at, np.dtype(dtype).itemsize, rules)


def remembered(direction: str, at: Geometry, dtype: Any, rules: Rules) -> Choice:
    """All candidates, with the times that were measured before."""
    found = guessed(direction, at, dtype, rules)
    with _lock:
        return timed(found, _times.get(_key(at, dtype, found, rules), {}))


def unmeasured(found: Choice) -> Choice:
    """The same candidates, for those who do not look at times."""
    return timed(found, {})


def forget() -> None:
    """Forget all times."""
    with _lock:
        _times.clear()
        _reported.clear()


def measured(at: Geometry, dtype: Any, found: Choice, rules: Rules) -> dict[int, float]:
    """Seconds of each candidate that may be chosen, by number; kept from now on."""
    left = [one for one in found if not one.excluded]
    with _lock:
        times = _times.setdefault(_key(at, dtype, found, rules), {})
        for one in left:
            number = one.algorithm.number
            if number not in times and one.algorithm.workspace <= MOST:
                best = min(times.values(), default=PATIENCE / HOPELESS)
                stopwatch = measure_on_cuda if rules.cuda else measure
                times[number] = stopwatch(one.algorithm, at, dtype, best)
        return dict(times)


def _key(at: Geometry, dtype: Any, found: Choice, rules: Rules) -> Any:
    """What a time holds for."""
    steered = threads.count(), threads.transforming()
    direction = found[0].algorithm.direction
    least = knobs.get("MXNET_CPU_PARALLEL_SIZE")
    kinds = np.dtype(dtype), rules.narrow, rules.cuda
    return direction, at, *kinds, steered, least


def measure(algorithm: Algorithm, at: Geometry, dtype: Any, best: float) -> float:
    """Seconds that one run takes; fewer runs once it cannot come near to `best`."""
    from time import perf_counter

    arrays = _arrays(algorithm, at, dtype)
    run = find(f"conv.{_KERNELS[algorithm.direction]}")(algorithm, at)
    run(*arrays)
    shortest = np.inf
    for _ in range(RUNS):
        begin = perf_counter()
        run(*arrays)
        shortest = min(shortest, perf_counter() - begin)
        if shortest > HOPELESS * best:
            break
    return float(shortest)


def measure_on_cuda(
    algorithm: Algorithm, at: Geometry, dtype: Any, best: float
) -> float:
    """The same on the first CUDA device, waiting for it every time."""
    from time import perf_counter

    from minimx.core.device import gpu
    from minimx.core.drivers import working
    from minimx.cuda.kernels.core import conv
    from minimx.cuda.toolkit import cuda

    made = getattr(conv, _KERNELS[algorithm.direction])(algorithm, at)
    shortest = np.inf
    with working(gpu(0)) as stream:
        arrays = [cuda().to_device(array) for array in _arrays(algorithm, at, dtype)]
        for turn in range(RUNS + 1):
            begin = perf_counter()
            made(*arrays[: 4 - (algorithm.direction == DATA)])
            stream.synchronize()
            if turn:  # the first one compiles
                shortest = min(shortest, perf_counter() - begin)
            if shortest > HOPELESS * best:
                break
    return float(shortest)


def _arrays(algorithm: Algorithm, at: Geometry, dtype: Any) -> list[Any]:
    """Arguments for one direction: numbers that are no special case."""
    dtype = resolve(algorithm.dtype or dtype)

    def full(*shape: int) -> Any:
        return np.full(shape, 0.5, dtype)

    data = full(at.images, at.channels, at.height, at.width)
    window = at.kernel_h, at.kernel_w
    weight = full(at.filters, at.channels // at.groups, *window)
    out = full(at.images, at.filters, at.out_h, at.out_w)
    bias = full(at.filters)
    arrays = {
        FORWARD: [data, weight, bias, out],
        WEIGHT: [out, data, weight, bias],
    }.get(algorithm.direction, [out, weight, data])
    if algorithm.workspace:
        arrays.append(np.zeros(algorithm.workspace, np.uint8))
    return arrays


def _announce(
    direction: str, at: Geometry, dtype: Any, rules: Rules, found: Choice
) -> None:
    """Print what MXNET_CUDNN_ALGO_VERBOSE_LEVEL asks for, once for each choice."""
    level = knobs.get("MXNET_CUDNN_ALGO_VERBOSE_LEVEL")
    key = direction, at, dtype, rules, level
    if not level or key in _reported:
        return
    _reported.add(key)
    how = "measured" if rules.measures else "guessed"
    how += "" if rules.tune == OFF or not rules.bounded else ", limited"
    data = at.images, at.channels, at.height, at.width
    window = at.filters, at.channels // at.groups, at.kernel_h, at.kernel_w
    print(f"{WORDS[direction]}, data {data}, weight {window}, {dtype}: {how}")
    print(table(found, every=level > 1))


def _level_turned(name: str, new: Any, old: Any) -> None:
    _reported.clear()


knobs.watch("MXNET_CUDNN_ALGO_VERBOSE_LEVEL", _level_turned)
# A plan of a convolution settles on its algorithm.
knobs.watch(KNOBS, lambda name, new, old: registry.forget_plans())
# And so do the graphs that it is part of.
knobs.watch(KNOBS, settings.forget)
