import pickle
import struct
import sys
from typing import Any

import numpy as np
import pytest

import minimx as mx
from minimx import nd
from minimx.core.errors import (
    DataError,
    DeviceError,
    DTypeError,
    OperatorError,
    ShapeError,
)


@pytest.mark.parametrize("make", [mx.nd.zeros, mx.nd.ones])
@pytest.mark.parametrize("shape", [(), (0, 3), 0])
def test_arrays_without_elements_or_axes_are_numpys(make: Any, shape: Any) -> None:
    with pytest.raises(ShapeError, match="np_shape"):
        make(shape)
    with mx.np_shape():
        found = make(shape)
        assert found.asnumpy().shape == np.zeros(shape).shape
        assert mx.nd.tile(found, reps=(2, 0)).size == 0


def test_an_array_knows_its_shape_type_and_place() -> None:
    x = nd.array([[1, 2, 3], [4, 5, 6]])
    assert x.shape == (2, 3)
    assert x.dtype is np.float32
    assert x.size == 6
    assert x.ndim == 2
    assert len(x) == 2
    assert x.context == mx.cpu(0)
    assert x.stype == "default"


def test_printing_looks_like_mxnet() -> None:
    assert repr(nd.array([1, 2])) == "\n[1. 2.]\n<NDArray 2 @cpu(0)>"
    assert repr(nd.ones((2, 3))).endswith("<NDArray 2x3 @cpu(0)>")


def test_sources_become_float32_unless_told() -> None:
    assert nd.array(np.arange(3)).dtype is np.float32
    assert nd.array(np.arange(3.0)).dtype is np.float32
    assert nd.array([1, 2], dtype="int32").dtype is np.int32
    assert nd.array(nd.ones((2,), dtype="float64")).dtype is np.float64


def test_a_number_becomes_an_array_without_axes() -> None:
    x = nd.array(5.0)
    assert x.shape == ()
    assert x.asscalar() == 5 and (x + nd.ones(2)).asnumpy().tolist() == [6, 6]


def test_the_state_that_mxnet_pickles() -> None:
    x = nd.zeros(2)
    handle = struct.pack("<Iiiqiii2f", 0xF993FAC9, 0, 1, 2, 2, 0, 0, 3.0, 4.0)
    x.__setstate__({"handle": bytearray(handle)})
    assert x.asnumpy().tolist() == [3, 4] and x.context == mx.cpu()
    for state, lesson in (({"handle": handle[:-1]}, "damaged"), ({}, "as 'handle'"),
                          ({"handle": handle + b"x"}, "follow its end")):  # fmt: skip
        with pytest.raises(DataError, match=lesson):
            x.__setstate__(state)


def test_work_under_way_does_not_write_into_a_restored_state() -> None:
    handle = struct.pack("<Iiiqiii2f", 0xF993FAC9, 0, 1, 2, 2, 0, 0, 3.0, 4.0)
    often = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(3000):
            x = nd.zeros(2)
            x.__setstate__({"handle": handle})
            assert x.asnumpy().tolist() == [3, 4]
    finally:
        sys.setswitchinterval(often)


def test_arithmetic_agrees_with_numpy() -> None:
    a, b = np.array([[1.0, -2.0], [3.0, 4.0]]), np.array([2.0, 5.0])
    x, y = nd.array(a), nd.array(b)
    cases = [
        (x + y, a + b),
        (x - y, a - b),
        (2 - x, 2 - a),
        (x * y, a * b),
        (x / y, a / b),
        (1 / x, 1 / a),
        (x**2, a**2),
        (2**x, 2**a),
        (x % 3, a % 3),
        (-x, -a),
        (abs(x), abs(a)),
        (x > y, (a > b).astype(float)),
        (x == 3, (a == 3).astype(float)),
        (x != y, (a != b).astype(float)),
        (x >= 3, (a >= 3).astype(float)),
        (np.float32(2) * x, 2 * a),
        (b.astype("f") * x, a * b),
        (x + [1, 2], a + [1, 2]),
    ]
    for got, expected in cases:
        assert isinstance(got, nd.NDArray)
        np.testing.assert_allclose(got.asnumpy(), expected, rtol=1e-6)


