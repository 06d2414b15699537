"""The language in which the course speaks to a learner.

    tr("You said {said}.", said="3")      # "Sie sagten 3." in a German folder

`minimx lab --language de` writes the file `.minimx-course.mo` into the learner's
folder. Where a kernel runs in such a folder, every text of the course is looked up in
the file when it is shown. Elsewhere, and for texts that are not in it, English is
shown.

A sentence that was composed, such as f"{n} of {of} arrays", is found by its template
"{n} of {of} arrays": the template that fits it gives the values of the fields, and the
translated template takes them.
"""

from __future__ import annotations

import contextlib
import functools
import gettext
import json
import re
import struct
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

#: In the folder of a learner.
FILE: Final = ".minimx-course.mo"
#: The context of what a file of texts says of itself: its templates, its language.
ABOUT: Final = "minimx"
#: A field of a template; also one without a name, as in "{} of {}".
FIELD: Final = re.compile(r"\{([A-Za-z_]\w*|)\}")
#: An ending that is there or not, as in "push(es)".
ENDING: Final = re.compile(r"\((e?s)\)")
#: Where a text is parted, if it is not found as a whole: at the ends of its sentences,
#: or else of what is within them.
ENDS: Final = (
    re.compile(r"((?<=[.!?])\s+|\s*<br>\s*|\n\s*)"),
    *(re.compile(rf"({mark}\s+)") for mark in ";:,"),
)
SENTENCE_END: Final = re.compile(r"[.!?:;]\s|<br>")
#: Lines of code, as HTML.
CODE: Final = re.compile(r"\s*<pre\b[^>]*>[^<]*</pre>\s*")
#: A text such as "{a} or {b}" fits nearly everything, so that nothing is found by it.
FEWEST_LETTERS: Final = 6
#: Characters of a value that is no text of the course itself: a number, a name.
LONGEST_VALUE: Final = 160


def tr(text: str, /, **fields: str) -> str:
    """A text in the learner's language, with its fields filled in.

    text: English, as the course has it. fields: what stands for `{name}` in it.
    """
    language = current()
    return filled(text if language is None else language.shown(text), fields)


def noop(english: str) -> str:
    """Mark a text for the catalogue, as `gettext_noop`: it is shown later, by `tr`."""
    return english


def filled(text: str, fields: dict[str, str]) -> str:
    """A text with values in place of its fields; other braces stay.

    >>> filled("{n} of {of} {}", {"n": "1", "of": "2"})
    '1 of 2 {}'
    """
    return FIELD.sub(lambda field: fields.get(field[1], field[0]), text)


def names(text: str) -> list[str]:
    """The fields of a text, each as often as it is there, in the order of names."""
    return sorted(FIELD.findall(text))


class Language:
    """The texts of one language.

    name: as it was asked for, "de".
    """

    def __init__(self, texts: gettext.NullTranslations) -> None:
        """Take the texts of a file that `course.translating` wrote.

        Raises ValueError for another file.
        """
        self._texts = texts
        self.name = self._about("language")
        templates = map(_Template, self._about("templates"))
        self._templates = [it for it in templates if it.letters >= FEWEST_LETTERS]
        self._templates.sort(key=lambda each: -each.letters)
        self._found = functools.lru_cache(4096)(self._looked_up)

    def _about(self, what: str) -> str:
        found = self._texts.pgettext(ABOUT, what)
        if found == what:
            raise ValueError(f"it does not name its {what}")
        return str(json.loads(found)) if what == "language" else json.loads(found)

    def shown(self, text: str) -> str:
        """A text in this language; in English, all of it or a part, where it lacks."""
        return self._found(text) or text

    def _looked_up(self, text: str) -> str:
        """The text in this language; "" where nothing of it is known."""
        if not (bare := text.strip()):
            return ""
        before, after = text.split(bare)[0], text[text.index(bare) + len(bare) :]
        found = self._exact(bare) or self._fitting(bare, _is_value)
        # A sentence must not become the value of a field of the next one.
        found = found or self._by_parts(bare, all) or self._fitting(bare, _is_short)
        found = found or self._by_parts(bare, any)
        return f"{before}{found}{after}" if found else ""

    def _exact(self, text: str) -> str:
        found = self._texts.gettext(text)
        return "" if found == text else found

    def _fitting(self, text: str, may_stay: Callable[[str], bool]) -> str:
        """The text by the template that fits it; may_stay: values that are no texts."""
        for template in self._templates:
            values = template.values(text)
            if values is None:
                continue
            shown = {name: self._value(it, may_stay) for name, it in values.items()}
            if all(shown[name] or not values[name] for name in values):
                return filled(self._texts.gettext(template.text), shown)
        return ""

    def _value(self, text: str, may_stay: Callable[[str], bool]) -> str:
        """The value of a field; "" for one that a field cannot have."""
        if CODE.fullmatch(text):
            return text
        if may_stay is _is_value and SENTENCE_END.search(text):
            return self._exact(text)
        return self._found(text) or (text if may_stay(text) else "")

    def _by_parts(self, text: str, enough: Callable[[Iterable[str]], bool]) -> str:
        """A text of several sentences, or of parts of one, each looked up alone."""
        for end in ENDS:
            parts = end.split(text)
            if len(parts) > 1:
                shown = [self._found(part) for part in parts[::2]]
                if enough(shown):
                    pairs = zip(shown, parts[::2], strict=True)
                    parts[::2] = [new or old for new, old in pairs]
                    return "".join(parts)
        return ""


