"""What an operator is: a data sheet, found by name, read by everything else.

A sheet is a class. Its fields are the operator's settings; its class attributes are
facts; its methods say what comes out, who computes it and how gradients flow:

    @register("square")
    class Square(Op):
        "x times x. data: any shape; out: the same shape."

        saves = ("data",)                   # what `grad` needs of the call

        def infer(self, data):              # specs of the outputs
            return data

        def kernel(self, data):             # a callable on NumPy arrays
            return lambda x, out: np.multiply(x, x, out=out)

        def grad(self, at, dout, x):        # written with operators: works everywhere
            return (dout * x * 2,)

In MXNet these are the attributes FInferShape, FInferType, FCompute and FGradient of an
`NNVM_REGISTER_OP`; in PyTorch the rows of native_functions.yaml and derivatives.yaml.

    op = lookup("Pooling").of(kernel=(2, 2))    the one instance with these settings
    plan = op.plan(specs of the inputs)         `infer`, `kernel`, … asked once
    bind(op, *values)                           a call, in whatever values compute with:
                                                arrays run it, symbols write it down

No sheet knows an array class, a device, the engine or the tape.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

from minimx.core.drivers.cuda import cuda
from minimx.core.dtypes import NAMES, DType
from minimx.core.errors import MXNetError, OperatorError, did_you_mean
from minimx.core.ops.casting import USUAL, Casting
from minimx.core.ops.checks import check_sizes
from minimx.core.ops.devices import as_multiplied
from minimx.core.ops.failing import explained, kernel_of
from minimx.core.ops.settings import FrozenSettings, converted, exact, fields_of
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Deduced, Opens

Kernel = Callable[..., None]
# A value is whatever an interpreter computes with: an NDArray, or a Symbol. Both
# overload arithmetic, so gradient rules may use `*`, `+` and friends on it.
Value = Any
# Element types, as far as they are known.
Types = list[DType | None]


class Op:
    """The base of every data sheet; the module's docstring has an example.

    Class attributes are facts with a default; a sheet repeats those that differ. Its
    annotated fields are settings, in the order in which callers may give them.
    """

    # -- its inputs and outputs

    name: ClassVar[str] = ""
    #: Names of the array inputs, in order. A property where settings decide.
    inputs: ClassVar[Any] = ("data",)
    #: True if `inputs` names one input that may be given any number of times.
    variadic: ClassVar[bool] = False
    #: How many outputs the caller sees; later ones are kept for `grad` only.
    visible: ClassVar[int] = 1
    #: What the outputs are called in graphs; "output" or "output0", … without it.
    output_names: ClassVar[tuple[str, ...]] = ()
    #: Names of the inputs that the kernel also writes to (running statistics, states).
    mutates: ClassVar[tuple[str, ...]] = ()
    #: Those inputs that are states (in graphs, no arguments) with any settings; needed
    #: where `mutates` depends on settings.
    state_inputs: Any = ()
    #: {input: an initializer's name}, where the input's name does not tell it.
    default_initializers: ClassVar[Mapping[str, str]] = {}
    #: {setting: its valid values}, for settings that choose one of several ways.
    choices: ClassVar[Mapping[str, Collection[str]]] = {}
    #: Whether `mx.nd` has a result of shape (1,) for (), under np_shape as without.
    keeps_an_axis: ClassVar[bool] = False

    # -- how it runs

    #: The kernel takes a random generator as its last argument.
    needs_rng: ClassVar[bool] = False
    #: Gives the same answer twice for the same inputs (dropout does not).
    deterministic: ClassVar[bool] = True
    #: The output is another view of the input's memory (reshape and its relatives).
    is_view: ClassVar[bool] = False
    #: `eager(op, inputs, out)` runs the call instead of a kernel; for operators that
    #: cannot be planned (the shape depends on numbers, or Python computes).
    eager: ClassVar[Any] = None
    #: `eager` accepts sparse arrays, too.
    any_storage: ClassVar[bool] = False
    #: In which type it computes under mixed precision.
    casting: ClassVar[Casting] = USUAL
    #: Matrices are multiplied, which GPUs may do on units of their own.
    multiplies: ClassVar[bool] = False
    #: For which kind of device it makes plans.
    kind: ClassVar[str] = "cpu"
    #: `for_device(kind)`: the operator that plans for a kind of device.
    for_device: ClassVar[Any] = None

    # -- gradients

    #: False for operators such as `argmax`, through which no gradient flows.
    differentiable: ClassVar[bool] = True
    #: Names among `inputs` and "out", "out1", … whose values `grad` needs.
    saves: Any = ()
    #: `grad` looks at `GradContext.targets` and `.retain`, and takes None for an
    #: output without a gradient.
    writes_gradients: ClassVar[bool] = False
    #: `composed(*values)`: the same answer from differentiable operators; used instead
    #: of the operator itself while recording (fused gradients of pointwise formulas).
    composed: ClassVar[Any] = None

    # -- graphs and their memory

    #: {output: inputs}: the output may be written over the memory of the input. The
    #: kernel reads an element of such an input before it writes the one at its index,
    #: and never again. One name or several, the one to prefer first; of an open number
    #: of inputs, `data` is the first.
    inplace: Any = {}
    #: {output: input}: the same elements in the same order; in the same memory there is
    #: nothing to compute.
    unchanged: Any = {}
    #: Names of the inputs of which only the spec counts: their memory may be gone.
    ignores: Any = ()
    #: A short input axis makes the output shorter, as for slices. So where an axis is
    #: not known yet, trying `infer` with long ones, as graphs do, tells nothing.
    clips: ClassVar[bool] = False
    #: The rows of its input that it gives, as a slice; gradient rules get a view then.
    row_range: Any = None
    #: In a graph, its shape follows from that of its neighbours; see `resolve`.
    unresolved: ClassVar[bool] = False
    #: The nodes inside of an operator that several were fused to.
    operators: Any = ()
    #: `expansion(specs)`: the operators that it consists of for inputs of these specs,
    #: as a graph, and its variables in the order of the inputs; for operators that
    #: graphs keep as one node until then (graph/passes/expand.py).
    expansion: ClassVar[Any] = None

    plans: dict[tuple[Spec, ...], Plan]
    _made: ClassVar[dict[Any, Any]]
    #: Some setting may be 0.0 or -0.0, equal keys of different instances; `_nested`:
    #: also inside a tuple. `register` finds out from the types of the settings.
    _signed: ClassVar[bool] = False
    _nested: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "plans", {})

    # -- what every sheet answers ------------------------------------------------------

    def infer(self, *specs: Spec) -> Spec | tuple[Spec, ...]:
        """The specs of the outputs. Raises ShapeError or DTypeError."""
        raise OperatorError(f"{self.name} has no rule for its outputs")

    def kernel(self, *specs: Spec) -> Kernel:
        """A callable `(*ins, *outs[, workspace][, rng])` on NumPy arrays.

        Arrays are C-contiguous and have the shapes of the specs. `workspace` is a flat
        uint8 array, present if `workspace()` is positive; `rng` a
        `numpy.random.Generator`, present if `needs_rng`. It may run on any thread and
        must release the GIL while it works on large arrays.
        """
        raise OperatorError(f"{self.name} has no kernel")

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Sequence[Value | None]:
        """Gradients of the inputs, written with operators.

        dout: the gradient of the output, a tuple if `visible` is more than one. saved:
        the values named by `saves`, in that order. Returns one gradient for each input,
        of its shape; None where `at.wants` is false or no gradient flows.
        """
        raise OperatorError(f"{self.name} has no gradient")

    def cost(self, *specs: Spec) -> Cost:
        """How much work one call is: here one operation per element of the outputs."""
        inferred = self.infer(*specs)
        outs = inferred if isinstance(inferred, tuple) else (inferred,)
        moved = sum(spec.nbytes for spec in (*specs, *outs))
        return Cost(sum(spec.size for spec in outs), moved)

    # -- what some answer otherwise ----------------------------------------------------

    def workspace(self, *specs: Spec) -> int:
        """How many bytes of scratch memory the kernel asks for."""
        return 0

    def compute(self, *specs: Spec) -> Kernel:
        """The kernel. Sheets with a setting called `kernel` override this instead."""
        return self.kernel(*specs)

    def scratch(self, *specs: Spec) -> int:
        """The workspace. Sheets with a setting of that name override this instead."""
        return self.workspace(*specs)

    def recompute(self, *specs: Spec) -> tuple[Op, tuple[str, ...] | None] | None:
        """How the visible outputs are computed a second time, to the bit.

        An operator without side effects, and the names of the inputs and outputs
        (`out1`) of the first call that it takes; None for all inputs. Mirroring uses
        it. None instead of both where a second call would give or do something else.
        """
        if self.mutates or self.needs_rng or not self.deterministic:
            return None
        return self, None

    # -- inference in graphs, where shapes and types are only partly known -------------

    def deduce(self, ins: Opens, outs: Opens) -> Deduced:
        """What else is known of the shapes where some are not, or not wholly, known.

        ins, outs: the shapes of inputs and visible outputs, with None for an axis that
        is not known, or for all of a shape. Returns both, with what follows filled in:
        `ops/deduction.py` has rules for most. Graphs repeat this until nothing new
        follows. No rule is needed for what `infer` tells, nor for parameters, whose
        shapes sheets give by `complete(data)`.
        """
        return ins, outs

    def resolve(self, out: Spec) -> Op:
        """The operator once what comes out is known, where it was `unresolved`."""
        return self

    def deduce_types(self, ins: Types, outs: Types) -> tuple[Types, Types]:
        """The same for element types, before shapes are known: by default all alike.

        A setting `dtype` is the type of the outputs; the inputs are alike then, too.
        """
        first = next((dtype for dtype in ins if dtype is not None), None)
        chosen = getattr(self, "dtype", None)
        if isinstance(chosen, str) and chosen in NAMES:
            outs = [NAMES[chosen]] * len(outs)
        elif first is None:
            first = next((dtype for dtype in outs if dtype is not None), None)
        else:
            outs = [first if dtype is None else dtype for dtype in outs]
        return [first if dtype is None else dtype for dtype in ins], outs

    # -- what every sheet can do, as it is ---------------------------------------------

    @classmethod
    def of(cls, **settings: Any) -> Self:
        """The one instance with these settings, after checking and converting them.

        Text such as "(2, 2)" is read as in MXNet's files. Raises OperatorError for a
        setting that does not exist, does not fit, or is missing.
        """
        if not settings and () in cls._made:
            return cls._made[()]  # type: ignore[no-any-return]
        values = settings.values()
        # As given, not yet converted: 1, 1.0 and True are equal, hence the types.
        key: Any = (*settings.items(), *map(type, values))
        try:
            if cls._signed and (not all(values) or (cls._nested and tuple in key)):
                key = key, repr(settings)
            made = cls._made.get(key)
        except (TypeError, ValueError):  # a list or an array among the settings
            key, made = None, None
        if made is None:
            made = cls(**converted(cls, settings))
            same = cls._made.setdefault(made, made)
            if key is not None:
                if len(cls._made) >= 4096:  # settings that change with every call
                    cls._made.clear()
                cls._made[key] = same
            made = same
        return made  # type: ignore[no-any-return]

    def plan(self, specs: tuple[Spec, ...]) -> Plan:
        """The plan for inputs of these specs, made once. Raises what `infer` raises."""
        plan = self.plans.get(specs)
        if plan is None:
            if len(self.plans) >= 1024:  # inputs whose shape changes with every call
                self.plans.clear()
            plan = self.plans[specs] = Plan(self, specs)
        return plan

    def __eq__(self, other: object) -> bool:
        """Whether it is the same operator with the same settings, -0.0 not being 0."""
        if self is other:
            return True
        return type(self) is type(other) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @cached_property
    def _key(self) -> Any:
        if not dataclasses.is_dataclass(self):
            return id(self)  # made by hand, equal to no other
        return type(self), exact(tuple(self.settings.values()))

    @cached_property
    def relatives(self) -> dict[type[Op], Op]:
        """Operators with the same settings, such as gradients, once they were made."""
        return {}

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The settings of this instance, by name."""
        return {f.name: getattr(self, f.name) for f in fields_of(type(self))}


