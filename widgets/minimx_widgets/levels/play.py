"""A game that is played: choices one after the other, back and on again, and hints."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import Any

from minimx.core.errors import ArgumentError, did_you_mean
from minimx_widgets.levels.game import MOST_BRANCHES, Choice, Cost, End, Game, best_end


class Play:
    """The states of a game from its beginning to where it stands.

    most: how many branches are searched for a best end. target: the best cost that can
    be reached, or a bound below which none lies; exact: whether it was proved that it
    can be reached.
    """

    def __init__(self, game: Game[Any], most: int = MOST_BRANCHES) -> None:
        self.game, self.most = game, most
        self.states: list[Any] = [game.begin()]
        self.keys: list[str] = []
        self.undone: list[str] = []
        found = best_end(game, most=most)
        self.exact = found is not None
        self.target: Cost = found.cost if found else game.least(self.states[0])
        #: By number of choices, the best ends that were searched.
        self._ends: dict[int, End | None] = {0: found}

    @property
    def state(self) -> Any:
        """Where the game stands."""
        return self.states[-1]

    @property
    def over(self) -> bool:
        """Whether all is decided."""
        return self.game.over(self.state)

    @property
    def reached(self) -> bool:
        """Whether all is decided, and nothing costs less."""
        return self.over and self.game.cost(self.state) <= self.target

    def choose(self, key: str) -> None:
        """Answer the question. Raises `ArgumentError`; then nothing changes."""
        if self.over:
            raise ArgumentError(
                f"{self.game.name}: all is decided. undo() takes a choice back, "
                "restart() all of them."
            )
        self._go(key)
        self.undone.clear()

    def _go(self, key: str) -> None:
        after = self.game.after(self.state, key)
        self.states.append(after)
        self.keys.append(key)

    def again(self, keys: Iterable[str]) -> Play:
        """The game from its beginning with these choices; this one stays as it is."""
        made = copy(self)
        made.states, made.keys, made.undone = self.states[:1], [], []
        made._ends = {0: self._ends[0]}
        for key in keys:
            made.choose(key)
        return made

    def undo(self) -> str:
        """Take the last choice back and return it.

        Raises `ArgumentError` where there is none.
        """
        if not self.keys:
            raise ArgumentError(f"{self.game.name}: there is nothing to undo yet.")
        self.states.pop()
        self._ends.pop(len(self.states), None)
        self.undone.append(self.keys.pop())
        return self.undone[-1]

    def redo(self) -> str:
        """Make the choice again that was undone last; returns it."""
        if not self.undone:
            raise ArgumentError(f"{self.game.name}: nothing was undone.")
        self._go(self.undone[-1])
        return self.undone.pop()

    def restart(self) -> None:
        """Take all choices back; `redo` makes them again."""
        while self.keys:
            self.undo()

    def hint(self) -> str:
        """What can still be reached, and the next choice on the way to it."""
        game, best = self.game, self._end(len(self.keys))
        if self.over:
            said = game.says(game.cost(self.state))
            return f"All is decided: {said}. {self._way_back(game.cost(self.state))}"
        if best is None:
            return (
                "There are too many ways to go on to search them all. None costs less "
                f"than {game.says(game.least(self.state))}."
            )
        text = next(
            (one.text for one in game.choices(self.state) if one.key == best.keys[0]),
            best.keys[0],
        )
        if best.cost <= self.target or not self.exact:
            return f"Choose “{text}”: {game.says(best.cost)} can be reached from here."
        return (
            f"From here nothing costs less than {game.says(best.cost)}. "
            f"{self._way_back(best.cost)} To go on all the same, choose “{text}”."
        )

    def _way_back(self, cost: Cost) -> str:
        """How many choices to undo until the target is in reach again."""
        if cost <= self.target:
            return "Nothing costs less."
        for count in range(1, len(self.keys) + 1) if self.exact else ():
            best = self._end(len(self.keys) - count)
            if best is not None and best.cost <= self.target:
                key = self.keys[-count]
                choices = "the last choice" if count == 1 else f"{count} choices"
                return (
                    f"{self.game.says(self.target)} can be reached: undo {choices}, "
                    f"to where you chose “{key}”."
                )
        return f"The bound is {self.game.says(self.target)}."

    def _end(self, number: int) -> End | None:
        """The best end of the state after so many choices."""
        if number not in self._ends:
            self._ends[number] = best_end(self.game, self.states[number], self.most)
        return self._ends[number]


def chosen(choices: tuple[Choice, ...], key: str, name: str) -> Choice:
    """The choice of a key. Raises `ArgumentError` for none, or one that is refused."""
    for one in choices:
        if one.key == key:
            if one.refused:
                raise ArgumentError(one.refused)
            return one
    keys = [one.key for one in choices]
    raise ArgumentError(
        f"{name}: there is no choice {key!r}; there are {', '.join(keys)}."
        f"{did_you_mean(str(key), keys)}"
    )