def test_zeros_of_both_signs_are_numbers_of_their_own() -> None:
    x = nd.array([1.0])
    for zero in (0.0, -0.0, 0, -0.0, 0.0):
        assert np.signbit((x * zero).asnumpy()[0]) == np.signbit(zero)
    for number in (2, 2.0, np.float32(2), True, 1, np.int64(1)):
        assert (x * number).asnumpy() == float(number)


def test_in_place_operators_keep_the_memory() -> None:
    x = nd.ones((2, 2))
    view = x[0]
    x += 2
    x *= nd.array([[1, 2], [3, 4]])
    x -= 1
    x /= 2
    np.testing.assert_allclose(x.asnumpy(), [[1, 2.5], [4, 5.5]])
    np.testing.assert_allclose(view.asnumpy(), [1, 2.5])


def test_an_array_is_not_equal_to_none_or_text() -> None:
    assert (nd.ones((1,)) == None) is False  # noqa: E711 (that comparison is the test)
    assert (nd.ones((1,)) != "x") is True


def test_truth_of_one_element_only() -> None:
    assert bool(nd.array([2.0]))
    with pytest.raises(ValueError, match="neither true nor false"):
        bool(nd.ones((2,)))


def test_scalars() -> None:
    x = nd.array([3.5])
    assert x.asscalar() == 3.5
    assert float(x) == 3.5
    assert int(x) == 3
    assert x.item() == 3.5
    with pytest.raises(ValueError, match="has 2 elements"):
        nd.ones((2,)).asscalar()


def test_reshape_shares_memory() -> None:
    x = nd.zeros((2, 3))
    y = x.reshape((3, 2))
    y[:] = 7
    assert (x.asnumpy() == 7).all()
    assert x.reshape(-1).shape == (6,)
    assert x.reshape((0, -1)).shape == (2, 3)
    assert x.reshape(3, 2).shape == (3, 2)


def test_one_element_serves_as_a_number() -> None:
    found = nd.array([[2.5]]).asnumpy()
    assert isinstance(found, np.ndarray)
    assert "%f and %d" % (found, found) == "2.500000 and 2"  # noqa: UP031
    assert float(found) == 2.5
    assert repr(found) == "array([[2.5]], dtype=float32)"
    assert type(found + 1) is np.ndarray
    assert type(found.sum()) is np.float32
    assert type(nd.array([1, 2]).asnumpy()) is np.ndarray


def test_asnumpy_is_a_copy() -> None:
    x = nd.zeros((2,))
    x.asnumpy()[:] = 5
    assert x.asnumpy().tolist() == [0, 0]


def test_source_may_change_after_the_call() -> None:
    source = np.ones((3,), dtype="float32")
    for device in (mx.cpu(), mx.gpu(0)):
        x = nd.array(source, ctx=device)
        source[:] = 9
        assert x.asnumpy().tolist() == [1, 1, 1]
        source[:] = 1


def test_copies_between_devices() -> None:
    x = nd.array([1, 2, 3])
    y = x.as_in_context(mx.gpu(0))
    assert y.context == mx.gpu(0)
    assert y.asnumpy().tolist() == [1, 2, 3]
    assert x.as_in_context(mx.cpu()) is x
    z = nd.zeros((3,), ctx=mx.gpu(0))
    assert x.copyto(z) is z
    assert z.asnumpy().tolist() == [1, 2, 3]
    assert y.copyto(mx.cpu()).context == mx.cpu()


def test_devices_do_not_mix() -> None:
    with pytest.raises(DeviceError, match="different devices"):
        nd.ones((1,)) + nd.ones((1,), ctx=mx.gpu(0))


def test_dtypes_do_not_mix() -> None:
    with pytest.raises(DTypeError):
        nd.ones((1,)) + nd.ones((1,), dtype="float64")


def test_shapes_that_do_not_fit() -> None:
    with pytest.raises(ShapeError, match=r"\(2,\).*\(3,\)"):
        nd.ones((2,)) + nd.ones((3,))


def test_state_is_intact_after_an_error() -> None:
    x = nd.ones((2,))
    with pytest.raises(ShapeError):
        x += nd.ones((3,))
    assert x.asnumpy().tolist() == [1, 1]
    assert (x + 1).asnumpy().tolist() == [2, 2]


