"""The environment side of the knobs: what stood in `os.environ`, and what changed.

Other programs own `os.environ` too. So it is only read at import, only compared when
asked, and only written where a knob of ours was turned.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, MutableMapping

from minimx.core.errors import did_you_mean
from minimx.core.knobs.assigned import Environ
from minimx.core.knobs.foreign import PREFIXES, meant
from minimx.core.knobs.knob import Knob, Value

# Names that begin like this are ours or MXNet's, so an unknown one is a mistake.
OURS = ("MXNET_", "NNVM_", "MINIMX_")


class Environment:
    """The variables of a process that are, or look like, knobs."""

    def __init__(
        self,
        declared: Mapping[str, Knob],
        environ: MutableMapping[str, str] | None = None,
    ) -> None:
        self._declared = declared
        self._environ = os.environ if environ is None else environ
        self._names = {
            name: knob
            for knob in declared.values()
            for name in (knob.name, *knob.aliases)
        }
        self._seen: dict[str, str] = {}

    def changed_texts(self) -> dict[str, str | None]:
        """What differs from the last look: name or alias -> text, None where deleted.

        A knob appears at most once: under its own name if that is there, else under
        the alias that is.
        """
        now = {n: text for n, text in self._environ.items() if n in self._names}
        before, self._seen = self._seen, now
        changed: dict[str, str | None] = {}
        for knob in self._changed_knobs(before, now):
            given = next((n for n in (knob.name, *knob.aliases) if n in now), knob.name)
            changed[given] = now.get(given)
        return changed

    def _changed_knobs(
        self, before: Mapping[str, str], now: Mapping[str, str]
    ) -> Iterable[Knob]:
        """The knobs of which any spelling appeared, changed or went away."""
        names = [n for n in {**before, **now} if before.get(n) != now.get(n)]
        return {self._names[name].name: self._names[name] for name in names}.values()

    def unknown(self) -> list[tuple[str, str]]:
        """Variables that begin like ours but are not: (name, sentence of advice).

        Of those that begin like other programs', the ones that are nearly a knob.
        """
        found = []
        for name in self._environ:
            if name in self._names:
                continue
            if name.startswith(OURS):
                found.append((name, did_you_mean(name, self._names)))
            elif near := meant(name, self._names):
                found.append((name, f" Did you mean {near}?"))
        return found

    def contradictions(self, name: str) -> list[str]:
        """Aliases of a knob that stand beside its own name and hold another text."""
        text = self._environ.get(name)
        return [
            alias
            for alias in self._declared[name].aliases
            if text is not None and self._environ.get(alias, text) != text
        ]

    def write(self, name: str, value: Value | None) -> None:
        """Write a knob to the environment, so that child processes inherit it.

        name: as it is declared. None removes the variable under all its names. The next
        `changed_texts` does not report what was written here.
        """
        environ = self._environ
        for spelling in (name, *self._declared[name].aliases):
            self._seen.pop(spelling, None)
            if isinstance(environ, Environ):
                environ.quietly_remove(spelling)
            else:
                environ.pop(spelling, None)
        if value is not None:
            text = self._seen[name] = self._declared[name].format(value)
            if isinstance(environ, Environ):
                environ.quietly_set(name, text)
            else:
                environ[name] = text

    def concerns(self, name: str) -> bool:
        """Whether a change of this variable is worth a look."""
        return name in self._names or name.startswith((*OURS, *PREFIXES))
