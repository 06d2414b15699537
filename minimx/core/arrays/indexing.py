"""`x[key]` and `x[key] = value`.

A *basic* key (integers, slices, None, Ellipsis) that picks one contiguous stretch of
memory gives a view: writing to it changes the array. Any other basic key, and every
*advanced* one (an array or list of indices), gives a copy. This is MXNet's rule.
"""

from __future__ import annotations

import operator
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from minimx.core import autograd, engine
from minimx.core.arrays.arithmetic import is_array, refuse_on_tape
from minimx.core.arrays.transfer import from_numpy_copy
from minimx.core.drivers import backend_of, during
from minimx.core.drivers.copies import copyto
from minimx.core.errors import ShapeError
from minimx.core.ops.registry import Op, lookup
from minimx.core.ops.spec import Cost, Spec

if TYPE_CHECKING:
    from minimx.core.arrays.array import NDArray

# One axis of a basic key: an int, or (start, stop, step) with everything filled in.
Part = int | tuple[int, int, int] | None


def get(array: NDArray, key: Any) -> NDArray:
    """The elements that a key picks; the array itself if that is all of them.

    key: numbers, slices, None, `...`, arrays of integers or of booleans, or a tuple of
    these. The result shares memory with the array or is a copy, as the head of this
    file says. Raises IndexError for an index beyond its axis, or more indices than
    axes.
    """
    scalars = array._has_scalars()
    name = _name(array.spec, key, scalars)
    known = _windows.get(name)
    if known is not None:
        return _view(array, *known)
    if isinstance(key, (slice, tuple)) and key in (slice(None), ()):
        return array
    if not is_basic(key):
        op, indices = _advanced(array, key)
        return array._bind(op, [array, *indices])  # type: ignore[no-any-return]
    parts = complete(array.shape, key)
    window = _contiguous(array.shape, parts)
    op = lookup("_basic_index").of(key=tuple(parts), np_shape=scalars)
    if window is None or array.spec.eager is not None:
        return array._bind(op, [array])  # type: ignore[no-any-return]
    start, shape = window
    spec = array.spec.with_shape(shape if scalars else shape or (1,))
    found = op, spec, start * array.spec.dtype.itemsize
    if name is not None:
        if len(_windows) >= 1 << 14:  # programs with ever new keys
            _windows.clear()
        _windows[name] = found
    return _view(array, *found)


#: {what was indexed by what: the operator, what comes out, where it starts in bytes},
#: for keys of one number or slice that give a view.
_windows: dict[Any, tuple[Op, Spec, int]] = {}
_BOUND = (int, type(None))


def _name(spec: Spec, key: Any, scalars: bool) -> Any:
    """The name in `_windows` of a key; None for those that have none.

    Its types are checked, as 1, 1.0 and True are equal and mean different keys.
    """
    kind = type(key)
    if kind is slice:
        start, stop, step = key.start, key.stop, key.step
        if type(start) in _BOUND and type(stop) in _BOUND and type(step) in _BOUND:
            return spec, start, stop, step, scalars
    return (spec, key, scalars) if kind is int else None


def set(array: NDArray, key: Any, value: Any) -> None:  # noqa: A001 (pairs with get)
    """Overwrite the elements that a key picks with a number or an array.

    value: a number, an NDArray or a NumPy array, of the shape of what the key picks or
    stretched to it. Raises `ShapeError` for a value that does not fit, IndexError for
    an index beyond its axis, and an error for an array that the tape needs unchanged.
    """
    refuse_on_tape(array)
    indices: list[NDArray] = []
    if is_basic(key):
        numpy_key: Any = _numpy_key(complete(array.shape, key))
        picked = _shape_of(array.shape, numpy_key)
    else:
        key, indices = _with_arrays(array, key)
        numpy_key = None
        picked = None
    if is_array(value):
        refuse_on_tape(value)
        if value.spec.eager is not None:
            value = value.tostype("default")
        value = value.as_in_context(array.context)
    else:
        value = np.asarray(value)
    if picked is not None:
        _check_fits(picked, value.shape)
    _push_assignment(array, key, numpy_key, indices, value)