def test_numpy_interchange() -> None:
    x = nd.array([[1, 2], [3, 4]])
    assert np.asarray(x).tolist() == [[1, 2], [3, 4]]
    assert np.from_dlpack(x).tolist() == [[1, 2], [3, 4]]
    shared = np.from_dlpack(x)
    x[:] = 5
    x.wait_to_read()
    assert (shared == 5).all()


def test_shared_memory_outlives_the_array() -> None:
    shared = np.from_dlpack(nd.array(np.arange(1000)))
    for _ in range(50):
        nd.zeros((1000,)).wait_to_read()
    assert shared.tolist() == list(range(1000))


def test_from_numpy_shares_and_from_dlpack_too() -> None:
    source = np.arange(4, dtype="float32")
    x = nd.from_numpy(source)
    assert x.asnumpy().tolist() == [0, 1, 2, 3]
    assert not source.flags.writeable
    other = np.arange(3, dtype="float64")
    assert nd.from_dlpack(other).dtype is np.float64


def test_pickling() -> None:
    x = nd.array([1, 2], ctx=mx.gpu(0))
    y = pickle.loads(pickle.dumps(x))
    assert y.context == mx.gpu(0)
    assert y.asnumpy().tolist() == [1, 2]


def test_unknown_function_names_the_nearest() -> None:
    with pytest.raises(AttributeError, match="Did you mean Convolution"):
        nd.Convolutoin  # noqa: B018


def test_unknown_setting_names_the_nearest() -> None:
    with pytest.raises(OperatorError, match="keepdims"):
        nd.sum(nd.ones((2,)), keepdim=True)  # type: ignore[call-arg]


def test_an_operator_without_settings_ignores_unknown_ones_and_says_so() -> None:
    x = nd.array([4.0, 9.0])
    with pytest.warns(UserWarning, match="sqrt has no settings, so 'axis' changes"):
        found = nd.sqrt(x, axis=1)  # type: ignore[call-arg]
    assert found.asnumpy().tolist() == [2, 3]
    with pytest.raises(OperatorError, match="add_n has no setting 'axis'"):
        nd.add_n(x, x, axis=1)  # type: ignore[call-arg]


def test_a_wrong_input_is_named() -> None:
    with pytest.raises(OperatorError, match="must be an NDArray"):
        nd.relu(3)  # type: ignore[arg-type]


def test_out_receives_the_result() -> None:
    x, y = nd.ones((2,)), nd.zeros((2,))
    assert nd.broadcast_add(x, x, out=y) is y
    assert y.asnumpy().tolist() == [2, 2]
    with pytest.raises(ShapeError, match="out="):
        nd.broadcast_add(x, x, out=nd.zeros((3,)))


def test_creation() -> None:
    assert nd.full((2,), 3).asnumpy().tolist() == [3, 3]
    assert nd.arange(3).asnumpy().tolist() == [0, 1, 2]
    assert nd.arange(1, 4, 0.5).shape == (6,)
    assert nd.arange(2, repeat=2).asnumpy().tolist() == [0, 0, 1, 1]
    assert nd.eye(2).asnumpy().tolist() == [[1, 0], [0, 1]]
    assert nd.linspace(0, 1, 3).asnumpy().tolist() == [0, 0.5, 1]
    assert nd.moveaxis(nd.zeros((2, 3, 4)), 0, -1).shape == (3, 4, 2)
    assert nd.concatenate([nd.ones((1, 2)), nd.zeros((2, 2))]).shape == (3, 2)


def test_current_context_decides_where_arrays_are_made() -> None:
    with mx.gpu(0):
        assert nd.zeros((1,)).context == mx.gpu(0)
        assert nd.random.uniform(shape=(1,)).context == mx.gpu(0)
    assert nd.zeros((1,)).context == mx.cpu(0)


def test_random_streams_repeat_after_seeding() -> None:
    mx.random.seed(7)
    first = nd.random.normal(shape=(5,)).asnumpy()
    mx.random.seed(7)
    again = nd.random.normal(shape=(5,)).asnumpy()
    assert (first == again).all()
    assert (nd.random.normal(shape=(5,)).asnumpy() != first).all()


