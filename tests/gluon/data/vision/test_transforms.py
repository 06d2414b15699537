"""Transforms of images, singly and in batches."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minimx as mx
from minimx import nd
from minimx.core.errors import ArgumentError, DTypeError, OperatorError, ShapeError
from minimx.gluon.data.vision import transforms

IMAGE = np.random.default_rng(0).integers(0, 256, (6, 4, 3)).astype(np.uint8)
PLAIN: Any = transforms.CenterCrop(2)  # not hybrid
BATCH = np.stack([IMAGE, 255 - IMAGE])


def image(numbers: Any = IMAGE) -> Any:
    return nd.array(numbers, dtype=numbers.dtype)


def test_to_tensor_scales_and_puts_channels_first() -> None:
    found = transforms.ToTensor()(image())
    expected = IMAGE.transpose(2, 0, 1).astype(np.float32) / 255
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-6)
    assert found.dtype is np.float32
    assert transforms.ToTensor()(image(BATCH)).shape == (2, 3, 6, 4)
    with pytest.raises(ShapeError, match="to_tensor"):
        transforms.ToTensor()(nd.ones((2, 2)))


def test_normalize_by_channel() -> None:
    mean, std = (0.1, 0.2, 0.3), (0.5, 0.6, 0.7)
    x = np.random.default_rng(1).random((2, 3, 4, 5)).astype(np.float32)
    expected = (x - np.reshape(mean, (3, 1, 1))) / np.reshape(std, (3, 1, 1))
    change = transforms.Normalize(mean, std)
    np.testing.assert_allclose(change(nd.array(x)).asnumpy(), expected, rtol=1e-5)
    np.testing.assert_allclose(change(nd.array(x[0])).asnumpy(), expected[0], rtol=1e-5)
    plain = transforms.Normalize(0.5, 2.0)(nd.array(x[0])).asnumpy()
    np.testing.assert_allclose(plain, (x[0] - 0.5) / 2, rtol=1e-5)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: transforms.Normalize(0, 0), ArgumentError, "none may be 0"),
        (lambda: transforms.Normalize([[1.0]]), ArgumentError, "mean="),
        (lambda: transforms.Normalize()(image()), DTypeError, "float32"),
        (
            lambda: transforms.Normalize([1.0, 2.0])(nd.ones((3, 4, 4))),
            ShapeError,
            "2 numbers.*3 channels",
        ),
        (
            lambda: transforms.Resize(3, interpolation=9)(image()),
            OperatorError,
            "cubic",
        ),
        (lambda: transforms.Resize(3)(nd.ones((3, 3))), ShapeError, r"\(H, W, C\)"),
        (lambda: transforms.Resize(-3)(image()), OperatorError, "size=-3"),
        (lambda: transforms.RandomRotation((3, 3)), ArgumentError, "least, most"),
        (
            lambda: transforms.RandomRotation((1, 3), rotate_with_proba=2),
            ArgumentError,
            "0 to 1",
        ),
        (lambda: transforms.Rotate(3)(image()), DTypeError, "float32"),
        (
            lambda: transforms.Rotate(3, True, True)(nd.ones((3, 4, 4))),
            ArgumentError,
            "exclude",
        ),
        (
            lambda: transforms.HybridRandomApply(PLAIN),
            ArgumentError,
            "HybridBlock",
        ),
        (lambda: transforms.Compose([3]), ArgumentError, "not 3"),
    ],
)
def test_wrong_use_is_explained(make: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        make()


def test_compose_runs_in_order_and_takes_functions() -> None:
    both = transforms.Compose([transforms.ToTensor(), lambda x: x * 2])
    expected = IMAGE.transpose(2, 0, 1) / 255 * 2
    np.testing.assert_allclose(both(image()).asnumpy(), expected, rtol=1e-6)
    assert not both.batchable
    hybrid = transforms.HybridCompose([transforms.Cast("float64"), transforms.Cast()])
    assert hybrid.batchable
    assert hybrid(image()).dtype is np.float32


def test_resize_to_a_size() -> None:
    assert transforms.Resize((8, 5))(image()).shape == (5, 8, 3)
    assert transforms.Resize(7)(image()).shape == (7, 7, 3)
    assert transforms.Resize(8, keep_ratio=True)(image()).shape == (12, 8, 3)
    assert transforms.Resize(3)(image(BATCH)).shape == (2, 3, 3, 3)
    assert transforms.Resize(3)(image()).dtype is np.uint8


@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 1))
def test_resizing_one_colour_keeps_it(height: int, width: int, kind: int) -> None:
    plain = np.full((4, 6, 1), 77, np.uint8)
    found = transforms.Resize((width, height), interpolation=kind)(image(plain))
    assert (found.asnumpy() == 77).all()


def test_resizing_a_ramp_stays_a_ramp() -> None:
    ramp = np.arange(8, dtype=np.float32).reshape(1, 8, 1)
    found = transforms.Resize((16, 1))(image(ramp)).asnumpy().ravel()
    np.testing.assert_allclose(found[1:-1], np.arange(0.25, 7, 0.5))
    halved = transforms.Resize((4, 1), interpolation=0)(image(ramp)).asnumpy().ravel()
    assert halved.tolist() == [0, 2, 4, 6]


def test_flips_happen_in_half_of_the_cases() -> None:
    mx.random.seed(0)
    sideways = transforms.RandomFlipLeftRight()
    found = [sideways(image()).asnumpy() for _ in range(40)]
    same = sum((x == IMAGE).all() for x in found)
    mirrored = sum((x == IMAGE[:, ::-1]).all() for x in found)
    assert same + mirrored == 40
    assert 8 < same < 32
    upright = transforms.RandomFlipTopBottom()
    seen = {upright(image()).asnumpy().tobytes() for _ in range(40)}
    assert seen == {IMAGE.tobytes(), IMAGE[::-1].tobytes()}


def test_hybrid_transforms_in_a_row_are_one_block() -> None:
    steps = [transforms.Resize(3), transforms.ToTensor(), transforms.Normalize(0.1)]
    row = transforms.Compose([*steps, transforms.CenterCrop(2), transforms.Cast()])
    assert [type(block).__name__ for block in row] == [
        "HybridSequential",
        "CenterCrop",
        "Cast",
    ]
    assert not row.batchable
    whole = transforms.Compose(steps)
    assert whole.batchable
    plain = whole(image()).asnumpy()
    with pytest.warns(UserWarning, match="HybridBlocks"):
        whole.hybridize()
    np.testing.assert_array_equal(whole(image()).asnumpy(), plain)
    np.testing.assert_array_equal(whole(image(BATCH)).asnumpy()[0], plain)


def changes() -> list[Any]:
    """Transforms in a row, two of them at random."""
    jitter = transforms.RandomColorJitter(0.2, 0.2, 0.2, 0.1)
    flip, scale = transforms.RandomFlipLeftRight(), transforms.Normalize(0.4, 0.2)
    return [flip, jitter, transforms.ToTensor(), scale]


def changed(function: Any, count: int = 4) -> list[Any]:
    mx.random.seed(5)
    return [function(image()).asnumpy() for _ in range(count)]


def test_a_row_becomes_a_graph_when_a_shape_comes_again() -> None:
    steps = changes()
    row = transforms.Compose(steps)

    def one_by_one(x: Any) -> Any:
        for step in steps:
            x = step(x)
        return x

    made = row[0]._graphs
    row(image())
    row(image(IMAGE[:-1]))
    row(image())
    assert not made
    for found, wanted in zip(changed(row), changed(one_by_one), strict=True):
        assert found.tobytes() == wanted.tobytes()
    assert len(made) == 1
    copied = pickle.loads(pickle.dumps(row))
    assert not copied[0]._graphs
    for found, wanted in zip(changed(copied), changed(one_by_one), strict=True):
        assert found.tobytes() == wanted.tobytes()


def test_a_row_with_a_transform_of_a_user_is_no_graph() -> None:
    class Count(mx.gluon.HybridBlock):
        calls = 0

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            self.calls += 1
            return x + self.calls

    count = Count()
    row = transforms.Compose([transforms.Cast("float32"), count])
    found = [row(image()).asnumpy() for _ in range(3)]
    assert count.calls == 3
    np.testing.assert_array_equal(found[2], IMAGE.astype("float32") + 3)
    inside = transforms.HybridRandomApply(Count(), 1.0)
    assert not transforms._is_ours(inside)


def test_hooks_inside_of_a_row_see_every_image() -> None:
    steps, seen = changes(), []
    steps[2].register_forward_hook(lambda block, x, out: seen.append(out.shape))
    changed(transforms.Compose(steps))
    assert seen == [(3, *IMAGE.shape[:2])] * 4


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_hybrid_transform_at_random(hybrid: bool) -> None:
    mx.random.seed(1)
    dark = transforms.HybridRandomApply(transforms.Normalize(0, 2), 0.5)
    if hybrid:
        dark.hybridize()
    x = nd.ones((1, 2, 2))
    found = [float(dark(x).asnumpy()[0, 0, 0]) for _ in range(40)]
    assert set(found) == {0.5, 1.0}
    assert 8 < found.count(1.0) < 32


def test_rotations() -> None:
    x = nd.array([[[0.0, 0, 0], [0, 0, 1], [0, 0, 0]]])
    turned = transforms.Rotate(90)(x).asnumpy()
    np.testing.assert_allclose(turned, [[[0, 1, 0], [0, 0, 0], [0, 0, 0]]], atol=1e-6)
    np.random.seed(0)
    some = transforms.RandomRotation((10, 20), rotate_with_proba=0.5)
    kept = [(some(x).asnumpy() == x.asnumpy()).all() for _ in range(40)]
    assert 8 < sum(kept) < 32
    assert some(nd.ones((2, 3, 4, 5))).shape == (2, 3, 4, 5)


def test_random_parts_and_grey() -> None:
    crop = transforms.RandomCrop((3, 2))
    parts = {crop(image()).asnumpy().tobytes() for _ in range(60)}
    inside = {IMAGE[y : y + 2, x : x + 3].tobytes() for y in range(5) for x in range(2)}
    assert parts <= inside
    assert len(parts) > 5
    padded = transforms.RandomCrop((10, 12), pad=3, pad_value=9)(image()).asnumpy()
    np.testing.assert_array_equal(padded[3:-3, 3:-3], IMAGE)
    assert (padded[:3] == 9).all()
    assert transforms.RandomCrop(20)(image()).shape == (20, 20, 3)
    grey = transforms.RandomGray(1)(image()).asnumpy()
    assert grey.dtype == np.uint8
    assert (grey == grey[..., :1]).all()
    assert (transforms.RandomGray(0)(image()).asnumpy() == IMAGE).all()
