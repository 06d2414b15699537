"""Tables line up, and nothing in them can become markup."""

from __future__ import annotations

from minimx_widgets.tables import Table, Tables

TABLE = Table.of(("lane", "ops"), [("cpu(0)/0", "7"), ("python", "1200")], "Lanes")


def test_numbers_stand_flush_right_and_words_flush_left() -> None:
    assert repr(TABLE).splitlines() == [
        "Lanes",
        "lane       ops",
        "cpu(0)/0     7",
        "python    1200",
    ]


def test_a_sign_belongs_to_its_number() -> None:
    table = Table.of(("change",), [("+106 µs",), ("-1.41 µs",), ("±0 ns",)])
    assert repr(table).splitlines() == [
        "  change",
        " +106 µs",
        "-1.41 µs",
        "   ±0 ns",
    ]
    words = Table.of(("word",), [("-",), ("none",)])
    assert repr(words).splitlines() == ["word", "-", "none"]


def test_html_is_escaped() -> None:
    html = Table.of(("<b>",), [("<script>",)], "a & b").html()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "a &amp; b" in html


def test_several_tables_follow_each_other() -> None:
    both = Tables((TABLE, TABLE))
    assert both.html() == 2 * TABLE.html()
    assert repr(both).count("Lanes") == 2
