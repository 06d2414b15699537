"""`mx.operator`: operators that a user writes in Python.

    class Square(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] * in_data[0])

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], 2 * in_data[0] * out_grad[0])

    @mx.operator.register("square_of_mine")
    class SquareProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Square()

    mx.nd.Custom(x, op_type="square_of_mine")

For a function with a gradient of its own, `mx.autograd.Function` is shorter; for a
compiled kernel see `mx.ops.register`. `NumpyOp` and `NDArrayOp` are from before
CustomOp: an object of theirs is called with symbols, and nothing is registered.
"""

from __future__ import annotations

import dataclasses
import inspect
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from minimx.core.errors import OperatorError
from minimx.core.ops.registry import ALIASES, REGISTRY, Op, lookup
from minimx.nd import custom
from minimx.symbol import Custom, Symbol

__all__ = [
    "CustomOp",
    "CustomOpProp",
    "NDArrayOp",
    "NumpyOp",
    "OperatorArguments",
    "PythonOp",
    "get_all_registered_operators",
    "get_operator_arguments",
    "register",
]

Arrays = list[Any]


class CustomOp:
    """What an operator does. Derive from it; one object serves one call."""

    def forward(
        self,
        is_train: bool,
        req: list[str],
        in_data: Arrays,
        out_data: Arrays,
        aux: Arrays,
    ) -> None:
        """Compute `out_data` from `in_data`.

        req: for each output what to do with it; hand it to `assign`.
        aux: the auxiliary states, which may be written to.
        """
        raise NotImplementedError(f"{type(self).__name__} has no forward().")

    def backward(
        self,
        req: list[str],
        out_grad: Arrays,
        in_data: Arrays,
        out_data: Arrays,
        in_grad: Arrays,
        aux: Arrays,
    ) -> None:
        """Compute `in_grad` from `out_grad`; gradients left alone are zero."""
        raise NotImplementedError(f"{type(self).__name__} has no backward().")

    def assign(self, dst: Any, req: str, src: Any) -> None:
        """Write `src` into `dst` as `req` says: 'null', 'write', 'inplace' or 'add'."""
        everything: Any = slice(None) if dst.shape else ()
        if req in ("write", "inplace"):
            dst[everything] = src
        elif req == "add":
            dst[everything] += src
        elif req != "null":
            raise OperatorError(f"req={req!r}: choose null, write, inplace or add.")


class CustomOpProp:
    """What is known of an operator before it runs. Derive from it and register that.

    The keywords of `mx.nd.Custom` arrive in the constructor as text.
    need_top_grad: whether `backward` uses `out_grad`; a loss does not.
    """

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad_ = need_top_grad

    def list_arguments(self) -> list[str]:
        """The names of the inputs."""
        return ["data"]

    def list_outputs(self) -> list[str]:
        """The names of the outputs."""
        return ["output"]

    def list_auxiliary_states(self) -> list[str]:
        """The names of the states that are kept between calls."""
        return []

    def infer_shape(self, in_shape: list[list[int]]) -> tuple[Sequence[Any], ...]:
        """Shapes of the inputs, outputs and states, three lists; by default all alike.

        in_shape: what is known of the inputs; the lists returned must be complete.
        """
        outs = [in_shape[0]] * len(self.list_outputs())
        return in_shape, outs, [in_shape[0]] * len(self.list_auxiliary_states())

    def infer_type(self, in_type: list[Any]) -> tuple[Sequence[Any], ...]:
        """Element types of the inputs, outputs and states; by default all alike."""
        outs = [in_type[0]] * len(self.list_outputs())
        return in_type, outs, [in_type[0]] * len(self.list_auxiliary_states())

    def infer_storage_type(self, in_stype: list[str]) -> tuple[Sequence[str], ...]:
        """Storage types of the inputs, outputs and states; by default all dense."""
        self._only_dense(in_stype, "infer_storage_type")
        outs = ["default"] * len(self.list_outputs())
        return in_stype, outs, ["default"] * len(self.list_auxiliary_states())

    def infer_storage_type_backward(
        self,
        ograd_stype: list[str],
        in_stype: list[str],
        out_stype: list[str],
        igrad_stype: list[str],
        aux_stype: list[str],
    ) -> tuple[Sequence[str], ...]:
        """Storage types in `backward`, the five lists completed; by default dense."""
        self._only_dense(ograd_stype + igrad_stype, "infer_storage_type_backward")
        groups = (ograd_stype, in_stype, out_stype, igrad_stype, aux_stype)
        return tuple(["default"] * len(group) for group in groups)

    def _only_dense(self, stypes: list[str], where: str) -> None:
        for stype in stypes:
            if stype != "default":
                raise OperatorError(
                    f"{type(self).__name__} was given a {stype} array and has no "
                    f"{where}(). Write one that says what becomes of it, or pass "
                    "x.tostype('default')."
                )

    def declare_backward_dependency(
        self, out_grad: list[int], in_data: list[int], out_data: list[int]
    ) -> list[int]:
        """Which arrays `backward` uses, by number; by default all."""
        return (out_grad if self.need_top_grad_ else []) + in_data + out_data

    def create_operator(
        self, ctx: Any, in_shapes: list[list[int]], in_dtypes: list[Any]
    ) -> CustomOp:
        """The object that computes, for inputs like these on this device."""
        return CustomOp()


