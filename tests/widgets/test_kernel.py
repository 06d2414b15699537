"""A kernel in which cells hang or controls would not answer is named."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from minimx_widgets import kernel
from minimx_widgets.kernel import complaint, complaint_here, keep_addresses


@pytest.mark.parametrize("good", ["7.4.0", "7.5.1", "7.4.0rc1", "8.0.0"])
def test_versions_that_work_are_not_mentioned(good: str) -> None:
    assert complaint(good) == ""


@pytest.mark.parametrize("bad", ["6.29.5", "7.0.1", "7.1.0", "7.3.0"])
def test_versions_that_do_not_are_named_with_the_cure(bad: str) -> None:
    assert complaint(bad).startswith(f"ipykernel {bad}: ")
    assert 'pip install "ipykernel>=7.4"' in complaint(bad)


def test_outside_of_a_kernel_there_is_nothing_to_say() -> None:
    assert complaint_here() == ""


@pytest.fixture
def comm_class(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A kernel that answers every message to a widget from the main thread."""

    class BaseComm:
        def _reply_subshell_for(self, data: Any, default: str) -> str:
            return "main"

    monkeypatch.setitem(sys.modules, "ipykernel.kernelapp", SimpleNamespace())
    module = SimpleNamespace(BaseComm=BaseComm)
    monkeypatch.setitem(sys.modules, "ipykernel.comm.comm", module)
    return BaseComm


def test_messages_go_to_the_thread_that_they_name(comm_class: Any) -> None:
    keep_addresses()
    assert comm_class()._reply_subshell_for({}, "subshell") == "subshell"


def test_other_processes_are_left_alone(
    comm_class: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "ipykernel.kernelapp")
    assert not kernel.in_kernel()
    keep_addresses()
    assert comm_class()._reply_subshell_for({}, "subshell") == "main"
