"""Verdicts are computed: each turns over by other numbers, and notebooks store it."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import minimx as mx
from minimx.commands.cli import main
from minimx.core.errors import MXNetError
from minimx.kvstore.simulation import Cluster
from minimx_widgets.course import claims
from minimx_widgets.course.cases import filing_claims as filing
from minimx_widgets.course.cases import relying_claims as relying
from minimx_widgets.course.cases import trying_claims as trying
from minimx_widgets.course.cases.relying import load_all, save_all
from minimx_widgets.course.claims import (
    colouring,
    convolving,
    depending,
    fusing,
    knob_board,
    page,
    planning,
    rounding,
    sharing,
    timing,
    working,
)
from minimx_widgets.course.claims.claim import GUIDE, Claim, claim
from minimx_widgets.course.data_parallel import claims as several
from minimx_widgets.course.data_parallel.workloads import three_layers
from minimx_widgets.course.own_policies import claims as pools
from minimx_widgets.course.parts.text import VERDICTS, verdicts
from tests.widgets.course.claims.other_numbers import OTHER

ROOT = Path(__file__).parents[4]
#: Experiments of seconds, which the notebooks make under nbval.
SLOW = {
    ("09", "thirty_to_fifty"),
    ("09", "ninety_five"),
    ("09", "switch_in_gluon"),
    ("09", "more_memory"),
    ("11", "silent_divergence"),
    ("12", "fits_128"),
    ("13", "bucket_size"),
    ("13", "equal_seeds"),
    ("15", "nccl_and_larger"),
    ("conv", "filtered_is_more_exact"),
    ("conv", "sometimes_helps"),
}
CLAIMS = {(one.notebook, one.name): one for one in claims.every()}
QUICK = [key for key in CLAIMS if key not in SLOW]


@cache
def row(key: tuple[str, str]) -> tuple[str, str, str]:
    """What the experiment gives here and now."""
    return CLAIMS[key].row()


@cache
def stored(notebook: str) -> str:
    """The verdicts that a notebook shows, as plain text."""
    (path,) = (ROOT / "notebooks").glob(f"*{notebook}*.ipynb")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    (cell,) = (one for one in cells if "claims.of(" in "".join(one["source"]))
    return "".join(cell["outputs"][0]["data"]["text/plain"])


def stored_verdict(key: tuple[str, str]) -> str:
    """The verdict of a claim in its notebook, with its mark."""
    one = CLAIMS[key]
    text = repr(verdicts([(one.shown, "holds", "")])).partition(": ")[2].rstrip()
    (line,) = (line for line in stored(key[0]).splitlines() if line.endswith(text))
    return line.removesuffix(f": {text}")


def named(key: tuple[str, str]) -> str:
    """The key as the name of a test."""
    return "-".join(key)


def test_there_are_enough_and_each_is_tried_with_other_numbers() -> None:
    assert len(CLAIMS) == len(claims.every()) >= 60
    assert {(book, name) for book, ones in OTHER.items() for name in ones} == set(
        CLAIMS
    )


@pytest.mark.parametrize("key", CLAIMS, ids=named)
def test_other_numbers_turn_a_verdict_over(key: tuple[str, str]) -> None:
    numbers, verdict = OTHER[key[0]][key[1]]
    found, _ = CLAIMS[key].decide(**numbers)
    assert found.split()[0] == verdict in VERDICTS
    assert f"{VERDICTS[verdict]} {found}" != stored_verdict(key)
    assert CLAIMS[key].prediction.endswith(".")


@pytest.mark.parametrize("key", QUICK, ids=named)
def test_a_notebook_and_the_page_show_what_comes_out(key: tuple[str, str]) -> None:
    found = row(key)
    assert repr(verdicts([found])) in stored(key[0])
    book = (ROOT / "book" / "claims.md").read_text(encoding="utf-8")
    assert page.line(CLAIMS[key], found) in book.splitlines()


@pytest.mark.parametrize("key", sorted(SLOW), ids=named)
def test_the_page_has_the_verdicts_of_slow_experiments(key: tuple[str, str]) -> None:
    one, verdict = CLAIMS[key], stored_verdict(key)
    book = (ROOT / "book" / "claims.md").read_text(encoding="utf-8")
    entry, _, _ = page.line(one, ("", verdict[2:], "")).partition("<br>Found")
    assert f"\n{entry}<br>Found: " in book


@pytest.mark.parametrize(
    ("one", "given", "verdict"),
    [
        (knob_board.back_to_empty, {"value": "NaiveEngine"}, "fails"),
        (timing.when_needed, {"engine": "NaiveEngine"}, "fails"),
        (timing.in_the_master_thread, {"engine": "ThreadedEngine"}, "fails"),
        (timing.thread_per_gpu, {"workers": 1}, "holds"),
        (depending.one_after_the_other, {"kind": "ThreadedEngine"}, "fails"),
        (depending.any_error, {"declared": True}, "holds"),
        (depending.global_pool, {"kind": "NaiveEngine"}, "fails"),
        (working.many_in_parallel, {"chained": True}, "fails"),
        (working.half_of_the_processors, {"workers": (1, 2)}, "holds"),
        (working.a_single_device, {"second": 0}, "holds"),
        (sharing.best_of_all_ranges, {"most": 1}, "fails"),
        (
            sharing.range_0_shares_nothing,
            {"MXNET_EXEC_ENABLE_INPLACE": False},
            "holds",
        ),
        (colouring.memory_for_parallelism, {"workers": 1}, "depends"),
        (planning.largest_that_fits, {"mebibytes": 0}, "holds"),
        (fusing.only_on_gpus, {"MXNET_USE_FUSION": False}, "holds"),
        (fusing.from_the_threshold_on, {"size": 300_000}, "fails"),
        (rounding.guide_runs, {"with_the_line": True}, "holds"),
        (
            convolving.fastest_of_all,
            {"MINIMX_CUDNN_INVERTED_LIMIT": 1},
            "fails",
        ),
        (several.less_than_computing, {"tables": [three_layers(0.1)]}, "holds"),
        (several.larger_batches, {"batches": (64, 32)}, "fails"),
        (several.device_or_nccl, {"batches": (256,)}, "fails"),
        (several.trees, {"clusters": [Cluster.mesh()]}, "holds"),
        (several.trees, {"clusters": [Cluster.pcie()]}, "fails"),
        (several.bigger_than, {"elements": 999_999}, "holds"),
        (filing.static_or_shapes, {"fault": "seeds"}, "fails"),
        (filing.nccl_and_larger, {"faults": ("batch",)}, "holds"),
        (filing.updates_or_seeds, {"faults": ("loop",)}, "fails"),
        (filing.json_graphs, {"fault": "store"}, "fails"),
        (pools.exact_size, {"sizes": (4096, 8192)}, "holds"),
        (
            pools.round_for_changing_shapes,
            {"families": ["ragged batches"]},
            "holds",
        ),
        (pools.unpooled, {"pool": "Round"}, "fails"),
        (trying.naive_above_the_cutoff, {"mib": 48}, "holds"),
        (trying.multiples_above_the_cutoff, {"cutoff": 28}, "fails"),
        (trying.only_sgd_joins, {"most": 1}, "fails"),
        (relying.explicit_contexts, {"second": mx.cpu()}, "fails"),
        (relying.mixing_is_slower, {"middle": mx.gpu(0)}, "fails"),
        (
            relying.checkpoints_recover,
            {"save": save_all, "load": load_all},
            "holds",
        ),
        (relying.large_batches_learn_less, {"batches": (64, 64)}, "fails"),
    ],
    ids=lambda given: given.name if isinstance(given, Claim) else None,
)
def test_another_experiment_gives_another_verdict(
    one: Claim, given: dict[str, Any], verdict: str
) -> None:
    assert one.judged(**given)[0].split()[0] == verdict


def test_what_a_notebook_has_measured_is_not_measured_again() -> None:
    found = claims.of("02", any_error={"threaded": "garbage", "naive": "garbage"})
    assert [verdict for _, verdict, _ in found][1] == "holds"
    with pytest.raises(TypeError, match="no claim .*'any'.* but one_after_the_other"):
        claims.of("02", any={})
    with pytest.raises(KeyError):
        claims.of("99")


def _made(decide: Callable[..., tuple[str, str]]) -> Claim:
    text = "<i>Stack</i> &lt; “traces … often”"
    return claim("02", text, GUIDE, 12, "planned", dict, last=14)(decide)


def test_a_claim_says_where_it_stands() -> None:
    def anything() -> tuple[str, str]:
        """It should be so."""
        return "holds", "it is"

    one = _made(anything)
    assert one.quotations == ["traces", "often"]
    assert one.place == "troubleshooting guide, lines 12–14; MXNet 1.x"
    assert (one.name, one.prediction) == ("anything", "It should be so.")
    assert one.row() == (f"{one.text} <i>({one.place}; planned)</i>", "holds", "it is")
    assert "guide:12 " in page.listing([one])


def test_the_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["claims"]) == 0
    assert f"{len(CLAIMS)} claims" in capsys.readouterr().out
    assert main(["claims", "--run", "16"]) == 0
    assert "16 ✘ fails: Naive" in capsys.readouterr().out
    assert main(["claims", "99"]) == 2
    assert "no notebook '99'" in capsys.readouterr().err

    def broken() -> dict[str, Any]:
        raise MXNetError("the engine is on fire")

    def anything() -> tuple[str, str]:
        """It should be so."""
        return "fails", "it is not"

    one = _made(anything)
    torn = claim("02", one.text, GUIDE, 12, "planned", broken)(anything)
    monkeypatch.setattr(page, "in_notebook", lambda _: [torn, one])
    assert main(["claims", "02", "--run"]) == 1
    shown = capsys.readouterr()
    assert "✘ fails" in shown.out
    assert "02 anything: MXNetError: the engine is on fire" in shown.err
