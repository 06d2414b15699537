"""The drawers of a lab: views behind a title, made when one looks, gone afterwards."""

from __future__ import annotations

import html
import threading
from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets

from minimx.core.errors import MXNetError


class Drawers(ipywidgets.Accordion):  # type: ignore[misc]
    """Makers of views by title; `view` is the one whose drawer is open, or None.

    A view has a `close`. A maker that raises an error of the family `MXNetError` has
    its words shown in the place of a view.
    """

    def __init__(self, makers: Mapping[str, Callable[[], Any]]) -> None:
        self._makers = dict(makers)
        self._exchanging = threading.RLock()
        self.view: Any = None
        boxes = [ipywidgets.Box() for _ in makers]
        super().__init__(boxes, titles=tuple(makers), selected_index=None)
        self.add_class("mx-drawers")
        self.observe(self._opened, "selected_index")

    @property
    def title(self) -> str | None:
        """The drawer that is open."""
        place = self.selected_index
        return None if place is None else [*self._makers][place]

    def pull(self, title: str | None) -> Any:
        """Open a drawer, or none; returns its view."""
        self.selected_index = None if title is None else [*self._makers].index(title)
        return self.view

    def renew(self, *titles: str) -> None:
        """What these drawers show has changed: the one that is open is made anew."""
        if self.title in titles:
            self._opened()

    def _opened(self, _change: Any = None) -> None:
        with self._exchanging:
            if self.view is not None:
                self.view.close()
                self.view = None
            place, title = self.selected_index, self.title
            shown: tuple[Any, ...] = ()
            if title is not None:
                self.view = self._made(title)
                shown = (self.view,)
            for index, box in enumerate(self.children):
                box.children = shown if index == place else ()

    def _made(self, title: str) -> Any:
        try:
            return self._makers[title]()
        except MXNetError as refused:
            return ipywidgets.HTML(html.escape(str(refused)))

    def close(self) -> None:
        """Take the drawers and the view of the open one away."""
        self.unobserve_all()  # the observer knows the lab, and with it the network
        self._makers.clear()
        if self.view is not None:
            self.view.close()
        for box in self.children:
            box.close()
        super().close()
