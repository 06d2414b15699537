"""What libraries built on MXNet import from it, public or not."""

from __future__ import annotations

import importlib
import multiprocessing.pool
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx.core.errors import ArgumentError, DataError, Unavailable
from minimx.gluon.data import dataloader
from minimx.libraries import gluon as private
from minimx.libraries import handles
from minimx.libraries.feed_forward import FeedForward
from minimx.libraries.loader import DataLoaderIter, _MultiWorkerIter
from tests.compat.third.run import apart, page, rows

LIST = Path(__file__).parent / "compat" / "third" / "names.txt"
LINES = [
    line
    for line in LIST.read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]
WANTED = [line for line in LINES if not line.startswith("- ")]
ABSENT = [line[2:] for line in LINES if line.startswith("- ")]


def is_there(name: str) -> bool:
    """Whether `mx.<name>` is found by attributes, or by imports."""
    found: Any = mx
    path = "minimx"
    for word in name.split("."):
        path += f".{word}"
        try:
            found = getattr(found, word)
        except AttributeError:
            try:
                found = importlib.import_module(path)
            except ImportError:
                return False
    return True


def test_every_name_that_others_use_is_there() -> None:
    assert [name for name in WANTED if not is_there(name)] == []


def test_what_is_said_to_be_absent_is_absent() -> None:
    assert [name for name in ABSENT if is_there(name)] == []


# -- classes by name -------------------------------------------------------------------


def test_a_registry_of_a_librarys_own() -> None:
    class Shape:
        def __init__(self, size: int = 1) -> None:
            self.size = size

    register: Any = mx.registry.get_register_func(Shape, "shape")
    create = mx.registry.get_create_func(Shape, "shape")

    @register
    class Disc(Shape):
        """Round."""

    mx.registry.get_alias_func(Shape, "shape")("circle", "ring")(Disc)
    assert set(mx.registry.get_registry(Shape)) == {"disc", "circle", "ring"}
    assert create("DISC", size=3).size == 3
    assert create("ring", 4).size == 4
    assert create('["circle", {"size": 2}]').size == 2
    assert create('{"shape": "disc", "size": 5}').size == 5
    assert create(shape="disc").size == 1
    made = Disc()
    assert create(made) is made
    for wrong in (["square"], [made, 3], [3]):
        with pytest.raises(ArgumentError):
            create(*wrong)
    with pytest.raises(AssertionError, match="not derived"):
        register(int)
    with pytest.warns(UserWarning, match="'disc' was"):
        register(type("Disc", (Shape,), {}))  # a name that is taken


def test_a_metric_under_another_name() -> None:
    @mx.metric.alias("mine_too")
    class Mine(mx.metric.EvalMetric):
        """Of a user's own."""

        def __init__(self) -> None:
            super().__init__("mine")

    assert isinstance(mx.metric.create("mine_too"), Mine)


# -- gluon's own -----------------------------------------------------------------------


def test_nested_values_are_taken_apart_and_put_together() -> None:
    x, s = mx.nd.ones(2), mx.sym.var("s")
    nested = [x, [s, None], (x,)]
    flat, form = private._flatten(nested, "input")
    assert flat == [x, s, None, x]
    assert form == [0, [0, -1], [0]]
    again, rest = private._regroup(flat, form)
    assert again == [x, [s, None], [x]]
    assert rest == []
    pair = mx.sym.split(s, num_outputs=2)
    assert private._flatten(pair, "input")[1] == 2
    with pytest.raises(ValueError, match="input must be arrays or symbols"):
        private._flatten({"x": x}, "input")


def test_where_files_come_from_and_go(tmp_path: Path) -> None:
    with mx.knobs(MXNET_GLUON_REPO="http://here/"):
        assert private._get_repo_url() == "http://here/"
        assert private._get_repo_file_url("a/b", "c.zip") == "http://here/a/b/c.zip"
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("before")
    new.write_text("after")
    private.replace_file(str(new), str(old))
    assert old.read_text() == "after"
    assert not new.exists()


def test_ways_to_resize_are_chosen_by_size() -> None:
    ask = private._get_interp_method
    assert [ask(9, (4, 4, 8, 8)), ask(9, (8, 8, 4, 4)), ask(9, (4, 8, 8, 4))] == [
        2,
        3,
        1,
    ]
    assert (ask(9), ask(4)) == (2, 4)
    assert ask(10) in range(5)
    with pytest.raises(ValueError, match="no way 7"):
        ask(7)


def test_modules_lead_to_these_names() -> None:
    assert mx.gluon.tensor_types == (mx.sym.Symbol, mx.nd.NDArray)  # type: ignore[attr-defined]
    assert dataloader._MultiWorkerIter is _MultiWorkerIter  # type: ignore[attr-defined]
    assert mx.model.FeedForward is FeedForward  # type: ignore[attr-defined]
    amp: Any = importlib.import_module("minimx.contrib.amp.amp")
    assert amp._amp_initialized is False
    assert mx.rnd is mx.random  # type: ignore[attr-defined]


def test_helpers_of_the_c_library() -> None:
    assert handles.c_str("né").value == "né".encode()
    assert list(handles.c_str_array(["a", "b"])) == [b"a", b"b"]
    assert list(handles.c_array(handles.mx_uint, [1, 2])) == [1, 2]


