"""What an attempt may not say: ways to the check that judges it, and to the machine.

An attempt and its check run in one process, and Python has no walls inside a process.
So what no exercise needs is refused before anything runs: modules that reach into the
interpreter, frames and other double-underscored names, objects that define what equals
them, the answers that lie in the course's own modules, values put into modules. A
refused attempt gets no points; its line is named, for a person to look at.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from minimx_widgets.course.teaching.grading.slicing import Line


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Modules that attempts may import beside those of minimx and of their notebook.
MODULES = _words(
    """
    __future__ bisect collections contextlib copy dataclasses decimal enum fractions
    functools heapq itertools math numba numbers numpy operator random statistics string
    time typing minimx
    """
)
#: Modules that reach into the interpreter or the machine, under whatever name.
MACHINE = _words(
    """
    asyncio atexit builtins code codeop concurrent ctypes faulthandler gc imp importlib
    inspect io linecache marshal multiprocessing os pathlib pickle pkgutil posix
    posixpath runpy shutil signal socket subprocess sys tempfile threading _thread
    traceback types unittest warnings weakref
    """
)
CALLS = _words(
    """
    __import__ attrgetter breakpoint compile delattr eval exec exit getattr globals
    input locals memoryview methodcaller open quit setattr vars
    """
)
#: Of the calls above, those that only end the attempt.
HARMLESS = frozenset({"exit", "quit"})
#: Ways from a function, a generator or an error to the frames that called it.
FRAMES = _words(
    """
    ag_frame cr_frame f_back f_builtins f_code f_globals f_locals gi_code gi_frame
    mro tb_frame tb_next
    """
)
#: Modules by their names as attributes; `.code`, `.io` and `.types` may be others.
REACHED = MACHINE - {"code", "io", "types"} | {"attrgetter", "methodcaller"}
#: Without underscores: what a learner's class may well define or use.
PLAIN = _words(
    """
    bool call contains delitem doc enter exit getitem init iter len name next
    post_init qualname repr setitem str
    """
)
COURSE = "minimx_widgets"


def refusals(
    found: Sequence[Line], own: Sequence[ast.stmt], texts: Iterable[str]
) -> Iterator[str]:
    """Why an attempt is not run, line by line; nothing where it may.

    found: its statements. own: the statements of the course's notebook, whose imports
    are allowed. texts: everything that the course's notebook says.
    """
    given = set(texts)
    imports = {entry for node in own for entry in _imported(node)}
    modules = {name for line in found for name in _bound_imports(line.node)}
    for line in found:
        for node in ast.walk(line.node):
            for why in _wrong(node, imports, modules, given):
                yield f"line {getattr(node, 'lineno', '?')} {why}"


def _wrong(
    node: ast.AST, imports: set[str], modules: set[str], given: set[str]
) -> Iterator[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        for entry in _imported(node):
            yield from _import_wrong(entry, imports)
    elif isinstance(node, ast.Name):
        if node.id in CALLS - HARMLESS or _private(node.id):
            yield f"uses `{node.id}`"
    elif isinstance(node, ast.Attribute):
        yield from _attribute_wrong(node, modules, given)
    elif isinstance(node, ast.FunctionDef) and _private(node.name):
        yield f"defines `{node.name}`, by which it could equal every answer"
    elif isinstance(node, ast.MatchClass):
        yield from (f"asks for `{n}`" for n in node.kwd_attrs if _hidden(n))
    elif isinstance(node, ast.Constant) and _private(repr(node.value)[1:-1]):
        yield f"names `{node.value!r}`"


def _import_wrong(entry: str, imports: set[str]) -> Iterator[str]:
    root, _, rest = entry.partition(".")
    last = rest.rpartition(".")[2]
    if root in MACHINE or (root not in MODULES and entry not in imports):
        yield f"imports `{entry}`, which this exercise does not need"
    elif last in MACHINE | CALLS or any(map(_private, entry.split(".")[1:])):
        yield f"imports `{entry}`"


def _attribute_wrong(
    node: ast.Attribute, modules: set[str], given: set[str]
) -> Iterator[str]:
    text = ast.unparse(node)
    if _hidden(node.attr):
        yield f"reaches for `{text}`"
    elif not isinstance(node.ctx, ast.Load) and _root(node) in modules:
        yield f"changes `{text}`, which belongs to the course or to a library"
    elif _root(node.value) in modules & given and _short(node) not in given:
        yield f"uses `{text}`, which its notebook does not use"


def _short(node: ast.Attribute) -> str:
    """`pooling.serve` of `pooling.serve.cache`."""
    while isinstance(node.value, ast.Attribute):
        node = node.value
    return ast.unparse(node)


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _hidden(name: str) -> bool:
    return name in FRAMES | REACHED or _private(name)


def _private(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and name[2:-2] not in PLAIN


def _imported(node: ast.AST) -> Iterator[str]:
    """What an import names, with dots."""
    if isinstance(node, ast.Import):
        yield from (each.name for each in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from (f"{node.module or '.'}.{each.name}" for each in node.names)


def _bound_imports(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        for each in node.names:
            yield each.asname or each.name.partition(".")[0]


def said(nodes: Iterable[ast.stmt]) -> set[str]:
    """All that a notebook says of the course's modules: their names, and their uses.

    Of `from minimx_widgets.course import pooling` and `pooling.serve(x)` it is
    `pooling` and `pooling.serve`.
    """
    nodes = list(nodes)
    names = {
        name
        for node in nodes
        for name in _bound_imports(node)
        if any(entry.startswith(COURSE) for entry in _imported(node))
    }
    uses = {
        ast.unparse(each)
        for node in nodes
        for each in ast.walk(node)
        if isinstance(each, ast.Attribute)
        and isinstance(each.value, ast.Name)
        and each.value.id in names
    }
    return names | uses
