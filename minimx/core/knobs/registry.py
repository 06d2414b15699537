"""The registry: the current value of every knob, and who is notified of a change.

    def resize(name, new, old): ...             # a watcher: starts or ends threads
    knobs.watch("MXNET_CPU_WORKER_NTHREADS", resize)
    knobs.set(MXNET_CPU_WORKER_NTHREADS=4)      # calls resize("MXNET_CPU…", 4, 1)

This is how a turned knob reaches the part that it moves: the part watches it. The
registry knows none of these parts. `minimx.core.storage` and `minimx.core.engine` end
with their calls of `watch`; the first changes the policy of pools (`_retune`), the
second starts another engine (`_knob_turned`).

Reading is a dictionary look-up without a lock. Writing is rare and takes one lock: all
values of a change are checked first (`_checked`), then stored together (`_store`), then
the watchers are called (`_change`). If a watcher raises, the change is taken back, the
watchers that had been called are called with the old values, and the error goes on to
the caller.

What a knob is set to, by the program and by each open `with` block, is in `scopes.py`;
what child processes inherit, and what a program writes to `os.environ`, in
`environ.py`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from minimx.core.errors import KnobBusy, KnobError, MXNetError, did_you_mean
from minimx.core.extensions import provided
from minimx.core.knobs.environ import Environment
from minimx.core.knobs.knob import Knob, KnobWarning, PlannedKnobWarning, Value
from minimx.core.knobs.notices import Needs, Why, warn
from minimx.core.knobs.scopes import Layer, Layers

# Called with (name, new value, old value), in the thread that turned the knob.
Watcher = Callable[[str, Any, Any], None]

EVERY = "*"


class Knobs:
    """Every declared knob and its current value; `mx.knobs` is the one instance.

    `knobs.NAME` and `knobs.get("NAME")` read. `knobs.NAME = value` and
    `knobs.set(NAME=value, ...)` write, all or nothing. `with knobs(NAME=value):` writes
    for the length of a block, in every thread.
    """

    __slots__ = (
        "_aliases",
        "_announced",
        "_chosen",
        "_before_change",
        "_environment",
        "_layers",
        "_lock",
        "_needs",
        "_table",
        "_values",
        "_watchers",
        "declared",
    )

    declared: Mapping[str, Knob]

    def __init__(self, declarations: Iterable[Knob], environ: Any = None) -> None:
        """Take the start values from `environ`, `os.environ` unless a test says so.

        declarations: one `Knob` each. A start value that does not fit gives a warning,
        and the default counts.
        """
        table = self._table = {knob.name: knob for knob in declarations}
        self.declared = MappingProxyType(table)
        self._aliases = {alias: k.name for k in table.values() for alias in k.aliases}
        self._announced: set[str] = set()
        self._layers = Layers()
        self._needs = Needs()
        self._chosen: dict[str, Value] = {}  # in force, but for those at their defaults
        self._values = {name: knob.default for name, knob in table.items()}
        self._watchers: dict[str, list[Watcher]] = {}
        self._before_change: list[Callable[[], None]] = []
        self._lock = threading.RLock()
        self._environment = Environment(self.declared, environ)
        self._take_texts(self._environment.changed_texts())

    # Reading

    def get(self, name: str) -> Any:
        """The current value of a knob. Raises `KnobError` for an unknown name.

        It costs a dictionary look-up; a hot loop binds `knobs.get` once, or watches.
        """
        try:
            return self._values[name]
        except KeyError:
            return self._values[self.resolve(name)]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # what copy, pickle and IPython ask of any object
            raise AttributeError(name)
        try:
            return self.get(name)
        except KnobError as unknown:
            raise AttributeError(str(unknown)) from None

    def __contains__(self, name: object) -> bool:
        return name in self.declared or name in self._aliases

    def __iter__(self) -> Iterator[Knob]:
        return iter(self.declared.values())

    def __len__(self) -> int:
        return len(self.declared)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self.declared})

    def resolve(self, name: str) -> str:
        """The name under which a knob is declared, from that name or an alias.

        An alias is announced once per process. Raises `KnobError` for an unknown name.
        """
        if name in self.declared:
            return name
        if name not in self._aliases:
            near = did_you_mean(name, [*self.declared, *self._aliases])
            raise KnobError(
                f"{name!r} is not a knob.{near} `minimx knobs` lists all of them."
            )
        known = self._aliases[name]
        if name not in self._announced:
            self._announced.add(name)
            warn(
                f"{name} is another name of {known}; minimx uses {known}.", KnobWarning
            )
        return known

    def is_set(self, name: str) -> bool:
        """Whether a knob was given a value, rather than standing at its default."""
        return self.resolve(name) in self._chosen

    def diff(self) -> dict[str, tuple[Any, Any]]:
        """The knobs that differ from their defaults: name -> (default, value)."""
        with self._lock:
            return {
                name: (default, self._values[name])
                for name, default in self._defaults().items()
                if self._values[name] != default
            }

    def snapshot(self) -> dict[str, Value]:
        """The current value of every knob, as one consistent picture."""
        with self._lock:
            return dict(self._values)

    # Writing

    def set(self, **changes: object) -> None:
        """Turn knobs. Either all changes happen or none does.

        A value may be text, as in the environment, or a Python value; an empty text or
        None means the default. Raises `KnobError` for an unknown name or a bad value,
        and whatever a watcher raises. Warns when a knob does not act yet, or needs what
        is not installed. Where an open `with` block has turned a knob, the value ends
        with the newest such block.
        """
        chosen = self._checked(changes)
        self._warn_of_idle(chosen)
        self._turn(chosen)

    def __setattr__(self, name: str, value: object) -> None:
        if name in Knobs.__slots__:
            object.__setattr__(self, name, value)
        else:
            self.set(**{name: value})

    @contextmanager
    def __call__(self, **changes: object) -> Iterator[Knobs]:
        """Turn knobs for the length of a `with` block, in all threads.

        Blocks may overlap in any way: in force is what the newest open one says of a
        knob. After the last of them each knob is what it was before, also if a block
        raised. Where that cannot be obeyed at once, a `KnobWarning` says why, and it is
        obeyed as soon as it can be.
        """
        chosen = self._checked(changes)
        self._warn_of_idle(chosen)
        with self._lock:
            layer = self._layers.open(chosen)
            try:
                self._change(chosen)
            except BaseException:
                self._layers.close(layer)
                raise
        try:
            yield self
        finally:
            self._leave(layer)

    def reset(self, *names: str) -> None:
        """Put the named knobs, or all, back to their defaults, as if never set."""
        with self._lock:
            targets = [self.resolve(name) for name in names] or list(self._chosen)
            self._turn(dict.fromkeys(targets))

    @property
    def presets(self) -> Mapping[str, Any]:
        """The named presets, each with its values, its meaning and its document."""
        presets: Mapping[str, Any] = provided("knob presets").PRESETS
        return presets

    def preset(self, name: str) -> dict[str, Any]:
        """Turn the knobs of a named preset together; returns what it sets.

        Raises `KnobError` for an unknown preset. `knobs.presets` describes them.
        """
        presets = self.presets
        if name not in presets:
            near = did_you_mean(name, presets)
            raise KnobError(f"{name!r} is not a preset: {', '.join(presets)}.{near}")
        self.set(**presets[name].values)
        return dict(presets[name].values)

    def sync_from_environ(self) -> dict[str, Any]:
        """Turn the knobs whose variables changed since `os.environ` was last read.

        This is what makes `%env NAME=value` act from the next cell, and `os.environ[
        NAME] = value` in a script at once. A text that a knob cannot take is warned
        about and put back. Returns the new values by name.
        """
        with self._lock:
            names = self._take_texts(self._environment.changed_texts(), put_back=True)
            return {name: self._values[name] for name in names}

    def assigned(self, name: str) -> None:
        """A variable of the environment was assigned or deleted, outside IPython."""
        if self._environment.concerns(name):
            self.sync_from_environ()

    def after_fork(self) -> None:
        """Forget, in a child process, a lock that a thread of the parent held."""
        self._lock = threading.RLock()

    # Watching

    def watch(
        self, names: str | Iterable[str], callback: Watcher
    ) -> Callable[[], None]:
        """Call `callback(name, new, old)` whenever one of the knobs gets a new value.

        `names` is one name, several, or "*" for all. The call happens after the value
        is stored, in the thread that turned the knob. Returns a function that ends it.
        """
        wanted = [names] if isinstance(names, str) else list(names)
        keys = [name if name == EVERY else self.resolve(name) for name in wanted]
        with self._lock:
            for key in keys:
                self._watchers.setdefault(key, []).append(callback)

        def stop() -> None:
            with self._lock:
                for key in keys:
                    if callback in self._watchers[key]:
                        self._watchers[key].remove(callback)

        return stop

    def before(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback()` right before values of knobs change, such as to note when.

        Nothing that obeys a knob sees its new value before that. The call happens in
        the thread that turns the knobs; which ones, `watch` says afterwards. Returns a
        function that ends it.
        """
        with self._lock:
            self._before_change.append(callback)

        def stop() -> None:
            with self._lock:
                if callback in self._before_change:
                    self._before_change.remove(callback)

        return stop

    def needs(self, names: str | Iterable[str], why: Why) -> Callable[[], None]:
        """Say what knobs need to act: `why(name, value)` is why they cannot, or "".

        Setting one of them gives the reason as a `KnobWarning`, once per knob; so
        does a value that stood in the environment at the start. `why` must be quick: it
        is called in the thread that sets the knob. Returns a function that looks again
        at what is set, for reasons that are found later.
        """
        wanted = [names] if isinstance(names, str) else list(names)
        keys = [self.resolve(name) for name in wanted]
        self._needs.add(keys, why)

        def look() -> None:
            chosen = {name: self._chosen.get(name) for name in keys}
            self._needs.look({n: v for n, v in chosen.items() if v is not None})

        look()
        return look

    def offer(self, name: str, choices: Iterable[str]) -> None:
        """Let a knob take these values, and no others: policies that users register."""
        self._table[name] = replace(self._table[name], choices=tuple(choices))

    # Showing

    def describe(self, name: str) -> Any:
        """Everything about one knob, as a card that prints and renders itself."""
        name = self.resolve(name)
        return provided("knob texts").Card(self.declared[name], self._values[name])

    def __repr__(self) -> str:
        line: str = provided("knob texts").summary_line(self.declared, self.diff())
        return line

    def _repr_html_(self) -> str:
        texts = provided("knob texts")
        table: str = texts.html_table(self.declared.values(), self.snapshot())
        return table

    # The inside

    def _checked(self, changes: Mapping[str, object]) -> dict[str, Value | None]:
        """The changes by declared name, each value checked; None stands for unset."""
        chosen: dict[str, Value | None] = {}
        for given, value in changes.items():
            name = self.resolve(given)
            if name in chosen:
                raise KnobError(f"{name} is given twice, once as {given}. Keep one.")
            unset = value is None or value == ""
            chosen[name] = None if unset else self.declared[name].check(value)
        return chosen

    def _turn(self, chosen: Mapping[str, Value | None], write: bool = True) -> None:
        """Change what is in force, where it was decided last."""
        with self._lock:
            before = self._layers.in_force(chosen)
            self._layers.put(chosen)
            try:
                self._change(chosen, write)
            except BaseException:
                self._layers.put(before)
                raise

    def _leave(self, layer: Layer) -> None:
        """Close a `with` block: what is beneath is in force, whatever watchers raise.

        A watcher that raises `KnobBusy` obeys later, and the user is warned; any other
        error is raised when all watchers have been called.
        """
        late: list[tuple[str, KnobBusy]] = []
        failed: list[BaseException] = []
        with self._lock:
            beneath = self._layers.close(layer)
            moved = {n: v for n, v in beneath.items() if v != self._chosen.get(n)}
            for early in list(self._before_change) if moved else ():
                early()
            for name, (new, old) in self._store(moved, write=True).items():
                for watcher in self._watching(name):
                    try:
                        watcher(name, new, old)
                    except KnobBusy as busy:
                        busy.later()
                        late.append((name, busy))
                    except BaseException as failure:
                        failed.append(failure)
        for name, reason in late:
            shown = self.declared[name].format(self._values[name])
            warn(
                f"{name} is {shown!r} again, but not yet obeyed: {reason}", KnobWarning
            )
        if failed:
            failed[0].add_note(
                "the knobs of the `with` block were put back all the same"
            )
            raise failed[0]

    def _change(self, chosen: Mapping[str, Value | None], write: bool = True) -> None:
        """Store checked values and call the watchers; take it back if one raises.

        chosen: name -> value, None for the default. write: also to `os.environ`.
        """
        with self._lock:
            before = {name: self._chosen.get(name) for name in chosen}
            for early in list(self._before_change):
                early()
            changed = self._store(chosen, write)
            called: list[tuple[Watcher, str, Any, Any]] = []
            try:
                for name, (new, old) in changed.items():
                    for watcher in self._watching(name):
                        called.append((watcher, name, new, old))
                        watcher(name, new, old)
            except BaseException as failure:
                self._store(before, write)
                _restore_old_values(called, failure)
                raise

    def _store(
        self, chosen: Mapping[str, Value | None], write: bool
    ) -> dict[str, tuple[Any, Any]]:
        """Store without calling a watcher; returns name -> (new, old) of what moved."""
        for name, value in chosen.items():
            if value is None:
                self._chosen.pop(name, None)
            else:
                self._chosen[name] = value
            if write:
                self._environment.write(name, value)
        changed = {}
        for name, default in self._defaults().items():
            new, old = self._chosen.get(name, default), self._values[name]
            if new != old:
                self._values[name] = new
                changed[name] = (new, old)
        return changed

    def _defaults(self) -> dict[str, Value]:
        """The default of every knob just now; some follow the value of another."""
        return {
            name: self._chosen.get(knob.follows, self.declared[knob.follows].default)
            if knob.follows
            else knob.default
            for name, knob in self.declared.items()
        }

    def _watching(self, name: str) -> list[Watcher]:
        return [*self._watchers.get(name, ()), *self._watchers.get(EVERY, ())]

    def _take_texts(
        self, texts: Mapping[str, str | None], put_back: bool = False
    ) -> list[str]:
        """Turn knobs to texts of the environment, one by one.

        texts: variable or alias -> its text, None where it was deleted. A text that a
        knob cannot take is warned about, where MXNet would stop; `put_back` then writes
        the old one. Returns the names of the knobs that were turned.
        """
        turned = []
        for given, text in texts.items():
            name = self.resolve(given)
            try:
                value = self.declared[name].parse(text) if text else None
                self._turn({name: value}, write=False)
            except MXNetError as refused:
                kept = self.declared[name].format(self._values[name])
                if put_back:
                    self._environment.write(name, self._chosen.get(name))
                warn(f"{refused} {name} stays {kept!r}.", KnobWarning)
            else:
                turned.append(name)
            for alias in self._environment.contradictions(name):
                warn(f"{name} and its alias {alias} differ; {name} rules.", KnobWarning)
        self._warn_of_idle({name: self._chosen.get(name) for name in turned})
        self._warn_of_unknown()
        return turned

    def _warn_of_unknown(self) -> None:
        for name, near in self._environment.unknown():
            if name not in self._announced:
                self._announced.add(name)
                warn(
                    f"the environment has {name}, which is not a knob and does "
                    f"nothing.{near} `minimx knobs` lists all of them.",
                    KnobWarning,
                )

    def _warn_of_idle(self, chosen: Mapping[str, Value | None]) -> None:
        """Warn of knobs that were given a value and cannot act, now or anywhere."""
        given = {name: value for name, value in chosen.items() if value is not None}
        self._needs.look(given)
        planned = [self.declared[n] for n in given if not self.declared[n].live]
        if planned:
            which = ", ".join(f"{knob.name} ({knob.planned_in})" for knob in planned)
            warn(
                f"set, but without effect until the part in brackets exists: {which}.",
                PlannedKnobWarning,
            )


def _restore_old_values(
    called: list[tuple[Watcher, str, Any, Any]], failure: BaseException
) -> None:
    """Call watchers with the old values; their errors become notes."""
    for watcher, name, new, old in reversed(called):
        try:
            watcher(name, old, new)
        except Exception as second:
            failure.add_note(f"going back to {name}={old!r} failed as well: {second}")
