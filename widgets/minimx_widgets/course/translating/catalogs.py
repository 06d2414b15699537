"""The catalogue of the course's texts, and translations of it, as gettext has them.

    template = of(sources(course))          # every text once, with its files
    de = merged(read(path), template)       # what was translated stays
    path.write_bytes(written(de))
    texts, problems = usable(de)            # what may be shown, and what is wrong
    (folder / FILE).write_bytes(compiled(texts, "de"))

Babel reads and writes the files. They have no dates and no numbers of lines, so that
the same texts give the same file.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import PoFileError, read_po, write_po

from minimx_widgets.course.translating.extracting import Source
from minimx_widgets.language import ABOUT, ENDING, FIELD, names

#: The template and the translations that minimx brings.
FOLDER: Final = Path(__file__).parent / "catalogs"
TEMPLATE: Final = "course.pot"
HEAD: Final = """\
# The texts of the minimx course, as `minimx strings` found them.
# How to translate them: book/translating.md
#"""
#: Lines of the head that would differ from day to day, and those that say nothing.
_CHANGING: Final = re.compile(
    rb'^"(POT-Creation-Date|PO-Revision-Date|Generated-By|Project-Id-Version'
    rb"|Report-Msgid-Bugs-To|Last-Translator|Language-Team): .*\n",
    re.MULTILINE,
)
_TAG: Final = re.compile(r"</?[a-zA-Z][^>]*>")


class BadCatalog(ValueError):
    """A file that is no catalogue, or is damaged; its text says where."""


def of(sources: Iterable[Source]) -> Catalog:
    """The template: every text once, with the files in which it is."""
    catalog = _empty(None)
    for source in sources:
        for text in source.texts:
            catalog.add(text, locations=[(source.name, 1)])
    return catalog


def _empty(locale: str | None) -> Catalog:
    try:
        catalog = Catalog(locale=locale, project="minimx", fuzzy=False)
    except ValueError:
        catalog = Catalog()
    if locale is not None and catalog.locale is None:
        raise BadCatalog(
            f"{locale!r} is no language that Babel knows. Write a code such as de, fr, "
            "pt_BR or zh_Hans"
        )
    catalog.header_comment = HEAD
    return catalog


def new(language: str, template: Catalog) -> Catalog:
    """A translation in which nothing is translated. language: a code such as "de".

    Raises BadCatalog for a code of no language.
    """
    return merged(_empty(language), template)


def merged(translation: Catalog, template: Catalog) -> Catalog:
    """The translation with the texts of today.

    What was translated stays. A text that was changed keeps its translation, marked
    fuzzy, until a translator has looked at it. What is gone is kept at the end, as a
    comment.
    """
    translation.update(template, update_header_comment=False)
    return translation


def read(path: Path) -> Catalog:
    """A catalogue in a file. Raises BadCatalog with its line where it is damaged."""
    try:
        with path.open("rb") as file:
            return read_po(file, abort_invalid=True)
    except OSError as error:
        raise BadCatalog(f"{path} cannot be read: {error.strerror}") from None
    except PoFileError as error:
        # Babel counts from 0.
        raise BadCatalog(
            f"{path}, line {error.lineno + 1}: {error}. The line is: {error.line}"
        ) from None
    except (ValueError, LookupError) as error:
        raise BadCatalog(f"{path} is no catalogue of texts: {error}") from None


def written(catalog: Catalog) -> bytes:
    """The catalogue as a .po or .pot file."""
    for message in catalog:
        # Babel takes "50 % of" for a placeholder of Python.
        message.flags.discard("python-format")
    file = io.BytesIO()
    write_po(file, catalog, include_lineno=False, include_previous=True)
    return _CHANGING.sub(b"", file.getvalue())


def texts(catalog: Catalog) -> Iterator[tuple[str, str, bool]]:
    """Each text, its translation ("" for none) and whether that is fuzzy."""
    for message in catalog:
        if message.id:
            yield str(message.id), str(message.string or ""), message.fuzzy


def usable(catalog: Catalog) -> tuple[dict[str, str], list[str]]:
    """What may be shown, by its English; and what is wrong, a line for each text.

    A translation has to have the fields and the HTML tags of the English text. One that
    has not, and one that is fuzzy, is not shown.
    """
    good, problems = {}, []
    for text, other, fuzzy in texts(catalog):
        if not other or fuzzy:
            continue
        for what, parts in (("fields", names), ("tags", _tags)):
            here, there = parts(text), parts(other)
            if here != there:
                problems.append(
                    f"“{_short(text)}” has the {what} {_listed(here)}, but its "
                    f"translation “{_short(other)}” has {_listed(there)}."
                )
                break
        else:
            good[text] = other
    return good, problems


def _tags(text: str) -> list[str]:
    return sorted(_TAG.findall(text))


def _listed(parts: list[str]) -> str:
    return ", ".join(part or "{}" for part in parts) or "none"


def _short(text: str) -> str:
    return text if len(text) <= 70 else f"{text[:69]}…"


def compiled(texts: Mapping[str, str], language: str) -> bytes:
    """A file from which `minimx_widgets.language` reads. language: its name."""
    catalog = Catalog(charset="utf-8")
    for text, other in texts.items():
        catalog.add(text, other)
    templates = [text for text in texts if FIELD.search(text) or ENDING.search(text)]
    for name, value in (("language", language), ("templates", templates)):
        catalog.add(name, json.dumps(value, ensure_ascii=False), context=ABOUT)
    file = io.BytesIO()
    write_mo(file, catalog)
    return file.getvalue()


def known() -> list[str]:
    """The languages that minimx brings."""
    return sorted(path.stem for path in FOLDER.glob("*.po"))


def found(language: str) -> Path:
    """The file of a language: a path, or a name of those that minimx brings.

    Raises BadCatalog, with the languages that there are.
    """
    path = Path(language).expanduser()
    if path.suffix == ".po":
        if path.is_file():
            return path.resolve()
        raise BadCatalog(f"there is no file {path}")
    path = FOLDER / f"{language}.po"
    if language in known():
        return path
    raise BadCatalog(
        f"there is no language {language!r}. There are en, {', '.join(known())}. "
        "`minimx strings --language CODE` makes another one, and a path to a .po file "
        "may be given as well"
    )
