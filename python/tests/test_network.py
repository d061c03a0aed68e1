# SPDX-License-Identifier: Apache-2.0
"""Networks by hand, and the zoo."""
import os
import subprocess

import numpy
import pytest

import hone


def run(net, *inputs):
    return hone.build(net, level=0, threads=1)(*inputs)


def test_operators():
    net = hone.Network("operators")
    x, y = net.input("x", (2, 3)), net.input("y", (2, 3))
    w = numpy.arange(6, dtype=numpy.float32).reshape(3, 2)
    net.output("a", 2 * x + y / 4 - 1)
    net.output("b", (1 - x) @ w)
    net.output("c", -(1 / (y + 3)) * w.T)
    a, b = numpy.random.default_rng(0).uniform(0, 1, (2, 2, 3)).astype(numpy.float32)
    got = run(net, a, b)
    numpy.testing.assert_allclose(got.a, 2 * a + b / 4 - 1, atol=1e-5)
    numpy.testing.assert_allclose(got.b, (1 - a) @ w, atol=1e-5)
    numpy.testing.assert_allclose(got.c, -(1 / (b + 3)) * w.T, atol=1e-5)


def test_attributes():
    net = hone.Network()
    x = net.input("x", (2, 6))
    net.output("s", net.softmax(x, axis=0))
    net.output("t", net.transpose(x, perm=[1, 0]))
    net.output("l", net.leaky_relu(x, alpha=0.25))
    first, rest = net.split(x, numpy.asarray([2, 4]), axis=1, outputs=2)
    net.output("first", first)
    net.output("rest", rest)
    a = numpy.random.default_rng(0).uniform(-1, 1, (2, 6)).astype(numpy.float32)
    got = run(net, a)
    numpy.testing.assert_allclose(got.s, numpy.exp(a) / numpy.exp(a).sum(0), atol=1e-5)
    assert (got.t == a.T).all()
    numpy.testing.assert_allclose(got.l, numpy.where(a < 0, a / 4, a), atol=1e-6)
    assert (got.first == a[:, :2]).all() and (got.rest == a[:, 2:]).all()


def test_convolution():
    net = hone.Network()
    x = net.input("image", (1, 1, 4, 4))
    net.output("y", net.conv(x, numpy.ones((1, 1, 3, 3), numpy.float32), pads=[1, 1, 1, 1]))
    got = run(net, numpy.ones((1, 1, 4, 4), numpy.float32))
    assert got[0, 0].tolist() == [[4, 6, 6, 4], [6, 9, 9, 6], [6, 9, 9, 6], [4, 6, 6, 4]]


def test_looking():
    net = hone.Network("looked at")
    x = net.input("x", ("n", None, 3), "int32")
    net.output("y", net.abs(x))
    assert net.inputs == [("x", "int32", (-1, -1, 3))] and net.outputs[0][0] == "y"
    assert (x.name, x.dtype, x.shape) == ("x", "int32", (-1, -1, 3))
    assert len(net) == 1 and "abs" in str(net) and "x" in repr(x)


def test_what_is_refused_is_named():
    net, other = hone.Network(), hone.Network()
    x, z = net.input("x", (2, 3)), other.input("x", (2, 3))
    for work, kind, words in [
            (lambda: net.no_such_operator(x), hone.InvalidError, "no_such_operator"),
            (lambda: net.softmax(x, axes=1), hone.InvalidError, "axes"),
            (lambda: net.softmax(x, axis=7), hone.MalformedError, "7"),
            (lambda: net.softmax(x, axis="last"), hone.InvalidError, "axis"),
            (lambda: net.softmax(x, axis={}), TypeError, "axis"),
            (lambda: net.add(x, z), ValueError, "another network"),
            (lambda: net.output("y", z), ValueError, "another network"),
            (lambda: net.input("x", (1,)), hone.InvalidError, "already called x"),
            (lambda: net.input("v", (1,) * 9), ValueError, "at most 8"),
            (lambda: net.input("v", (1.5,)), TypeError, None),
            (lambda: net.input("v", (1,), "float33"), hone.InvalidError, "float33"),
            (lambda: x @ numpy.zeros((4, 4), numpy.float32), hone.MalformedError, "4"),
            (lambda: net.add(x, x, outputs=0), ValueError, "outputs"),
            (lambda: x + "text", hone.HoneError, None)]:
        with pytest.raises(kind, match=words):
            work()
    net.output("y", net.relu(x))  # and it goes on
    assert run(net, numpy.ones((2, 3), numpy.float32)).shape == (2, 3)


def test_zoo(tmp_path):
    assert ("lenet5", "LeNet-5, for quick trials", "input f32[N,1,32,32]") in hone.zoo_names()
    with pytest.raises(hone.InvalidError, match="did you mean lenet5"):
        hone.zoo("lenet")
    with pytest.raises(hone.InvalidError, match="batch is 0"):
        hone.zoo("lenet5", batch=0)
    net = hone.zoo("lenet5", batch=2, seed=5)
    assert net.inputs == [("input", "float32", (2, 1, 32, 32))]
    assert hone.zoo("lenet5", dynamic=True).inputs == [("input", "float32", (-1, 1, 32, 32))]


@pytest.mark.skipif("HONE_BIN" not in os.environ, reason="HONE_BIN does not name the tool")
def test_the_zoo_is_the_tools(tmp_path):
    hone.zoo("lenet5", batch=2, seed=5).save(tmp_path / "a.onnx")
    subprocess.run([os.environ["HONE_BIN"], "zoo", "lenet5", "--batch", "2", "--seed", "5", "-o", tmp_path / "b.onnx"],
                   check=True, capture_output=True)
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()
