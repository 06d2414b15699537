"""RowSparseNDArray and CSRNDArray: arrays that store only a part of their elements.

They are promises like dense arrays; how much they store is part of what is promised, so
`data`, `indices` and `indptr` wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from minimx.core import autograd, engine
from minimx.core.arrays import launch, transfer
from minimx.core.arrays.arithmetic import refuse_on_tape
from minimx.core.arrays.array import NDArray
from minimx.core.device import Device
from minimx.core.drivers import copies, during, working
from minimx.core.dtypes import resolve
from minimx.core.errors import ArgumentError, DataError, GradientError, OperatorError
from minimx.core.ops.registry import lookup
from minimx.core.ops.stypes import (
    CSR,
    DEFAULT,
    ROW_SPARSE,
    Entries,
    Rows,
    SparseSpec,
    spec_of,
)
from minimx.cuda.launches.sparse.storing import fetched
from minimx.nd.sparse import operators, route
from minimx.nd.sparse.chunk import Destination, SparseChunk
from minimx.operators.sparse.pointwise import rising

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minimx.core.ops.spec import Spec


class BaseSparseNDArray(NDArray):
    """What row_sparse and csr arrays have in common."""

    __slots__ = ()

    chunk: SparseChunk
    spec: SparseSpec

    # -- what it is -------------------------------------------------------------------

    @property
    def stype(self) -> str:
        """The storage type."""
        return self.spec.stype

    @property
    def size(self) -> NoReturn:
        """None, as in MXNet: it might be that of what is stored, or of the whole."""
        raise NotImplementedError(
            f"a {self.stype} array has no size. Take len(x.data) for what it stores, "
            "or multiply its shape."
        )

    @property
    def _num_aux(self) -> int:
        """How many arrays of places it stores beside the values."""
        return 2 if self.stype == CSR else 1

    @property
    def _aux_types(self) -> list[Any]:
        """The element types of the arrays of places."""
        return [np.int64] * self._num_aux

    def _aux_type(self, i: int) -> Any:
        return self._aux_types[i]

    def __repr__(self) -> str:
        shape = "x".join(map(str, self.shape))
        return f"\n<{type(self).__name__} {shape} @{self.context}>"

    def __iter__(self) -> Iterator[NDArray]:
        raise OperatorError(
            f"a {self.stype} array cannot be walked row by row. Make it dense first, "
            "with tostype('default')."
        )

    def __bool__(self) -> bool:
        return bool(self.tostype(DEFAULT))

    # -- reading ----------------------------------------------------------------------

    def view(self) -> Any:
        """What is stored, for code that runs inside the engine."""
        chunk = self.chunk
        if chunk.problem:
            raise _malformed(self, chunk.problem)
        return chunk.parts

    def _stored(self) -> Any:
        """What is stored, as NumPy arrays that must not be changed; waits."""
        self.wait_to_read()
        return self._fetched()

    def _host_view(self) -> Any:
        self.view()
        return self._fetched()

    def _fetched(self) -> Any:
        with working(self.context):
            return fetched(self.chunk.parts, self.spec)

    def _part(self, numbers: Any) -> NDArray:
        return transfer.from_numpy_copy(numbers, self.context, NDArray)

    @property
    def data(self) -> NDArray:
        """A copy of the stored values; waits."""
        return self._part(self._stored().data)

    @property
    def indices(self) -> NDArray:
        """A copy of the places: row numbers, or columns in csr; waits."""
        return self._part(self._stored().indices)

    def asnumpy(self) -> Any:
        """A dense NumPy array with every element; waits."""
        with autograd.pause(train_mode=autograd.state.training):
            return self.tostype(DEFAULT).asnumpy()

    def asscalar(self) -> Any:
        """The only element."""
        with autograd.pause(train_mode=autograd.state.training):
            return self.tostype(DEFAULT).asscalar()

    def check_format(self, full_check: bool = True) -> None:
        """Raise DataError unless what is stored is well formed; waits.

        full_check: look at every place, not only at how many there are.
        """
        problem = _problem(self.spec, self._stored(), full_check)
        if problem:
            raise _malformed(self, problem)

    # -- copies -----------------------------------------------------------------------

    def tostype(self, stype: str) -> Any:
        """A copy in a storage type: default, or its own."""
        if stype not in (DEFAULT, self.stype):
            raise ArgumentError(
                f"tostype: {self.stype} cannot become {stype!r}; choose 'default' or "
                f"{self.stype!r}."
            )
        return launch.invoke(lookup("cast_storage").of(stype=stype), [self])

    def copyto(self, other: NDArray | Device) -> Any:
        """Copy into an array of the same shape, or to a device; recorded.

        Another array is dense or of the same storage type.
        """
        if isinstance(other, Device):
            target = route.empty(self.spec, other, "_copyto")
            transfer.copy_recorded(self, target)
            return target
        if not isinstance(other, NDArray) or other.stype not in (DEFAULT, self.stype):
            what = getattr(other, "stype", type(other).__name__)
            raise TypeError(
                f"copyto: a {self.stype} array is copied to a device, a dense array or "
                f"a {self.stype} one, not to {what}."
            )
        if other is not self:
            refuse_on_tape(other)
            transfer.copy_recorded(self, other)
        return other

    def as_in_context(self, context: Device) -> NDArray:
        """The array on a device: itself if it is there already, else a copy."""
        return self if context is self.context else self.copyto(context)

    as_in_ctx = as_in_context
    to_device = as_in_context

    def astype(self, dtype: Any, copy: bool = True) -> NDArray:
        """The array with another element type, stored as before."""
        wanted = resolve(dtype)
        if not copy and wanted == self.spec.dtype:
            return self
        spec = spec_of(self.shape, wanted, self.stype)
        return self.copyto(route.empty(spec, self.context, "cast"))  # type: ignore[no-any-return]

    def __reduce__(self) -> Any:
        parts = tuple(np.array(part) for part in self._stored())
        return rebuild, (self.stype, self.shape, parts, self.context)

    # -- changing it ------------------------------------------------------------------

    def __getitem__(self, key: Any) -> NDArray:
        if isinstance(key, slice) and key == slice(None):
            return self
        raise OperatorError(
            f"a {self.stype} array can only be read as a whole, x[:]. Make it dense "
            "first, with tostype('default')."
        )

    def __setitem__(self, key: Any, value: Any) -> None:
        if not isinstance(key, slice) or key != slice(None):
            raise ArgumentError(
                f"a {self.stype} array can only be overwritten as a whole, x[:] = …"
            )
        refuse_on_tape(self)
        if isinstance(value, (int, float, np.generic)):
            if value == 0:
                route.copy(route.empty(self.spec, self.context, "zeros"), self)
                return
            if self.stype == CSR:
                raise ArgumentError(
                    "a csr array cannot be filled with one number; assign an array."
                )
            value = np.full(self.shape, value, self.spec.dtype)
        if not isinstance(value, NDArray):
            numbers = np.ascontiguousarray(value, dtype=self.spec.dtype)
            value = transfer.from_numpy_copy(numbers, self.context, NDArray)
        if value is not self:
            route.copy(value, self)

    def reshape(self, *shape: Any, **kwargs: Any) -> NDArray:
        """Sparse arrays keep their shape."""
        raise OperatorError(
            f"a {self.stype} array cannot be reshaped. Make it dense first, with "
            "tostype('default')."
        )

    def _assign(self, value: NDArray) -> None:
        """Overwrite the numbers, unseen by the tape."""
        route.copy(value._alias(), self._alias())

    def _zeros_like_spec(self, spec: Spec) -> NDArray:
        op = lookup("_zeros").of(shape=spec.shape, dtype=spec.dtype.name)
        return launch.invoke(op, (), None, self.context, NDArray)  # type: ignore[no-any-return]

    def attach_grad(self, grad_req: str = "write", stype: str | None = None) -> None:
        """Give the array a gradient buffer, of its own storage type by default."""
        attach_grad(self, grad_req, self.stype if stype is None else stype)

    # -- arithmetic -------------------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        return operators.add(self, other)

    def __sub__(self, other: Any) -> Any:
        return operators.subtract(self, other)

    def __mul__(self, other: Any) -> Any:
        return operators.multiply(self, other)

    def __truediv__(self, other: Any) -> Any:
        return operators.divide(self, other)

    def __iadd__(self, other: Any) -> Any:
        return self._overwritten(self + other)

    def __isub__(self, other: Any) -> Any:
        return self._overwritten(self - other)

    def __imul__(self, other: Any) -> Any:
        return self._overwritten(self * other)

    def __itruediv__(self, other: Any) -> Any:
        return self._overwritten(self / other)

    def _overwritten(self, value: NDArray) -> NDArray:
        refuse_on_tape(self)
        route.copy(value, self)
        return self


class RowSparseNDArray(BaseSparseNDArray):
    """Some rows of a large array; the others are 0.

    `data` (n, *shape[1:]) holds the stored rows, `indices` (n,) their numbers.
    Made by `mx.nd.sparse.row_sparse_array`, and as the gradient of lookups.
    """

    __slots__ = ()

    def retain(self, indices: NDArray) -> NDArray:
        """Only the rows that indices name."""
        return launch.invoke(lookup("_sparse_retain").of(), [self, indices])  # type: ignore[no-any-return]


class CSRNDArray(BaseSparseNDArray):
    """A matrix of which only some elements are stored, row by row.

    `data` (n,) holds the elements, `indices` (n,) their columns, `indptr` (m + 1,)
    where each row begins. Made by `mx.nd.sparse.csr_matrix`.
    """

    __slots__ = ()

    @property
    def indptr(self) -> NDArray:
        """A copy of where each row begins; waits."""
        return self._part(self._stored().indptr)

    def asscipy(self) -> Any:
        """A `scipy.sparse.csr_matrix` with the same elements; needs SciPy."""
        from scipy.sparse import csr_matrix

        stored = self._stored()
        parts = stored.data.copy(), stored.indices.copy(), stored.indptr.copy()
        return csr_matrix(parts, shape=self.shape, dtype=self.dtype)

    def __getitem__(self, key: Any) -> NDArray:
        if isinstance(key, (int, np.integer)):
            rows = self.shape[0]
            if not -rows <= key < rows:
                raise IndexError(f"row {key} of {rows} does not exist.")
            key = slice(key % rows, key % rows + 1)
        if not isinstance(key, slice) or key.step not in (None, 1):
            raise ArgumentError(
                f"x[{key!r}]: of a csr array, rows are picked by number or by a slice "
                "without gaps, x[2:5]. For columns use mx.nd.slice."
            )
        if key.start is None and key.stop is None:
            return self
        begin = key.start or 0
        end = self.shape[0] if key.stop is None else key.stop
        op = lookup("slice").of(begin=(begin,), end=(end,))
        return launch.invoke(op, [self])  # type: ignore[no-any-return]


route.CLASSES[ROW_SPARSE] = RowSparseNDArray
route.CLASSES[CSR] = CSRNDArray


def attach_grad(array: NDArray, grad_req: str, stype: str) -> None:
    """Mark a variable whose gradient is stored as `stype`."""
    if grad_req not in autograd.GRAD_REQS:
        raise GradientError(
            f"grad_req={grad_req!r}: choose one of {', '.join(autograd.GRAD_REQS)}."
        )
    spec = spec_of(array.shape, array.spec.dtype, stype)
    if isinstance(spec, SparseSpec):
        buffer = route.empty(spec, array.context, "attach_grad")
    else:
        buffer = array._zeros_like_spec(spec)
    autograd.mark_variables([array], [buffer], grad_req)


# -- from NumPy arrays -----------------------------------------------------------------


def from_parts(spec: SparseSpec, parts: Any, device: Device) -> Any:
    """A sparse array that stores copies of NumPy arrays.

    parts: in the order of `Rows` or `Entries`. As in MXNet, parts that make no array
    are taken; `check_format` says so, and so does whatever computes with them.
    """
    made = route.empty(spec, device, "array")
    private = [np.array(part) for part in parts]
    kind = Entries if spec.stype == CSR else Rows
    problem = outside(spec, kind(*private))

    def fill() -> None:
        destination = Destination(made.chunk)
        count = len(private[1])
        places = (
            destination.entries(count) if spec.stype == CSR else destination.rows(count)
        )
        for place, part in zip(places, private, strict=True):
            copies.copyto(place, part)
        destination.keep()
        made.chunk.problem = problem

    if device.device_type == "gpu":
        name, prop = "CopyCPU2GPU", engine.COPY_TO_GPU
        engine.current.push(
            during(device, fill), device, (), [made.chunk], name, prop=prop
        )
    else:
        fill()  # no other thread has the new array yet
    return made


def rebuild(stype: str, shape: Any, parts: Any, device: Device) -> NDArray:
    """Unpickle."""
    spec = spec_of(shape, resolve(parts[0].dtype), stype)
    assert isinstance(spec, SparseSpec)
    found: NDArray = from_parts(spec, parts, device)
    return found


def _malformed(array: BaseSparseNDArray, problem: str) -> DataError:
    return DataError(
        f"{type(array).__name__} {array.shape}: {problem}. Build it from sorted "
        "places, for example with csr_matrix or tostype()."
    )


def outside(spec: SparseSpec, parts: Any) -> str:
    """Why a kernel must not walk over parts; an empty text if it may."""
    indices, count = parts.indices, len(parts.indices)
    if len(parts.data) != count:
        return f"{len(parts.data)} values are stored at {count} places"
    bound = spec.shape[0]
    if spec.stype == CSR:
        indptr, bound = parts.indptr, spec.shape[1]
        steps = len(indptr) - 1
        if steps != spec.shape[0] or indptr[0] != 0 or indptr[-1] != count:
            return (
                f"indptr must lead from 0 to the {count} elements in {spec.shape[0]} "
                "steps"
            )
        if (np.diff(indptr) < 0).any():
            return "indptr must never fall"
    if count and not (indices.min() >= 0 and indices.max() < bound):
        what = "column" if spec.stype == CSR else "row"
        return f"there is no {what} {indices.min()} or {indices.max()} in {bound}"
    return ""


def _problem(spec: SparseSpec, parts: Any, full: bool) -> str:
    """What is wrong with what an array stores; an empty text if nothing is."""
    if not full or outside(spec, parts) or rising(parts):
        return outside(spec, parts)
    if spec.stype == ROW_SPARSE:
        return "the row numbers must rise, each used once"
    return "the columns of each row must rise"
