"""The document's tables, as they were typed in."""

from __future__ import annotations

import pytest

from minimx.commands.bench.document import COLUMNS, MODELS, columns
from minimx.gluon.model_zoo.vision.network import MODELS as ZOO


def test_every_table_is_there() -> None:
    assert len(COLUMNS) == 8 * 6 + 5 + 3 * 3
    assert {column.model for column in COLUMNS} == set(MODELS) <= set(ZOO)
    places = {(c.task, c.label): (c.line, len(c.speeds)) for c in COLUMNS}
    assert places == {
        ("score", "C5.18xlarge"): (74, 6),
        ("score", "C5.9xlarge"): (88, 6),
        ("score", "C5.4xlarge"): (100, 6),
        ("score", "C5.2xlarge"): (112, 6),
        ("score", "C5.xlarge"): (124, 6),
        ("score", "K80"): (157, 9),
        ("score", "M60"): (171, 9),
        ("score", "V100"): (186, 9),
        ("score", "V100 fp16"): (200, 9),
        ("train", "K80"): (222, 6),
        ("train", "M60"): (233, 6),
        ("train", "V100"): (244, 8),
    }


@pytest.mark.parametrize(
    ("task", "label", "model", "batch", "speed"),
    [
        ("score", "C5.18xlarge", "alexnet", 1, 390.53),
        ("score", "C5.xlarge", "resnet152_v2", 32, 5.15),
        ("score", "K80", "vgg16", 128, None),
        ("score", "M60", "vgg16", 256, None),
        ("score", "V100", "vgg16", 256, 473.62),
        ("score", "V100 fp16", "vgg16", 1, 276.29),
        ("score", "V100 fp16", "resnet152_v2", 256, 976.73),
        ("train", "V100", "alexnet", 16, 1629.52),
        ("train", "V100", "alexnet", 2048, None),
        ("train", "V100", "resnet50_v2", 128, 363.69),
    ],
)
def test_numbers_of_the_document(
    task: str, label: str, model: str, batch: int, speed: float | None
) -> None:
    (column,) = columns(task, model, label)
    assert column.speeds[batch] == speed


def test_float16_has_no_column_of_alexnet() -> None:
    assert columns("score", "alexnet", "V100 fp16") == []
