"""NDArray: a shape and an element type over a chunk of memory on one device.

An array is a promise. Operators return at once; the numbers are there when a caller
waits for them (`asnumpy`, `wait_to_read`, `waitall`). Several arrays may share one
chunk (`reshape`, slices along the first axis), and writing to one changes the others.

Operators arrive here from two files: `arithmetic.py` (the Python operators) and
`functions.py` (a method for each of MXNet's, from the registry).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minimx.core import autograd, engine, np_semantics
from minimx.core.arrays import indexing, sparse, transfer
from minimx.core.arrays.arithmetic import Arithmetic, refuse_on_tape
from minimx.core.arrays.chunk import Chunk
from minimx.core.arrays.launch import invoke
from minimx.core.device import Device
from minimx.core.drivers import shaped
from minimx.core.drivers.copies import fetch
from minimx.core.dtypes import DType, resolve, scalar_type
from minimx.core.errors import DTypeError, MXNetError, OperatorError, ShapeError
from minimx.core.events import attributed, owner
from minimx.core.ops.registry import Op, lookup
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Shape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minimx.nd.methods import Methods
else:
    Methods = object  # functions.py adds them, from the registry


class NDArray(Arithmetic, Methods):
    """An n-dimensional array on a device, computed asynchronously.

    Made by `mx.nd.array`, `zeros`, `ones`, … and by every operator.
    """

    __slots__ = (
        "__weakref__", "_entry", "_fresh", "_grad", "_view", "chunk", "offset", "spec",
    )  # fmt: skip
    # NumPy must hand `numpy_array * ndarray` to us instead of looping over it.
    __array_priority__ = 1000.0

    def __init__(self, chunk: Chunk, spec: Spec, offset: int = 0) -> None:
        self.chunk = chunk
        self.spec = spec
        self.offset = offset  # bytes from the start of the chunk
        self._view: Any = None
        self._entry: autograd.TapeEntry | None = None
        self._grad: NDArray | None = None
        self._fresh = False

    # -- what it is -------------------------------------------------------------------

    @property
    def shape(self) -> Shape:
        """The length of each axis."""
        return self.spec.shape

    @property
    def dtype(self) -> Any:
        """The element type, a NumPy scalar type as in MXNet (`numpy.float32`)."""
        return scalar_type(self.spec.dtype)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.spec.size

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.spec.shape)

    @property
    def context(self) -> Device:
        """The device that the array lives on."""
        return self.chunk.device

    ctx = context
    device = context

    @property
    def stype(self) -> str:
        """The storage type; arrays of this class are dense."""
        return "default"

    @property
    def T(self) -> NDArray:  # noqa: N802 (MXNet's and NumPy's name)
        """The array with its axes reversed (a copy)."""
        return self.transpose() if self.ndim > 1 else self

    @property
    def grad(self) -> Any:
        """The gradient buffer made by `attach_grad`, an NDArray; None without it."""
        return self._grad

    @property
    def _fresh_grad(self) -> bool:
        """Whether a backward filled the gradient since it was marked as old.

        Asked of a variable or of its gradient, the answer is the same.
        """
        return self._fresh if self._grad is None else self._grad._fresh

    @_fresh_grad.setter
    def _fresh_grad(self, fresh: bool) -> None:
        if self._grad is None:
            self._fresh = fresh
        else:
            self._grad._fresh = fresh

    def __len__(self) -> int:
        return self.spec.shape[0]

    def __bool__(self) -> bool:
        if self.size == 0:
            return False
        if self.size == 1:
            return bool(self.asscalar())
        raise ValueError(
            f"An array of {self.size} elements is neither true nor false. "
            "Reduce it first, for example with .sum(), or compare asnumpy()."
        )

    def __int__(self) -> int:
        return int(self.asscalar())

    def __float__(self) -> float:
        return float(self.asscalar())

    def __index__(self) -> int:
        if self.spec.dtype.kind not in "iu":
            raise TypeError("only integer arrays of one element can be an index")
        return int(self.asscalar())

    def __iter__(self) -> Iterator[NDArray]:
        for i in range(len(self)):
            yield self[i]

    def __repr__(self) -> str:
        shape = "x".join(map(str, self.shape))
        return f"\n{self.asnumpy()!s}\n<{type(self).__name__} {shape} @{self.context}>"

    def __format__(self, form: str) -> str:
        if form and self.size != 1:
            raise TypeError(
                f"an array of {self.size} elements has no format {form!r}. Format its "
                "numbers one by one, or the text of all of them: str(x.asnumpy())."
            )
        return format(self.item() if form else str(self), form)

    # -- waiting and reading ----------------------------------------------------------

    def view(self) -> Any:
        """The memory as a NumPy array, for code that runs inside the engine.

        On a CUDA device it is one of numba's device arrays.
        """
        found = self._view
        if found is None:
            chunk, spec, offset = self.chunk, self.spec, self.offset
            memory = chunk.memory()
            block: Any = chunk.block
            of, start, found = block.shown
            if of is not spec or start != offset:
                found = shaped(memory, spec.shape, spec.dtype, offset)
                block.shown = spec, offset, found
            self._view = found
        return found

    def _host_view(self) -> Any:
        """The same as a NumPy array in any case: a copy of what a CUDA device has."""
        found = self.view()
        if self.chunk.device.backend == "cuda":
            return fetch(found, self.spec.dtype).reshape(self.spec.shape)
        return found

    def wait_to_read(self) -> None:
        """Wait until every write to the array is done; raise what went wrong in it."""
        engine.wait_to_read(self.chunk)

    def wait_to_write(self) -> None:
        """Wait until every read and write of the array is done."""
        engine.wait_to_write(self.chunk)

    def asnumpy(self) -> Any:
        """A copy as a NumPy array, after waiting for the numbers.

        One element serves as a number too: `"%f" % x.sum().asnumpy()`.
        """
        return transfer.to_numpy(self)

    def asscalar(self) -> Any:
        """The only element, as a Python-like scalar."""
        if self.size != 1:
            raise ValueError(
                f"asscalar: the array has {self.size} elements, not one. "
                "Reduce it first, for example with .mean()."
            )
        return self.asnumpy()[(0,) * self.ndim]

    def item(self) -> Any:
        """The only element, as a plain Python number."""
        return self.asscalar().item()

    def tolist(self) -> Any:
        """The elements as nested lists."""
        return self.asnumpy().tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """A NumPy array; always a copy."""
        if copy is False:
            raise ValueError("an NDArray cannot become a NumPy array without a copy")
        found = self.asnumpy()
        return found if dtype is None else found.astype(dtype)

    def __buffer__(self, flags: int) -> memoryview:
        """The memory itself (shared, on cpu): `memoryview(x)` from Python 3.12 on."""
        return memoryview(transfer.shared_view(self))

    def __dlpack__(self, **kwargs: Any) -> Any:
        """Share the memory with another framework through DLPack."""
        return transfer.shared_view(self).__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def to_dlpack_for_read(self) -> Any:
        """A DLPack capsule of the memory, once pending writes are done."""
        return self.__dlpack__()

    def to_dlpack_for_write(self) -> Any:
        """A DLPack capsule of the memory, once pending reads and writes are done."""
        self.wait_to_write()
        return self.__dlpack__()

    def __reduce__(self) -> Any:
        return transfer.rebuild, (type(self), self.asnumpy(), self.context)

    # -- copies -----------------------------------------------------------------------

    def copyto(self, other: NDArray | Device) -> NDArray:
        """Copy into another array of the same shape, or to a device; recorded."""
        if isinstance(other, Device):
            return transfer.moved(self, other)
        if other is not self:
            refuse_on_tape(other)
            transfer.copy_recorded(self, other)
        return other

    def copy(self) -> NDArray:
        """A copy on the same device, recorded like any operator."""
        return invoke(lookup("_copy").of(), [self])  # type: ignore[no-any-return]

    def as_in_context(self, context: Device) -> NDArray:
        """The array on a device: itself if it is there already, else a copy."""
        if context is self.context:
            return self
        return transfer.moved(self, context)

    as_in_ctx = as_in_context
    to_device = as_in_context

    def as_nd_ndarray(self) -> NDArray:
        """The array as one of `mx.nd`: itself."""
        return self

    def astype(self, dtype: Any, copy: bool = True) -> NDArray:
        """The array with another element type.

        dtype: a name, a NumPy type or MXNet's number; fractions are cut off on the way
        to integers. copy=False: the array itself if it has that type already. Recorded,
        with the gradient converted back. Raises `DTypeError` for an unknown type.
        """
        wanted = resolve(dtype)
        if not copy and wanted == self.spec.dtype:
            return self
        return invoke(lookup("cast").of(dtype=wanted.name), [self])  # type: ignore[no-any-return]

    def tostype(self, stype: str) -> NDArray:
        """A copy stored as `default`, `row_sparse` or `csr`, see `mx.nd.sparse`."""
        return invoke(lookup("cast_storage").of(stype=stype), [self])  # type: ignore[no-any-return]

    def detach(self) -> NDArray:
        """The same memory, cut off from the tape."""
        alias: NDArray = self._alias()
        return alias

    # -- gradients --------------------------------------------------------------------

    def attach_grad(self, grad_req: str = "write", stype: str | None = None) -> None:
        """Give the array a gradient buffer of zeros, which `backward` fills.

        grad_req: 'write' (overwrite), 'add' (accumulate) or 'null' (leave it alone).
        stype: how the gradient is stored, see `mx.nd.sparse`.
        """
        if stype not in (None, "default"):
            sparse.attached().attach_grad(self, grad_req, str(stype))
            return
        zeros = lookup("_zeros").of(shape=self.shape, dtype=self.spec.dtype.name)
        with autograd.pause(), attributed(category="gradient"):
            buffer = invoke(zeros, (), None, self.context, type(self))
        autograd.mark_variables([self], [buffer], grad_req)

    def backward(
        self,
        out_grad: NDArray | None = None,
        retain_graph: bool = False,
        train_mode: bool = True,
    ) -> None:
        """Fill the gradients of all marked variables that this array depends on.

        out_grad: the gradient of this array, of its shape; ones if none is given.
        retain_graph: keep the tape, to walk it again. train_mode: what
        `autograd.is_training` says meanwhile. Raises `GradientError` for an array that
        was not recorded, or whose tape was walked already.
        """
        autograd.backward([self], [out_grad], retain_graph, train_mode)

    # -- indexing ---------------------------------------------------------------------

    def __getitem__(self, key: Any) -> NDArray:
        return indexing.get(self, key)

    def slice_assign(self, rhs: Any, begin: Any, end: Any, step: Any) -> NDArray:
        """Write into the part that begin, end and step name for each axis; itself.

        self (8, 6), begin (2, 0), end (4, 6); rhs (2, 6). None stands for the end of an
        axis.
        """
        self[tuple(map(slice, begin, end, step or [None] * len(begin)))] = rhs
        return self

    slice_assign_scalar = slice_assign

    @property
    def writable(self) -> bool:
        """Whether it may be written to: always."""
        return True

    def __setitem__(self, key: Any, value: Any) -> None:
        indexing.set(self, key, value)

    def reshape(self, *shape: Any, **kwargs: Any) -> NDArray:
        """The same memory under another shape; a view, recorded like any operator.

        shape: integers or one tuple. 0 keeps an axis, -1 is whatever is left; -2, -3
        and -4 as in MXNet's `reshape`: see `mx.nd.Reshape`. reverse=True: codes are
        matched from the right. Raises ShapeError if the sizes differ.
        """
        if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
            shape = tuple(shape[0])
        if not shape:
            shape = kwargs.pop("shape", ())
            shape = (shape,) if isinstance(shape, int) else tuple(shape)
        reverse = kwargs.pop("reverse", False)
        if kwargs:
            raise OperatorError(f"reshape has no setting {next(iter(kwargs))!r}")
        op = lookup("Reshape").of(shape=shape, reverse=reverse)
        return invoke(op, [self])  # type: ignore[no-any-return]

    def _has_scalars(self) -> bool:
        """Whether picking one element gives an array without axes."""
        return np_semantics.is_np_shape()

    def _settle(self, axis: int, length: int, device: Device) -> None:
        """Take a length that was open; arrays have none, placeholders of layers do."""

    # -- for the tape and the interpreters --------------------------------------------

    def _bind(self, op: Op, values: Any) -> Any:
        """Run an operator on arrays; while recording, through its composed form."""
        if autograd.state.recording and op.composed is not None:
            return op.composed(*values)
        if op.row_range is not None and self.spec.eager is None:
            return self[op.row_range]
        return invoke(op, values)

    def _alias(self) -> Any:
        """The same memory and no history."""
        alias = type(self)(self.chunk, self.spec, self.offset)
        alias._view = self._view
        return alias

    def _at(self, chunk: Chunk) -> Any:
        """The same part of another chunk, and no history."""
        return type(self)(chunk, self.spec, self.offset)

    def _neutral(self, history: bool = False) -> Any:
        """The same memory as a plain NDArray; gradients are written in its arithmetic.

        history: it keeps its place on the tape.
        """
        alias = self._alias()
        if history:
            alias._entry = self._entry
        return alias

    def _as_kind_of_this(self, value: NDArray) -> NDArray:
        """An array of a gradient, of the kind of this one."""
        return value

    def _assign(self, value: NDArray) -> None:
        """Overwrite the numbers, unseen by the tape."""
        if autograd.state.recording:
            with autograd.pause(train_mode=autograd.state.training):
                self._assign(value)
        elif value.chunk.device is self.chunk.device and value.spec is self.spec:
            invoke(lookup("_copy").of(), (value,), out=self)
        else:
            transfer.copy(value, self)

    def _zeros_like_spec(self, spec: Spec) -> NDArray:
        op = lookup("_zeros").of(shape=spec.shape, dtype=spec.dtype.name)
        return invoke(op, (), None, self.context, type(self))  # type: ignore[no-any-return]

    if TYPE_CHECKING:
        # The methods that functions.py adds from the registry.
        def __getattr__(self, name: str) -> Any: ...


def new(
    spec: Spec, device: Device, who: str, array_class: type[NDArray] = NDArray
) -> NDArray:
    """An array without contents: its memory is taken when something is written.

    who: the layer, phase and category that its bytes are counted for (`events.owner`).
    """
    return array_class(Chunk(device, spec.nbytes, owner(who)), spec)


def checked_dtype(dtype: Any) -> DType:
    """The dtype meant, float32 for None."""
    return resolve("float32" if dtype is None else dtype)


__all__ = [
    "DTypeError", "MXNetError", "NDArray", "ShapeError", "checked_dtype", "new",
]  # fmt: skip
