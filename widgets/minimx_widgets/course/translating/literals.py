"""The texts in Python code: found in its syntax tree, where they are written.

    found('PredictCard("How many {n}?", by="the pool")', "a.py").texts

Every string of at least two words counts, and a single word where a card, a claim or a
table shows it. An f-string becomes a template: f"{len(x)} of {n}" is "{len_x} of {n}".
Not counted: docstrings (but that of a claim, which is its prediction), what an
exception says that no card shows, what is printed, and what looks like code, HTML or
CSS.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from minimx_widgets.course.predicting.units import UNITS
from minimx_widgets.language import FEWEST_LETTERS, FIELD

#: Their strings are no texts. Those of `print` are shown, and reported as missing.
SILENT: Final = frozenset(
    re.findall(
        r"\w+",
        """
        compile exec eval code getattr setattr hasattr import_module find_spec mkdtemp
        sub search match fullmatch findall split open Path print warn warning replace
        startswith endswith removeprefix removesuffix encode Layout read_text
        """,
    )
)
#: Here a single word is a text as well.
SHOWING: Final = frozenset(
    re.findall(
        r"\w+",
        """
        PredictCard ChoiceCard number choice Feedback if_true weighed table verdicts
        claim tr tr_all hints explained Cause Story Effect _Effect Probe
        """,
    )
)
#: Arguments that are names, in the code and in the ledger.
NAMES: Final = frozenset(
    {"name", "about", "kind", "program", "probe", "asks", "numbers"}
)
#: Errors whose text a card shows.
ON_CARDS: Final = frozenset({"Unreadable", "Open"})
#: Their first argument is a name.
NAMED: Final = frozenset({"number", "choice", "Cause", "claim"})
_NOISE: Final = re.compile(r"<code>.*?</code>|<[^>]*>|&\w+;|\{\w*\}|`[^`]*`")
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_ONE_WORD: Final = re.compile(r"(?:[^\W\d_]|-)+[.!?:]?")
_CODE: Final = re.compile(
    r"[\w-]+:\s*[\w.#-]+\s*;|var\(|^[\w.]+\([^)]*\)$|[{}]\s*\n|^[\w./-]+$|\w=\""
    r"|^\s*import \w+|^\s*from [\w.]+ import|^<\w+ [^>]*$|^[^a-zA-Z]*--"
)


@dataclass
class Found:
    """The texts of a file, in order.

    unseen: lines of what is shown in English, by what it is: "printed", "raised"; and
    of texts that are joined when the program runs, "joined".
    """

    texts: list[str] = field(default_factory=list)
    unseen: dict[str, list[int]] = field(default_factory=dict)


def found(source: str) -> Found:
    """What a reader may read of a program. Raises SyntaxError for what is none."""
    walk = _Walk()
    walk.statements(ast.parse(source).body)
    walk.found.texts = list(dict.fromkeys(walk.found.texts))
    return walk.found


class _Walk:
    """Through the syntax tree, with what is known of where one is."""

    def __init__(self) -> None:
        self.found = Found()

    def statements(self, body: list[ast.stmt]) -> None:
        for place, node in enumerate(body):
            text = node.value if isinstance(node, ast.Expr) else None
            if not isinstance(text, ast.Constant):
                self.node(node, 2)
            elif place == 0 and isinstance(text.value, str):
                continue  # a docstring

    def node(self, node: ast.AST, fewest: int) -> None:
        """fewest: how many words a text has here at least."""
        if isinstance(node, ast.Raise):
            if isinstance(node.exc, ast.Call) and called(node.exc) in ON_CARDS:
                self._call(node.exc, 2)
            else:
                self._unseen("raised", node)
        elif isinstance(node, ast.Import | ast.ImportFrom | ast.Assert):
            return
        elif isinstance(node, ast.Call):
            self._call(node, fewest)
        elif isinstance(node, ast.AugAssign):
            self._unseen("joined", node)
            self.node(node.value, 2)
        elif (template := template_of(node)) is not None:
            self._keep(template, fewest)
            for inner in _inside(node):
                self.node(inner, 2)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            self._definition(node)
        else:
            self._children(node, fewest)

    def _children(self, node: ast.AST, fewest: int) -> None:
        for _, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    self.node(child, 2 if isinstance(child, ast.stmt) else fewest)

    def _definition(self, node: ast.FunctionDef | ast.ClassDef) -> None:
        calls = [
            each.func for each in node.decorator_list if isinstance(each, ast.Call)
        ]
        for each in node.decorator_list:
            self.node(each, 2)
        if any(isinstance(each, ast.Name) and each.id == "claim" for each in calls):
            expected = (ast.get_docstring(node) or "").splitlines()[:1]
            self.found.texts += expected
        self.statements(node.body)

    def _call(self, node: ast.Call, fewest: int) -> None:
        name = called(node)
        if name in SILENT:
            if name == "print":
                self._unseen("printed", node)
            return
        if name == "join":
            self._unseen("joined", node)
        self.node(node.func, 2)
        if name in ("tr", "noop") and node.args and (text := template_of(node.args[0])):
            self.found.texts.append(text.strip())
        inside = 1 if name in SHOWING else fewest if name in ("dict", "tuple") else 2
        for place, each in enumerate(node.args):
            names = name in NAMED and place == 0
            self.node(each, 2 if names else inside)
        for pair in node.keywords:
            self.node(pair.value, 2 if pair.arg in NAMES else inside)

    def _unseen(self, kind: str, node: ast.stmt | ast.expr) -> None:
        parts = (template_of(each) for each in ast.walk(node))
        if any(part is not None and _is_text(part, 2) for part in parts):
            self.found.unseen.setdefault(kind, []).append(node.lineno)

    def _keep(self, template: str, fewest: int) -> None:
        text = template.strip()
        if _is_text(text, fewest) and text not in UNITS:
            self.found.texts.append(text)


def called(node: ast.Call) -> str:
    """The last name of what is called."""
    func = node.func
    if isinstance(func, ast.Attribute):
        return func.attr
    return func.id if isinstance(func, ast.Name) else ""


def _is_text(text: str, fewest: int) -> bool:
    if _CODE.search(text) and (fewest > 1 or not _ONE_WORD.fullmatch(text)):
        return False
    plain = _NOISE.sub(" ", text)
    words = _WORD.findall(plain)
    if fewest > 1 and len(text.split()) < 2:  # an address, the name of a module
        return False
    if FIELD.search(text) and sum(map(len, words)) < FEWEST_LETTERS:
        return False
    return len(words) >= fewest


# -- templates -------------------------------------------------------------------------


def template_of(node: ast.AST) -> str | None:
    """The text of a string, an f-string or a sum of them; None for anything else."""
    pieces = list(_pieces(node))
    if not any(isinstance(piece, str) for piece in pieces):
        return None
    text = ""
    known: dict[str, str] = {}
    for piece in pieces:
        if isinstance(piece, str):
            text += piece
        elif ending := _ending(piece):
            text += ending
        else:
            text += f"{{{_named(piece, known)}}}"
    return text


def _pieces(node: ast.AST) -> Iterator[str | ast.AST]:
    """Strings, and nodes for what is put between them."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        for value in node.values:
            yield from _pieces(value)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = [list(_pieces(side)) for side in (node.left, node.right)]
        if any(isinstance(piece, str) for side in sides for piece in side):
            for side in sides:
                yield from side
        else:
            yield node
    else:
        yield node


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """The expressions whose values are put into a template."""
    for piece in _pieces(node):
        if isinstance(piece, ast.FormattedValue):
            if not _ending(piece):
                yield piece.value
        elif isinstance(piece, ast.AST):
            yield piece


