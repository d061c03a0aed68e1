# SPDX-License-Identifier: Apache-2.0
"""Calls: arrays in and out, without a copy or a cast, and what is said when one does not fit."""
import array
import ctypes

import numpy
import pytest
from conftest import mlp_of

import hone


def close(got, want):
    numpy.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_positional_named_and_dict(mlp, x):
    session = hone.Session(mlp)
    close(session(x), mlp_of(x))
    close(session(x=x), mlp_of(x))
    close(session({"x": x}), mlp_of(x))
    close(mlp(x), mlp_of(x))
    assert list(session.run({"x": x})) == ["y"]


def test_results_are_the_callers(mlp, x):
    session = hone.Session(mlp)
    first = session(x)
    kept = first.copy()
    session(-x)
    assert (first == kept).all() and first.flags.owndata and first.flags.writeable


def test_two_outputs_are_a_named_tuple(two_ports):
    a, b = numpy.arange(3, dtype=numpy.float32), numpy.ones(3, numpy.float32)
    both = two_ports(a, b=b)
    assert both._fields == ("sum", "difference")
    close(both.sum, a + b)
    close(both.difference, a - b)
    assert list(hone.Session(two_ports).run({"a": a, "b": b})) == ["sum", "difference"]


def test_out(mlp, two_ports, x):
    y = numpy.empty((2, 4), numpy.float32)
    assert hone.Session(mlp)(x, out=y) is y
    close(y, mlp_of(x))
    a = numpy.arange(3, dtype=numpy.float32)
    given = numpy.empty(3, numpy.float32)
    both = two_ports(a, a, out={"difference": given})
    assert both.difference is given and (given == 0).all()
    close(both.sum, 2 * a)
    outs = [numpy.empty(3, numpy.float32) for _ in range(2)]
    both = two_ports(a, a, out=outs)
    assert both.sum is outs[0] and both.difference is outs[1]


def test_free_dims(free_mlp):
    session = hone.Session(free_mlp)
    assert free_mlp.inputs[0].shape == ("batch", 8)
    assert free_mlp.outputs[0].shape == ("batch", 4)
    for batch in (1, 8, 3, 3, 1, 2):
        x = numpy.random.default_rng(batch).uniform(-1, 1, (batch, 8)).astype(numpy.float32)
        close(session(x), mlp_of(x))
    with pytest.raises(hone.InvalidError, match="9"):
        session(numpy.zeros((9, 8), numpy.float32))
    x = numpy.ones((8, 8), numpy.float32)
    close(session(x), mlp_of(x))  # and it goes on after a refusal


class Interface:
    """Only __array_interface__."""

    def __init__(self, array):
        self.dtype = array.dtype
        self.__array_interface__ = array.__array_interface__
        self._held = array


class Dlpack:
    """Only DLPack, and counts how often it is asked."""

    def __init__(self, array):
        self.array, self.asked = array, 0

    def __dlpack__(self, **kwargs):
        self.asked += 1
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_kinds_of_arrays(mlp, x):
    session = hone.Session(mlp)
    values = (ctypes.c_float * 8 * 2)()
    memoryview(values).cast("B")[:] = x.tobytes()
    packed = Dlpack(x)
    read_only = x.copy()
    read_only.flags.writeable = False
    for given in (values, memoryview(x), Interface(x), packed, read_only, x[::1], numpy.asarray(x, order="K")):
        close(session(given), mlp_of(x))
    assert packed.asked == 1


def test_one_dimensional_buffers():
    net = hone.Network("double")
    net.output("y", net.input("x", (4,)) * 2.0)
    engine = hone.build(net, level=0, threads=1)
    assert engine(array.array("f", [1, 2, 3, 4])).tolist() == [2, 4, 6, 8]
    y = array.array("f", [0] * 4)
    assert engine(array.array("f", [1, 2, 3, 4]), out=y) is y and y.tolist() == [2, 4, 6, 8]


def test_nothing_is_copied(mlp, x):
    """The session reads the caller's memory at the run: a binding sees what is written there later."""
    y = numpy.empty((2, 4), numpy.float32)
    given = x.copy()
    bound = hone.Session(mlp).bind(given, out=y)
    assert bound() is y
    close(y, mlp_of(x))
    given[:] = 0.5
    bound.run()
    close(y, mlp_of(given))
    assert bound.outputs is y


def test_dlpack_results(mlp, x):
    assert numpy.shares_memory(numpy.from_dlpack(y := mlp(x)), y)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
                                   "uint64", "bool"])
def test_every_dtype_passes_through(dtype):
    net = hone.Network(dtype)
    net.output("y", net.identity(net.input("x", (2, 3), dtype)))
    engine = hone.build(net, level=0, threads=1)
    x = numpy.arange(6).reshape(2, 3).astype(dtype)
    y = engine(x)
    assert y.dtype == x.dtype and (y == x).all()
    assert engine.inputs[0].dtype == dtype
    with pytest.raises(hone.InvalidError, match=rf"astype\(numpy\.{dtype}\)"):
        engine(x.astype("float32"))


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    net = hone.Network("bf16")
    net.output("y", net.identity(net.input("x", (2, 3), "bfloat16")))
    engine = hone.build(net, level=0, threads=1)
    x = numpy.arange(6).reshape(2, 3).astype(ml_dtypes.bfloat16)
    y = engine(x)
    assert y.dtype == ml_dtypes.bfloat16 and (y == x).all()
    out = numpy.zeros_like(x)
    assert engine(x, out=out) is out and (out == x).all()
    with pytest.raises(hone.InvalidError, match="float16; the model has bfloat16"):
        engine(x.astype(numpy.float16))
    with pytest.raises(hone.InvalidError, match="row-major"):
        engine(numpy.zeros((3, 2), ml_dtypes.bfloat16).T)


