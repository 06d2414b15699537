"""Names of values and nodes, which a model has once each."""

from __future__ import annotations


def unused(name: str, taken: set[str]) -> str:
    """The name, with a number where it is taken; it is taken from now on.

    >>> taken = {"x"}
    >>> unused("x", taken), unused("x", taken), unused("y", taken)
    ('x_2', 'x_3', 'y')
    """
    found, k = name, 1
    while found in taken:
        k += 1
        found = f"{name}_{k}"
    taken.add(found)
    return found
