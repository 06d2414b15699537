"""What all views have in common."""

from __future__ import annotations

from typing import Any

import pytest
import traitlets

from minimx.core.record import Record
from minimx_widgets import PoolMap
from minimx_widgets.base import View
from minimx_widgets.packing import Columns
from minimx_widgets.run import News, Run


class Eager(View):
    """A view that ships when a setting changes, the first time while it is made."""

    wish = traitlets.Unicode("").tag(sync=True)
    shipped = 0

    @traitlets.observe("wish")
    def _wished(self, _change: Any) -> None:
        self._ship()
        self.shipped += 1

    def columns(self, news: News) -> Columns:
        return {}


def test_an_observer_may_ship_while_the_view_is_being_made(record: Record) -> None:
    view = Eager(record, wish="something")
    assert view.shipped == 1
    assert not view.waiting
    view.run.close()


@pytest.mark.parametrize("settings", [{"ghost": "Round"}, {"at": 2}, {"device": ""}])
def test_a_pool_map_made_while_the_feed_runs_does_not_stop_it(
    record: Record, settings: dict[str, Any]
) -> None:
    run = Run.of(record)
    first = PoolMap(run)
    run.feed.hello(first)
    for _ in range(20):
        PoolMap(run, **settings).close()
        run.attach(first)
    assert run.feed.running
    run.close()