def _is_value(text: str) -> bool:
    """Whether a text may be a number or a name, and not a sentence of its own."""
    return _is_short(text) and not SENTENCE_END.search(text)


def _is_short(text: str) -> bool:
    return len(text) <= LONGEST_VALUE


class _Template:
    """A text with fields, and how a composed text is recognized as one of it."""

    def __init__(self, text: str) -> None:
        self.text = text
        parts = FIELD.split(text)
        literals = parts[::2]
        self.letters = sum(map(str.isalpha, "".join(literals)))
        self._longest = max(
            (piece for part in literals for piece in ENDING.split(part)[::2]), key=len
        )
        pattern = ""
        for k, part in enumerate(parts):
            if k % 2 == 0:
                pieces = ENDING.split(part)
                pieces[::2] = map(re.escape, pieces[::2])
                pieces[1::2] = [f"(?:{ending})?" for ending in pieces[1::2]]
                pattern += "".join(pieces)
            elif part and f"(?P<{part}>" in pattern:
                pattern += f"(?P={part})"
            else:
                pattern += f"(?P<{part}>.*?)" if part else "(.*?)"
        self._pattern = re.compile(pattern, re.DOTALL)

    def values(self, text: str) -> dict[str, str] | None:
        """The values of the fields in a text; None for a text that does not fit."""
        if self._longest not in text:
            return None
        match = self._pattern.fullmatch(text)
        return None if match is None else match.groupdict()


def read(path: Path) -> Language:
    """The language in a file. Raises ValueError for what is none, and OSError."""
    try:
        with path.open("rb") as file:
            return Language(gettext.GNUTranslations(file))
    except (ValueError, LookupError, TypeError, struct.error) as error:
        raise ValueError(f"{path} is no file of texts: {error}") from None
    except OSError as error:
        if error.errno is not None:
            raise
        raise ValueError(f"{path} is no file of texts: {error.args[1]}") from None


# -- the language of this process ------------------------------------------------------

_lock = threading.Lock()
_now: list[Language | None] = []


def current() -> Language | None:
    """The language of the folder in which the kernel started; None for English."""
    if not _now:
        with _lock:
            if not _now:
                _now.append(_of_folder())
    return _now[0]


def _of_folder() -> Language | None:
    try:
        path = Path.cwd() / FILE
        return read(path) if path.exists() else None
    except (OSError, ValueError) as error:
        warnings.warn(
            f"The course is in English: {error}. `minimx lab --language …` writes the "
            "file again.",
            stacklevel=2,
        )
        return None


@contextlib.contextmanager
def speaking(language: Language | None) -> Iterator[None]:
    """Another language for a block: for tests, and for what is written for others."""
    before, _now[:] = _now[:], [language]
    try:
        yield
    finally:
        _now[:] = before


def tr_all(texts: Iterable[str]) -> list[str]:
    """Several texts in the learner's language."""
    return [tr(text) for text in texts]
