"""The view of images says the same in a line, a table, a picture and a message."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx_widgets import DataView
from minimx_widgets.training.predictions import Probe
from tests.widgets.sights import images, network, ready


def broken() -> DataView:
    data = images()
    net = ready(data)
    net[0].weight.set_data(net[0].weight.data() * np.nan)
    return DataView(net, data)


def test_one_line_has_the_key_numbers() -> None:
    view = DataView(ready(images()), images())
    look = view.look
    assert look is not None
    assert look.most_confused is not None
    label, guess, times = look.most_confused
    assert repr(view) == (
        f"DataView(step 0, {look.right} of 60 right, {label} taken for {guess} "
        f"{times} times)"
    )
    assert repr(DataView(ready(images()), images())) == repr(view)


def test_broken_numbers_are_named() -> None:
    assert "0 of 60 right, 60 answers not finite, net/conv0 weights NaN" in repr(
        broken()
    )


def test_classes_have_names() -> None:
    view = DataView(ready(images()), images(), names=("ant", "bee", "cow", "dog"))
    words = repr(view.table())
    assert "ant" in words
    assert "dog" in words
    assert view.name(7) == "7"


def test_before_training_there_is_nothing_to_say() -> None:
    view = DataView(Probe())
    assert repr(view) == "DataView(nothing seen yet)"
    ET.fromstring(view.svg())
    view.probe.show(images())
    assert repr(view) == "DataView(12 images, no look yet)"
    ET.fromstring(view.svg())
    assert "12 images, The network learns its shapes" in repr(
        DataView(network(), images())
    )


def test_the_tables_hold_answers_mistakes_and_layers() -> None:
    view = DataView(ready(images()), images())
    look = view.look
    assert look is not None
    answers, mistakes, layers = view.table().parts
    assert len(answers.rows) == len(look.strip) + len(look.wrong)
    off = look.confusion.sum() - np.trace(look.confusion)
    assert sum(int(row[2]) for row in mistakes.rows) == off
    assert [row[0] for row in layers.rows] == [
        "net/conv0", "net/batchnorm0", "net/dense0"
    ]  # fmt: skip
    assert "NaN" in repr(broken().table().parts[2])


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("channels", [1, 3])
def test_the_picture_is_well_formed_and_always_the_same(
    dark: bool, channels: int
) -> None:
    data = images(channels=channels)
    view = DataView(ready(data, channels=channels), data)
    picture = view.svg(dark=dark)
    words = " ".join(ET.fromstring(picture).itertext())
    assert "right" in words
    assert "✗" in words
    assert "taken for" in words
    assert picture == view.svg(dark=dark)


def test_the_message_is_json_and_one_buffer() -> None:
    view = DataView(ready(images()), images())
    look = view.look
    assert look is not None
    assert look.filters is not None
    facts, buffers = view.frozen
    json.dumps(facts)
    (buffer,) = buffers
    count = len(look.strip) + len(look.wrong)
    assert len(buffer) == count * 64 + look.filters.tiles.size
    assert facts["strip"][0]["label"] == "0"
    assert np.array(facts["confusion"]).sum() == 60


def test_a_page_that_says_hello_makes_the_probe_ask() -> None:
    probe = Probe()
    view = DataView(probe)
    assert not probe.due(0, 0.0)
    view._hear(view, {"kind": "hello"}, [])
    assert probe.due(0, 0.0)
    probe.look(ready(images()), images(), mx.cpu(), 4)
    assert view.frozen[0]["step"] == 4
    view.close()
    assert not probe.due(40, 1e9)


def test_the_page_asks_for_a_table() -> None:
    view = DataView(ready(images()), images())
    sent: list[Any] = []
    view.send = lambda content, buffers=None: sent.append(content)
    view._hear(view, {"kind": "table"}, [])
    assert "network says" in sent[0]["html"]


def test_an_answer_in_words() -> None:
    view = DataView(ready(images()), images())
    look = view.look
    assert look is not None
    one = look.wrong[0]
    said = view.describe(one)
    assert said.startswith(f"Image {one.number} of the test set is a {one.label}. ")
    assert f"says {one.guess} with" in said
    assert said.endswith("Wrong.")
