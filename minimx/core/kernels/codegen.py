"""Code generation: from a formula to the source of a kernel, a small Python file.

    print(source("a + b"))

shows one: `kernel(args, steps, n)`, which handles a row of n elements, with a loop for
each layout of the row. An operand advances by one element, or stays because it is
broadcast:

    if steps[0] == 1 and steps[1] == 1:
        for i in range(n):
            a = load(a_, i)
            b = load(b_, i)
            store(out_, i, float32((a + b)))
    elif steps[0] == 1 and steps[1] == 0:
        b = load(b_, 0)
        for i in range(n):
            a = load(a_, i)
            ...

With a constant step the compiler computes many elements at once. `import_generated`
makes a module of such a source. `native.py` explains the arguments and how `load` and
`store` are compiled; `pointwise.py` launches the kernels.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import os
import sys
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from minimx.core.dtypes import FLOAT32, DType
from minimx.core.kernels import threads
from minimx.core.kernels.formula import FUNCTIONS, Formula


def write(
    formula: Formula, ins: Sequence[DType], out: DType, constants: int = 0,
    strided: bool = False,
) -> str:  # fmt: skip
    """The source of the file that numba compiles: a function, a loop for each layout.

    ins, out: the element types of operands and result; at most eight operands.
    constants: so many of the last operands are single numbers in every launch, and are
    loaded before the loops. strided: whether a single operand may advance by more than
    one element.
    """
    operands = formula.operands
    letters = dict(zip(operands, "abcdefgh", strict=False))
    names = [letters[name] for name in operands]
    body = expression(formula, ins, letters)
    plain = _Translator("", None, letters).value(formula.tree.body)
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
    store = f"store(out_, i, {numba_type(out)}({body}))"
    lines += _loops(names[:moving], store, strided)
    return head + "\n".join(lines) + "\n"


_HEAD = '''"""{text}

{signature}; made by minimx.core.kernels.pointwise.
"""

from numba import {types}

from minimx.core.kernels.mathematics import {functions}
from minimx.core.kernels.native import load, operand, row_kernel, store


@row_kernel
def kernel(args, steps, n):
'''


def _loops(names: list[str], store: str, strided: bool) -> list[str]:
    """A loop for each combination of operands that advance (1) or are broadcast (0).

    names: of the operands; store: the last line of each loop. At least one of two
    operands advances along a row, so three layouts are all there are. Of more operands
    usually all advance; one further loop, which multiplies by the steps, serves the
    rest ("?"). A single operand has it only if it is `strided`: it takes time to
    compile.
    """
    few = {1: ["1", "0", "?"][: 2 + strided], 2: ["11", "10", "01"]}
    layouts = few.get(len(names), ["1" * len(names), "?" * len(names)])
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


def expression(formula: Formula, ins: Sequence[DType], names: dict[str, str]) -> str:
    """The source text of a formula, for a generated file.

    ins: the types of the operands; names: {operand: its name in that file}.
    """
    return _Translator(*_computes_in(ins), names).value(formula.tree.body)


def _computes_in(ins: Sequence[DType]) -> tuple[str, str | None]:
    """The types that functions compute in, and that literal numbers have.

    float32 operands: ("float32", "float32"); int32: ("float64", None), so that `a + 1`
    stays an integer and `sqrt(a)` is a double.
    """
    common = np.result_type(*ins)
    real = "float32" if common == FLOAT32 else "float64"
    return real, common.name if common.kind == "f" else None


class _Translator(ast.NodeVisitor):
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


def source(text: str, dtype: str = "float32") -> str:
    """The generated file of a formula, to look at; operands in alphabetical order.

    dtype: that of all operands and of the result.

    >>> print(source("x * x")[-96:].split("elif")[0].strip().splitlines()[-1].strip())
    store(out_, i, float32((a * a)))
    """
    words = {n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)}
    names = sorted(words - FUNCTIONS.keys())
    formula = Formula(text, tuple(names))
    kind = np.dtype(dtype)
    return write(formula, [kind] * len(names), kind)


# -- the file --------------------------------------------------------------------------

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