def test_a_compiled_library_says_what_to_write_instead(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no absolute path"):
        mx.library.load("lib.so")
    (tmp_path / "lib.so").touch()
    with pytest.raises(Unavailable, match=r"mx\.ops\.register"):
        mx.library.load(tmp_path / "lib.so")


# -- data ------------------------------------------------------------------------------


def test_a_loader_feeds_a_module() -> None:
    data = mx.gluon.data.ArrayDataset(np.arange(10.0).reshape(5, 2), np.arange(5))
    batches = DataLoaderIter(mx.gluon.data.DataLoader(data, 2))
    assert batches.provide_data[0].shape == (2, 2)
    assert batches.provide_label[0].name == "softmax_label"
    found = list(batches)
    assert [batch.pad for batch in found] == [0, 0, 1]
    last: Any = found[2]
    assert last.data[0].asnumpy().tolist() == [[8, 9], [0, 0]]
    middle: Any = found[1]
    assert middle.label[0].asnumpy().tolist() == [2, 3]
    batches.reset()
    assert len(list(batches)) == 3


def pickled(indices: Any, batchify_fn: Any, dataset: Any) -> bytes:
    return pickle.dumps(batchify_fn(indices))


def test_a_pool_makes_batches_in_order() -> None:
    with multiprocessing.pool.ThreadPool(2) as pool:
        batches = _MultiWorkerIter(
            pool, sum, [[1, 2], [3], [4, 5]], prefetch=2, worker_fn=pickled
        )
        assert len(batches) == 3
        assert list(batches) == [3, 3, 9]
        found = _MultiWorkerIter(pool, sum, [[0, 1], [2]], dataset=[5, 6, 7])
        assert [found.next(), found.next()] == [11, 7]


# -- the interface before Module -------------------------------------------------------


def test_a_feed_forward_model_learns_predicts_and_is_saved(tmp_path: Path) -> None:
    mx.random.seed(4)
    np.random.seed(4)
    x = np.random.normal(size=(60, 3)).astype("float32")
    y = (x[:, 0] > 0).astype("float32")
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2)
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    model = FeedForward(net, num_epoch=8, numpy_batch_size=20, learning_rate=1.0)
    model.fit(x, y, eval_data=(x, y))
    shares = model.predict(x)
    assert shares.shape == (60, 2)
    assert ((shares[:, 1] > 0.5) == y).mean() > 0.9
    data = mx.io.NDArrayIter(x, y, 25)
    assert model.score(data) > 0.9
    assert model.predict(data).shape == (60, 2)
    outputs, given, labels = model.predict(data, num_batch=1, return_data=True)
    assert (outputs.shape, given.shape, labels.shape) == ((25, 2), (25, 3), (25,))
    model.save(str(tmp_path / "net"))
    again = FeedForward.load(str(tmp_path / "net"), 8)
    np.testing.assert_array_equal(again.predict(x), shares)
    with pytest.raises(ValueError, match="give y"):
        model.fit(x)
    with pytest.raises(ValueError, match="one label for each"):
        model.fit(x, y[:3])


def test_a_feed_forward_model_is_created_trained() -> None:
    x, y = np.ones((8, 2), "float32"), np.zeros(8)
    net = mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2), name="softmax"
    )
    model = FeedForward.create(net, x, y, num_epoch=1, epoch_size=2, learning_rate=0.1)
    assert model.arg_params is not None
    assert float(model.predict(x)[0, 0]) > 0.5


# -- the table of `make third` ---------------------------------------------------------


def test_how_far_numbers_are_apart() -> None:
    assert apart(np.array([1.0, 2.0]), np.array([1.0, 4.0])) == 0.5
    assert apart(np.array([np.nan, 1.0]), np.array([np.nan, 1.0])) == 0
    assert apart(np.array([np.nan]), np.ones(1)) == np.inf
    assert apart(np.ones(2), np.ones(3)) == np.inf
    assert apart(np.array(["a"]), np.array(["b"])) == np.inf


def test_the_table_says_what_is_equal_and_what_is_not() -> None:
    one = np.ones(1)
    theirs = {"a/0": one, "b/0": one, "c/0": one, "d/error": np.array("its own")}
    ours = {"a/0": one, "b/0": 2 * one, "c/error": np.array("E: fault"), "d/0": one}
    table = rows(ours, theirs)
    assert [word for *_, word in table] == [
        "equal (0e+00)", "**1.0e+00**", "**fails**: E: fault",
        "MXNet itself fails: its own",
    ]  # fmt: skip
    assert "**1 of 3 are equal**" in page(table)


def test_a_loader_says_to_subclasses_whether_its_memory_is_pinned() -> None:
    loader: Any = mx.gluon.data.DataLoader([1, 2], 1, pin_memory=True, pin_device_id=1)
    assert (loader._pin_memory, loader._pin_device_id) == (True, 1)


AS_MXNET = """
import pydoc
from minimx.libraries import as_mxnet
as_mxnet()
import mxnet
import mxnet.contrib.amp.amp
found = pydoc.locate("mxnet.nd.array")
assert found is mxnet.nd.array, found
try:
    import mxnet.nd.array
except ModuleNotFoundError as error:
    print(error.name)
"""


def test_what_is_no_module_of_mxnet_is_missed_under_its_name() -> None:
    """So that `pydoc.locate` finds a function, as GluonTS asks it to."""
    done = subprocess.run(
        [sys.executable, "-c", AS_MXNET], capture_output=True, text=True, check=True
    )
    assert done.stdout == "mxnet.nd.array\n"
