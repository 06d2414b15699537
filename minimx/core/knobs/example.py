"""How one knob is seen to act: a few lines of code, and what they print.

The examples are tables outside the core: `minimx/tools/knob_examples`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass


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
