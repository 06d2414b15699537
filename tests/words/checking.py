"""The checks of prose: turns that are held out, terms, spelling, length of sentences.

    python -m tests.words.checking          # the reading level of every page

Reading level of a page, two numbers:

    W = words / sentences                    L = sentences of over 25 words / sentences

`prose.sentences` says what a sentence is; code counts as one word. Guides to plain
English ask for W of 15 to 20, and for few sentences of over 25 words. Both numbers
measure length only: whether words are easy is for the other checks, and for an editor.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tests.words.prose import Passage, passages, plain, sentences, words

LONG = 25  # words
FEWEST = 10  # sentences of a page that has a reading level
#: Names that codespell takes for misspelt words: `mx.nd`, the gradient of an output.
RIGHT = ("nd", "dout")


@cache
def lists() -> dict[str, Any]:
    """What `words.toml` says."""
    return tomllib.loads((Path(__file__).parent / "words.toml").read_text("utf-8"))


@cache
def patterns() -> tuple[re.Pattern[str], dict[str, str]]:
    """All patterns as one, which is quicker to ask first; what to write, by pattern."""
    each = {**lists()["turns"], **lists()["terms"]}
    return re.compile("|".join(f"(?:{one})" for one in each), re.IGNORECASE), each


def turns(text: str) -> Iterator[tuple[str, str]]:
    """(what is written, what to write) for turns and words that are held out."""
    text = " ".join(plain(text).split())
    whole, each = patterns()
    for pattern, instead in each.items() if whole.search(text) else ():
        for match in re.finditer(pattern, text, re.IGNORECASE):
            yield match[0], instead
    for word in words(text.lower()):
        if word in lists()["words"]:
            yield word, lists()["words"][word]


def misspelt(pieces: Iterable[Passage]) -> list[str]:
    """Where codespell knows a word as a frequent mistake, and what it proposes."""
    known, lines = [], []
    for piece in pieces:
        text = " ".join(plain(piece.text).split())
        known.append(piece)
        lines.append(text)
    done = subprocess.run(
        [sys.executable, "-m", "codespell_lib", "-L", ",".join(RIGHT), "-"],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 65):  # 65: there are misspellings
        raise RuntimeError(done.stderr)
    found = []
    for number, change in re.findall(r"^(\d+): .*\n\t(.*)$", done.stdout, re.M):
        piece = known[int(number) - 1]
        found.append(f"{piece.page} {piece.place}: {change}")
    return found


def levels(pieces: Iterable[Passage]) -> dict[str, tuple[float, float, int]]:
    """By page: words in a sentence, the share of long ones, number of sentences."""
    lengths: dict[str, list[int]] = defaultdict(list)
    for piece in pieces:
        lengths[piece.page] += [len(words(each)) for each in sentences(piece.text)]
    return {
        page: (
            sum(found) / len(found),
            sum(length > LONG for length in found) / len(found),
            len(found),
        )
        for page, found in lengths.items()
        if found
    }


def limits(page: str) -> tuple[float, float]:
    """(words in a sentence, share of long ones) that a page may have at most."""
    for row in lists()["reading"]:
        if page.startswith(tuple(row["begins"])):
            return row["mean"], row["long"]
    raise LookupError(page)


if __name__ == "__main__":
    for page, (mean, share, count) in sorted(levels(passages()).items()):
        print(f"{mean:5.1f} words, {share:4.0%} long, {count:5} sentences  {page}")
