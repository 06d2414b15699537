"""Glossary terms in the book's text become links that show their definition.

The first use of a term in each section is linked to its entry. `static/glossary.js`
shows the definition beside the link while the pointer or the keyboard's focus is on it;
without JavaScript the link still leads to the entry. Sphinx reports a link without a
target.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

#: `**term** definition`, up to the next blank line.
ENTRY = re.compile(r"^\*\*(?P<terms>[^*]+)\*\*(?P<text>.+?)(?=\n\n|\Z)", re.M | re.S)
#: Terms that are everyday words as well. Many uses of them in a text are not the term,
#: and a wrong definition is worse than none.
EVERYDAY = frozenset(
    re.findall(
        r"\w+",
        """
        address algorithm alias align allocate attribution block bound cached
        category clock colour context cost device eager extension family job
        kernel launch layer look notify operation overflow overview owner pass
        phase plan poison power program record remedy requested reserve
        reserved rounded run scope spec stream trace user version view wire
        zone
        """,
    )
)
#: What is left as it stands: code, links, pictures, HTML, formulas, addresses.
LEFT = re.compile(
    r"(`+)(?:.(?!\1))*.\1|!?\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])?|<[^>]+>|\$[^$]+\$|https?://\S+",
    re.S,
)
FENCE = re.compile(r"\s*(```+|~~~+|:::+)")
HEADING = re.compile(r"#{1,6} ")
#: Lines in which nothing is linked: tables, code by indentation, HTML, MyST's targets.
SKIPPED = re.compile(r"\s*\||    |\t|\s*<|\s*\(\S+\)=|---|\s*\$\$")


def slug(term: str) -> str:
    """The place of a term on the glossary's page.

    >>> slug("pending free")
    'term-pending-free'
    """
    return "term-" + re.sub(r"[^a-z0-9]+", "-", term.lower()).strip("-")


@dataclass(frozen=True)
class Glossary:
    """The terms of the glossary's page, as written there, with their definitions."""

    definitions: Mapping[str, str]
    #: The entry in which a term is defined.
    entries: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, page: str) -> Glossary:
        """From the page's Markdown; ValueError where a term is defined twice."""
        definitions: dict[str, str] = {}
        entries: dict[str, str] = {}
        for match in ENTRY.finditer(page):
            first, *others = [term.strip() for term in match["terms"].split(",")]
            for term in (first, *others):
                if term in definitions:
                    raise ValueError(f"the glossary defines {term!r} twice")
                definitions[term] = plain(match["text"])
                entries[term] = first
        return cls(definitions, entries)

    def with_places(self, page: str) -> str:
        """The glossary's Markdown with a target in front of each entry."""

        def placed(match: re.Match[str]) -> str:
            first = match["terms"].split(",")[0].strip()
            return f"({slug(first)})=\n{match[0]}"

        return ENTRY.sub(placed, page)

    def script(self) -> str:
        """What `static/glossary.js` reads: definitions by their place on the page."""
        found = {slug(self.entries[t]): text for t, text in self.definitions.items()}
        return f"window.mxGlossary = {json.dumps(found, ensure_ascii=False)};\n"

    def linker(self) -> Linker:
        """Links the terms of one page, part by part."""
        return Linker(self)


class Linker:
    """Links of one page: what this section has linked already is remembered."""

    def __init__(self, glossary: Glossary) -> None:
        self._entries = glossary.entries
        words = {
            form: term
            for term in glossary.definitions
            if term not in EVERYDAY
            for form in forms(term)
        }
        self._terms = words
        longest_first = sorted(words, key=len, reverse=True)
        either = "|".join(map(re.escape, longest_first)) or r"(?!)"
        self._pattern = re.compile(rf"(?<![\w/-])({either})(?![\w/-])", re.I)
        self._linked: set[str] = set()

    def linked(self, text: str) -> str:
        """Markdown in which the first use of a term in each section is a link.

        Call it with the parts of a page in their order; a part ends no section.
        """
        return "".join(
            self._prose(block) if is_prose else block
            for is_prose, block in self._blocks(text)
        )

    def _blocks(self, text: str) -> Iterator[tuple[bool, str]]:
        """(whether terms may be linked in it, lines) in order; headings begin "
        "sections."""
        fence, quiet, prose = "", False, ""
        for line in text.splitlines(keepends=True):
            opened = FENCE.match(line)
            blank = not line.strip()
            html = line.lstrip().startswith(
                "<"
            )  # its lines are no Markdown until a blank
            quiet = (quiet or html) and not blank and not fence
            skipped = fence or opened or quiet or HEADING.match(line)
            if not skipped and not SKIPPED.match(line):
                prose += line
                continue
            yield True, prose
            prose = ""
            if opened and (not fence or opened[1].startswith(fence)):
                fence = "" if fence else opened[1]
            elif not fence and HEADING.match(line):
                self._linked.clear()
            yield False, line
        yield True, prose

    def _prose(self, text: str) -> str:
        done, at = [], 0
        for left in LEFT.finditer(text):
            done += [self._words(text[at : left.start()]), left[0]]
            at = left.end()
        return "".join([*done, self._words(text[at:])])

    def _words(self, text: str) -> str:
        def link(match: re.Match[str]) -> str:
            entry = self._entries[self._terms[match[0].lower()]]
            if entry in self._linked:
                return match[0]
            self._linked.add(entry)
            return f"[{match[0]}](#{slug(entry)})"

        return self._pattern.sub(link, text)


def forms(term: str) -> tuple[str, ...]:
    """A term in small letters, and its plural.

    >>> forms("policy"), forms("size class")
    (('policy', 'policies'), ('size class', 'size classes'))
    """
    small = term.lower()
    if small.endswith("y") and small[-2] not in "aeiou":
        return small, f"{small[:-1]}ies"
    return small, f"{small}{'es' if small.endswith(('s', 'x', 'ch')) else 's'}"


def plain(text: str) -> str:
    """A definition without Markdown, on one line, with a capital at its beginning.

    >>> plain(" of *pools*: see\\n`Pool` ([page](a.md))")
    'Of pools: see Pool (page)'
    """
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`([^`]*)`|\*\*?([^*]+)\*\*?", lambda m: m[1] or m[2], text)
    text = " ".join(text.split())
    return text[:1].upper() + text[1:]
