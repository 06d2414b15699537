"""Kernels generated from formulas: one line of text in, compiled loops out.

    kernel(Formula("a + b", ("a", "b")), shapes, dtypes, out_shape, out_dtype)

gives a callable `(a, b, out)` for arrays of these shapes. It is made in three steps.

1. `write` translates the formula to a small Python file with a loop for each layout of
   a *row*: an operand advances by one element, or stays (it is broadcast). Shortened:

       def kernel(args, steps, n):        # addresses, 1 or 0 per operand, row length
           if steps[0] == 1 and steps[1] == 1:
               for i in range(n):
                   store(out_, i, float32(load(a_, i) + load(b_, i)))
           elif steps[0] == 1 and steps[1] == 0:
               b = load(b_, 0) ...

   `print(source("a + b"))` shows all of it; `native.py` explains load and store.

2. `address` lets numba compile the file; what counts is where the machine code starts.
   The file lies in `cache_dir()` and is named after its content, so that numba keeps
   the machine code beside it and the next program need not compile.

3. `kernel` plans how arrays of any shape are cut to rows, once for each combination of
   shapes. For a (4, 3) + b (3,), `collapse` finds lengths [3, 4] and steps
   [[1, 1, 1], [3, 0, 3]]: rows of 3 elements, along which a, b and out advance by 1;
   4 such rows, and from one to the next a and out advance by 3, b by 0. The launchers
   in `native.py` do this:

       inputs like out, or of one element; few elements    run1 … run4: one serial row
       the same, many elements                             rows: one row, cut to parts
       other broadcasts                                    rows; rows2 for few elements

   Arrays of float16 and bfloat16 are converted to float32 and back (`_widened`).
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import os
import sys
import threading
from collections.abc import Callable, Sequence
from functools import cache, partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from minimx.core.dtypes import FLOAT32, NARROW, DType
from minimx.core.extensions import provided
from minimx.core.kernels import prebuilt, threads
from minimx.core.kernels.formula import Formula
from minimx.core.kernels.half import computing
from minimx.core.shapes import Shape

Launch = Callable[..., None]

SMALL = threads.SMALL

# -- step 1: from a formula to the source of a file ------------------------------------


class _Writer(ast.NodeVisitor):
    """Translates the syntax tree of a formula to source text of the generated file.

    "x * 2 > 1" of float32 becomes "((a * float32(2)) > float32(1))".

    real: the type in which functions compute. number: that of constants, None to leave
    them alone: constants of a float32 formula must be float32, or the loop would
    compute in double precision. names: {operand: its name in the file}.
    """

    def __init__(self, real: str, number: str | None, names: dict[str, str]) -> None:
        self.real = real
        self.number = number
        self.names = names

    def value(self, node: ast.expr) -> str:
        """The source of an expression where a number is wanted: true becomes 1."""
        text: str = self.visit(node)
        if self.is_condition(node):
            return f"{self.number or 'intp'}({text})"
        return text

    def condition(self, node: ast.expr) -> str:
        """The source of an expression where a truth value is wanted: 2 is true."""
        text: str = self.visit(node)
        return text if self.is_condition(node) else f"({text} != 0)"

    @staticmethod
    def is_condition(node: ast.expr) -> bool:
        """Whether the node yields true or false rather than a number."""
        if isinstance(node, ast.UnaryOp):
            return isinstance(node.op, ast.Not)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return node.func.id in ("isnan", "isinf", "isfinite")
        return isinstance(node, ast.Compare | ast.BoolOp)

    def visit_Name(self, node: ast.Name) -> str:  # noqa: N802
        return self.names[node.id]

    def visit_Constant(self, node: ast.Constant) -> str:  # noqa: N802
        return f"{self.number}({node.value!r})" if self.number else repr(node.value)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> str:  # noqa: N802
        if isinstance(node.op, ast.Not):
            return f"(not {self.condition(node.operand)})"
        return f"(-{self.value(node.operand)})"

    def visit_BinOp(self, node: ast.BinOp) -> str:  # noqa: N802
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(node.op, ast.Pow):
            return f"({left} ** {ast.unparse(node.right)})"
        sign = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}[type(node.op)]
        return f"({left} {sign} {right})"

    def visit_BoolOp(self, node: ast.BoolOp) -> str:  # noqa: N802
        sign = " & " if isinstance(node.op, ast.And) else " | "
        return f"({sign.join(self.condition(value) for value in node.values)})"

    def visit_Compare(self, node: ast.Compare) -> str:  # noqa: N802
        left, right = self.value(node.left), self.value(node.comparators[0])
        signs = {
            ast.Gt: ">", ast.GtE: ">=", ast.Lt: "<",
            ast.LtE: "<=", ast.Eq: "==", ast.NotEq: "!=",
        }  # fmt: skip
        return f"({left} {signs[type(node.ops[0])]} {right})"

    def visit_Call(self, node: ast.Call) -> str:  # noqa: N802
        assert isinstance(node.func, ast.Name)
        name = node.func.id
        if name == "where":
            condition, yes, no = node.args
            return (
                f"select({self.condition(condition)}, "
                f"{self.value(yes)}, {self.value(no)})"
            )
        args = [self.value(arg) for arg in node.args]
        if name not in _EXACT and self.real != self.number:
            args = [f"{self.real}({arg})" for arg in args]
        return f"{name}({', '.join(args)})"


#: Functions that make sense on integers as they are; others compute on reals.
_EXACT = frozenset(("abs", "sign", "maximum", "minimum", "div", "mod", "floor_div"))

_HEAD = '''"""{text}

