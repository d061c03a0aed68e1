# SPDX-License-Identifier: Apache-2.0
"""Operators of one's own: hone.op and hone.load_plugin."""
import os
import pathlib
import re
import subprocess
import sys

import numpy
import pytest
from onnx import TensorProto, helper

import hone

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("HONE_BUILD_DIR", ROOT / "build/release"))


def elsewhere(code, *arguments):
    """What another process says."""
    return subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, check=False)


def test_the_tour(tmp_path, monkeypatch):
    """The block of docs/PLUGINS.md; its engine runs where nobody defined the operator."""
    monkeypatch.chdir(tmp_path)
    block, = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/PLUGINS.md").read_text(encoding="utf-8"), re.S | re.M)
    names = {}
    exec(compile(block, "docs/PLUGINS.md", "exec"), names)
    assert repr(names["scaled_swish"]).startswith("<hone.op scaled_swish: div(x, ")
    got = elsewhere("import hone, numpy, sys\n"
                    "a = numpy.linspace(-3, 3, 128, dtype=numpy.float32).reshape(8, 16)\n"
                    "y = hone.load(sys.argv[1])(a)\n"
                    "numpy.testing.assert_allclose(y, a / (1 + numpy.exp(-1.5 * a)), rtol=1e-5, atol=1e-6)\n"
                    "print('equal')", tmp_path / "mine.hone")
    assert got.stdout == "equal\n", got.stderr


def test_models_name_it():
    @hone.op("max(sub(x, y), mul($slope, sub(x, y)))", onnx="com.example.LeakyDifference")
    def leaky_difference(x, y, slope=0.25):
        return numpy.maximum(x - y, slope * (x - y))

    node = helper.make_node("LeakyDifference", ["a", "b"], ["c"], domain="com.example", slope=0.5)
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3, 4]) for name in "abc"]
    model = helper.make_model(helper.make_graph([node], "g", ports[:2], ports[2:]), ir_version=8,
                              opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)])
    engine = hone.build(model, level=0, threads=1)
    a, b = numpy.random.default_rng(0).uniform(-1, 1, (2, 3, 4)).astype(numpy.float32)
    numpy.testing.assert_allclose(engine(a, b), leaky_difference(a, b, slope=0.5), atol=1e-6)


def test_redefined():
    for factor in (2, 3):
        def times(x):
            return factor * x
        hone.op(f"mul(x, {factor})")(times)
        net = hone.Network()
        net.output("y", net.times(net.input("x", (4,))))
        assert hone.build(net, level=0, threads=1)(numpy.ones(4, numpy.float32)).tolist() == [factor] * 4


def test_wrong_ones():
    def tripled(x):
        return 3 * x

    with pytest.raises(hone.InvalidError, match="where x is .*its expression gives .* and its function .*must say the same"):
        hone.op("mul(x, 2)")(tripled)
    with pytest.raises(hone.InvalidError, match="in the definition of operator tripled"):
        hone.op("mul(x, ")(tripled)
    with pytest.raises(hone.InvalidError, match=r"its function makes \[\] of inputs of"):
        hone.op("mul(x, 3)")(lambda_named("tripled", lambda x: (3 * x).sum()))
    net = hone.Network()
    with pytest.raises(hone.InvalidError, match="tripled"):
        net.tripled(net.input("x", (4,)))


def lambda_named(name, function):
    function.__name__ = name
    return function


def test_shared_objects(tmp_path):
    with pytest.raises(hone.FileError, match="there is no such file"):
        hone.load_plugin(tmp_path / "none.so")
    with pytest.raises(hone.InvalidError, match="exports no hone_plugin"):
        hone.load_plugin(BUILD / "tests/libno_symbol.so")
    got = elsewhere("import hone, numpy, sys\n"
                    "for i in range(2): hone.load_plugin(sys.argv[1])\n"
                    "net = hone.Network()\n"
                    "net.output('y', net.shifted_relu(net.input('x', (4,)), offset=1.0))\n"
                    "print(hone.build(net, sys.argv[2], level=0, threads=1)(numpy.arange(4, dtype='f')).tolist())",
                    BUILD / "examples/libshifted_relu.so", tmp_path / "relu.hone")
    assert got.stdout == "[0.0, 0.0, 1.0, 2.0]\n", got.stderr
    with pytest.raises(hone.IncompatibleError, match="is of the plug-in libshifted_relu.so, which is not loaded"):
        hone.load(tmp_path / "relu.hone")
