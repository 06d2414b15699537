"""One knob: what a variable is called, what it may be, and what it moves.

    knob = Knob(name="N", type="int", default=1, meaning="How many.", low=1, high=8)
    knob.parse("4"), knob.check(4), knob.format(4)        # 4, 4, "4"
    knob.check(9)                       # KnobError: N=9: choose a value from 1 to 8.

A `Knob` is data. It reads a value from text, checks a value that a program gives, and
writes a value back as text. It holds neither its value nor the code that it moves. What
happens when a knob is turned is spread over three places:

    declarations/memory.py    declares MXNET_CPU_MEM_POOL_TYPE: a `Knob`
    registry.py               `knobs.set(...)` checks and stores the value, then calls
                              those who watch the knob
    storage/__init__.py       watches it: `knobs.watch(names, _retune)`; `_retune` gives
                              the pools of the CPU their new policy

Rules for reading text, those of MXNet: an empty text means the default; a truth value
is `true`, `false`, `1` or `0` in any letter case; a whole number is decimal digits with
an optional sign and nothing else, so that `1e6` is refused; a float leaves nothing
over.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from minimx.core.errors import KnobError, did_you_mean
from minimx.core.extensions import provided

if TYPE_CHECKING:
    from minimx.core.knobs.example import Example

# What a knob can hold: the type of `get`, once parsed.
Value = bool | int | float | str | tuple[int, ...] | tuple[str, ...]

_INTEGER = re.compile(r"[+-]?[0-9]+")
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)(i?)B?", re.IGNORECASE)
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_TRUTH = {"true": True, "1": True, "false": False, "0": False}


class KnobWarning(UserWarning):
    """Something about a knob that deserves a look but must not stop a program."""


class PlannedKnobWarning(KnobWarning):
    """A knob was set that is declared, checked and stored, but does not act yet."""


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Knob:
    """The declaration of one variable.

    type: which rule reads its text, see `_READERS`: `size` is bytes such as `256MiB`,
        `words` several of `choices` with commas between, `intlist` several numbers.
    aliases: other names of the same variable, which MXNet read or its documents print.
    low, high: the smallest and the largest number that is allowed, in `unit`.
    scope: when a change acts. `live`: at the next operation. `bind`: when the next
        graph is bound. `restart`: at once, after the part that it moves has finished
        its work and started anew, in the running process. `create`: when the next of
        what `made` names is made.
    status: `live`, or `planned` for a knob that does nothing yet; `planned_in` names
        the part of the system in which it will.
    observable: one sentence, what to look at to see the knob act.
    sources: where MXNet's documents describe it, as `file:line`. defaults_by_document:
        file -> the default that it prints, where they differ.
    default_words: the default in words, where it depends on the machine. follows: the
        knob whose value is this one's default.
    """

    name: str
    type: str  # bool int float str choice path url size intlist words
    default: Value
    meaning: str
    group: str = ""
    aliases: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    unit: str = ""
    scope: str = "live"
    status: str = "planned"
    planned_in: str = ""
    observable: str = ""
    sources: tuple[str, ...] = ()
    defaults_by_document: Mapping[str, str] = field(default_factory=dict)
    default_words: str = ""
    follows: str = ""
    made: str = ""  # such as "a DataLoader"
    folder: bool = False  # a path that is, or can become, a folder
    first: bool = False  # of several numbers with commas between, the first counts

    @property
    def live(self) -> bool:
        """Whether turning this knob moves its observable today."""
        return self.status == "live"

    @property
    def example(self) -> Example | None:
        """The function that obeys it, and code that shows it; None while planned."""
        found: Example | None = provided("knob examples").of(self.name)
        return found

    @property
    def summary(self) -> str:
        """The first sentence of the meaning."""
        return self.meaning.split(". ")[0].rstrip(".") + "."

    @property
    def default_text(self) -> str:
        """The default as a reader wants to see it: the same on every machine."""
        if self.default_words:
            return self.default_words
        if self.follows:
            return f"as {self.follows}"
        return self.format(self.default) or "(empty)"

    @property
    def kind(self) -> str:
        """What values are allowed, in words.

        >>> Knob(name="N", type="int", default=1, meaning="", low=1, high=8).kind
        'int from 1 to 8'
        """
        if self.type == "choice":
            return "one of " + ", ".join(choice or "(empty)" for choice in self.choices)
        if self.type == "words":
            return "comma-separated list of " + ", ".join(self.choices)
        name = {"intlist": "comma-separated list of int"}.get(self.type, self.type)
        return name + self._range_text() + (f", in {self.unit}" if self.unit else "")

    def parse(self, text: str) -> Value:
        """The value that `text` stands for; the default if it is empty.

        Raises `KnobError` naming this knob, the text, and what would be accepted.
        """
        return (
            self._checked(_READERS[self.type](self, text), text)
            if text
            else self.default
        )

    def check(self, value: object) -> Value:
        """The value as this knob stores it, from text or from a Python value.

        >>> Knob(name="N", type="bool", default=False, meaning="").check(1)
        True
        """
        if isinstance(value, str):
            return self.parse(value)
        if isinstance(value, os.PathLike) and self.type in ("path", "url"):
            return self.parse(os.fspath(value))
        if isinstance(value, list | tuple):
            return self.parse(",".join(str(item) for item in value))
        return self._checked(self._from_number(value), value)

    def format(self, value: Value) -> str:
        """The value as text that `parse` reads back, as it stands in the environment.

        >>> Knob(name="N", type="intlist", default=(), meaning="").format((1, 2))
        '1,2'
        """
        if isinstance(value, bool):
            return str(int(value))
        if isinstance(value, tuple):
            return ",".join(map(str, value))
        if self.type == "size" and isinstance(value, int):
            return human_size(value)
        return str(value)

    def refuse(self, value: object, wanted: str) -> KnobError:
        """The `KnobError` for a value, to be raised: `NAME='value': wanted`.

        wanted: one sentence that says what to choose instead.
        """
        return KnobError(f"{self.name}={value!r}: {wanted}")

    def _from_number(self, value: object) -> Value:
        """A Python number as a value of this type."""
        if self.type == "float" and isinstance(value, int | float):
            if not isinstance(value, bool):
                return float(value)
        elif self.type == "bool" and not hasattr(value, "__len__"):
            if value in (0, 1):
                return bool(value)
        elif self.type == "words" and isinstance(value, int):
            return (str(int(value)),)
        elif self.type in ("int", "size", "intlist") and not isinstance(value, bool):
            try:
                number = int(value.__index__())  # type: ignore[attr-defined]
            except (AttributeError, TypeError):
                raise self.refuse(value, f"{self.kind} is expected.") from None
            return (number,) if self.type == "intlist" else number
        raise self.refuse(value, f"{self.kind} is expected.")

    def _checked(self, value: Value, given: object) -> Value:
        """The value, if it lies between `low` and `high`."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            below = self.low is not None and value < self.low
            above = self.high is not None and value > self.high
            if below or above or value != value:
                raise self.refuse(given, f"choose a value{self._range_text()}.")
        return value

    def _range_text(self) -> str:
        low, high = (
            None if bound is None else self._bound_text(bound)
            for bound in (self.low, self.high)
        )
        if low is not None and high is not None:
            return f" from {low} to {high}"
        if low is not None:
            return f" of at least {low}"
        return f" of at most {high}" if high is not None else ""

    def _bound_text(self, bound: float) -> str:
        return human_size(int(bound)) if self.type == "size" else f"{bound:,}"