def _push_assignment(
    array: NDArray, key: Any, numpy_key: Any, indices: list[NDArray], value: Any
) -> None:
    array_given = is_array(value)
    if not array_given:
        value = np.array(value)  # ours, whatever the caller does with his

    def run() -> None:
        where = numpy_key if numpy_key is not None else _resolved(key)
        numbers = value._host_view() if array_given else value
        target = array._host_view()
        if numpy_key is not None:
            numbers = _squeezed(numbers, target[where].ndim)
        target[where] = numbers
        if array.context.backend == "cuda":
            copyto(array.view(), target)  # a part has no kernel; all goes there again

    reads = [index.chunk for index in indices]
    if array_given:
        reads.append(value.chunk)
    cost = Cost(0, 2 * (value.spec.nbytes if array_given else value.nbytes))
    device = array.context
    engine.current.push(
        run if backend_of(device) == "cpu" else during(device, run),
        device,
        reads,
        [array.chunk],
        "_slice_assign",
        cost=cost,
    )


def _squeezed(numbers: Any, ndim: int) -> Any:
    """Drop leading axes of length 1 that the place does not have (MXNet allows it)."""
    while numbers.ndim > max(ndim, 1) and numbers.shape[0] == 1:
        numbers = numbers[0]
    return numbers.reshape(()) if ndim == 0 else numbers


def _check_fits(picked: tuple[int, ...], given: tuple[int, ...]) -> None:
    trimmed = given
    while len(trimmed) > len(picked) and trimmed and trimmed[0] == 1:
        trimmed = trimmed[1:]
    try:
        fits = np.broadcast_shapes(picked, trimmed) == picked
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(
            f"x[key] = value: the key picks shape {picked}, the value has shape "
            f"{given}, which cannot be stretched to it."
        )


# -- basic keys -----------------------------------------------------------------------


def is_basic(key: Any) -> bool:
    """Whether a key consists of integers, slices, None and Ellipsis."""
    items = key if isinstance(key, tuple) else (key,)
    for item in items:
        if item is None or item is Ellipsis or isinstance(item, slice):
            continue
        if isinstance(item, (bool, np.bool_)):
            return False
        if isinstance(item, (int, np.integer)):
            continue
        return False
    return True


def complete(shape: tuple[int, ...], key: Any) -> list[Part]:
    """Fill a basic key in: one part for every axis, None for a new one.

    `x[..., 0]` of shape (2, 3, 4) is (whole, whole, 0). Raises IndexError for more
    indices than axes, or a second ellipsis.
    """
    items = list(key) if isinstance(key, tuple) else [key]
    named = sum(item is not None and item is not Ellipsis for item in items)
    if named > len(shape):
        raise IndexError(
            f"{named} indices for an array of {len(shape)} dimensions, {shape}."
        )
    if items.count(Ellipsis) > 1:
        raise IndexError("an index can have only one ellipsis (...)")
    missing = [slice(None)] * (len(shape) - named)
    if Ellipsis in items:
        at = items.index(Ellipsis)
        items[at : at + 1] = missing
    else:
        items += missing
    parts: list[Part] = []
    axis = 0
    for item in items:
        if item is None:
            parts.append(None)
            continue
        parts.append(_part(item, axis, shape[axis]))
        axis += 1
    return parts


def _part(item: Any, axis: int, length: int) -> Part:
    if isinstance(item, slice):
        step = operator.index(item.step) if item.step is not None else 1
        if step == 0:
            raise ValueError("slice step cannot be zero")
        start, stop, step = item.indices(length)
        count = len(range(start, stop, step))
        return (start, start + count * step, step) if count else (0, 0, 1)
    index = operator.index(item)
    if not -length <= index < length:
        raise IndexError(
            f"index {index} does not exist on axis {axis}, which has length {length}."
        )
    return index % length


def _numpy_key(parts: list[Part]) -> tuple[Any, ...]:
    """The key as NumPy takes it."""
    return tuple(
        slice(part[0], part[1] if part[1] >= 0 else None, part[2])
        if isinstance(part, tuple)
        else part
        for part in parts
    )


def _shape_of(shape: tuple[int, ...], numpy_key: tuple[Any, ...]) -> tuple[int, ...]:
    """The shape that a basic key picks, found on an array without memory."""
    ghost = np.broadcast_to(np.empty((), np.uint8), shape)
    return tuple(ghost[numpy_key].shape)


