"""A kernel in which controls would not answer is named."""

from __future__ import annotations

import pytest

from minimx_widgets.kernel import complaint, complaint_here


@pytest.mark.parametrize("good", ["7.1.0", "7.2.1", "7.3.0", "7.3.0rc1"])
def test_versions_that_work_are_not_mentioned(good: str) -> None:
    assert complaint(good) == ""


@pytest.mark.parametrize("bad", ["6.29.5", "7.0.1", "7.4.0", "8.0.0"])
def test_versions_that_do_not_are_named_with_the_cure(bad: str) -> None:
    assert complaint(bad).startswith(f"ipykernel {bad}: ")
    assert 'pip install "ipykernel>=7.1,<7.4"' in complaint(bad)


def test_outside_of_a_kernel_there_is_nothing_to_say() -> None:
    assert complaint_here() == ""
