"""`minimx doctor`: every part is looked at, and none can make it fail."""

from __future__ import annotations

import io
import shutil

import pytest

from minimx.commands.cli import doctor
from minimx.core.knobs import knobs


def test_every_part_is_looked_at() -> None:
    findings = {finding.part: finding for finding in doctor.examine()}
    assert list(findings) == list(doctor.LOOKS)
    for finding in findings.values():
        assert finding.state in ("ok", "absent", "broken")
        assert finding.found
        if finding.state == "broken":
            assert finding.part == "", finding


def test_the_report_has_a_line_per_part_and_code_0() -> None:
    out = io.StringIO()
    assert doctor.run(out) == 0
    lines = out.getvalue().splitlines()
    assert lines[0].startswith("minimx ")
    assert "(mx.__version__ says MXNet 1.9.1)" in lines[0]
    for part in doctor.LOOKS:
        assert any(part in line for line in lines[1:]), part


def test_what_is_missing_comes_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *a, **k: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr(doctor, "_version", lambda name: "")
    monkeypatch.setattr(doctor, "onednn_found", lambda: ("", "not installed"))
    findings = {finding.part: finding for finding in doctor.examine()}
    for part, advice in {
        "dot": "apt-get install graphviz",
        "MPI": "minimx[dist]",
        "CUDA": "minimx[cuda]",
        "oneDNN": "minimx[onednn]",
        "Jupyter": "minimx[lab]",
    }.items():
        assert findings[part].state == "absent"
        assert advice in findings[part].advice


def test_a_look_that_fails_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> tuple[str, str, str]:
        raise OSError("the library is torn")

    monkeypatch.setitem(doctor.LOOKS, "dot", fail)
    out = io.StringIO()
    assert doctor.run(out) == 1
    assert "broken  dot             OSError: the library is torn" in out.getvalue()


def test_a_cache_that_cannot_be_written_is_broken() -> None:
    with knobs(MINIMX_CACHE="/proc/minimx"):
        finding = next(it for it in doctor.examine() if it.part == "kernel cache")
    assert finding.state == "broken"
    assert "MINIMX_CACHE" in finding.advice
