"""`minimx bench`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from minimx.commands.bench.document import MODELS
from minimx.commands.cli import main, parser
from minimx.commands.cli.bench import planned
from minimx.core.knobs import knobs

SMALL = ["--model", "mobilenet0.25", "--image", "32", "--classes", "5", "--quick"]


def test_a_table_is_measured_kept_extended_and_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "mine.json")
    words = ["bench", "score", *SMALL, "--output", file]
    assert main([*words, "--batch", "1,2"]) == 0
    shown = capsys.readouterr()
    assert "score on cpu, float32" in shown.out and "mobilenet0.25" in shown.out
    assert "2 of 2  mobilenet0.25, batch 2" in shown.err
    assert main([*words, "--batch", "4"]) == 0
    content = json.loads(Path(file).read_text())
    cells = content["cells"]
    assert [cell["batch"] for cell in cells] == [1, 2, 4]
    assert all(cell["images_per_second"] > 0 for cell in cells)
    # A busy machine may be slower with one image than with four: no law fits that.
    for cell in cells:
        cell["images_per_second"] = cell["batch"] / (0.020 + cell["batch"] * 0.010)
    Path(file).write_text(json.dumps(content))
    capsys.readouterr()
    assert main(["bench", "show", file]) == 0
    assert "t(b) = 20 ms + b · 10 ms" in capsys.readouterr().out
    assert main(["bench", "compare", file, file]) == 0
    assert capsys.readouterr().out.count("1.00") == 3


def test_results_of_another_kind_are_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.json"
    words = ["bench", "score", "--batch", "1", *SMALL, "--output", str(file)]
    with knobs(MINIMX_PROGRESS=0):
        assert main(words) == 0
        content = json.loads(file.read_text())
        content["machine"]["processor"] = "another"
        file.write_text(json.dumps(content))
        before = file.read_text()
        assert main(words) == 2
    assert "processor: another and" in capsys.readouterr().err
    assert file.read_text() == before


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["score", "--model", "vgg"], "Did you mean"),
        (["score", "--batch", "1,x"], "whole numbers"),
        (["train", "--ctx", "cpu", "--gpu-memory", "1GiB"], "--ctx gpu"),
        (["train", "--gpu", "K80"], "--ctx gpu"),
        (["score", "--ctx", "gpu", "--gpu-memory", "much"], "MINIMX_SIM_GPU_MEMORY"),
        (["show", "/no/such/file"], "cannot read"),
    ],
)
def test_wrong_wishes(
    words: list[str], answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", *words]) == 2
    assert answer in capsys.readouterr().err


def test_all_are_the_document_s_networks() -> None:
    options = parser("bench").parse_args(
        ["bench", "train", "--ctx", "gpu", "--gpu-memory", "12GiB"]
    )
    plan = planned(options)
    assert plan.models == tuple(MODELS)
    assert plan.batches == (1, 2, 4, 8)
    assert plan.gpu_memory == 12 << 30
    assert (plan.ctx, plan.card) == ("gpu", "generic")


def test_a_device_is_written_as_in_a_program() -> None:
    words = ["bench", "score", "--ctx", "gpu(0)", "--gpu", "V100"]
    plan = planned(parser("bench").parse_args(words))
    assert (plan.ctx, plan.card, plan.gpu_memory) == ("gpu", "V100", 0)
    assert planned(parser("bench").parse_args(["bench", "score"])).card == ""


def test_a_device_that_cannot_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser("bench").parse_args(["bench", "score", "--ctx", "gpu(1)"])
    assert "neither cpu nor gpu(0)" in capsys.readouterr().err