def refusals(x):
    text = numpy.asarray([["a"] * 8] * 2)
    return [
        (x.astype("float64"), hone.InvalidError, r"elements are float64; the model has float32: pass x\.astype"),
        (x.astype(">f4"), hone.InvalidError, "newbyteorder"),
        (numpy.asfortranarray(x), hone.InvalidError, "ascontiguousarray"),
        (numpy.zeros((2, 16), "float32")[:, ::2], hone.InvalidError, "ascontiguousarray"),
        (x[:1], hone.InvalidError, "x"),
        (x[0], hone.InvalidError, "rank 2, not 1"),
        (numpy.zeros((1,) * 9, "float32"), hone.InvalidError, "9 dims; at most 8"),
        (text, hone.InvalidError, "none that a model has"),
        (Dlpack(x.astype("int32")), hone.InvalidError, "elements are int32"),
        (Dlpack(numpy.asfortranarray(x)), hone.InvalidError, "row-major"),
        (Interface(x.astype("int32")), hone.InvalidError, "elements are int32"),
        (Interface(numpy.asfortranarray(x)), hone.InvalidError, "row-major"),
        (x.tolist(), TypeError, r'a list is no array: pass numpy.asarray\(x, "float32"\)'),
        (None, TypeError, "NoneType is no array"),
        (3.0, TypeError, "float is no array"),
    ]


def test_what_does_not_fit_is_named(mlp, x):
    session = hone.Session(mlp)
    for given, kind, words in refusals(x):
        with pytest.raises(kind, match=words):
            session(given)
        if kind is hone.InvalidError:
            with pytest.raises(ValueError):
                session(given)
    close(session(x), mlp_of(x))


def test_wrong_calls(mlp, two_ports, x):
    session = hone.Session(mlp)
    for args, kwargs, words in [((), {}, 'input "x" is not given'), ((x, x), {}, "2 inputs are given"),
                                ((x,), {"x": x}, "given twice"), ((), {"z": x}, "no input 'z'"),
                                (({"x": x, "q": x},), {}, "no input 'q'")]:
        with pytest.raises(TypeError, match=words):
            session(*args, **kwargs)
    a = numpy.zeros(3, numpy.float32)
    with pytest.raises(TypeError, match="2 arrays are wanted"):
        two_ports(a, a, out=a)
    with pytest.raises(TypeError, match="2 arrays are wanted"):
        two_ports(a, a, out=[a])


def test_wrong_out(mlp, x):
    session = hone.Session(mlp)
    read_only = numpy.zeros((2, 4), numpy.float32)
    read_only.flags.writeable = False
    for out, kind, words in [(numpy.zeros((2, 4)), hone.InvalidError, "float64"),
                             (numpy.zeros((4, 2), numpy.float32), ValueError, r"\(2, 4\) for these inputs"),
                             (read_only, hone.InvalidError, "read-only"),
                             (numpy.zeros((4, 2), numpy.float32).T, hone.InvalidError, "row-major"),
                             ("y", TypeError, "no array")]:
        with pytest.raises(kind, match=words):
            session(x, out=out)
        with pytest.raises(kind, match=words):
            session.bind(x, out=out)
    close(session(x), mlp_of(x))


def test_data_dependent_outputs():
    net = hone.Network("nonzero")
    net.output("where", net.non_zero(net.input("x", (6,))))
    engine = hone.build(net, level=0, threads=1)
    session = hone.Session(engine)
    for values in ([0, 1, 0, 2, 3, 0], [0] * 6, [1] * 6):
        found = session(numpy.asarray(values, numpy.float32))
        assert found.dtype == numpy.int64 and found.tolist() == [numpy.flatnonzero(values).tolist()]
    with pytest.raises(hone.InvalidError, match="its shape depends on data"):
        session.bind(numpy.zeros(6, numpy.float32))


def test_an_input_called_out():
    net = hone.Network("out")
    net.output("y", -net.input("out", (2,)))
    engine = hone.build(net, level=0, threads=1)
    assert engine(out=numpy.asarray([1, 2], numpy.float32)).tolist() == [-1, -2]


def test_empty_is_aligned():
    for shape in ((), (3,), (2, 0), (5, 7)):
        made = hone.empty(shape, "int16")
        assert (made.ctypes.data % 64 == 0 or not made.size) and made.shape == shape and made.dtype == numpy.int16


def test_deadline():
    net = hone.Network("long")
    value = net.input("x", (512, 512))
    for _ in range(200):
        value = value @ value
    net.output("y", value)
    session = hone.Session(hone.build(net, level=0, threads=1, reference_only=True), deadline=0.02)
    with pytest.raises(hone.LimitError):
        session(numpy.zeros((512, 512), numpy.float32))
    with pytest.raises(TimeoutError):
        session(numpy.zeros((512, 512), numpy.float32))