{signature}; made by minimx.core.kernels.pointwise.
"""

from numba import cfunc, {types}

from minimx.core.kernels.mathematics import {functions}
from minimx.core.kernels.native import KERNEL, load, operand, store


@cfunc(KERNEL, cache=True, error_model="numpy")
def kernel(args, steps, n):
'''


def write(
    formula: Formula, ins: Sequence[DType], out: DType, constants: int = 0
) -> str:
    """The source of the file that numba compiles: a function, a loop for each layout.

    ins, out: the element types of operands and result; at most eight operands.
    constants: so many of the last operands are single numbers in every launch, and are
    loaded before the loops.
    """
    operands = formula.operands
    letters = dict(zip(operands, "abcdefgh", strict=False))
    names = [letters[name] for name in operands]
    body = expression(formula, ins, letters)
    plain = _Writer("", None, letters).value(formula.tree.body)
    types = {*map(numba_type, ins), numba_type(out), _computes_in(ins)[0], "intp"}
    head = _HEAD.format(
        text=plain,
        signature=f"({', '.join(d.name for d in ins)}) -> {out.name}",
        types=", ".join(sorted(types)),
        functions=", ".join(functions_of(formula)) or "select",
    )
    lines = [
        f"    {name}_ = operand(args, {k}, {numba_type(dtype)})"
        for k, (name, dtype) in enumerate(zip(names, ins, strict=True))
    ]
    lines.append(f"    out_ = operand(args, {len(names)}, {numba_type(out)})")
    moving = len(names) - constants
    lines += [f"    {name} = load({name}_, 0)" for name in names[moving:]]
    lines += _loops(names[:moving], f"store(out_, i, {numba_type(out)}({body}))")
    return head + "\n".join(lines) + "\n"


def _computes_in(ins: Sequence[DType]) -> tuple[str, str | None]:
    """The types that functions compute in, and that literal numbers have.

    float32 operands: ("float32", "float32"); int32: ("float64", None), so that `a + 1`
    stays an integer and `sqrt(a)` is a double.
    """
    common = np.result_type(*ins)
    real = "float32" if common == FLOAT32 else "float64"
    return real, common.name if common.kind == "f" else None


def expression(formula: Formula, ins: Sequence[DType], names: dict[str, str]) -> str:
    """The source text of a formula, for a generated file.

    ins: the types of the operands; names: {operand: its name in that file}.
    """
    return _Writer(*_computes_in(ins), names).value(formula.tree.body)


def numba_type(dtype: DType) -> str:
    """What numba calls an element type: its NumPy name, but `boolean` for bool."""
    return "boolean" if dtype.kind == "b" else dtype.name


def functions_of(formula: Formula) -> list[str]:
    """The names that a generated file imports for a formula: `select` for `where`."""
    walked = ast.walk(formula.tree)
    calls = [
        n.func.id
        for n in walked
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
    ]
    return sorted({"select" if name == "where" else name for name in calls})


def _loops(names: list[str], store: str) -> list[str]:
    """A loop for each combination of operands that advance (1) or are broadcast (0).

    names: of the operands; store: the last line of each loop. At least one of two
    operands advances along a row, so three layouts are all there are. Of more operands
    usually all advance; one further loop, which multiplies by the steps, serves the
    rest ("?").
    """
    layouts = {1: ["1", "0"], 2: ["11", "10", "01"]}.get(
        len(names), ["1" * len(names), "?" * len(names)]
    )
    lines = []
    for place, layout in enumerate(layouts):
        tests = [f"steps[{k}] == {step}" for k, step in enumerate(layout)]
        last = place == len(layouts) - 1
        branch = "if" if place == 0 else "elif"
        lines.append("    else:" if last else f"    {branch} {' and '.join(tests)}:")
        inside = []
        for k, (name, step) in enumerate(zip(names, layout, strict=True)):
            if step == "0":
                lines.append(f"        {name} = load({name}_, 0)")
            else:
                where = "i" if step == "1" else f"i * steps[{k}]"
                inside.append(f"            {name} = load({name}_, {where})")
        lines += ["        for i in range(n):", *inside, f"            {store}"]
    return lines


# -- step 2: from source to machine code -----------------------------------------------

_importing = threading.Lock()
_modules: dict[str, Any] = {}


def import_generated(text: str, *more: Any) -> Any:
    """The module with this source, written to `cache_dir()` if it is not there yet.

    more: the modules it imports besides `mathematics` and `native`. Their sources are
    part of the file's name, as numba's cache does not see a change in an import.
    """
    from minimx.core.kernels import mathematics, native

    modules = (mathematics, native, *more)
    parts = [text, *(Path(str(module.__file__)).read_text() for module in modules)]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:20]
    with _importing:
        if digest not in _modules:
            folder = threads.cache_dir() / "pointwise"
            path = folder / f"k{digest}.py"
            if not path.exists():
                folder.mkdir(parents=True, exist_ok=True)
                fresh = path.with_suffix(f".{os.getpid()}")
                fresh.write_text(text)
                os.replace(fresh, path)  # another process may be writing the same
            name = f"minimx_pointwise_{digest}"
            spec = importlib.util.spec_from_file_location(name, path)
            assert spec is not None and spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules[name] = module  # where numba looks for it when it loads code
            threads.compiled(partial(spec.loader.exec_module, module))
            _modules[digest] = module
        return _modules[digest]


@cache
def address(
    formula: Formula, ins: tuple[DType, ...], out: DType, constants: int = 0
) -> int:
    """Where the machine code `kernel(args, steps, n)` of a formula starts.

    ins, out: element types of the operands that are arrays, and of the result;
    constants: how many of the last operands are single numbers. The first call may
    take half a second: it compiles, or loads what an earlier program compiled.
    """
    text = write(formula, ins, out, constants)
    return int(import_generated(text).kernel.address)


# -- step 3: launching -----------------------------------------------------------------


def kernel(
    formula: Formula,
    shapes: Sequence[Shape],
    dtypes: Sequence[DType],
    out_shape: Shape,
    out_dtype: DType,
    constants: tuple[float, ...] = (),
    tuned_as: DType | None = None,
) -> Launch:
    """A callable `(*ins, out)` that applies a formula to arrays that broadcast.

    shapes, dtypes: of the inputs, which are the first operands of the formula and
    C-contiguous; they broadcast to out_shape. constants: the values of its last
    operands. tuned_as: the type by which operator tuning knows the call, if it is not
    `out_dtype`. The number of threads is that of now: `ops.forget_plans` drops kernels
    when a knob changes it.
    """
    if not NARROW.isdisjoint((*dtypes, out_dtype)):
        return _widened(formula, shapes, dtypes, out_shape, out_dtype, constants)
    common = np.result_type(*dtypes)
    singles = [np.array([value]).astype(common) for value in constants]
    ins = (*dtypes, *(common for _ in singles))
    # Of two operands either may be broadcast, so `x * 2` and `a * b` share a kernel.
    fixed = len(constants) if len(ins) > 2 else 0
    code = address(formula, ins, out_dtype, fixed)
    size = prod(out_shape)
    tuning = provided("operator tuning")
    loop = tuning.Loop(formula.text, code, ins, (out_dtype,))
    parts: int = tuning.parts(size, loop, tuned_as or out_dtype)
    if all(shape == out_shape or prod(shape) == 1 for shape in shapes):
        if parts == 1 and size < SMALL and len(ins) <= 4:
            return _small(code, shapes, out_shape, singles)
        shapes = [(size,) if shape == out_shape else (1,) for shape in shapes]
        out_shape = (size,)
    shapes = [*shapes, *((1,) for _ in singles)]
    return _gridded(code, shapes, [*ins, out_dtype], out_shape, singles, parts)


def _small(
    code: int, shapes: Sequence[Shape], out_shape: Shape, singles: list[Any]
) -> Launch:
    """Launch few elements as one row, with as little Python as possible.

    singles: an array of one number for each constant.
    """
    from minimx.core.kernels import native

    run = (native.run1, native.run2, native.run3, native.run4)[
        len(shapes) + len(singles) - 1
    ]
    launch = _flat(run, code, shapes, out_shape, singles)
    return prebuilt.offers(launch, partial(prebuilt.flat, code, singles))


def _flat(
    run: Launch,
    code: int,
    shapes: Sequence[Shape],
    out_shape: Shape,
    singles: list[Any],
) -> Launch:
    """A call of `run` with all arrays flattened.

    Every `if` saves a tenth of a microsecond on a frequent kind of call.
    """
    if not singles and all(len(shape) == 1 for shape in (*shapes, out_shape)):
        return partial(run, code)
    if len(shapes) == 1 and not singles:
        return lambda a, out: run(code, a.ravel(), out.ravel())
    if len(shapes) == 1 and len(singles) == 1:
        (single,) = singles
        return lambda a, out: run(code, a.ravel(), single, out.ravel())
    if len(shapes) == 2 and not singles:
        return lambda a, b, out: run(code, a.ravel(), b.ravel(), out.ravel())

    def launch(*arrays: Any) -> None:
        *ins, out = [array.ravel() for array in arrays]
        run(code, *ins, *singles, out)

    return launch


def _gridded(
    code: int,
    shapes: Sequence[Shape],
    dtypes: Sequence[DType],
    out_shape: Shape,
    singles: list[Any],
    parts: int,
) -> Launch:
    """Launch row by row, on several threads if `parts` is more than 1."""
    from minimx.core.kernels import native

    grid = _grid(shapes, dtypes, out_shape)
    small = prod(out_shape) < SMALL and parts == 1
    if small and len(shapes) == 2 and not singles:
        run = native.rows2
        return lambda a, b, out: run(code, a.ravel(), b.ravel(), out.ravel(), grid)
    rows = native.rows.threaded if parts > 1 else native.rows.serial
    if small:
        rows = native.rows.small
    tail = [single.ctypes.data for single in singles]

    def launch(*arrays: Any) -> None:
        *ins, out = [array.ctypes.data for array in arrays]
        rows(code, np.array([*ins, *tail, out]), grid, parts)

    launch.keep = singles  # type: ignore[attr-defined]
    return launch


def _grid(shapes: Sequence[Shape], dtypes: Sequence[DType], out_shape: Shape) -> Any:
    """The grid of a broadcast, in the layout that `native.rows` documents."""
    lengths, steps = collapse(out_shape, shapes)
    grid = np.empty((len(lengths) + 1, len(dtypes) + 1), np.intp)
    grid[0] = [0, *steps[0]]
    grid[1:, 0] = lengths
    grid[1:, 1:] = np.array(steps) * [dtype.itemsize for dtype in dtypes]
    return grid


def collapse(
    out_shape: Shape, shapes: Sequence[Shape]
) -> tuple[list[int], list[list[int]]]:
    """The fewest axes that describe a broadcast: lengths and steps, innermost first.

    Steps count elements, one per operand and one more for the output. Neighbouring axes
    become one where every operand crosses from the inner to the outer one without a
    jump; PyTorch's TensorIterator calls this coalescing dimensions.

    >>> collapse((2, 3, 4), [(2, 3, 4), (3, 4)])
    ([12, 2], [[1, 1, 1], [12, 0, 12]])
    """
    strides = [steps_of(shape, len(out_shape)) for shape in (*shapes, out_shape)]
    lengths: list[int] = []
    steps: list[list[int]] = []
    for axis in reversed(range(len(out_shape))):
        length = out_shape[axis]
        if length == 1:
            continue
        here = [stride[axis] for stride in strides]
        if lengths and here == [step * lengths[-1] for step in steps[-1]]:
            lengths[-1] *= length
        else:
            lengths.append(length)
            steps.append(here)
    return (lengths or [1]), (steps or [[1] * len(strides)])


def steps_of(shape: Shape, ndim: int) -> list[int]:
    """Strides in elements along each of `ndim` axes; 0 along axes that are broadcast.

    For a C-contiguous array of this shape, whose axes are the last of the ndim.

    >>> steps_of((3, 1, 4), 4)
    [0, 4, 0, 1]
    """
    steps, step = [], 1
    for length in reversed(shape):
        steps.append(step if length != 1 else 0)
        step *= length
    return (steps + [0] * (ndim - len(shape)))[::-1]


def _widened(
    formula: Formula,
    shapes: Sequence[Shape],
    dtypes: Sequence[DType],
    out_shape: Shape,
    out_dtype: DType,
    constants: tuple[float, ...],
) -> Launch:
    """Launch on arrays of float16 or bfloat16: computed in float32, then rounded.

    The arguments are those of `kernel`.
    """
    wide = [computing(dtype) for dtype in dtypes]
    wide_out = computing(out_dtype)
    inner = kernel(formula, shapes, wide, out_shape, wide_out, constants, out_dtype)

    def launch(*arrays: Any) -> None:
        from minimx.core.kernels.cpu.widths import convert, widened

        *ins, out = arrays
        result = np.empty(out_shape, wide_out)
        pairs = zip(ins, wide, strict=True)
        inner(*[a if a.dtype == t else widened(a) for a, t in pairs], result)
        convert(result, out)

    return launch


def source(text: str, dtype: str = "float32") -> str:
    """The generated file of a formula, to look at; operands in alphabetical order.

    dtype: that of all operands and of the result.

    >>> print(source("x * x")[-96:].split("elif")[0].strip().splitlines()[-1].strip())
    store(out_, i, float32((a * a)))
    """
    walked = ast.walk(ast.parse(text))
    calls = {node.func for node in walked if isinstance(node, ast.Call)}
    walked = ast.walk(ast.parse(text))
    names = sorted(
        {n.id for n in walked if isinstance(n, ast.Name)}
        - {f.id for f in calls if isinstance(f, ast.Name)}
    )
    formula = Formula(text, tuple(names))
    kind = np.dtype(dtype)
    return write(formula, [kind] * len(names), kind)
