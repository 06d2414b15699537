"""What is kept of a lab: settings as a string, a run as a file, the last state."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from minimx.core.errors import ArgumentError
from minimx.core.knobs import knobs
from minimx_widgets.base import View
from minimx_widgets.lab.lab_settings import check, parse, text_of, title_of
from minimx_widgets.saving import last
from minimx_widgets.saving.run_file import SavedRun, save_run
from minimx_widgets.saving.states import HasState, StateOf
from minimx_widgets.training.session import RUNNING
from minimx_widgets.training.training import Settings

if TYPE_CHECKING:
    from minimx_widgets.lab.lab import Lab

#: Knobs of these kinds say where files of the user are; they are not kept.
PRIVATE = ("path", "url")


class LabSaving(HasState):
    """The part of a lab that keeps it."""

    _last: last.LastRun
    _left: SavedRun | None = None
    _left_text = ""

    @property
    def _lab(self) -> Lab:
        """Itself: this is a part of that class, which would be too long otherwise."""
        return cast("Lab", self)

    # Its state

    def state_widget(self) -> StateOf:
        """The controls."""
        return self._lab.controls

    def state_names(self) -> tuple[str, ...]:
        """The settings."""
        return tuple(vars(Settings()))

    def state_parts(self) -> dict[str, Any]:
        """The settings that are not the usual ones."""
        usual = vars(Settings())
        found = dict(vars(self._lab.settings))
        for name in ("network", "data"):
            found[name] = text_of(self._lab.settings, name)
        return {name: value for name, value in found.items() if value != usual[name]}

    def bring_state(self, parts: Mapping[str, Any]) -> None:
        """Settings as they were; those that would begin afresh do."""
        usual = Settings()
        offered = {f["name"]: f["choices"] for f in self._lab.controls.fields}
        texts = {n: str(parts.get(n, text_of(usual, n))) for n in vars(usual)}
        for name in ("network", "data"):
            known = [choice[0] for choice in offered[name]]
            if texts[name] not in known:
                raise ArgumentError(
                    f"{name}={texts[name]!r}: this lab offers {', '.join(known)}."
                )
        found = {n: parse(n, text, self._lab.given) for n, text in texts.items()}
        check(replace(self._lab.settings, **found))
        for name, text in texts.items():
            self._lab.set(name, text)

    # Files

    def save(self, path: str | os.PathLike[str] = "") -> Path:
        """Write the newest training to one file, with its views as they are now.

        path: by default one in the present folder, named after what is trained and the
        time. Returns it; `open_run` shows the run again, on any machine. Raises
        `DataError` where it cannot be written.
        """
        if not path:
            what = title_of(self._lab.settings).replace(" on ", "-")
            plain = "".join(c for c in what if c.isalnum() or c in "-_") or "run"
            path = f"{plain}-{time.strftime('%Y%m%d-%H%M%S')}.npz"
        return save_run(self._lab.run_of_views, path, lab=self._kept())

    def save_here(self) -> str:
        """Save the run in the present folder; returns what was done, in words."""
        path = self.save()
        return f'Written to {path}. In any notebook: open_run("{path}")'

    def _kept(self) -> dict[str, Any]:
        """The settings, and the knobs that differ from their defaults, as texts."""
        turned = {
            name: knobs.declared[name].format(value)
            for name, (_, value) in knobs.diff().items()
            if knobs.declared[name].type not in PRIVATE
        }
        texts = {name: text for name, text in turned.items() if len(text) <= 200}
        return {"state": self.state_string, "knobs": texts}

    # The last state

    def _begin_keeping(self) -> None:
        """Find what an earlier kernel has left, and keep what this one does."""
        self._lab.controls.belong(self)
        self._last = last.LastRun(self._lab.title, self._write_last)
        self._left = self._last.found
        if self._left is not None:
            steps = self._left.record.metrics()["step"]
            self._left_text = (
                f"{self._lab.title}, step {int(steps.max(initial=0)):,}, "
                f"{_ago(self._last.age)} ago"
            )

    def _write_last(self, path: Path) -> None:
        save_run(self._lab.run_of_views, path, lab=self._kept(), newest=last.ROWS)

    def _keep_last(self, *, changed: bool) -> None:
        """Training goes on, or its state changed: keep it, if that is due."""
        if self._lab.fit is not None:
            self._left_text = (
                "" if self._lab.session.state == RUNNING else self._left_text
            )
            self._last.keep(now=changed)

    def recall(self) -> str:
        """Bring back what an earlier kernel has left: settings, knobs, views, record.

        The weights went with that kernel, so Train begins afresh. Returns what was
        done, in words. Raises `ArgumentError` if nothing is left.
        """
        left, text = self._left, self._left_text
        self._left, self._left_text = None, ""
        if left is None:
            raise ArgumentError(
                "Lab.recall: no earlier kernel has left a training of this lab."
            )
        knobs.set(**{n: v for n, v in left.lab["knobs"].items() if n in knobs.declared})
        self.state_string = left.lab["state"]
        lab = self._lab
        lab.record.stop()
        lab.fit, lab.goes_on, lab._fresh = None, False, False
        lab.run_of_views.replace(left.record)
        open_views = {
            type(view).__name__: view for view in self._lab.run_of_views.views
        }
        for state in left.states:
            view: View | None = open_views.get(state.partition(":")[0])
            if view is not None:
                view.state_string = state
        self._lab._changed(self._lab.session)
        return (
            f"Settings, knobs and views are those of {text}. The weights went with the "
            "kernel: Train begins afresh."
        )


def _ago(seconds: float) -> str:
    """A stretch of time in words.

    >>> _ago(30), _ago(300), _ago(90_000)
    ('30 s', '5 min', '25 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.0f} h"
