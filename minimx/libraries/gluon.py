"""Names of `mx.gluon` that MXNet keeps for itself and libraries import all the same."""

from __future__ import annotations

import os
from multiprocessing.reduction import ForkingPickler
from typing import Any

from minimx import nd, random
from minimx.core.arrays.array import NDArray
from minimx.core.errors import ArgumentError
from minimx.gluon.data.dataloader import _on as _as_in_context
from minimx.gluon.naming import BlockScope as _BlockScope
from minimx.gluon.utils import repository_url
from minimx.symbol import Symbol

__all__ = [
    "ForkingPickler",
    "_BlockScope",
    "_as_in_context",
    "_flatten",
    "_get_interp_method",
    "_get_repo_file_url",
    "_get_repo_url",
    "_regroup",
    "ndarray",
    "replace_file",
    "tensor_types",
]

ndarray = nd
#: What a layer may be called with.
tensor_types = (Symbol, NDArray)


def __getattr__(name: str) -> Any:
    if name == "image":  # slow to import
        from minimx import image

        return image
    raise AttributeError(f"{__name__} has no {name!r}")


def _get_repo_url() -> str:
    """The address of the repository of models and data, with a slash at its end."""
    return repository_url("")


def _get_repo_file_url(namespace: str, filename: str) -> str:
    """The address of a file in that repository."""
    return repository_url(f"{namespace}/{filename}")


def replace_file(src: str, dst: str) -> None:
    """Move a file over another one in one step; `src` is gone if that fails."""
    try:
        os.replace(src, dst)
    except OSError:
        if os.path.exists(src):
            os.remove(src)
        raise


def _flatten(args: Any, inout_str: str) -> tuple[list[Any], Any]:
    """The arrays or symbols of nested lists, and how they were nested.

    That is 0 for one (for a symbol of n > 1 outputs: n), -1 for None, or a list of
    these. inout_str: what an error calls `args`.
    """
    if isinstance(args, Symbol):
        count = len(args.list_outputs())
        return [args], count if count > 1 else 0
    if isinstance(args, NDArray) or args is None:
        return [args], -1 if args is None else 0
    if not isinstance(args, (list, tuple)):
        raise ArgumentError(
            f"{inout_str} must be arrays or symbols, in nested lists if there are "
            f"several, not a {type(args).__name__}."
        )
    flat: list[Any] = []
    forms = []
    for one in args:
        inner, form = _flatten(one, inout_str)
        flat += inner
        forms.append(form)
    return flat, forms


def _regroup(args: list[Any], fmt: Any) -> tuple[Any, list[Any]]:
    """What `_flatten` took apart, put together again, and what is left over."""
    if isinstance(fmt, int):
        if fmt == -1:
            return None, args[1:]
        return (args[0], args[1:]) if fmt == 0 else (args[:fmt], args[fmt:])
    found = []
    for form in fmt:
        one, args = _regroup(args, form)
        found.append(one)
    return found, args


def _get_interp_method(interp: int, sizes: tuple[int, ...] = ()) -> int:
    """The number of a way to resize, from 0 to 4.

    interp: it, or 9: by the sizes (old height, old width, new height, new width): cubic
    (2) to enlarge, by area (3) to shrink, else bilinear (1); or 10: any. Raises
    ArgumentError for another number.
    """
    if interp == 9:
        if not sizes:
            return 2
        old_h, old_w, new_h, new_w = sizes
        if new_h > old_h and new_w > old_w:
            return 2
        return 3 if new_h < old_h and new_w < old_w else 1
    if interp == 10:
        return int(random.randint(0, 5).asscalar())
    if interp not in (0, 1, 2, 3, 4):
        raise ArgumentError(
            f"there is no way {interp} to resize; give 0 to 4, 9 or 10."
        )
    return interp
