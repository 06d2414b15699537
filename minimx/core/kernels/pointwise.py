"""Kernels made from formulas: one text in, loops for every layout out.

    kernel(formula, shapes, dtypes, out_shape, out_dtype)   a callable (*ins, out)
    source("1 / (1 + exp(-x))")                             the file numba compiles

A formula becomes a Python file in `cache_dir()`, named after its content, so that numba
keeps the machine code beside it and the next program need not compile. Whether a launch
is serial or parallel, and how operands of different shapes are walked, is settled here,
once per combination of shapes.
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

# -- the text --------------------------------------------------------------------------


class _Writer(ast.NodeVisitor):
    """Writes a formula in the words of the generated file.

    `real` is the type in which functions compute; `number` that of constants, None to
    leave them alone: constants of a float32 formula must be float32, or the loop would
    compute in double precision.
    """

    def __init__(self, real: str, number: str | None, names: dict[str, str]) -> None:
        self.real = real
        self.number = number
        self.names = names

    def value(self, node: ast.expr) -> str:
        """The text of an expression that is a number."""
        text: str = self.visit(node)
        if self.is_condition(node):
            return f"{self.number or 'intp'}({text})"
        return text

    def condition(self, node: ast.expr) -> str:
        """The text of an expression that is true or false."""
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
    """The file that numba compiles: one function with a loop for every layout.

    The last `constants` operands are single numbers in every launch.
    """
    operands = formula.operands
    letters = dict(zip(operands, "abcdefgh", strict=False))
    names = [letters[name] for name in operands]
    body = expression(formula, ins, letters)
    plain = _Writer("", None, letters).value(formula.tree.body)
    words = sorted({*map(word, ins), word(out), _computes_in(ins)[0], "intp"})
    head = _HEAD.format(
        text=plain,
        signature=f"({', '.join(d.name for d in ins)}) -> {out.name}",
        types=", ".join(words),
        functions=", ".join(called(formula)) or "select",
    )
    lines = [
        f"    {name}_ = operand(args, {k}, {word(dtype)})"
        for k, (name, dtype) in enumerate(zip(names, ins, strict=True))
    ]
    lines.append(f"    out_ = operand(args, {len(names)}, {word(out)})")
    moving = len(names) - constants
    lines += [f"    {name} = load({name}_, 0)" for name in names[moving:]]
    lines += _loops(names[:moving], f"store(out_, i, {word(out)}({body}))")
    return head + "\n".join(lines) + "\n"


def _computes_in(ins: Sequence[DType]) -> tuple[str, str | None]:
    """For operands of these types: that of functions, and that of literal numbers."""
    common = np.result_type(*ins)
    real = "float32" if common == FLOAT32 else "float64"
    return real, common.name if common.kind == "f" else None


def expression(formula: Formula, ins: Sequence[DType], names: dict[str, str]) -> str:
    """A formula in the words of a generated file.

    ins: the types of the operands; names: what they are called there.
    """
    return _Writer(*_computes_in(ins), names).value(formula.tree.body)


def word(dtype: DType) -> str:
    """What numba calls an element type."""
    return "boolean" if dtype.kind == "b" else dtype.name


def called(formula: Formula) -> list[str]:
    """The functions that the text of a formula needs."""
    walked = ast.walk(formula.tree)
    calls = [
        n.func.id
        for n in walked
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
    ]
    return sorted({"select" if name == "where" else name for name in calls})


def _loops(names: list[str], store: str) -> list[str]:
    """A loop for each way in which the operands move or stand still.

    At least one of two operands moves along a row, so three layouts are all there are.
    Of more operands usually all move; one further loop serves the other cases.
    """
    layouts = {1: ["1", "0"], 2: ["11", "10", "01"]}.get(
        len(names), ["1" * len(names), "?" * len(names)]
    )
    lines = []
    for place, layout in enumerate(layouts):
        tests = [f"steps[{k}] == {step}" for k, step in enumerate(layout)]
        last = place == len(layouts) - 1
        word = "if" if place == 0 else "elif"
        lines.append("    else:" if last else f"    {word} {' and '.join(tests)}:")
        inside = []
        for k, (name, step) in enumerate(zip(names, layout, strict=True)):
            if step == "0":
                lines.append(f"        {name} = load({name}_, 0)")
            else:
                where = "i" if step == "1" else f"i * steps[{k}]"
                inside.append(f"            {name} = load({name}_, {where})")
        lines += ["        for i in range(n):", *inside, f"            {store}"]
    return lines


# -- from text to machine code ---------------------------------------------------------

_making = threading.Lock()
_modules: dict[str, Any] = {}


def make(text: str, *more: Any) -> Any:
    """Import the generated file, writing it first if no program has done so before.

    more: the modules it imports besides `mathematics` and `native`.
    """
    from minimx.core.kernels import mathematics, native

    rooms = (mathematics, native, *more)
    parts = [text, *(Path(str(room.__file__)).read_text() for room in rooms)]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:20]
    with _making:
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
    """Where the machine code of a formula starts, compiled if it was not yet.

    ins, out: element types of the operands that are arrays, and of the result;
    constants: how many of the last operands are single numbers.
    """
    return int(make(write(formula, ins, out, constants)).kernel.address)


# -- launching -------------------------------------------------------------------------


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

    shapes, dtypes: of the inputs, which are the first operands of the formula;
    constants: the values of its last operands. tuned_as: the type by which operator
    tuning knows the call, if it is not `out_dtype`.
    """
    if not NARROW.isdisjoint((*dtypes, out_dtype)):
        return _widened(formula, shapes, dtypes, out_shape, out_dtype, constants)
    common = np.result_type(*dtypes)
    singles = [np.array([value]).astype(common) for value in constants]
    ins = (*dtypes, *(common for _ in singles))
    # Kernels of two operands know that one may stand still; they serve both.
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
    """Launch on flat arrays with as little Python as possible."""
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
    """A call of `run` with all arrays seen as rows."""
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
    """How to walk through all operands at once; the layout is that of `native.rows`."""
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

    Steps count elements, one per operand and one more for the output.

    >>> collapse((2, 3, 4), [(2, 3, 4), (3, 4)])
    ([12, 2], [[1, 1, 1], [12, 0, 12]])
    """
    walks = [steps_of(shape, len(out_shape)) for shape in (*shapes, out_shape)]
    lengths: list[int] = []
    steps: list[list[int]] = []
    for axis in reversed(range(len(out_shape))):
        length = out_shape[axis]
        if length == 1:
            continue
        here = [walk[axis] for walk in walks]
        if lengths and here == [step * lengths[-1] for step in steps[-1]]:
            lengths[-1] *= length
        else:
            lengths.append(length)
            steps.append(here)
    return (lengths or [1]), (steps or [[1] * len(walks)])


def steps_of(shape: Shape, ndim: int) -> list[int]:
    """Elements to advance along each of `ndim` axes; 0 along stretched ones.

    For a contiguous array of this shape, whose axes are the last of the ndim.
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
    """Launch on arrays of two-byte numbers: computed in float32, then rounded."""
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
    """The generated file of a formula; its operands in the order of the alphabet.

    >>> print(source("x * x")[-96:].split("elif")[0].strip().splitlines()[-1].strip())
    store(out_, i, float32((a * a)))
    """
    walked = ast.walk(ast.parse(text))
    called = {node.func for node in walked if isinstance(node, ast.Call)}
    walked = ast.walk(ast.parse(text))
    names = sorted(
        {n.id for n in walked if isinstance(n, ast.Name)}
        - {f.id for f in called if isinstance(f, ast.Name)}
    )
    formula = Formula(text, tuple(names))
    kind = np.dtype(dtype)
    return write(formula, [kind] * len(names), kind)
