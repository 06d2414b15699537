"""Every set that can be loaded by name: one line each."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, overload

from minimx_datasets import cifar, digits, genesis, glyphs, idx
from minimx_datasets.errors import DatasetError
from minimx_datasets.split import Split, Text


@dataclass(frozen=True)
class Entry:
    """One set: what a sample is, how many, under which licence, from where.

    A text is a row of characters, and its classes are its alphabet.
    """

    load: Callable[..., Split | Text]
    shape: tuple[int, ...]
    train: int
    test: int
    classes: int
    #: Kilobytes in the package; 0 if the user has to bring the files.
    kilobytes: int
    licence: str
    source: str


_UCI = "UCI, doi 10.24432/C50P49"
_LECUN, _ALEX = "Y. LeCun et al.", "A. Krizhevsky, 2009"

# fmt: off
CATALOGUE: dict[str, Entry] = {
    # name, loader, shape, train, test, classes, kB, licence, source
    "digits": Entry(digits.load, (8, 8), 1437, 360, 10, 44, "CC BY 4.0", _UCI),
    "glyphs": Entry(glyphs.load, (28, 28), 10000, 2000, 10, 2985, "Apache-2.0", "ours"),
    "genesis": Entry(
        genesis.load, (), 176771, 20047, 60, 57, "public domain", "King James Version"
    ),
    "mnist": Entry(idx.mnist, (28, 28), 60000, 10000, 10, 0, "not stated", _LECUN),
    "fashion-mnist": Entry(
        idx.fashion_mnist, (28, 28), 60000, 10000, 10, 0, "MIT", "H. Xiao et al., 2017"
    ),
    "cifar10": Entry(
        cifar.cifar10, (32, 32, 3), 50000, 10000, 10, 0, "not stated", _ALEX
    ),
    "cifar100": Entry(
        cifar.cifar100, (32, 32, 3), 50000, 10000, 20, 0, "not stated", _ALEX
    ),
}
# fmt: on


# A text's name is known to give a Text; any other string promises a Split.
@overload
def load(name: Literal["genesis"]) -> Text: ...  # type: ignore[overload-overlap]
@overload
def load(name: str, **options: Any) -> Split: ...
def load(name: str, **options: Any) -> Split | Text:
    """A set by its name; `folder=` says where files that are not in the box lie.

    Raises DatasetError for an unknown name and for missing or damaged files.
    """
    entry = CATALOGUE.get(name)
    if entry is None:
        close = difflib.get_close_matches(name.lower(), CATALOGUE, n=1, cutoff=0.5)
        hint = f" Did you mean {close[0]}?" if close else ""
        raise DatasetError(
            f"there is no data set {name!r}; there are {', '.join(CATALOGUE)}.{hint}"
        )
    return entry.load(**options)


def table() -> str:
    """The catalogue as text, a line per set.

    >>> print(table().splitlines()[1][:66])
    digits          (8, 8)          1,437 +    360    44 kB  CC BY 4.0
    """
    head = f"{'name':16}{'sample':14}{'train':>7} + {'test':>6}  {'in box':>7}  "
    lines = [f"{head}{'licence':15}source"]
    for name, e in CATALOGUE.items():
        size = f"{e.kilobytes:,} kB" if e.kilobytes else "no"
        lines.append(
            f"{name:16}{e.shape!s:14}{e.train:>7,} + {e.test:>6,}  {size:>7}  "
            f"{e.licence:15}{e.source}"
        )
    return "\n".join(lines)
