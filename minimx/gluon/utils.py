"""Small helpers: split batches over devices, clip gradients, download, hook."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from math import isfinite
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import minimx.nd as nd
from minimx.aliases import resolve_missing as _resolve_missing
from minimx.core.arrays.array import NDArray
from minimx.core.device import Context
from minimx.core.errors import ArgumentError, DataError, ShapeError
from minimx.core.knobs import knobs
from minimx.gluon.np_arrays import as_np_if_set
from minimx.tools.progress import Bar

CHUNK = 1 << 20  # bytes of a download that are copied at once
PathLike = str | os.PathLike[str]


# -- batches on several devices -------------------------------------------------------


def split_data(
    data: NDArray, num_slice: int, batch_axis: int = 0, even_split: bool = True
) -> list[NDArray]:
    """Cut an array into `num_slice` pieces along an axis.

    even_split: refuse a length that `num_slice` does not divide; otherwise the first
    pieces are longer by one.
    """
    size = data.shape[batch_axis]
    if size < num_slice or (even_split and size % num_slice):
        raise ShapeError(
            f"split_data: axis {batch_axis} of {data.shape} cannot be cut into "
            f"{num_slice} {'equal ' if even_split else ''}pieces. Use a batch size "
            f"that is a multiple of {num_slice}"
            + (", or even_split=False." if even_split and size >= num_slice else ".")
        )
    step, longer = divmod(size, num_slice)  # the first `longer` pieces get one more
    bounds = [step * i + min(i, longer) for i in range(num_slice + 1)]
    pieces = zip(bounds[:-1], bounds[1:], strict=True)
    if batch_axis == 0:
        return [data[begin:end] for begin, end in pieces]
    return [
        nd.slice_axis(data, axis=batch_axis, begin=begin, end=end)
        for begin, end in pieces
    ]


def split_and_load(
    data: Any, ctx_list: Sequence[Context], batch_axis: int = 0, even_split: bool = True
) -> list[NDArray]:
    """Cut a batch into one piece for each device, and put each on its device."""
    if not isinstance(data, NDArray):
        data = as_np_if_set(nd.array(data, ctx=ctx_list[0]))
    if len(ctx_list) == 1:
        return [data.as_in_context(ctx_list[0])]
    pieces = split_data(data, len(ctx_list), batch_axis, even_split)
    return [
        piece.as_in_context(ctx) for piece, ctx in zip(pieces, ctx_list, strict=True)
    ]


def clip_global_norm(
    arrays: Sequence[NDArray], max_norm: float, check_isfinite: bool = True
) -> float | NDArray:
    """Scale arrays in place so that their norm, taken together, is at most `max_norm`.

    Returns the norm before: a number, or an array of one if `check_isfinite` is false
    (then the caller need not wait for it).
    """
    if not arrays:
        raise ArgumentError("clip_global_norm: the list of arrays is empty.")
    ctx = arrays[0].context
    squares = [(x.astype("float32") ** 2).sum().as_in_context(ctx) for x in arrays]
    total = nd.add_n(*squares).sqrt()
    if check_isfinite:
        norm = float(total.asscalar())
        if not isfinite(norm):
            warnings.warn(
                f"clip_global_norm: the norm is {norm}, so scaling cannot help. "
                "Look for an overflow before this step.",
                stacklevel=2,
            )
        scale = max_norm / (norm + 1e-8)
        if scale < 1.0:
            for array in arrays:
                array *= scale
        return norm
    factor = nd._minimum_scalar(max_norm / (total + 1e-8), scalar=1.0)
    for array in arrays:
        here = factor.as_in_context(array.context).astype(array.dtype)
        array[:] = nd.broadcast_mul(array, here.reshape((1,) * array.ndim))
    return total


# -- files ----------------------------------------------------------------------------


def check_sha1(filename: PathLike, sha1_hash: str) -> bool:
    """Whether a file has a SHA-1 sum."""
    return file_sha1(filename) == sha1_hash.lower()


def file_sha1(filename: PathLike) -> str:
    """The SHA-1 sum of a file, in hexadecimal."""
    import hashlib  # here and below: what only downloads need is not paid at import

    with open(filename, "rb") as file:
        return hashlib.file_digest(file, "sha1").hexdigest()


def repository_url(path: str) -> str:
    """The address of a file in the repository that MXNET_GLUON_REPO names."""
    return str(knobs.MXNET_GLUON_REPO).rstrip("/") + "/" + path


def download(
    url: str,
    path: PathLike | None = None,
    overwrite: bool = False,
    sha1_hash: str | None = None,
    retries: int = 5,
    verify_ssl: bool = True,
) -> str:
    """Fetch `url` (http, https or file) and return where it lies now.

    path: a file or a directory; the last part of the address in the current directory
        by default. A file that is there already is kept, unless `overwrite` is given or
        its sum is not `sha1_hash`.
    Raises DataError if it cannot be fetched, or is not what was asked for.
    """
    target = _target(url, path)
    if target.exists() and not overwrite:
        known = sha1_hash is not None
        if not known or check_sha1(target, str(sha1_hash)):
            return str(target)
    if retries < 0:
        raise ArgumentError(f"download: retries={retries} is negative; give 0 or more.")
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        _fetch(url, partial, retries, verify_ssl)
        found = file_sha1(partial)
        if sha1_hash is not None and found != sha1_hash.lower():
            raise DataError(
                f"{url} was fetched, but its SHA-1 sum is {found}, not {sha1_hash}. "
                "The file was changed or damaged on the way; it was thrown away."
            )
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return str(target)


def _target(url: str, path: PathLike | None) -> Path:
    from urllib.parse import urlparse

    name = urlparse(url).path.rsplit("/", 1)[-1]
    if path is None:
        target = Path(name)
    else:
        given = Path(path).expanduser()
        target = given / name if given.is_dir() else given
    if not target.name:
        raise ArgumentError(
            f"download: {url!r} names no file. Give path=, the file to write to."
        )
    return target


def _fetch(url: str, target: Path, retries: int, verify_ssl: bool) -> None:
    import urllib.error
    import urllib.request

    if not url.startswith(("http://", "https://", "file://")):
        raise ArgumentError(
            f"download: {url!r} is no http://, https:// or file:// address."
        )
    context = None
    if not verify_ssl:
        import ssl

        context = ssl._create_unverified_context()
    for left in range(retries, -1, -1):
        try:
            with (
                urllib.request.urlopen(url, timeout=30, context=context) as source,
                open(target, "wb") as file,
            ):
                _copy(source, file, target.name.split(".")[0])
            return
        except OSError as reason:  # URLError and timeouts are OSErrors
            why: Any = getattr(reason, "reason", reason)
            permanent = url.startswith("file:")
            if isinstance(reason, urllib.error.HTTPError):  # the server answered
                why = f"{reason.code} {why}"
                permanent = reason.code < 500
                reason.close()
            if left == 0 or permanent:
                raise DataError(
                    f"cannot fetch {url}: {why}. Check the address and the network, or "
                    "put the file in place by hand."
                ) from reason


def _copy(source: Any, target: BinaryIO, name: str) -> None:
    """Copy an answer, with a bar. Raises OSError if it ends before its length."""
    length = int(source.headers.get("Content-Length") or 0)
    done = 0
    with Bar() as bar:
        while chunk := source.read(CHUNK):
            target.write(chunk)
            done += len(chunk)
            if length > CHUNK:  # what is small is there at once
                bar.show(done / 2**20, length / 2**20, name, "MiB")
    if length and done != length:
        raise OSError(f"the connection ended after {done:,} of {length:,} bytes")


# -- text -----------------------------------------------------------------------------


def indent(text: str, spaces: int = 2) -> str:
    """Move every line but the first to the right."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * spaces + line for line in rest)])


class HookHandle:
    """What registering a hook returns: `detach()`, or leaving a `with`, removes it."""

    _next_id = 0

    def __init__(self, hooks: dict[int, Callable[..., Any]], hook: Any) -> None:
        if not callable(hook):
            raise ArgumentError(f"a hook must be callable, {hook!r} is not.")
        HookHandle._next_id += 1
        self._id = HookHandle._next_id
        self._hooks = hooks
        hooks[self._id] = hook

    def detach(self) -> None:
        """Remove the hook; once is enough, twice does no harm."""
        self._hooks.pop(self._id, None)

    def __enter__(self) -> HookHandle:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.detach()


_resolve_missing(__name__, globals())