def test_memory_returns_when_arrays_go() -> None:
    nd.waitall()
    before = mx.storage.stats(mx.cpu()).live_requested
    x = nd.zeros((1000, 1000))
    x.wait_to_read()
    assert mx.storage.stats(mx.cpu()).live_requested == before + 4_000_000
    y = x.reshape(-1)
    del x
    assert mx.storage.stats(mx.cpu()).live_requested == before + 4_000_000
    del y
    assert mx.storage.stats(mx.cpu()).live_requested == before


def test_pending_work_keeps_memory_alive() -> None:
    total = nd.zeros((256, 256))
    for _ in range(50):
        total = nd.dot(nd.ones((256, 256)), nd.ones((256, 256))) * 0 + total + 1
    assert (total.asnumpy() == 50).all()


@pytest.mark.parametrize("source", [["a"], [[1, 2], [3]], object()])
def test_what_is_no_array_of_numbers(source: object) -> None:
    with pytest.raises(DTypeError, match="no array of numbers"):
        nd.array(source)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "uint8"])
def test_the_place_of_an_extremum_has_the_type_of_the_data(dtype: str) -> None:
    found = nd.array([[1, 5, 2]], dtype=dtype).argmax(axis=1)
    assert found.dtype == np.dtype(dtype)
    assert found.asnumpy().tolist() == [1]


def test_no_element_type_means_float32() -> None:
    made = [
        nd.array([1], dtype=None),
        nd.zeros((1,), dtype=None),
        nd.full((1,), 2, dtype=None),
        nd.arange(3, dtype=None),
        nd.eye(2, dtype=None),
        nd.linspace(0, 1, 3, dtype=None),
        nd.empty((1,), dtype=None),
    ]
    assert {x.dtype for x in made} == {np.float32}


@pytest.mark.parametrize("kind", ["cpu_pinned", "cpu_shared"])
def test_operators_reach_all_memory_of_the_host(kind: str) -> None:
    staged = nd.ones((2, 3), ctx=mx.Context(kind, 0))
    assert (staged * 2).context is mx.cpu(0)  # as in MXNet
    for total in (staged + nd.ones((2, 3)), nd.ones((2, 3)) + staged):
        assert total.context is mx.cpu(0)
        assert (total.asnumpy() == 2).all()
    staged += nd.ones((2, 3))
    assert staged.context is mx.Context(kind, 0)
    assert (staged.asnumpy() == 2).all()
    with pytest.raises(DeviceError, match="different devices"):
        staged + nd.ones((2, 3), ctx=mx.gpu(0))


def test_results_of_shape_1_stay_so_under_np_shape() -> None:
    x = nd.ones((2, 3))
    with mx.np_shape():
        assert nd.sum(x).shape == x.mean().shape == nd.norm(x).shape == (1,)
        assert nd.argmax(x).shape == nd.ones((1, 1)).squeeze().shape == (1,)
        assert nd.pick(nd.ones(3), nd.array([1]), axis=0).shape == (1,)
        assert x[0, 0].shape == ()
        assert mx.np.ones((2, 3)).sum().shape == ()
    with pytest.raises(ShapeError, match="no axes"):
        nd.full((), 2.0)


def test_assignment_to_a_part_by_its_bounds() -> None:
    x = nd.ones((2, 2))
    assert x.writable
    assert x.slice_assign_scalar(5, (0, None), (1, None), (None, None)) is x
    x.slice_assign(nd.zeros((2, 1)), (None, 1), (None, 2), (None, None))
    assert x.asnumpy().tolist() == [[5, 0], [1, 0]]


@pytest.mark.parametrize("shape", [(), (0, 2)])
@pytest.mark.parametrize("name", ["random_uniform", "normal", "random_gamma"])
def test_functions_that_draw_fill_arrays_with_elements(name: str, shape: Any) -> None:
    draw = getattr(nd, name)
    with pytest.raises(ShapeError, match="np_shape"):
        draw(shape=shape)
    with mx.np_shape():
        assert draw(shape=shape).shape == shape
