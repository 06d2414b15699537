"""Every live knob has an example, and it prints what its card says."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from minimx.kernels import dnnl
from minimx.knobs import examples, knobs
from minimx.knobs.examples import Example
from minimx.knobs.page import NOTEBOOKS, markdown, notebooks
from tests.knobs.examples_run import resolve

ROOT = Path(__file__).parents[2]
SIMULATED = "a simulated GPU (MINIMX_CUDA=off where there is a CUDA device)"
CUDA = "a CUDA device, or NUMBA_ENABLE_CUDASIM=1 in the environment"
ONEDNN = "oneDNN (pip install 'minimx[onednn]')"
LIVE = [knob.name for knob in knobs if knob.live and knob.example]

every = pytest.mark.parametrize("name", LIVE)


def example_of(name: str) -> Example:
    found = examples.of(name)
    assert found is not None, f"{name} has no example"
    return found


@cache
def printed(needs: str) -> dict[str, dict[str, object]]:
    """What the examples with these needs print, by name; one process for all."""
    names = [name for name in LIVE if example_of(name).needs in needs.split("|")]
    env = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("MXNET_", "NNVM_", "DMLC_", "OMP_", "KMP_"))
    }
    env |= {"NUMBA_ENABLE_CUDASIM": "1"} if needs == CUDA else {"MINIMX_CUDA": "off"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.knobs.examples_run", *names],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert not done.returncode, done.stderr
    return {one["name"]: one for one in map(json.loads, done.stdout.splitlines())}


@every
def test_an_example_prints_what_is_expected(name: str) -> None:
    example = example_of(name)
    if example.needs == ONEDNN and dnnl.loaded() is None:
        assert "pip install" in repr(knobs.describe(name))
        return
    needs = CUDA if example.needs == CUDA else "|".join(("", SIMULATED, ONEDNN))
    found = printed(needs)[name]
    assert found["printed"] == example.output()
    assert found["acted"], f"{example.acts_in} was not called"


@every
def test_an_example_shows_a_difference_in_five_lines(name: str) -> None:
    example = example_of(name)
    assert 1 <= len(example.code.splitlines()) <= 5
    assert max(map(len, example.code.splitlines())) <= 80
    assert len(example.expect) >= 2
    assert len(set(example.expect.values())) >= 2
    assert example.needs in ("", SIMULATED, CUDA, ONEDNN)
    knob = knobs.declared[name]
    values = [knob.parse(value) for value in example.expect]
    assert len(set(values)) == len(values)
    for text in example.expect.values():
        assert "\n" not in text and 1 <= len(text) <= 72


@every
def test_the_function_that_acts_reads_the_knob(name: str) -> None:
    """By its name, or by a word that another line of the source ties to its name."""
    example = example_of(name)
    source = inspect.getsource(resolve(example.acts_in))
    word = example.reads or name
    assert re.search(rf"(?<![a-zA-Z]){word}\b", source), (example.acts_in, word)
    if example.reads and not name.endswith(example.reads):
        assert any(tied(word, name, text) for text in sources()), (word, name)


def tied(word: str, name: str, text: str) -> bool:
    """Whether a line of a source has both words."""
    return any(
        re.search(rf"\b{word}\b", line) and re.search(rf"\b{name}\b", line)
        for line in text.splitlines()
    )


@cache
def sources() -> tuple[str, ...]:
    """What the files of the package contain, but for the knobs' own."""
    package = ROOT / "minimx"
    return tuple(
        path.read_text(encoding="utf-8")
        for path in package.rglob("*.py")
        if "knobs" not in path.relative_to(package).parts
    )


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
    assert "Try it" not in repr(knobs.describe("MXNET_KVSTORE_USETREE"))


def test_importing_minimx_does_not_load_the_examples() -> None:
    code = (
        "import sys, minimx as mx\n"
        "before = [name for name in sys.modules if 'knobs.examples' in name]\n"
        "mx.knobs.describe('MXNET_ENGINE_TYPE').rows()\n"
        "print(before, 'minimx.knobs.examples.engine' in sys.modules)"
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
    assert notebooks("PS_VERBOSE") == []
