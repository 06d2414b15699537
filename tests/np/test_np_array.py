from __future__ import annotations

import pickle

import numpy as onp
import pytest

from minimx import nd as mx_nd
from minimx import np
from minimx.core import autograd
from minimx.core.errors import GradientError


def test_arrays_without_axes_and_without_elements_exist() -> None:
    x = np.array([[1, 2], [3, 4.5]])
    assert x.sum().shape == x[0, 0].shape == np.zeros(()).shape == ()
    assert np.zeros((0, 3)).sum(axis=0).tolist() == [0, 0, 0]
    assert repr(np.zeros((0, 3))) == "array([], shape=(0, 3))"
    assert x.mean().item() == 2.625
    assert float(x.max()) == 4.5


def test_printing_looks_like_numpy() -> None:
    x = np.array([[1, 2], [3, 4.5]])
    assert repr(x) == "array([[1. , 2. ],\n       [3. , 4.5]])"
    assert str(x) == "[[1.  2. ]\n [3.  4.5]]"
    assert repr(x > 2) == "array([[False, False],\n       [ True,  True]])"
    assert repr(np.array(5, dtype="int64")) == "array(5, dtype=int64)"
    assert f"{x[0, 1]:.3f}" == "2.000"


@pytest.mark.parametrize(
    ("left", "right", "sum_", "quotient"),
    [
        ("float32", "float64", "float64", "float64"),
        ("int64", "float16", "float16", "float16"),
        ("int8", "uint8", "int32", "float32"),
        ("bool", "int8", "int8", "float32"),
        ("int32", "int32", "int32", "float32"),
        ("bool", "bool", "bool", "float32"),
    ],
)
def test_types_meet_as_in_mxnet(
    left: str, right: str, sum_: str, quotient: str
) -> None:
    a, b = np.ones((2, 2), dtype=left), np.ones((2, 2), dtype=right)
    assert (a + b).dtype == (b + a).dtype == sum_
    assert (a / b).dtype == quotient
    assert (a == b).dtype == (a < b).dtype == "bool"


def test_a_number_takes_the_type_of_the_array() -> None:
    whole = np.array([1, 2, 5], dtype="int32")
    assert (whole + 2.5).tolist() == [3, 4, 7]
    assert (whole / 2).tolist() == [0.5, 1, 2.5]
    assert (2 - whole).tolist() == [1, 0, -3]
    assert (np.array([True, False], dtype=bool) + 1).dtype == "int64"


def test_gradients_flow_through_conversions_and_masks() -> None:
    x = np.array([1.0, -2.0, 3.0])
    wide = np.array([2.0, 2.0, 2.0], dtype="float64")
    x.attach_grad()
    with autograd.record():
        y = ((x * wide) * (x > 0)).sum() + x[x > 0].sum() + x[0]
    y.backward()
    assert x.grad.tolist() == [4, 0, 3]
    assert isinstance(x.grad, np.ndarray)
    assert x.grad.dtype == "float32"


def test_gradients_of_gradients() -> None:
    x = np.array([1.0, 2.0])
    x.attach_grad()
    with autograd.record():
        y = (x**3).sum()
        (slope,) = autograd.grad(y, [x], create_graph=True)
        z = (slope * slope).sum()
    z.backward()
    onp.testing.assert_allclose(x.grad.asnumpy(), 36 * onp.array([1.0, 8.0]))


def test_the_flavours_share_memory_and_tape() -> None:
    x = np.ones((2, 2))
    x.attach_grad()
    with autograd.record():
        y = mx_nd.sum(x.as_nd_ndarray() * 3)
    y.backward()
    assert x.grad.tolist() == [[3, 3], [3, 3]]
    x.as_nd_ndarray()[:] = 7
    assert x[0, 0] == 7
    assert type(x.as_nd_ndarray().as_np_ndarray()) is np.ndarray


def test_indexing_as_in_numpy() -> None:
    numbers = onp.arange(24, dtype="float32").reshape(2, 3, 4)
    x = np.array(numbers)
    mask = numbers % 5 < 2
    for key in (
        0, (0, 1, 2), (Ellipsis, 1), (slice(None), None, 1), slice(None, None, -1),
        (1, slice(None, None, 2)), [0, 1, 1], ([0, 1], slice(None), [3, 2]), (),
        (onp.array([[0, 1], [1, 0]]), 2), (Ellipsis, slice(3, 0, -2)),
    ):  # fmt: skip
        assert x[key].shape == numbers[key].shape
        assert onp.array_equal(x[key].asnumpy(), numbers[key])
    assert onp.array_equal(x[np.array(mask)].asnumpy(), numbers[mask])
    x[np.array(mask)] = -1
    numbers[mask] = -1
    x[:, 1, ::2] = np.array([[5.0], [6.0]])
    numbers[:, 1, ::2] = onp.array([[5.0], [6.0]])
    x[0, 0, 0] = 9
    numbers[0, 0, 0] = 9
    assert onp.array_equal(x.asnumpy(), numbers)


