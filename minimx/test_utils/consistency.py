"""Whether the same comes out on every device, in every type, hybridized or not."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from minimx import nd
from minimx.core import autograd
from minimx.core.arrays.array import NDArray
from minimx.core.arrays.creation import array
from minimx.core.device import Device
from minimx.core.errors import ArgumentError
from minimx.executor import Executor
from minimx.initializer import Initializer
from minimx.symbol import Symbol
from minimx.test_utils.arrays import rand_ndarray
from minimx.test_utils.compare import assert_almost_equal, compare_ndarray_tuple
from minimx.test_utils.defaults import default_context
from minimx.test_utils.tolerance import Tolerance, get_tols


def check_consistency(
    sym: Symbol | Sequence[Symbol],
    ctx_list: Sequence[Mapping[str, Any]],
    scale: float = 1.0,
    grad_req: Any = "write",
    arg_params: dict[str, Any] | None = None,
    aux_params: dict[str, Any] | None = None,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    raise_on_err: bool = True,
    ground_truth: dict[str, Any] | None = None,
    equal_nan: bool = False,
    use_uniform: bool = False,
    rand_type: Any = np.float64,
) -> dict[str, Any]:
    """Compare outputs and gradients of a symbol bound in several ways.

    sym: one symbol for all ways, or one for each. ctx_list: for each way the words of
    `simple_bind`: {'ctx': mx.cpu(), 'data': (2, 3), 'type_dict': {'data': 'float16'}}.
    The most precise way, or `ground_truth`, is what the others are compared with.
    arg_params, aux_params: numbers to begin with; random ones and zeros by default.
    Returns what was compared with.
    """
    if len(ctx_list) < 2:
        raise ArgumentError("check_consistency compares two ways at least.")
    symbols = [sym] * len(ctx_list) if isinstance(sym, Symbol) else list(sym)
    names = [(s.list_arguments(), s.list_outputs()) for s in symbols]
    if any(pair != names[0] for pair in names):
        raise ArgumentError(
            f"check_consistency compares by name, and the symbols differ in theirs: "
            f"{names}. Give the nodes names of your own."
        )
    executors = [
        s.simple_bind(grad_req=grad_req, **settings)
        for s, settings in zip(symbols, ctx_list, strict=True)
    ]
    begin = _Beginning(scale, use_uniform, rand_type, arg_params, aux_params)
    for executor in executors:
        begin.fill(executor, executors[0], zero_grads=grad_req == "add")
    for executor in executors:
        executor.forward(is_train=False)
    dtypes = [np.dtype(executor.outputs[0].dtype) for executor in executors]
    best = int(np.argmax([dtype.itemsize for dtype in dtypes]))
    truth = ground_truth
    if truth is None:
        truth = dict(executors[best].output_dict)
    compare = _Comparison(truth, dtypes, best, rtol, atol, equal_nan, raise_on_err)
    for i, executor in enumerate(executors):
        if i != best:
            compare(i, executor.output_dict)
    if grad_req != "null":
        _train(executors)
        if ground_truth is None:
            truth |= {**executors[best].output_dict, **executors[best].grad_dict}
        for i, executor in enumerate(executors):
            if i != best:
                compare(i, {**executor.output_dict, **executor.grad_dict})
    return truth


class _Beginning:
    """The numbers that all executors begin with."""

    def __init__(
        self, scale: float, even: bool, dtype: Any, args: Any, aux: Any
    ) -> None:
        self.scale, self.even, self.dtype = scale, even, dtype
        self.args: dict[str, Any] = {} if args is None else args
        self.aux: dict[str, Any] = {} if aux is None else aux

    def draw(self, shape: tuple[int, ...]) -> Any:
        if self.even:
            found = np.random.uniform(-0.92 * self.scale, 0.92 * self.scale, shape)
        else:
            found = np.random.normal(size=shape, scale=self.scale)
        return found.astype(self.dtype)

    def fill(self, executor: Executor, first: Executor, zero_grads: bool) -> None:
        """Write them into an executor; what is not given is drawn for the first."""
        for name, target in sorted(first.arg_dict.items()):
            if name not in self.args:
                self.args[name] = self.draw(target.shape)
        for name, target in executor.arg_dict.items():
            target[:] = self.args[name]
        for name, target in executor.aux_dict.items():
            target[:] = self.aux.get(name, 0)
        for grad in executor.grad_arrays if zero_grads else ():
            if grad is not None:
                grad[:] = 0


class _Comparison:
    """Compares arrays by name with the truth, each pair as its coarser type allows."""

    def __init__(
        self,
        truth: dict[str, Any],
        dtypes: list[Any],
        best: int,
        rtol: Tolerance,
        atol: Tolerance,
        equal_nan: bool,
        strict: bool,
    ) -> None:
        self.truth, self.dtypes, self.best = truth, dtypes, best
        self.rtol, self.atol = rtol, atol
        self.equal_nan, self.strict = equal_nan, strict

    def __call__(self, way: int, arrays: Mapping[str, Any]) -> None:
        for name, found in arrays.items():
            wanted = self.truth[name]
            if found is None or wanted is None:
                assert found is wanted, f"{name} has a gradient in one way only"
                continue
            # A gradient in float32 of a call in float16 is no more precise than that.
            one, other = [
                np.empty(0, min(np.dtype(x.dtype), dtype, key=lambda d: d.itemsize))
                for x, dtype in (
                    (found, self.dtypes[way]),
                    (wanted, self.dtypes[self.best]),
                )
            ]
            rtol, atol = get_tols(one, other, self.rtol, self.atol)
            labels = (f"{name} (way {way})", f"{name} (way {self.best})")
            try:
                assert_almost_equal(found, wanted, rtol, atol, labels, self.equal_nan)
            except AssertionError as error:
                if self.strict:
                    raise
                print(error)


def _train(executors: list[Executor]) -> None:
    """Forward and backward, all with the same gradients of the outputs."""
    for executor in executors:
        executor.forward(is_train=True)
    every = [executor.outputs for executor in executors]
    coarsest = [
        min((np.dtype(out.dtype) for out in same), key=lambda d: d.itemsize)
        for same in zip(*every, strict=True)
    ]
    heads = [
        out.asnumpy().astype(dtype)
        for out, dtype in zip(every[0], coarsest, strict=True)
    ]
    for executor, outs in zip(executors, every, strict=True):
        executor.backward(
            [
                array(head, ctx=executor._ctx, dtype=out.dtype)
                for head, out in zip(heads, outs, strict=True)
            ]
        )


def same_symbol_structure(sym1: Symbol, sym2: Symbol) -> bool:
    """Whether two symbols have the same operators in the same order."""
    ops = [
        [node["op"] for node in json.loads(sym.tojson())["nodes"]]
        for sym in (sym1, sym2)
    ]
    return ops[0] == ops[1]


class _Given(Initializer):
    """Fills parameters with numbers known by name."""

    def __init__(self, numbers: Mapping[str, Any]) -> None:
        super().__init__()
        self._numbers = numbers

    def __call__(self, desc: str, arr: NDArray) -> None:
        arr[:] = self._numbers[str(desc)]


def check_gluon_hybridize_consistency(
    net_builder: Callable[..., Any],
    data_l: Sequence[Any],
    numpy_func: Callable[..., Any] | None = None,
    test_grad: bool = True,
    rtol: float = 1e-4,
    atol: float = 1e-4,
) -> None:
    """Compare a HybridBlock with itself hybridized, and with a function of NumPy.

    net_builder: makes the block; it takes `prefix`. data_l: the inputs. The block must
    not draw random numbers.
    """
    numbers: dict[str, Any] | None = None
    first_out: Any = None
    first_grads: list[Any] | None = None
    for hybridize in (False, True):
        for record in (False, True) if test_grad else (False,):
            net = net_builder(prefix="net_")
            net.initialize() if numbers is None else net.initialize(_Given(numbers))
            if hybridize:
                net.hybridize()
            out, grads = _run(net, data_l, record)
            if numbers is None:
                params = net.collect_params().items()
                numbers = {name: p.data().asnumpy() for name, p in params}
            first_out = out if first_out is None else first_out
            assert_almost_equal(out, first_out, rtol, atol)
            if grads is not None:
                first_grads = grads if first_grads is None else first_grads
                compare_ndarray_tuple(grads, first_grads, rtol, atol)
    if numpy_func is not None:
        wanted = numpy_func(*[x.asnumpy() for x in data_l])
        assert_almost_equal(first_out, wanted, rtol, atol)


def _run(net: Any, data_l: Sequence[Any], record: bool) -> tuple[Any, Any]:
    inputs = [x.copy() for x in data_l]
    if not record:
        return net(*inputs).asnumpy(), None
    for x in inputs:
        x.attach_grad()
    with autograd.record():
        out = net(*inputs)
    out.backward(out)
    return out.asnumpy(), [x.grad.asnumpy() for x in inputs]


def compare_optimizer(
    opt1: Any,
    opt2: Any,
    shape: Any,
    dtype: Any,
    w_stype: str = "default",
    g_stype: str = "default",
    rtol: float = 1e-4,
    atol: float = 1e-5,
    compare_states: bool = True,
    ntensors: int = 1,
) -> None:
    """Compare two optimizers after one step from the same weights and gradients.

    shape: one shape; or a list of `ntensors`, which `opt2` is given all at once. Sparse
    weights and gradients go to `opt2` as they are, to `opt1` made dense.
    """
    if isinstance(shape, list):
        _compare_many(opt1, opt2, shape, dtype, rtol, atol, compare_states)
        return
    w1, w2 = _both_kinds(shape, w_stype, dtype, density=1)
    g1, g2 = _both_kinds(shape, g_stype, dtype)
    state1 = opt1.create_state_multi_precision(0, w1)
    state2 = opt2.create_state_multi_precision(0, w2)
    if compare_states:
        compare_ndarray_tuple(state1, state2)
    opt1.update_multi_precision(0, w1, g1, state1)
    opt2.update_multi_precision(0, w2, g2, state2)
    if compare_states:
        compare_ndarray_tuple(state1, state2, rtol, atol)
    assert_almost_equal(w1, w2, rtol, atol)


def _both_kinds(
    shape: tuple[int, ...], stype: str, dtype: Any, density: float | None = None
) -> tuple[NDArray, NDArray]:
    """The same random numbers twice: dense, and as they are stored."""
    ctx: Device = default_context()
    if stype == "default":
        stored: NDArray = nd.random.uniform(shape=shape, ctx=ctx, dtype=dtype)
        return stored.copy(), stored
    stored = rand_ndarray(shape, stype, density=density, dtype=dtype)
    return stored.copy().tostype("default"), stored


def _compare_many(
    opt1: Any,
    opt2: Any,
    shapes: list[tuple[int, ...]],
    dtype: Any,
    rtol: float,
    atol: float,
    compare_states: bool,
) -> None:
    w1, g1 = (
        tuple(_both_kinds(shape, "default", dtype)[0] for shape in shapes)
        for _ in range(2)
    )
    w2, g2 = copy.deepcopy(w1), copy.deepcopy(g1)
    numbers = list(range(len(shapes)))
    states2 = [opt2.create_state_multi_precision(i, w2[i]) for i in numbers]
    opt2.update_multi_precision(numbers, w2, g2, states2)
    for i in numbers:
        state1 = opt1.create_state_multi_precision(i, w1[i])
        opt1.update_multi_precision(i, w1[i], g1[i], state1)
        if compare_states:
            compare_ndarray_tuple(state1, states2[i], rtol, atol)
        compare_ndarray_tuple(w1[i], w2[i], rtol, atol)
