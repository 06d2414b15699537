"""Making arrays: `array`, `zeros`, `ones`, `full`, `empty`, `arange`, `eye`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minimx.core import np_semantics
from minimx.core.arrays import sparse
from minimx.core.arrays.array import NDArray, checked_dtype, new
from minimx.core.arrays.launch import invoke, invoke_planned
from minimx.core.arrays.transfer import from_numpy_copy, wrap_numpy
from minimx.core.device import Device, DeviceLike, as_device, current_device
from minimx.core.dtypes import numbers, resolve
from minimx.core.errors import DTypeError, OperatorError, ShapeError
from minimx.core.operators.creation import Full, Ones, Zeros
from minimx.core.ops.registry import Op, lookup
from minimx.core.ops.settings import to_type
from minimx.core.ops.spec import Spec

ShapeLike = int | Sequence[int]


def _device(ctx: DeviceLike | None, device: DeviceLike | None = None) -> Device:
    return as_device(ctx or device or current_device())


def _shape(shape: ShapeLike) -> tuple[int, ...]:
    found: tuple[int, ...] = to_type("shape", "shape", shape, "Shape")
    if any(n < 0 for n in found):
        raise OperatorError(f"shape {found}: the length of an axis cannot be negative.")
    return found


def shape_to_fill(name: str, shape: ShapeLike) -> tuple[int, ...]:
    """The shape of an array that an operator fills: it has elements, and an axis.

    With np_shape, as under mx.np, it may have none of them.
    """
    if isinstance(shape, tuple) and shape and min(shape) > 0:
        return shape
    found = _shape(shape)
    if not np_semantics.is_np_shape() and (0 in found or not found):
        what = "no elements" if found else "no axes"
        raise ShapeError(
            f"mx.nd.{name}: an array of shape {found} has {what}, and such arrays are "
            "NumPy's. Use mx.np, or call it in `with mx.np_shape():`."
        )
    return found


def _create(
    sheet: type[Op], ctx: DeviceLike | None, out: Any, dtype: Any, **settings: Any
) -> NDArray:
    """Run an operator that has no inputs. dtype: float32 for None."""
    name = "float32" if dtype is None else resolve(dtype).name
    op = sheet.of(**settings, dtype=name)
    if out is not None:
        where = out.context
    else:
        where = current_device() if ctx is None else as_device(ctx)
    plan = op.plans.get(()) or op.plan(())
    made: NDArray = invoke_planned(op, plan, (), out, where, NDArray)
    return made


def array(
    source_array: Any,
    ctx: DeviceLike | None = None,
    dtype: Any = None,
    device: DeviceLike | None = None,
) -> NDArray:
    """An array with the numbers of anything that NumPy understands.

    dtype: of the result; by default that of an NDArray source, else float32.

    >>> import minimx as mx
    >>> mx.nd.array([[1, 2], [3, 4]]).shape
    (2, 2)
    """
    where = _device(ctx, device)
    if hasattr(source_array, "tocsr"):  # a sparse matrix of SciPy's
        made: NDArray = sparse.attached().array(source_array, where, dtype)
        return made
    if isinstance(source_array, NDArray):
        made = source_array.astype(source_array.spec.dtype if dtype is None else dtype)
        return made.as_in_context(where) if made.context is not where else made
    # As in MXNet: whatever a source of another kind holds, the default is float32.
    wanted = checked_dtype(dtype)
    try:
        found = numbers(source_array, wanted)
    except (TypeError, ValueError, OverflowError) as reason:
        raise DTypeError(
            f"nd.array: the {type(source_array).__name__} given is no array of "
            f"numbers: {reason}. Give numbers, nested in lists of equal lengths."
        ) from None
    solid = np.ascontiguousarray(found).reshape(found.shape)  # () stays ()
    return from_numpy_copy(solid, where, NDArray)


def from_numpy(ndarray: Any, zero_copy: bool = True) -> NDArray:
    """An array on the CPU over the memory of a C-contiguous NumPy array.

    zero_copy: share the memory (the NumPy array becomes read-only), else copy.
    """
    if not zero_copy:
        return array(ndarray, dtype=ndarray.dtype)
    if not ndarray.flags["C_CONTIGUOUS"]:
        raise ValueError(
            "from_numpy: only C-contiguous arrays can be shared. "
            "Use numpy.ascontiguousarray, or zero_copy=False."
        )
    if not ndarray.flags["WRITEABLE"]:  # perhaps because it is shared already
        ndarray.flags["WRITEABLE"] = True  # ValueError if it is not its own to give
    shared = wrap_numpy(ndarray, Device("cpu", 0), NDArray)
    ndarray.flags["WRITEABLE"] = False
    return shared


def from_dlpack(source: Any) -> NDArray:
    """An array over the memory of another framework's CPU tensor."""
    if not hasattr(source, "__dlpack__"):
        source = _Capsule(source)
    return wrap_numpy(
        np.ascontiguousarray(np.from_dlpack(source)), Device("cpu", 0), NDArray
    )