def test_numpy_hands_its_functions_over() -> None:
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert isinstance(onp.sum(x), np.ndarray)
    assert isinstance(onp.add(x, 1), np.ndarray)
    assert isinstance(onp.float32(2) * x, np.ndarray)
    assert onp.array_equal(onp.array(x), x.asnumpy())
    found = onp.apply_along_axis(lambda row: row.sum(), 1, x.asnumpy())
    assert found.tolist() == [3, 7]


def test_in_place_is_refused_on_the_tape() -> None:
    x = np.ones(3)
    x.attach_grad()
    with autograd.record():
        y = x * 2
        with pytest.raises(GradientError, match="Inplace operations"):
            y += 1


def test_pickling_keeps_the_flavour() -> None:
    x = np.array(3.5)
    again = pickle.loads(pickle.dumps(x))
    assert type(again) is np.ndarray
    assert again.shape == ()
    assert again == 3.5


def test_products_agree_with_numpy() -> None:
    rng = onp.random.default_rng(0)

    def both(*shape: int) -> tuple[np.ndarray, onp.ndarray]:
        numbers = rng.uniform(size=shape).astype("float32")
        return np.array(numbers), numbers

    for left, right in [((3,), (3,)), ((2, 3), (3,)), ((4, 2, 3), (3, 5)),
                        ((4, 2, 3), (4, 3, 5)), ((2, 1, 2, 3), (4, 3, 5)),
                        ((3,), (4, 3, 5))]:  # fmt: skip
        (a, na), (b, nb) = both(*left), both(*right)
        onp.testing.assert_allclose((a @ b).asnumpy(), na @ nb, rtol=1e-5)
        onp.testing.assert_allclose(np.dot(a, b).asnumpy(), na.dot(nb), rtol=1e-5)
    (a, na), (b, nb) = both(2, 3), both(2, 3)
    for name in ("inner", "outer", "vdot", "kron", "cross"):
        ours, theirs = getattr(np, name)(a, b), getattr(onp, name)(na, nb)
        assert ours.shape == theirs.shape
        onp.testing.assert_allclose(ours.asnumpy(), theirs, rtol=1e-4, atol=1e-6)


def test_what_depends_on_a_comparison_only_has_a_gradient_of_zeros() -> None:
    x = np.array([1.0, -2.0])
    x.attach_grad()
    x.grad[:] = 7
    with autograd.record():
        y = (x > 0).astype("float32") * 3
    y.backward()
    assert x.grad.tolist() == [0, 0]
    with autograd.record():
        y = x * mx_nd.BlockGrad(x * x) + x.argmax()
    y.backward()
    assert x.grad.tolist() == [1, 4]


def test_a_recorded_value_is_not_written_into_another_array() -> None:
    x, w = np.zeros((2, 2)), np.ones(2)
    w.attach_grad()
    with autograd.record(), pytest.raises(GradientError):
        x[0] = w * 2


def test_masks_must_fit() -> None:
    x = np.ones((2, 3))
    assert x[np.array(True, dtype=bool)].shape == (1, 2, 3)
    assert x[np.array(False, dtype=bool)].shape == (0, 2, 3)
    with pytest.raises(IndexError):
        x[np.array([True, False, True], dtype=bool)]


def test_borders_outside_of_a_type_do_not_wrap() -> None:
    x = np.array([0, 100, 255], dtype="uint8")
    assert x.clip(-10, 300).tolist() == [0, 100, 255]
    assert x.clip(min=50).tolist() == [50, 100, 255]


def test_options_that_there_are_not_say_so() -> None:
    x = np.ones(2)
    with pytest.raises(NotImplementedError, match="where=False"):
        np.exp(x, where=False)
    with pytest.raises(TypeError, match="abc"):
        np.add(x, x, dtype="abc")
    with pytest.raises(NotImplementedError, match="C"):
        np.zeros(3, order="F")


def test_all_of_an_array_is_the_array_itself() -> None:
    x = np.ones((2, 3))
    assert x[:] is x
    assert x[()] is x
    x.attach_grad(grad_req="null")
    assert x[:].grad.tolist() == [[0, 0, 0], [0, 0, 0]]


def test_long_arrays_are_printed_without_their_shape() -> None:
    assert repr(np.arange(2000)).endswith("1.999e+03])")
    assert repr(np.zeros((2, 0))) == "array([], shape=(2, 0))"


def test_fractions_add_up_before_they_are_cut_off() -> None:
    x = np.array([1.7, 1.7, 1.7])
    assert np.sum(x, dtype="int32").item() == 5
    assert np.prod(x, dtype="int8").item() == 4
    assert np.cumsum(x, dtype="int32").tolist() == [1, 2, 3]


def test_numbers_that_numpy_computes_are_numpys() -> None:
    x = np.array([1.0, 2.0, 4.0])
    assert isinstance(np.nanmedian(x), onp.float32)
    assert isinstance(np.linalg.matrix_rank(np.eye(2)), onp.integer)
    assert isinstance(np.corrcoef(np.stack([x, x * x])), np.ndarray)


def test_sums_of_numbers_answer_in_the_type_asked_for() -> None:
    x = np.array([1.5, onp.nan, 2.0])
    assert np.nansum(x).item() == 3.5
    assert np.nansum(x, dtype="float16").dtype == "float16"
    assert np.nanprod(x, dtype="float64").dtype == "float64"
