"""Hints, excerpts, refusals, sentences, verdicts and tables."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from minimx.core.errors import KnobError
from minimx.core.knobs import KnobWarning, knobs
from minimx_widgets.course import (
    code,
    explained,
    hints,
    plain_warnings,
    read_core,
    refused,
    table,
    verdicts,
)


def test_a_hint_is_offered_by_the_one_before() -> None:
    shown = hints("first", "second", "third")
    assert repr(shown) == "3 hints, folded"
    first, second, third = (shown.rich.index(w) for w in ("first", "second", "third"))
    assert first < second < third
    assert shown.rich.endswith("</details>" * 3)
    assert "<b>" not in code("if a < b:\n    pass")
    assert "a &lt; b" in code("if a < b:\n    pass")


def test_an_expected_error_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with refused(KnobError):
        knobs.get("MXNET_ENGIN_TYPE")
    assert capsys.readouterr().out.startswith("KnobError: 'MXNET_ENGIN_TYPE' is not")


def test_notes_of_an_error_are_printed_too(capsys: pytest.CaptureFixture[str]) -> None:
    error = ValueError("spoiled")
    error.add_note("pushed at line 3")
    with refused():
        raise error
    assert capsys.readouterr().out == "ValueError: spoiled\n  pushed at line 3\n"


def test_what_is_not_refused_is_a_mistake_of_the_notebook() -> None:
    with pytest.raises(AssertionError, match="nothing was refused"), refused():
        pass
    with pytest.raises(KeyError), refused(ValueError):
        raise KeyError("another error")


def test_the_core_is_shown_as_it_is_installed() -> None:
    shown = read_core(type(knobs).reset, type(knobs).__call__)
    assert shown.kind == "text/markdown"
    assert shown.plain.startswith(
        "# minimx.core.knobs.registry.Knobs.reset\ndef reset("
    )
    assert "@contextmanager\ndef __call__(" in shown.plain
    assert "```python\ndef reset(" in shown.rich


def test_a_notebook_of_the_checkout_links_to_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    root = Path(__file__).parents[4]
    monkeypatch.chdir(root / "notebooks")
    assert "](../minimx/core/knobs/registry.py)" in read_core(type(knobs).reset).rich
    monkeypatch.chdir(tmp_path)
    assert "](" not in read_core(type(knobs).reset).rich


def test_a_sentence_unlocks_the_model() -> None:
    model = "because it was copied"
    for short in ("", "it was copied", "  \n "):
        assert model not in repr(explained(short, model))
    shown = explained("the text was <copied> when it was read", model)
    assert repr(shown).endswith("ours:  because it was copied")
    assert "&lt;copied&gt;" in shown.rich


IDLE = "The pool gives a block only to a request of the same size."


@pytest.mark.parametrize(
    ("sentence", "answer"),
    [
        ("banana " * 7, "at least 6 different words"),
        ("one two three four five six seven", "“pool”, “gives”, “block”"),
        (
            "the pool does it because that is what it does",
            "“gives”, “block”, “request”",
        ),
    ],
)
def test_a_sentence_about_nothing_unlocks_nothing(sentence: str, answer: str) -> None:
    found = repr(explained(sentence, IDLE))
    assert IDLE not in found
    assert answer in found


def test_other_words_for_the_same_ideas_are_enough() -> None:
    mine = "Blocks wait in vain if requests differ in length."
    assert IDLE in repr(explained(mine, IDLE))


def test_verdicts_have_three_outcomes() -> None:
    shown = verdicts(
        [
            ("It <i>saves</i> half", "fails", "0 %"),
            ("It is fast", "depends on the size", "1 ms"),
            ("It works", "holds", "<code>True</code>"),
        ]
    )
    assert repr(shown) == (
        "✘ fails: It saves half\n    0 %\n"
        "◐ depends on the size: It is fast\n    1 ms\n"
        "✔ holds: It works\n    True"
    )
    with pytest.raises(ValueError, match="begins with one of holds"):
        verdicts([("claim", "perhaps", "")])


def test_numbers_stand_at_the_right() -> None:
    shown = table(("name", "ns", "what"), [("a<b", 5, "one"), ("c", 1234, "three")])
    assert repr(shown) == "name    ns  what\na<b      5  one\nc     1234  three"
    assert "a&lt;b" in shown.rich
    assert "text-align:right;vertical-align:top'>1234" in shown.rich


def test_what_is_infinite_is_a_number_as_well() -> None:
    shown = table(("float16",), [("1.00098",), ("inf",), ("-inf",), ("nan",)])
    assert repr(shown).splitlines()[2:] == ["    inf", "   -inf", "    nan"]
    words = table(("dtype",), [("int8",), ("information",)])
    assert repr(words).splitlines()[1] == "int8"


def test_warnings_of_knobs_take_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)
    with warnings.catch_warnings():
        plain_warnings()
        text = warnings.formatwarning(KnobWarning("careful"), KnobWarning, "f.py", 3)
    assert text == "KnobWarning: careful\n"
