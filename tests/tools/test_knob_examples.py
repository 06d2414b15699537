"""Every live knob has an example, and it prints what its card says.

So each is a liveness test: turn the knob, see its observable move, turn it back, see it
return.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from minimx.core.knobs import knobs
from minimx.fast.onednn import library as dnnl
from minimx.tools import knob_examples as examples
from minimx.tools.knob_examples import Example, Needs, function_of
from minimx.tools.knob_page import NOTEBOOKS, markdown, notebooks
from tests.core.knobs import made_up

ROOT = Path(__file__).parents[2]
NEEDS = {"", *Needs}
LIVE = [knob.name for knob in knobs if knob.live]
# They act in worker processes, where calls are not counted.
IN_CHILDREN = {"MXNET_MP_WORKER_NTHREADS", "MXNET_MP_OPENCV_NUM_THREADS"}
#: What the environment adds for examples that need something.
SETTINGS = {
    Needs.CUDA: {"NUMBA_ENABLE_CUDASIM": "1"},
    Needs.ONEDNN: {"MINIMX_CUDA": "off"},
    "": {"MINIMX_CUDA": "off", "MXNET_ONEDNN_ENABLED": "0"},
}

every = pytest.mark.parametrize("name", LIVE)


def example_of(name: str) -> Example:
    found = examples.of(name)
    assert found is not None, f"{name} has no example"
    return found


def place(name: str) -> str:
    """In which of the processes an example is run."""
    needs = example_of(name).needs
    return needs if needs in SETTINGS else ""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, object]]:
    """What all examples print, by name; one process for each place."""
    found: dict[str, dict[str, object]] = {}
    kept = ("MINIMX_CACHE",)
    parts = ("MXNET_", "NNVM_", "MINIMX_", "DMLC_", "OMP_", "KMP_")
    clean = {
        k: v for k, v in os.environ.items() if k in kept or not k.startswith(parts)
    }
    path = os.pathsep.join(filter(None, [str(ROOT), clean.get("PYTHONPATH")]))
    for where, settings in SETTINGS.items():
        done = subprocess.run(
            [
                *(sys.executable, "-m", "tests.tools.examples_run"),
                *(name for name in LIVE if place(name) == where),
            ],
            cwd=tmp_path_factory.mktemp("examples"),
            env={**clean, **settings, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert not done.returncode, done.stderr
        found |= {one["name"]: one for one in map(json.loads, done.stdout.splitlines())}
    return found


@every
def test_an_example_prints_what_is_expected(
    name: str, results: dict[str, dict[str, object]]
) -> None:
    example = example_of(name)
    if example.needs == Needs.ONEDNN and dnnl.loaded() is None:
        assert "pip install" in repr(knobs.describe(name))
        return
    assert results[name]["printed"] == example.output()
    acted = results[name]["acted"] or name in IN_CHILDREN
    assert acted, f"{example.acts_in} was not called"
    value, text = next(iter(example.expect.items()))
    assert results[name]["turned_back"] == f"{value}: {text}\n"


@every
def test_an_example_shows_a_difference_in_five_lines(name: str) -> None:
    example, knob = example_of(name), knobs.declared[name]
    assert 1 <= len(example.typed().splitlines()) <= 5
    assert max(map(len, example.typed().splitlines())) <= 84
    assert len(set(example.expect.values())) >= 2
    assert max(map(len, example.output().splitlines())) <= 100
    assert example.needs in NEEDS
    values = [knob.parse(value) for value in example.expect]
    assert len(set(values)) == len(values)


@every
def test_the_function_that_acts_reads_the_knob(name: str) -> None:
    """By its name, or by a word that stands in one file with its name."""
    example = example_of(name)
    source = inspect.getsource(function_of(example.acts_in))
    word = example.reads or name
    assert re.search(rf"(?<![a-zA-Z]){word}\b", source), (example.acts_in, word)
    if example.reads and not name.endswith(word):
        names = {name, *(knob.name for knob in knobs if knob.follows == name)}
        tied = any(
            one == word or has(text, word, one) for one in names for text in TEXTS
        )
        assert tied, (word, name)


def has(text: str, *words: str) -> bool:
    """Whether a text has all words."""
    return all(re.search(rf"(?<![a-zA-Z]){word}\b", text) for word in words)


#: What the files of the package contain, but for the knobs' own.
TEXTS = [
    path.read_text(encoding="utf-8")
    for path in (ROOT / "minimx").rglob("*.py")
    if not {"knobs", "knob_examples"} & {*path.relative_to(ROOT / "minimx").parts}
]


def test_no_example_is_for_a_knob_that_does_not_act() -> None:
    assert {name for name in knobs.declared if examples.of(name)} == set(LIVE)


def test_cards_show_the_example_as_text_and_as_html() -> None:
    card = knobs.describe("MXNET_SAFE_ACCUMULATION")
    example = example_of("MXNET_SAFE_ACCUMULATION")
    for shown in (repr(card), card._repr_html_()):
        assert example.acts_in in shown
        assert "Try it" in shown
        for text in example.expect.values():
            assert text in shown
    for line in example.code.splitlines():
        assert f"    {line}\n" in repr(card)
    with made_up.declared(knobs):
        assert "Try it" not in repr(knobs.describe(made_up.NAME))


def test_importing_minimx_does_not_load_the_examples() -> None:
    code = (
        "import sys, minimx as mx\n"
        "before = [name for name in sys.modules if 'knob_examples' in name]\n"
        "mx.knobs.describe('MXNET_ENGINE_TYPE').rows()\n"
        "print(before, 'minimx.tools.knob_examples' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[] True\n"


def test_the_book_links_the_notebooks_that_name_a_knob() -> None:
    links = re.findall(r"\]\((\.\./notebooks/[^)]+)\)", markdown())
    assert len(set(links)) >= 10
    for link in links:
        assert (ROOT / "book" / link).resolve().is_file()
    assert NOTEBOOKS / "09-mirror.ipynb" in notebooks("MXNET_BACKWARD_DO_MIRROR")
    assert notebooks(made_up.NAME) == []
