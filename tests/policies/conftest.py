"""No policy that one test registers is seen by the next."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from minimx.policies.registry import entries, unregister


@pytest.fixture(autouse=True)
def nothing_stays_registered() -> Iterator[None]:
    yield
    for entry in list(entries()):
        entry.wait()
    for entry in list(entries()):
        unregister(entry.policy)