class GradContext:
    """What a gradient rule knows of the call besides the saved values.

    ins, outs: the specs of inputs and outputs. wants: for each input, whether its
    gradient is needed. For operators with `writes_gradients`: `targets` has, for each
    input, the array that its gradient will be stored in, if the rule may as well write
    it there; `retain`: the tape stays, so the rule may be applied once more.
    """

    __slots__ = ("ins", "outs", "retain", "targets", "wants")

    def __init__(
        self, ins: tuple[Spec, ...], outs: tuple[Spec, ...], wants: tuple[bool, ...]
    ) -> None:
        self.ins = ins
        self.outs = outs
        self.wants = wants
        self.targets: Sequence[Value | None] = ()
        self.retain = False


#: The name of `GradContext` in earlier versions.
Site = GradContext


class Plan:
    """An operator bound to the specs of its inputs: all that a launch must know.

    outs: the specs of the outputs. kernel: made when it is first needed. workspace: the
    bytes of scratch memory that it takes. plain: see `invoke`'s fast path.

    dry_run: kernels compute nothing. Set once, before a program's first operator, it
    lets everything but the numbers happen as it would (see `commands/bench/cell.py`).
    """

    dry_run: ClassVar[bool] = False

    __slots__ = (
        "_compute", "_op", "cost", "kernel", "name", "needs_rng", "on_cuda", "outs",
        "plain", "eager", "workspace",
    )  # fmt: skip

    def __init__(self, op: Op, specs: tuple[Spec, ...]) -> None:
        self.eager = op.eager
        for spec in specs if not op.any_storage else ():
            self.eager = spec.eager or self.eager
        if self.eager is not None:
            self.plain = False
            return
        self.name, self._op = op.name, op
        try:
            inferred = op.infer(*specs)
            self.outs = inferred if isinstance(inferred, tuple) else (inferred,)
            check_sizes(op.name, self.outs)
            self.workspace = op.scratch(*specs)
            self.cost = op.cost(*specs).computed_in(*specs, *self.outs)
        except Exception as reason:
            raise explained(op, reason)  # noqa: B904 (it has its cause)
        self._compute: Callable[[], Any] = partial(op.compute, *specs)
        self.needs_rng = op.needs_rng
        if op.multiplies and op.kind == "gpu":
            self.cost, self._compute = as_multiplied(
                specs[0].dtype, self.cost, self._compute, len(specs)
            )
        # One new array out, nothing else touched: launches take the fast path.
        self.plain = not (
            len(self.outs) > 1
            or self.workspace
            or op.needs_rng
            or op.mutates
            or op.is_view
        )
        for spec in self.outs:
            if spec.eager is not None:
                self.eager = spec.eager
                self.plain = False

    def __getattr__(self, name: str) -> Any:
        """Make the kernel, or how the operator runs on CUDA, at its first use.

        To infer only what comes out compiles nothing.
        """
        if name == "on_cuda":
            made: Any = self._compute
            self.on_cuda = cuda().implementation(made.func.__self__, made.args, self)
            return self.on_cuda
        if name != "kernel":
            raise AttributeError(name)
        self.kernel = kernel = (
            _nothing if Plan.dry_run else kernel_of(self._op, self._compute, self.outs)
        )
        return kernel


