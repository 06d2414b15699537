"""Reading what a learner writes as a number.

    read_number("68,096 B", "B")         # 68096.0
    read_number("66.5 KiB", "B")         # 68096.0
    read_number("2^14 / 3", "pushes")    # 5461.33…
    read_number("1.234", "B")            # Unreadable: 1,234 or 1.234?

Thousands may be set apart by commas (as the course does), spaces, points or
apostrophes; a decimal comma is read as one where it can be nothing else. Sums,
products, powers and fractions are computed. What can be meant in two ways is not
guessed: the error asks.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import unicodedata
from collections.abc import Callable
from typing import Any, Final

from minimx_widgets.course.predicting.units import (
    BYTES,
    COUNT,
    RATIO,
    UNCLEAR,
    UNITS,
    named,
    shown,
    unit_of,
)

LONGEST: Final = 80  # characters of an answer
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_PLAIN = str.maketrans("−–⁄", "--/")
_ABOUT = re.compile(r"^(~|≈|about|around|approximately|circa|ca\.?|=)\s*", re.I)
#: A number as people write it, before anything is known of its commas.
_NUMBER = re.compile(
    r"(?:\d{1,3}(?:[ _'’]\d{3})+(?!\d)(?:[.,]\d+)?"
    r"|\d+(?:[.,]\d+)*|[.,]\d+)(?:[eE][+-]?\d+)?"
)
_RANGE = re.compile(r"\s*[\d.,]+\s*(?:-|–|—|\.\.\.?|to|or|and)\s*[\d.,]+\s*")


class Unreadable(ValueError):
    """An answer that is no number, or that can be meant in two ways."""


def read_number(text: str, unit: str = "") -> float:
    """The number that a text says, in a unit.

    text: what was written, at most 80 characters. unit: what the question counts.
    Raises `Unreadable`, with what to write instead.

    >>> read_number("34"), read_number("0,5 ms", "ms"), read_number("2^14")
    (34.0, 0.5, 16384.0)
    """
    if len(text) > LONGEST:
        raise Unreadable(f"This has {len(text)} characters. Write one number.")
    words = re.sub("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+", _power, text)
    words = unicodedata.normalize("NFKC", words).translate(_PLAIN).strip()
    words = _ABOUT.sub("", words)
    if not words:
        raise Unreadable("Write a number first. A guess is fine.")
    words, own = _unit_apart(words, unit)
    if _RANGE.fullmatch(words):
        raise Unreadable("This looks like a range. Write the one number you expect.")
    value = _computed(words, unit) * _factor(words, own, unit)
    if not math.isfinite(value):
        raise Unreadable("This number is too large to be compared with anything.")
    return value


def _unit_apart(words: str, unit: str) -> tuple[str, str]:
    """The number, and the unit behind it ("" if there is none)."""
    if unit and words.lower().endswith(unit.lower()):
        before = words[: -len(unit)].rstrip()
        if before and not before[-1].isalpha():
            return before, unit
    whole = re.fullmatch(r"of (\d+)", unit)
    if whole and (part := re.fullmatch(rf"(.+?)\s*(?:/|out of)\s*{whole[1]}", words)):
        return part[1], unit
    match = re.search(r"(?:(?<=[\d\s)])|^)([×%]|[^\W\d_][^\d()*+^]*)$", words)
    if match is None or match.start() == 0:
        return words, ""
    return words[: match.start()].rstrip(), match[1].strip()


def _factor(words: str, own: str, unit: str) -> float:
    """By what a number in its own unit is multiplied, to be one in the asked unit."""
    asked = unit_of(unit)
    if not own or _same_word(own, unit):
        if asked.kind == RATIO and named(unit) == "%" and not own:
            _whether_a_share(words, unit)
        return 1.0
    if own in UNCLEAR and asked.kind == BYTES and own != unit:
        decimal, binary = UNCLEAR[own]
        raise Unreadable(
            f"{own} is written for {shown(UNITS[decimal].factor)} bytes ({decimal}) "
            f"and for {shown(UNITS[binary].factor)} ({binary}). Which do you mean?"
        )
    if asked.kind == COUNT and own in ("k", "K", "M", "million"):
        return 1e3 if own in "kK" else 1e6
    given = unit_of(own)
    if given.kind != asked.kind or given.kind == COUNT:
        counts = f"counts {unit!r}" if unit else "wants a number without a unit"
        if asked.kind == COUNT and not unit and given.kind == RATIO:
            return given.factor
        raise Unreadable(f"{own!r} does not fit here: this question {counts}.")
    return given.factor / asked.factor


def _same_word(own: str, unit: str) -> bool:
    def stem(word: str) -> str:
        return named(word).lower().removesuffix("s").removesuffix("e")

    return stem(own) == stem(unit)


def _whether_a_share(words: str, unit: str) -> None:
    value = _computed(words, unit)
    if 0 < value < 1:
        raise Unreadable(
            f"Do you mean {shown(value * 100)} % or {shown(value)} %? Write the sign."
        )


# -- numbers ---------------------------------------------------------------------------

_OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


def _computed(words: str, unit: str) -> float:
    """The value of a sum, product, power or fraction."""
    plain = re.sub(r"(?<![\d.,])(\d+) (\d+)\s*/\s*(\d+)(?!\d)", r"(\1+\2/\3)", words)
    plain = _NUMBER.sub(lambda match: _plain(match[0], unit), plain)
    plain = re.sub(r"(?<=[\d)])\s*[x×·∙]\s*(?=[\d(])", "*", plain)
    plain = plain.replace("^", "**").replace("÷", "/")
    try:
        tree = ast.parse(plain.strip(), mode="eval")
        return float(_value(tree.body))
    except Unreadable:
        raise
    except ZeroDivisionError:
        raise Unreadable("This divides by zero.") from None
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
        raise Unreadable(
            f"{words!r} is no number. Write one such as 68,096 or 0.5 or 2^14 or 1/3."
        ) from None


def _power(match: re.Match[str]) -> str:
    return "^" + match[0].translate(_SUPERSCRIPTS)


def _value(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return float(str(node.value))
    if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
        return float(_OPERATORS[type(node.op)](_value(node.operand)))
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left), _value(node.right)
        if isinstance(node.op, ast.Pow):
            return math.pow(left, right)
        if type(node.op) in _OPERATORS:
            return float(_OPERATORS[type(node.op)](left, right))
    raise ValueError("neither a number nor an operation on numbers")


def _plain(text: str, unit: str) -> str:
    """A number as Python writes it.

    >>> [_plain(text, "B") for text in ("68,096", "16 384", "0,5", "1.000,5", "1.25")]
    ['68096', '16384', '0.5', '1000.5', '1.25']
    """
    mantissa, e, exponent = re.sub("[ _'’]", "", text).replace("E", "e").partition("e")
    commas, points = mantissa.count(","), mantissa.count(".")
    grouped = r"[1-9]\d{0,2}(?:%s\d{3})+"
    if commas and points:
        last = max(mantissa.rfind(","), mantissa.rfind("."))
        whole, rest = re.sub("[.,]", "", mantissa[:last]), mantissa[last + 1 :]
        first = mantissa[last]
        if mantissa.count(first) > 1:
            raise Unreadable(
                f"{text!r} has commas and points that do not fit together."
            )
        mantissa = f"{whole}.{rest}"
    elif commas and re.fullmatch(grouped % ",", mantissa):
        if commas == 1 and not _counts_whole(unit):
            raise _either(mantissa.replace(",", "."))
        mantissa = mantissa.replace(",", "")
    elif points > 1 and re.fullmatch(grouped % r"\.", mantissa):
        mantissa = mantissa.replace(".", "")
    elif commas == 1:
        mantissa = mantissa.replace(",", ".")
    elif commas > 1 or points > 1:
        raise Unreadable(f"{text!r}: its commas or points do not fit together.")
    elif _counts_whole(unit) and not e and re.fullmatch(grouped % r"\.", mantissa):
        raise _either(mantissa)
    mantissa = mantissa.lstrip("0") or "0"
    return (f"0{mantissa}" if mantissa.startswith(".") else mantissa) + e + exponent


def _counts_whole(unit: str) -> bool:
    """Whether a unit counts whole things, so that a part of one is not expected."""
    return unit in ("B", "ns") or bool(unit and unit_of(unit).kind == COUNT)


def _either(decimal: str) -> Unreadable:
    """The question whether three digits behind a comma are thousands or decimals."""
    whole, part = decimal.replace(".", ""), decimal.rstrip("0")
    clear = f"{part}0" if part[-4:-3] == "." or part.endswith(".") else part
    return Unreadable(
        f"Do you mean {int(whole):,} or {float(decimal):g}? Write {whole} or {clear}."
    )
