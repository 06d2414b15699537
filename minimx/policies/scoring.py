"""What a policy is worth: its cost on traces that it has not seen, beside the bound.

    result = mx.policies.score(BestFit)
    result                   # a table: yours, the built-ins, and 1.00 for the bound
    result.score             # 1.27: it costs 1.27 times what the bound proves

A policy's ratio in a family is its cost over all traces of the family, divided by the
bound of them. Its score is the geometric mean over the families. No policy can come
below 1; whether 1 can be reached is not said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from math import prod
from typing import Any, Final

from minimx.policies.kinds import Kind
from minimx.policies.registry import CHECKED, SECONDS, asked, kind_of, run, taught

#: How many traces of each family.
TRACES: Final = 6
BOUND: Final = "lower bound"


@dataclass(frozen=True)
class Score:
    """The outcome for one policy.

    name: of its class. kind: in words. seed, traces: which traces it was. ratios: for
    the policy and each built-in, by family, the cost divided by the bound. bounds: of
    each family, in `unit`.
    """

    name: str
    kind: str
    seed: int
    traces: int
    unit: str
    bound_says: str
    bounds: Mapping[str, float]
    ratios: Mapping[str, Mapping[str, float]]

    @property
    def score(self) -> float:
        """The policy's own: 1 is the bound, less is better."""
        return self.of(self.name)

    def of(self, name: str) -> float:
        """The geometric mean of a policy's ratios."""
        ratios = self.ratios[name].values()
        return float(prod(ratios) ** (1 / len(ratios)))

    @property
    def rows(self) -> list[list[str]]:
        """The table, heads first, the best policy above."""
        families = list(self.bounds)
        order = sorted(self.ratios, key=self.of)
        ranked = [
            [
                name,
                *(f"{self.ratios[name][one]:.3f}" for one in families),
                f"{self.of(name):.3f}",
            ]
            for name in order
        ]
        bound = [BOUND, *(f"{1:.3f}" for _ in families), f"{1:.3f}"]
        return [[self.kind, *families, "score"], *ranked, bound]

    def __repr__(self) -> str:
        widths = [max(map(len, column)) for column in zip(*self.rows, strict=True)]
        lines = [
            "  ".join(
                cell.rjust(width) if k else cell.ljust(width)
                for k, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in self.rows
        ]
        return "\n".join([*lines, self.legend])

    @property
    def legend(self) -> str:
        """What the numbers are."""
        return (
            f"cost divided by the bound; cost: {self.unit}.\n"
            f"the bound: {self.bound_says}.\n"
            f"{self.traces} traces of each family, seed {self.seed}."
        )

    def _repr_html_(self) -> str:
        head, *rows = self.rows
        cells = "".join(f"<th>{escape(one)}</th>" for one in head)
        lines = [f"<tr>{cells}</tr>"]
        for row in rows:
            tag = "th" if row[0] == self.name else "td"
            cells = "".join(f"<{tag}>{escape(one)}</{tag}>" for one in row)
            lines.append(f"<tr>{cells}</tr>")
        legend = escape(self.legend).replace("\n", "<br>")
        return f"<table>{''.join(lines)}</table><p>{legend}</p>"


def score(
    policy: Any, seed: int = 0, traces: int = TRACES, seconds: float = SECONDS
) -> Score:
    """Let a policy, and the built-ins of its kind, run traces drawn from a seed.

    The traces are others than those of `check`. traces: how many of each family.
    seconds: the most that it may take. Raises `PolicyError` if it breaks a rule.

    >>> class AsAsked:
    ...     def size(self, nbytes, idle):
    ...         return nbytes
    >>> result = score(AsAsked, traces=1)
    >>> result.score > 1, sorted(result.ratios)
    (True, ['AsAsked', 'Naive', 'Round', 'Unpooled'])
    """
    kind = kind_of(policy)
    seeds = range(CHECKED + seed * 1000, CHECKED + seed * 1000 + traces)
    every = {
        family: [kind.trace(family, one) for one in seeds] for family in kind.families
    }

    def own() -> dict[str, float]:
        return {
            family: sum(run(kind, asked(policy, kind), one) for one in found)
            for family, found in every.items()
        }

    mine = taught(policy, kind, seconds, own)
    bounds, costs = _known(kind, seeds)
    taken = policy.__name__ in costs
    name = f"{policy.__name__} (own)" if taken else policy.__name__
    costs = {name: mine, **costs}
    return Score(
        name=name,
        kind=kind.name,
        seed=seed,
        traces=traces,
        unit=kind.unit,
        bound_says=kind.bound_says,
        bounds={family: bound / traces for family, bound in bounds.items()},
        ratios={
            name: {family: cost / bounds[family] for family, cost in mine.items()}
            for name, mine in costs.items()
        },
    )


@lru_cache(16)
def _known(
    kind: Kind[Any, Any], seeds: range
) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    """The bounds of each family, and what each built-in costs there."""
    every = {
        family: [kind.trace(family, one) for one in seeds] for family in kind.families
    }
    bounds = {family: sum(map(kind.bound, found)) for family, found in every.items()}
    costs = {
        name: {
            family: sum(kind.run(subject, one) for one in found)
            for family, found in every.items()
        }
        for name, subject in kind.builtins.items()
    }
    return bounds, costs
