"""How a batch is dealt out to devices: decisions about names, shapes and slices.

>>> cut(10, [1, 1])
[slice(0, 5, None), slice(5, 10, None)]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minimx.core.errors import ArgumentError, MissingArgument
from minimx.io import DataDesc

Described = Sequence[Any] | None


def cut(size: int, workload: Sequence[float]) -> list[slice]:
    """The examples of each device, in proportion to its part of the workload.

    Shares are rounded; what that leaves over goes to the last device.

    >>> cut(7, [2, 1])
    [slice(0, 5, None), slice(5, 7, None)]
    """
    total = sum(workload)
    shares = [round(part * size / total) for part in workload]
    shares[-1] += max(size - sum(shares), 0)
    found, begin = [], 0
    for share in shares:
        end = min(begin + share, size)
        if end <= begin:
            raise ArgumentError(
                f"a batch of {size} cannot be dealt out to {len(workload)} devices: "
                "each needs an example at least. Take larger batches or less devices."
            )
        found.append(slice(begin, end))
        begin = end
    return found


def described(entry: Any) -> DataDesc:
    """A DataDesc, from one or from (name, shape, …).

    >>> described(("data", (5, 3)))
    DataDesc[data,(5, 3),<class 'numpy.float32'>,NCHW]
    """
    if isinstance(entry, DataDesc):
        return entry
    name, shape, *more = entry
    if not isinstance(shape, (int, tuple, list)):
        raise MissingArgument(
            f"the shape of {name!r} is a tuple, such as (32, 10), not a "
            f"{type(shape).__name__}."
        )
    return DataDesc(name, (shape,) if isinstance(shape, int) else tuple(shape), *more)


def batch_axis(entry: DataDesc) -> int:
    """Which axis counts the examples of an array; -1 if none does."""
    return DataDesc.get_batch_axis(entry.layout)


def batch_size(entries: Sequence[DataDesc]) -> int:
    """How many examples there are, on which all arrays have to agree."""
    sizes = {e.name: e.shape[batch_axis(e)] for e in entries if batch_axis(e) >= 0}
    if len({*sizes.values()}) > 1:
        raise ArgumentError(
            f"the arrays of a batch count its examples differently: {sizes}. Their "
            "axes may be in another order: DataDesc's layout says which is which."
        )
    return next(iter(sizes.values()), 0)


def part_of(entry: DataDesc, part: slice) -> DataDesc:
    """What one device gets of an array.

    >>> part_of(described(("data", (10, 3))), slice(0, 4)).shape
    (4, 3)
    """
    axis, shape = batch_axis(entry), list(entry.shape)
    if axis >= 0:
        shape[axis] = part.stop - part.start
    return DataDesc(entry.name, tuple(shape), entry.dtype, entry.layout)


def brought(entries: Sequence[DataDesc], batch: Any, what: str) -> list[DataDesc]:
    """The data or labels of a batch, or of a batch for each device, as they come."""
    whole = batch if isinstance(batch, list) else [batch]
    found = []
    for place, entry in enumerate(entries):
        axis, shape = batch_axis(entry), list(entry.shape)
        for number, one in enumerate(whole):
            arrays = getattr(one, what, None)
            if not arrays or place >= len(arrays):
                continue
            more = shape[axis] if number and axis >= 0 else 0
            shape = list(arrays[place].shape)
            if axis >= 0:
                shape[axis] += more
        found.append(DataDesc(entry.name, tuple(shape), entry.dtype, entry.layout))
    return found


def requests(
    given: Any, arguments: Sequence[str], trained: set[str], inputs: set[str]
) -> dict[str, str]:
    """What happens to the gradient of each argument: 'write', 'add' or 'null'.

    given: a word for all that have a gradient, a list in the order of the arguments, or
    a dict for some. trained, inputs: the parameters and data that have gradients.
    """
    if isinstance(given, (list, tuple)):
        return dict(zip(arguments, given, strict=True))
    if not isinstance(given, (str, dict)):
        raise ArgumentError(
            "grad_req: give a word, a list in order, or a dict by name."
        )
    word = given if isinstance(given, str) else "write"
    found = {
        name: word if name in trained or name in inputs else "null"
        for name in arguments
    }
    return found | (given if isinstance(given, dict) else {})


def by_device(groups: Any, count: int) -> list[dict[str, Any] | None]:
    """The devices of the groups (see `Symbol.bind`), for each device of a module.

    groups: a dict for each; or one dict of a device, or of a list of one for each.

    >>> by_device({"a": "gpu0", "b": ["gpu1", "gpu2"]}, 2)
    [{'a': 'gpu0', 'b': 'gpu1'}, {'a': 'gpu0', 'b': 'gpu2'}]
    """
    if groups is None:
        return [None] * count
    if isinstance(groups, (list, tuple)):
        if len(groups) != count:
            raise ArgumentError(
                f"group2ctxs has {len(groups)} dicts for {count} devices."
            )
        return list(groups)
    found: list[dict[str, Any] | None] = []
    for place in range(count):
        one = {}
        for name, devices in groups.items():
            several = devices if isinstance(devices, (list, tuple)) else [devices]
            if len(several) not in (1, count):
                raise ArgumentError(
                    f"group2ctxs: {name!r} has {len(several)} devices for {count}."
                )
            one[name] = several[place % len(several)]
        found.append(one)
    return found