def _contiguous(
    shape: tuple[int, ...], parts: list[Part]
) -> tuple[int, tuple[int, ...]] | None:
    """(first element, shape) if the key picks one stretch of memory, else None.

    It does when the axes before the last restricted one pick a single element each.
    """
    start, out = 0, []
    axes = [part for part in parts if part is not None]
    strides = [prod(shape[i + 1 :]) for i in range(len(shape))]
    inside = False  # a range of several elements was seen
    for part, length, stride in zip(axes, shape, strides, strict=True):
        if isinstance(part, int):
            if inside:
                return None
            start += part * stride
            continue
        first, stop, step = part
        count = len(range(first, stop, step))
        full = first == 0 and count == length and step == 1
        if (inside and not full) or (step != 1 and count > 1):
            return None
        start += first * stride
        inside = inside or count != 1
    for item in parts:
        if item is None:
            out.append(1)
        elif isinstance(item, tuple):
            out.append(len(range(*item)))
    return start, tuple(out)


def _view(array: NDArray, op: Op, spec: Spec, start: int) -> NDArray:
    out = type(array)(array.chunk, spec, array.offset + start)
    if autograd.state.recording and array._entry is not None:
        autograd.record_call(op, [array], [out], op.plan((array.spec,)), 0)
    return out


# -- advanced keys --------------------------------------------------------------------


def _with_arrays(array: NDArray, key: Any) -> tuple[tuple[Any, ...], list[NDArray]]:
    """The key with every index array as an NDArray on the array's device; and those."""
    items = []
    arrays: list[NDArray] = []
    for item in key if isinstance(key, tuple) else (key,):
        if isinstance(item, (list, np.ndarray, tuple, range)):
            numbers = np.asarray(item)
            if numbers.dtype != np.bool_:
                numbers = numbers.astype(np.int64)
            item = from_numpy_copy(numbers, array.context, type(array))
        if is_array(item):
            item = item.as_in_context(array.context)
            arrays.append(item)
        items.append(item)
    return tuple(items), arrays


def _resolved(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """The key as NumPy takes it; runs inside the engine, when the indices are there."""
    return tuple(
        index_numbers(item._host_view()) if is_array(item) else item for item in key
    )


def index_numbers(numbers: Any) -> Any:
    """Indices as NumPy wants them: MXNet's are often float32."""
    return numbers if numbers.dtype.kind in "iub" else numbers.astype(np.int64)


def _advanced(array: NDArray, key: Any) -> tuple[Any, list[NDArray]]:
    """The operator for an advanced key, and its index arrays.

    Boolean masks pick a number of elements that only their contents tell, so they are
    read at once and become lists of indices.
    """
    items, arrays = _with_arrays(array, key)
    if any(index.spec.dtype == np.bool_ for index in arrays):
        _check_masks(array.shape, items)
    pattern: list[Any] = []
    indices: list[NDArray] = []
    for item in items:
        if not hasattr(item, "chunk"):
            pattern.append(_hashable(item))
        elif item.spec.dtype == np.bool_ and not item.shape:
            pattern.append(_hashable(bool(item.asscalar())))
        elif item.spec.dtype == np.bool_:
            for found in np.nonzero(item.asnumpy()):
                more, _ = _with_arrays(array, found)
                pattern.append("array")
                indices.append(more[0])
        else:
            pattern.append("array")
            indices.append(item)
    op = lookup("_advanced_index")
    return op.of(key=tuple(pattern), np_shape=array._has_scalars()), indices


def _check_masks(shape: tuple[int, ...], items: tuple[Any, ...]) -> None:
    """Raise IndexError if a mask does not have the shape of the axes it replaces."""
    ghost = np.broadcast_to(np.empty((), "V0"), shape)
    ghost[tuple(x.asnumpy() if hasattr(x, "chunk") else x for x in items)]


def _hashable(item: Any) -> Any:
    if isinstance(item, slice):
        return (item.start, item.stop, item.step)
    if isinstance(item, (bool, np.bool_)):
        return "true" if item else "false"
    return "..." if item is Ellipsis else item