def human_size(nbytes: int) -> str:
    """A number of bytes with the largest binary unit that divides it.

    >>> human_size(256 << 20), human_size(1000)
    ('256MiB', '1000B')
    """
    for power, unit in ((4, "TiB"), (3, "GiB"), (2, "MiB"), (1, "KiB")):
        if nbytes and nbytes % 1024**power == 0:
            return f"{nbytes // 1024**power}{unit}"
    return f"{nbytes}B"


def _read_bool(knob: Knob, text: str) -> bool:
    truth = _TRUTH.get(text.lower())
    if truth is None:
        raise knob.refuse(text, "choose true, false, 1 or 0.")
    return truth


def _read_int(knob: Knob, text: str) -> int:
    if knob.first and "," in text:
        return [_read_int(knob, part) for part in text.split(",")][0]
    if not _INTEGER.fullmatch(text.strip()):
        example = _as_whole_number(text)
        hint = f" Write {example}." if example else ""
        raise knob.refuse(text, f"a whole number in decimal digits is expected.{hint}")
    return int(text)


def _as_whole_number(text: str) -> str:
    """The digits of a number such as `1e6`, or nothing."""
    try:
        number = float(text)
    except ValueError:
        return ""
    whole = abs(number) < 1e18 and number == int(number)
    return str(int(number)) if whole else ""


