"""Ratios, tables, files and the book's page, from values that are made up."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from tests.benchmarks.cases import CASES, TARGETS, Target
from tests.benchmarks.cuda import Row
from tests.benchmarks.reporting import gpu, page, tables
from tests.benchmarks.reporting.history import history
from tests.benchmarks.reporting.ratios import (
    Values,
    misses,
    outcome,
    outcome_text,
    outcomes,
)
from tests.benchmarks.reporting.results import (
    Latest,
    Result,
    Rounds,
    every,
    latest,
    load,
    merged,
    save,
)
from tests.benchmarks.roofline import measuring

CASE = {case.name: case for case in CASES}
VALUES: Values = {
    "mlp": {
        "minimx": [0.002, 0.003, 0.009],
        "mxnet": [0.002, 0.002, 0.004],
        "torch": [0.003, 0.001, 0.006],
    },
    "mlp_recorded": {"minimx": [0.0022, 0.0036, 0.009]},
    "resnet_train_8": {"minimx": [2.0], "minimx onednn": [1.6], "mxnet": [1.6]},
    "second_start": {"minimx": [3.5, 2.5, 2.9]},
    "resnet_memory": {"minimx": [3e9], "torch": [4e9]},
}
CONDITIONS = {
    "date": "2026-01-02",
    "rounds": 3,
    "seconds": 0.5,
    "cpu": "Some CPU (R) 7",
    "cores": 2,
    "python": "3.11.7",
    "load": 0.1,
}


def of(case: str, ours: str, against: str = "") -> Target:
    return next(
        t for t in TARGETS if (t.case, t.ours, t.against) == (case, ours, against)
    )


def result(date: str = "2026-01-02", **other: object) -> Result:
    conditions = CONDITIONS | {"date": date} | other
    return Result(conditions, {name: dict(row) for name, row in VALUES.items()})


def test_a_ratio_is_the_median_of_the_rounds_ratios_with_their_quartiles() -> None:
    found = outcome(VALUES, Target("mlp", "minimx", ("mxnet",), 1.0))
    assert found is not None
    assert found.value == pytest.approx(1.5)  # of 1, 1.5 and 2.25; medians give 1.5 too
    assert (found.low, found.high) == pytest.approx((1.25, 1.875))
    assert not found.met


def test_the_fastest_of_several_counts_by_its_median() -> None:
    found = outcome(VALUES, Target("mlp", "minimx", ("torch", "mxnet"), 1.0))
    assert found is not None
    assert (found.peer, found.missing) == ("mxnet", ())
    both = outcome(VALUES, Target("mlp", "minimx", ("torch", "mxnet", "numpy"), 1.0))
    assert both is not None
    assert both.missing == ("numpy",)
    assert "(≤ 1, without numpy) **missed**" in outcome_text(both)


def test_rates_are_compared_as_rates() -> None:
    plain = outcome(VALUES, of("resnet_train_8", "minimx"))
    onednn = outcome(VALUES, of("resnet_train_8", "minimx onednn"))
    assert plain is not None and onednn is not None
    assert plain.value == pytest.approx(0.8)
    assert not plain.met
    assert onednn.value == 1.0
    assert onednn.met
    text = "0.80 of mxnet (rate ≥ 0.85, without torch) **missed**"
    assert outcome_text(plain) == text


def test_a_target_may_be_a_time() -> None:
    found = outcome(VALUES, of("second_start", "minimx"))
    assert found is not None
    assert found.met
    assert outcome_text(found) == "2.90 s [2.70 s–3.20 s] (≤ 3.00 s)"


def test_memory_is_compared_and_shown_in_bytes() -> None:
    [found] = outcomes(VALUES, CASE["resnet_memory"])
    assert found.value == pytest.approx(0.75)
    row = tables.table(VALUES, ["minimx", "torch"], [CASE["resnet_memory"]])
    assert "| 2.79 GiB | 3.73 GiB | 0.75 of torch (≤ 0.8) |" in row


def test_a_case_may_be_compared_with_another_one() -> None:
    found = outcome(VALUES, of("mlp_recorded", "minimx", "mlp"))
    assert found is not None
    assert found.value == pytest.approx(1.1)


def test_without_a_target_the_ratio_to_mxnet_is_shown_and_is_no_miss() -> None:
    values: Values = {"nodes": {"minimx": [3.0], "mxnet": [1.0]}}
    [found] = outcomes(values, CASE["nodes"])
    assert math.isinf(found.target.limit)
    assert outcome_text(found) == "3.00"
    assert misses(values) == []


def test_what_was_not_measured_has_no_outcome() -> None:
    assert outcome({}, TARGETS[0]) is None
    values: Values = {TARGETS[0].case: {"minimx": [1.0], "mxnet": []}}
    assert outcome(values, TARGETS[0]) is None


def test_a_row_has_the_rate_and_the_disturbed_rounds() -> None:
    rounds: Rounds = {"resnet_train_8": [{"others": 0.01}, {"others": 0.5}]}
    text = tables.table(
        VALUES,
        ["minimx", "numpy"],
        [CASE["resnet_train_8"]],
        [("disturbed", lambda case: tables.quiet(rounds, case))],
    )
    assert "| ResNet-50, batch 8, training step | 4.00 img/s | – | " in text
    assert text.endswith("| 1 of 2 |")
    assert tables.quiet({}, CASE["mlp"]) == "?"
    assert tables.disturbed_text(rounds) == (
        "In 1 of 2 rounds others used 5% of the processors or more; at most it was 50%."
    )


def test_it_says_how_many_rounds_there_really_were() -> None:
    at = Latest("", conditions=CONDITIONS | {"date": "2026-01-02", "rounds": 5})
    assert "Medians of 5 interleaved rounds" in tables.where(at)
    at.rounds = {"mlp": [{"load": 0.1}], "lstm": [{"load": 0.1}] * 3, "chain": []}
    assert "Medians of 1 to 3 interleaved rounds" in tables.where(at)
    assert "Medians of 3 interleaved rounds" in tables.where(at.of(["lstm"]))


def two_machines() -> list[Latest]:
    """Another machine, where the MLP is faster, has the newer result."""
    other = result("2026-01-03", cpu="Another")
    other.values["mlp"]["minimx"] = [0.001]
    return latest([result(), other])


def test_the_readme_says_for_which_machine_each_miss_holds() -> None:
    text = tables.readme(two_machines())
    first, others = text.split("Missed on ")
    assert "2026-01-03: 2 cores of Another, Python 3.11.7" in first
    assert "Misses hold for this machine." in first
    assert "Not measured there yet: import; " in first
    head, *lines = others.splitlines()
    assert head == "2 cores of Some CPU (R) 7 (2026-01-02):"
    assert lines[1:] == [
        "- MLP 784-256-10, batch 256, training step: 1.50 [1.25–1.88] of mxnet (≤ 1)",
        "- ResNet-50, batch 8, training step: "
        "0.80 of mxnet (rate ≥ 0.85, without torch)",
    ]


def test_each_target_has_a_row_and_each_machine_a_column() -> None:
    lines = tables.targets(two_machines()).splitlines()
    heads = "| 2 cores of Another, 2026-01-03 | 2 cores of Some CPU (R) 7, 2026-01-02 |"
    assert lines[0] == f"| case | target {heads}"
    mlp = next(line for line in lines if "MLP 784" in line)
    assert "| ≤ 1 × the faster of torch and mxnet | 0.50 of mxnet, met |" in mlp
    assert mlp.endswith("| 1.50 [1.25–1.88] of mxnet, **missed** |")
    assert "| 36 targets | not measured yet | not measured yet |" in "\n".join(lines)
    measured = [line for line in lines if "second start" in line]
    assert measured[0].endswith("| 2.90 s [2.70 s–3.20 s], met |")


def test_a_run_is_saved_whole_in_a_file_of_its_day_and_machine(tmp_path: Path) -> None:
    saved = result()
    saved.rounds = {"mlp": [{"others": 0.25, "load": 1.5}]}
    path = save(saved, tmp_path / "results")
    assert path.name == "2026-01-02-some-cpu-r-7-2.json"
    assert load(path) == saved
    assert "[0.002, 0.003, 0.009]" in path.read_text()


def test_a_second_run_of_a_day_adds_to_the_first(tmp_path: Path) -> None:
    save(result(), tmp_path)
    more = Result(CONDITIONS, {"mlp": {"minimx": [1.0]}, "lstm": {"minimx": [2.0]}})
    found = load(save(more, tmp_path))
    assert found.values["mlp"] == {"minimx": [1.0]}
    assert found.values["lstm"] == {"minimx": [2.0]}
    assert found.values["second_start"] == VALUES["second_start"]


def test_an_unfinished_case_does_not_replace_a_finished_one() -> None:
    part = Result(CONDITIONS, {"mlp": {"minimx": [9.0]}, "lstm": {"minimx": [2.0]}})
    part.unfinished = ["mlp", "lstm", "chain"]
    found = merged(result(), part)
    assert found.values["mlp"] == VALUES["mlp"]
    assert found.values["lstm"] == {"minimx": [2.0]}
    assert found.unfinished == ["chain", "lstm"]
    whole = Result(CONDITIONS, {"lstm": {"minimx": [1.0]}})
    assert merged(found, whole).unfinished == ["chain"]


def test_a_file_that_is_no_result_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "2026-01-01.json"
    path.write_text('{"conditions": {}, "values": {}, "speeds": 1}')
    with pytest.raises(ValueError, match="speeds"):
        load(path)


def test_the_newest_value_of_each_case_counts_and_says_its_day() -> None:
    newer = Result(CONDITIONS | {"date": "2026-01-05"}, {"mlp": {"minimx": [0.001]}})
    [at] = latest([result(), newer])
    assert at.values["mlp"] == {"minimx": [0.001]}
    assert at.dates["mlp"] == "2026-01-05"
    assert at.dates["second_start"] == "2026-01-02"
    assert at.days == "2026-01-02 to 2026-01-05"


def test_history_has_a_case_over_the_days() -> None:
    newer = result("2026-01-05")
    newer.unfinished = ["mlp"]
    text = history([result(), newer], "mlp")
    assert text.splitlines() == [
        "MLP 784-256-10, batch 256, training step",
        "2026-01-02, 2 cores of Some CPU (R) 7",
        "    ratio  1.50 [1.25–1.88] of mxnet (≤ 1) **missed**",
        "    minimx 3.00 ms, mxnet 2.00 ms, torch 3.00 ms",
        "2026-01-05, 2 cores of Some CPU (R) 7; partial",
        "    ratio  1.50 [1.25–1.88] of mxnet (≤ 1) **missed**",
        "    minimx 3.00 ms, mxnet 2.00 ms, torch 3.00 ms",
    ]
    assert history([], "mlp").endswith("No result has it yet.")


def test_the_first_files_can_be_read() -> None:
    results = every()
    assert results[0].date == "2026-11-21"
    assert results[0].values["import"]["mxnet"]
    assert "2026-11-24, 2 cores of AMD EPYC" in history(results, "chain")


# -- the page --------------------------------------------------------------------------


def test_a_miss_has_its_note_and_a_note_has_its_case(tmp_path: Path) -> None:
    found = latest([result()])
    text = "\n".join(page.missed(found, {"mlp": "Half of it\nis dispatch."}))
    assert "### Missed on 2 cores of Some CPU (R) 7\n- MLP 784" in text
    assert ", 2026-01-02.\n  Half of it is dispatch." in text
    assert "  No note on it yet." in text
    notes = tmp_path / "notes.toml"
    notes.write_text('[notes]\nmpl = "a slip"\n')
    with pytest.raises(ValueError, match=r"\['mpl'\]"):
        page.notes(notes)


def test_a_partial_case_is_marked() -> None:
    partial = result()
    partial.unfinished = ["mlp"]
    partial.failures = {"mlp": {"torch": "torch died in case 'mlp'"}}
    text = "\n".join(page.results(latest([partial])[0]))
    assert "| ? | 2026-01-02 (partial) |" in text
    assert "Failed in MLP 784-256-10, batch 256, training step: torch died" in text


def test_the_page_and_the_readme_are_those_of_the_results() -> None:
    found, data = latest(every()), measuring.newest()
    assert page.PAGE.read_text("utf-8") == page.page(found, data, page.notes()), (
        "run `make pages`"
    )
    readme = page.README.read_text("utf-8")
    assert readme == page.with_table(readme, tables.readme(found)), "run `make pages`"


def test_the_readme_keeps_what_stands_around_the_table() -> None:
    text = f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n"
    assert page.with_table(text, "new") == text.replace("old", "new")


def test_a_gpus_rows_have_rates_and_shares(tmp_path: Path) -> None:
    row = Row("a + b", 2e-3, {"PyTorch": 1e-3}, 4e9, "B", "0.50 of the best copy")
    saved = {"date": "2026-01-02", "card": "<gpu(0): a card>", "rows": [row._asdict()]}
    for name in ("gpu-2026-01-02-a-card.json", "gpu-2025-01-02-another.json"):
        (tmp_path / name).write_text(json.dumps(saved), encoding="utf-8")
    path = gpu.newest(tmp_path)
    assert path is not None
    assert path.name == "gpu-2026-01-02-a-card.json"
    *_, when, table = gpu.section(path)
    assert when == "2026-01-02, gpu(0): a card."
    cells = ["a + b", "2,000 µs", "2,000 GB/s", "0.50 of PyTorch"]
    for cell in (*cells, "0.50 of the best copy"):
        assert f" {cell} |" in table
    assert list(gpu.section(None)) == []
