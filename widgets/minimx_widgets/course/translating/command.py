"""`minimx strings`: the texts of the course in one file, and translations of it.

    minimx strings                        # the template course.pot, anew
    minimx strings --language de          # de.po, made or brought up to date
    minimx strings --language de --folder texts/   # another folder
    minimx strings --language pseudo      # a language to test with
    minimx strings --missing              # what is shown in English in any language

In a checkout the files lie in the package, in `course/translating/catalogs`; elsewhere
in the folder in which the command is run.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TextIO

from minimx.commands.cli.lab import is_checkout
from minimx.core.files import write_whole
from minimx_widgets.course.translating import extracting
from minimx_widgets.course.translating.extracting import Source

PSEUDO: Final = "pseudo"
#: Why a text is not in the catalogue, by its kind in `Source.unseen`.
WHY: Final = {
    "printed": "printed by `print`: what the learner's own code prints",
    "raised": "texts of errors",
    "joined": "sentences put together piece by piece: each piece is translated alone",
}


def declare(add: Any) -> None:
    """What may be written after the command. add: its parser's `add_argument`."""
    add("--language", metavar="CODE", default="", help="make or update its .po file")
    add("--folder", metavar="DIR", help="where the files are")
    add("--missing", action="store_true", help="list what cannot be translated")


def run(options: argparse.Namespace, course: Path, out: TextIO) -> int:
    """Do what was asked for; returns the exit code.

    course: the folder of the notebooks. Raises ValueError for a damaged catalogue and
    for an unknown language; nothing is written then.
    """
    from minimx_widgets.course.translating import catalogs, pseudo

    found = list(extracting.sources(course))
    template = catalogs.of(found)
    if options.missing:
        print("\n".join(missing(found)), file=out)
        return 0
    folder = Path(options.folder).expanduser() if options.folder else _folder(course)
    language = options.language
    if not language:
        path = folder / catalogs.TEMPLATE
        _write(path, catalogs.written(template))
        words = sum(len(str(each.id).split()) for each in template)
        print(f"{path}: {len(template)} texts, {words:,} words.", file=out)
        return 0
    path = (Path() if language == PSEUDO and not options.folder else folder) / (
        f"{language}.po"
    )
    if language == PSEUDO:
        catalog = pseudo.translated(template)
    elif path.exists():
        catalog = catalogs.merged(catalogs.read(path), template)
    else:
        catalog = catalogs.new(language, template)
    _write(path, catalogs.written(catalog))
    good, problems = catalogs.usable(catalog)
    changed = sum(fuzzy for _, _, fuzzy in catalogs.texts(catalog))
    print(
        f"{path}: {len(good)} of {len(catalog)} texts translated, {changed} to be "
        f"looked at again (fuzzy), {len(problems)} wrong.",
        file=out,
    )
    for each in problems:
        print(f"  {each}", file=out)
    return 1 if problems else 0


def missing(found: Sequence[Source]) -> Iterator[str]:
    """What is shown in English in any language: how many, and where."""
    for kind, why in WHY.items():
        places = {each.name: each.unseen.get(kind, []) for each in found}
        count = sum(map(len, places.values()))
        yield f"{count} {why}"
        for name, where in places.items():
            if where:
                yield f"  {name}: {', '.join(dict.fromkeys(where))}"


def _folder(course: Path) -> Path:
    from minimx_widgets.course.translating import catalogs

    return catalogs.FOLDER if is_checkout(course) else Path()


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, content, "minimx strings")