class _Capsule:
    """A bare DLPack capsule in the clothes that NumPy asks for."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def empty(
    shape: ShapeLike,
    ctx: DeviceLike | None = None,
    dtype: Any = None,
    stype: str | None = None,
) -> NDArray:
    """An array whose contents are whatever was in memory; a sparse one has none.

    shape, ctx, dtype, stype and errors are those of `zeros`. Its memory is taken when
    it is first written or read.
    """
    if stype not in (None, "default"):
        return _sparse_zeros(stype, shape, ctx, dtype)
    return new(Spec.of(_shape(shape), checked_dtype(dtype)), _device(ctx), "empty")


def _sparse_zeros(stype: Any, shape: ShapeLike, ctx: Any, dtype: Any) -> NDArray:
    made: NDArray = sparse.attached().zeros(stype, shape, ctx, dtype)
    return made


def zeros(
    shape: ShapeLike,
    ctx: DeviceLike | None = None,
    dtype: Any = None,
    stype: str | None = None,
    out: Any = None,
    *,
    device: DeviceLike | None = None,
) -> NDArray:
    """An array of zeros; of a sparse one (`stype`), nothing is stored.

    shape: a tuple, or a number for one axis; lengths of at least 1, of 0 as well with
    np_shape. ctx or device: where it is, the current device if none is given. dtype:
    float32 if none is given. stype: 'default', 'row_sparse' or 'csr' (two axes).
    out: an array of that shape and dtype to write to, which is returned then. Raises
    `ShapeError` for a shape without elements, `DTypeError` for an unknown dtype.
    """
    if stype not in (None, "default"):
        return _sparse_zeros(stype, shape, ctx or device, dtype)
    filled = shape_to_fill("zeros", shape)
    return _create(Zeros, ctx or device, out, dtype, shape=filled)


def ones(
    shape: ShapeLike,
    ctx: DeviceLike | None = None,
    dtype: Any = None,
    out: Any = None,
    *,
    device: DeviceLike | None = None,
) -> NDArray:
    """An array of ones.

    shape, ctx, dtype, out and errors are those of `zeros`.
    """
    filled = shape_to_fill("ones", shape)
    return _create(Ones, ctx or device, out, dtype, shape=filled)


def full(
    shape: ShapeLike,
    val: float,
    ctx: DeviceLike | None = None,
    dtype: Any = None,
    out: Any = None,
) -> NDArray:
    """An array filled with one value.

    shape, ctx, dtype, out and errors are those of `zeros`; val: a number, converted to
    the dtype.
    """
    found = _shape(shape)
    if not found:
        shape_to_fill("full", found)
    value = to_type("full", "val", val, "float")
    return _create(Full, ctx, out, dtype, shape=found, value=value)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool | None = None,
    ctx: DeviceLike | None = None,
    dtype: Any = None,
) -> NDArray:
    """Evenly spaced numbers from `start` up to, without, `stop`.

    Without `stop`, from 0 up to `start`. Each number comes `repeat` times: the result
    has the shape (ceil((stop - start) / step) * repeat,). dtype: float32 if none is
    given. infer_range is for symbols; here it changes nothing.
    """
    if stop is None:
        start, stop = 0.0, start
    settings = {"start": start, "stop": stop, "step": step, "repeat": repeat}
    return _create(lookup("_arange"), ctx, None, dtype, **settings)


def linspace(
    start: float,
    stop: float,
    num: int,
    endpoint: bool = True,
    ctx: DeviceLike | None = None,
    dtype: Any = None,
) -> NDArray:
    """`num` evenly spaced numbers from `start` to `stop`.

    The result has the shape (num,); endpoint: whether `stop` is its last number. dtype:
    float32 if none is given.
    """
    settings = {"start": start, "stop": stop, "num": num, "endpoint": endpoint}
    return _create(lookup("_linspace"), ctx, None, dtype, **settings)


def eye(
    N: int,  # noqa: N803 (MXNet's names)
    M: int = 0,  # noqa: N803
    k: int = 0,
    ctx: DeviceLike | None = None,
    dtype: Any = None,
) -> NDArray:
    """A matrix with ones on the k-th diagonal.

    The result has the shape (N, M), or (N, N) for M=0. k: 0 the main diagonal, above it
    if positive. dtype: float32 if none is given.
    """
    return _create(lookup("_eye"), ctx, None, dtype, N=N, M=M, k=k)


def moveaxis(tensor: NDArray, source: Any, destination: Any) -> NDArray:
    """Move axes to new positions; the others keep their order.

    tensor (2, 3, 4), source 0, destination 2; result (3, 4, 2). source, destination: a
    number, or as many of them. The data are copied. Raises NumPy's AxisError for an
    axis that there is not.
    """
    ghost = np.broadcast_to(np.empty(()), tuple(range(1, tensor.ndim + 1)))
    order = [n - 1 for n in np.moveaxis(ghost, source, destination).shape]
    return tensor.transpose(order)  # type: ignore[no-any-return]


def concatenate(
    arrays: Sequence[NDArray], axis: int = 0, always_copy: bool = True
) -> NDArray:
    """Join arrays along an axis.

    arrays (2, 3), (5, 3), axis=0; result (7, 3). They are of one dtype and device.
    always_copy=False: a single array is returned as it is. `nd.concat` does the same
    with arrays as arguments.
    """
    if len(arrays) == 1 and not always_copy:
        return arrays[0]
    joined: NDArray = invoke(lookup("Concat").of(dim=axis), list(arrays))
    return joined
