"""Texts in Python code: what counts, and how a composed one becomes a template."""

from __future__ import annotations

import pytest

from minimx_widgets.course.translating.literals import found


@pytest.mark.parametrize(
    ("code", "texts"),
    [
        ("x = 'two words'", ["two words"]),
        ("x = 'word'", []),
        ("PredictCard('How many?', f, 'pushes', by='the pool', name='08/many')",
         ["How many?", "pushes", "the pool"]),
        ("PredictCard('How many?', f, 'KiB')", ["How many?"]),
        ("choice('00/x', 'Who?', 'No process.', {'All.': 'Only its own children.'})",
         ["Who?", "No process.", "All.", "Only its own children."]),
        ("f'{len(seen)} of {self.most:,} bytes'", ["{seen} of {most} bytes"]),
        ("f'{a.n} and {b.n} bytes, {a.n} again'", ["{n} and {n_2} bytes, {n} again"]),
        ("f'{n} push{\"es\" * (n != 1)} at once'", ["{n} push(es) at once"]),
        ("'at most ' + str(n) + ' bytes'", ["at most {n} bytes"]),
        ("f'a result of {\"ten bytes\" if x else y}'",
         ["a result of {x}", "ten bytes"]),
        ("table(('pool', 'MiB'), rows)", ["pool"]),
        ("re.compile('two words')", []),
        ("x = '<div style=\"a: b\">'", []),
        ("x = 'margin:0.3em 1em; color:red;'", []),
        ("assert x, 'two words'", []),
        ("raise Unreadable('Write a number.')", ["Write a number."]),
        ("def f():\n    'A docstring is not shown.'\n    return 'this one is'",
         ["this one is"]),
        ("@claim('05', 'It waits.', V1, 7, 'measured', f)\n"
         "def waits(x):\n    '''It should wait.\n\n    More.'''\n    return 'holds'",
         ["It waits.", "measured", "It should wait."]),
    ],
)  # fmt: skip
def test_what_a_reader_reads_is_found(code: str, texts: list[str]) -> None:
    assert found(code).texts == texts


def test_what_is_not_translated_is_counted_with_its_line() -> None:
    code = """\
print(f"{n} driver calls")
raise ValueError("no such pool")
text += "and one more."
print(x)
"""
    assert found(code).unseen == {"printed": [1], "raised": [2], "joined": [3]}