def _ending(piece: ast.AST) -> str:
    """The text "(s)" for an ending that is there or not: {'s' * (n != 1)}."""
    value = piece.value if isinstance(piece, ast.FormattedValue) else None
    if isinstance(value, ast.BinOp) and isinstance(value.left, ast.Constant):
        return f"({value.left.value})" if value.left.value in ("s", "es") else ""
    return ""


def _named(piece: ast.AST, known: dict[str, str]) -> str:
    """A name for a field, the same for the same expression."""
    expression = ast.unparse(piece)
    if expression in known:
        return known[expression]
    value = piece.value if isinstance(piece, ast.FormattedValue) else piece
    name = _short(value) or "value"
    number, free = 2, name
    while free in known.values():
        free, number = f"{name}_{number}", number + 1
    known[expression] = free
    return free


def _short(node: ast.AST) -> str:
    """A short name for an expression.

    >>> [_short(ast.parse(e, mode="eval").body) for e in ("a.count", "len(b)", "x / 2")]
    ['count', 'b', 'x']
    """
    if isinstance(node, ast.Call) and called(node) == "join":
        return "several"
    if isinstance(node, ast.Call):
        arguments = [_short(each) for each in node.args]
        method = isinstance(node.func, ast.Attribute)
        plain = called(node) in ("len", "str", "abs", "int", "float", "escape", "shown")
        if arguments and (plain or not method) and arguments[0]:
            return arguments[0] if plain else called(node).strip("_")
        return called(node).strip("_")
    if isinstance(node, ast.Attribute):
        return node.attr.strip("_")
    if isinstance(node, ast.Name):
        return node.id.strip("_")
    children = (_short(child) for child in ast.iter_child_nodes(node))
    return next(filter(None, children), "")