def _read_float(knob: Knob, text: str) -> float:
    try:
        return float(text.replace("_", "?"))  # Python would allow 1_0, MXNet does not
    except ValueError:
        raise knob.refuse(text, "a number such as 0.7 is expected.") from None


def _read_str(knob: Knob, text: str) -> str:
    return text


def _read_choice(knob: Knob, text: str) -> str:
    if text not in knob.choices:
        raise knob.refuse(text, _choose(knob, text))
    return text


def _read_words(knob: Knob, text: str) -> tuple[str, ...]:
    words = tuple(word.strip() for word in text.split(","))
    for word in words:
        if word not in knob.choices:
            raise knob.refuse(text, _choose(knob, word))
        if word in _TRUTH and len(words) > 1:
            raise knob.refuse(text, f"{word} means all or none and stands alone.")
    return words


def _choose(knob: Knob, text: str) -> str:
    *others, last = (choice or "nothing" for choice in knob.choices)
    return f"choose {', '.join(others)} or {last}.{did_you_mean(text, knob.choices)}"


def _read_path(knob: Knob, text: str) -> str:
    if "\0" in text:
        raise knob.refuse(text, "a path cannot contain a zero byte.")
    path = os.path.expanduser(text)
    if knob.folder:
        there = path
        while there and not os.path.lexists(there):
            there = os.path.dirname(there)
        if there and not os.path.isdir(there):
            raise knob.refuse(text, f"{there} is a file. Choose a folder.")
    return path


def _read_url(knob: Knob, text: str) -> str:
    if os.path.isabs(text) or text.startswith(("./", "../", "~")):
        from pathlib import Path

        text = Path(text).expanduser().resolve().as_uri()
    if not text.startswith(("http://", "https://", "file://")):
        raise knob.refuse(
            text, "an address starting with http://, https:// or file:// is expected."
        )
    return text if text.endswith("/") else text + "/"


def _read_size(knob: Knob, text: str) -> int:
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise knob.refuse(text, "a size such as 268435456, 256MiB or 1GiB is expected.")
    number, prefix, binary = match.groups()
    unit = (1024 if binary else 1000) ** _POWERS[prefix.upper()]
    return int(float(number) * unit) if "." in number else int(number) * unit


def _read_intlist(knob: Knob, text: str) -> tuple[int, ...]:
    return tuple(_read_int(knob, item) for item in text.split(",") if item.strip())


_READERS: Mapping[str, Callable[[Knob, str], Value]] = {
    "bool": _read_bool,
    "int": _read_int,
    "float": _read_float,
    "str": _read_str,
    "choice": _read_choice,
    "words": _read_words,
    "path": _read_path,
    "url": _read_url,
    "size": _read_size,
    "intlist": _read_intlist,
}
