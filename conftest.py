"""What the examples in docstrings may name without importing it."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def names_of_examples(request: pytest.FixtureRequest) -> None:
    """`mx`, `np` and `npx`, where the module itself does not know the name."""
    test = getattr(request.node, "dtest", None)
    if test is not None:
        import minimx as mx

        for name, module in (("mx", mx), ("np", mx.np), ("npx", mx.npx)):
            test.globs.setdefault(name, module)