_PropT = TypeVar("_PropT", bound=type[CustomOpProp])


def register(reg_name: str) -> Callable[[_PropT], _PropT]:
    """Offer a CustomOpProp as `mx.nd.Custom(..., op_type=reg_name)`.

    A name may be registered again: the later class is used from then on.
    """

    def enter(prop_cls: _PropT) -> _PropT:
        if not (inspect.isclass(prop_cls) and issubclass(prop_cls, CustomOpProp)):
            raise OperatorError(
                f"register({reg_name!r}) goes above a class derived from CustomOpProp, "
                f"not above {prop_cls!r}. The CustomOp is what its create_operator "
                "returns."
            )
        custom.PROPS[reg_name] = prop_cls
        return prop_cls

    return enter


# -- from before CustomOp --------------------------------------------------------------


class PythonOp:
    """What `NumpyOp` and `NDArrayOp` share: one object is operator and property in one.

    need_top_grad: whether `backward` uses `out_grad`; a loss does not.
    """

    _numpy = True
    _count = itertools.count()

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad_ = need_top_grad

    def __call__(self, *args: Any, **kwargs: Any) -> Symbol:
        """The same as get_symbol."""
        return self.get_symbol(*args, **kwargs)

    def get_symbol(self, *args: Any, **kwargs: Any) -> Symbol:
        """The operator in a graph; inputs by place or by name, and a `name`."""
        op_type = f"{type(self).__name__}:{next(self._count)}"
        custom.PROPS[op_type] = lambda: _Bridge(self)
        return Custom(*args, op_type=op_type, **kwargs)

    def forward(self, in_data: Arrays, out_data: Arrays) -> None:
        """Fill the arrays of `out_data`; by default with the input."""
        out_data[0][:] = in_data[0]

    def backward(
        self, out_grad: Arrays, in_data: Arrays, out_data: Arrays, in_grad: Arrays
    ) -> None:
        """Fill the arrays of `in_grad`; by default with ones."""
        in_grad[0][:] = 1.0

    def infer_shape(self, in_shape: list[list[int]]) -> tuple[Sequence[Any], ...]:
        """Shapes of the inputs and of the outputs; by default all like the first."""
        return in_shape, [in_shape[0]]

    def list_arguments(self) -> list[str]:
        """The names of the inputs."""
        return ["data"]

    def list_outputs(self) -> list[str]:
        """The names of the outputs."""
        return ["output"]

    def need_top_grad(self) -> bool:
        """Whether `backward` uses `out_grad`."""
        return self.need_top_grad_


class NumpyOp(PythonOp):
    """An operator whose `forward` and `backward` are given NumPy arrays."""


class NDArrayOp(PythonOp):
    """An operator whose `forward` and `backward` are given arrays of mx.nd."""

    _numpy = False

    def declare_backward_dependency(
        self, out_grad: list[int], in_data: list[int], out_data: list[int]
    ) -> list[int]:
        """Which arrays `backward` uses, by number; by default all."""
        return (out_grad if self.need_top_grad() else []) + in_data + out_data