def _nothing(*arrays: Any) -> None:
    """The kernel of a dry run."""


REGISTRY: dict[str, type[Op]] = {}
#: {alias: name}: other names under which an operator is offered.
ALIASES: dict[str, str] = {}

OpT = TypeVar("OpT", bound=Op)


@dataclass_transform(frozen_default=True)
def with_settings(sheet: type[OpT]) -> type[OpT]:
    """Turn the annotated fields of a class into settings: a frozen dataclass.

    `register` does it for data sheets; bases that several sheets share take this alone.
    """
    known = [getattr(base, "__dataclass_params__", None) for base in sheet.__mro__]
    if any(params is not None and params.frozen for params in known):
        # Python wants what is derived from a user's frozen class to be frozen.
        return dataclasses.dataclass(frozen=True, eq=False)(sheet)
    for name in ("__init__", "__setattr__", "__delattr__", "__repr__"):
        if name not in vars(sheet):
            setattr(sheet, name, vars(FrozenSettings)[name])
    return dataclasses.dataclass(init=False, repr=False, eq=False)(sheet)


@dataclass_transform(frozen_default=True)
def register(name: str, *aliases: str) -> Callable[[type[OpT]], type[OpT]]:
    """Enter a data sheet in `REGISTRY` under `name`, and its aliases in `ALIASES`.

    The annotations of the class become settings (`with_settings`). Raises MXNetError,
    while the module is imported, if a name is taken already.
    """

    def enter(sheet: type[OpT]) -> type[OpT]:
        for word in (name, *aliases):
            if word in REGISTRY or word in ALIASES:
                other = REGISTRY.get(word) or REGISTRY[ALIASES[word]]
                raise MXNetError(
                    f"operator {word!r} is declared twice, in {other.__module__} and "
                    f"in {sheet.__module__}. Rename one of them."
                )
        sheet.name = name
        sheet._made = {}
        REGISTRY[name] = made = with_settings(sheet)
        fields = dataclasses.fields(made)  # type: ignore[arg-type]
        types = " ".join([str(field.type) for field in fields])
        made._nested = "Any" in types
        made._signed = made._nested or "float" in types
        ALIASES.update(dict.fromkeys(aliases, name))
        return sheet

    return enter


def lookup(name: str) -> type[Op]:
    """The data sheet entered under a name or an alias.

    Raises OperatorError, with names that are spelt alike, if there is none.
    """
    sheet = REGISTRY.get(ALIASES.get(name, name))
    if sheet is None:
        hint = did_you_mean(name, [*REGISTRY, *ALIASES])
        raise OperatorError(f"there is no operator called {name!r}.{hint}")
    return sheet


def bind(op: Op, *values: Value) -> Any:
    """Apply an operator to values, by the interpreter that those values belong to.

    values: at least one; all NDArrays, or all Symbols. Arrays run the operator
    (`arrays/launch.py`), symbols become a node of a graph. Returns a value, or a list
    of them if the operator has several visible outputs.
    """
    return values[0]._bind(op, values)


def forget_plans() -> None:
    """Drop every plan: a knob that plans depend on was turned."""
    for sheet in REGISTRY.values():
        for made in list(sheet._made.values()):
            made.plans.clear()
            if made.for_device:
                made.for_device("gpu").plans.clear()
