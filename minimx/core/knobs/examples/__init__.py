"""What to type to see a knob act, one file per group like the declarations.

Nothing here is loaded before a card is asked for: `of(name)` reads all tables the
first time. A test runs every example under each of its values, in one process after
the other examples, and compares what is printed.
"""

from __future__ import annotations

import importlib
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

#: The files of this package, named like those of the declarations.
TABLES = (
    "engine",
    "memory",
    "bulking",
    "kernels",
    "planner",
    "convolution",
    "kvstore",
    "onednn",
    "profiler",
    "library",
    "simulated",
    "ours",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """How one knob is seen to act.

    `acts_in` is the dotted name of the function or method that obeys the knob. `code`
    is Python after `import minimx as mx`, `expect` what it prints under each value,
    written as in the environment. `before` is what has to run once before the knob is
    turned; together they are at most five lines. `needs` says what the machine
    must have, nothing if empty. `reads` is the word by which that function calls the
    knob where that is not the knob's own name: a field that is filled from it, or the
    end of its name.
    """

    acts_in: str
    code: str
    expect: Mapping[str, str]
    before: str = ""
    needs: str = ""
    reads: str = ""

    def typed(self) -> str:
        """What to type, at most five lines."""
        return self.before + self.code

    def program(self, name: str) -> str:
        """The example for a knob of this name under every value, ready to be run.

        It prints one line for each value, `value: what is expected`.
        """
        values = ", ".join(f'"{value}"' for value in self.expect)
        return (
            f"import minimx as mx\n\n{self.before}for value in ({values},):\n"
            f"    with mx.knobs({name}=value):\n"
            f'        print(value, end=": ")\n'
            f"{textwrap.indent(self.code, ' ' * 8)}\n"
        )

    def output(self) -> str:
        """What `program` prints."""
        return "".join(f"{value}: {text}\n" for value, text in self.expect.items())


def of(name: str) -> Example | None:
    """The example of a knob, by the name under which it is declared."""
    return _all().get(name)


@cache
def _all() -> dict[str, Example]:
    found: dict[str, Example] = {}
    for table in TABLES:
        found |= importlib.import_module(f"{__name__}.{table}").EXAMPLES
    return found