class _Bridge(CustomOpProp):
    """The property of a PythonOp, for the machinery of CustomOp."""

    def __init__(self, op: PythonOp) -> None:
        super().__init__(op.need_top_grad())
        self.op = op
        self.list_arguments = op.list_arguments  # type: ignore[method-assign]
        self.list_outputs = op.list_outputs  # type: ignore[method-assign]
        if isinstance(op, NDArrayOp):
            self.declare_backward_dependency = op.declare_backward_dependency  # type: ignore[method-assign]

    def infer_shape(self, in_shape: list[list[int]]) -> tuple[Sequence[Any], ...]:
        """As the operator says; it has no states."""
        return (*self.op.infer_shape(in_shape), [])

    def create_operator(
        self, ctx: Any, in_shapes: list[list[int]], in_dtypes: list[Any]
    ) -> CustomOp:
        """One that hands the arrays on."""
        return _Crossing(self.op)


class _Crossing(CustomOp):
    """Hands arrays to a PythonOp, as they are or as NumPy's, and its answers back."""

    def __init__(self, op: PythonOp) -> None:
        self.op = op

    def forward(
        self,
        is_train: bool,
        req: list[str],
        in_data: Arrays,
        out_data: Arrays,
        aux: Arrays,
    ) -> None:
        """Let the operator fill the outputs."""
        self._fill(self.op.forward, req, out_data, in_data=in_data)

    def backward(
        self,
        req: list[str],
        out_grad: Arrays,
        in_data: Arrays,
        out_data: Arrays,
        in_grad: Arrays,
        aux: Arrays,
    ) -> None:
        """Let the operator fill the gradients."""
        given = {"in_data": in_data, "out_data": out_data}
        given["out_grad"] = out_grad if self.op.need_top_grad() else []
        self._fill(self.op.backward, req, in_grad, **given)

    def _fill(
        self,
        run: Callable[..., None],
        req: list[str],
        targets: Arrays,
        **given: Arrays,
    ) -> None:
        word = "in_grad" if "out_grad" in given else "out_data"
        if not self.op._numpy:
            run(**given, **{word: targets})
            return
        ours = {k: [x.asnumpy() for x in arrays] for k, arrays in given.items()}
        made = [x.asnumpy() for x in targets]
        run(**ours, **{word: made})
        for target, what, numbers in zip(targets, req, made, strict=True):
            self.assign(target, what, numbers)


# -- what there is ---------------------------------------------------------------------


def get_all_registered_operators() -> list[str]:
    """The names of all operators, under every name they have."""
    return sorted({*REGISTRY, *ALIASES})


class OperatorArguments(NamedTuple):
    """The inputs and settings of an operator: how many, their names, their types."""

    narg: int
    names: list[str]
    types: list[str]


def get_operator_arguments(op_name: str) -> OperatorArguments:
    """What an operator takes: its inputs, then its settings.

    >>> get_operator_arguments("relu").names
    ['data']
    """
    sheet = lookup(op_name)
    inputs = getattr(sheet, "all_inputs", None) or sheet.inputs
    names = [] if isinstance(inputs, property) else list(inputs)
    kind = "NDArray-or-Symbol[]" if sheet.variadic else "NDArray-or-Symbol"
    types = [kind] * len(names)
    fields: dict[str, Any] = sheet.__dataclass_fields__  # type: ignore[attr-defined]
    names += fields
    types += [_setting_text(sheet, field) for field in fields.values()]
    return OperatorArguments(len(names), names, types)


_KINDS = {"bool": "boolean", "str": "string", "Shape": "Shape(tuple)"}


def _setting_text(sheet: type[Op], field: dataclasses.Field[Any]) -> str:
    """What a setting may be, and whether it must be given."""
    types = str(field.type).split(" | ")
    kind = " or ".join(_KINDS.get(word, word) for word in types)
    if field.name in sheet.choices:
        kind = "{" + ", ".join(map(repr, sorted(sheet.choices[field.name]))) + "}"
    if field.default is dataclasses.MISSING:
        return f"{kind}, required"
    return f"{kind}, optional, default={field.default}"
