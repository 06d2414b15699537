"""Steps of a lab, and what it has measured."""

from __future__ import annotations

from minimx_widgets.lab.lab import Lab


def steps(lab: Lab, count: int) -> None:
    """Take single steps."""
    for _ in range(count):
        lab.step()
        assert lab.wait(60)


def losses(lab: Lab) -> list[float]:
    """The losses seen so far; that of the newest step is still to come."""
    return [float(value) for value in lab.monitor.series("loss")[1]]


def metric(lab: Lab, name: str) -> list[float]:
    return [float(value) for value in lab.monitor.series(name)[1]]
