# SPDX-License-Identifier: Apache-2.0
"""hone.quantize: samples from Python, and what they raise."""
import numpy
import pytest
from conftest import B1, W1, W2, mlp_of

import hone


def mlp_network():
    """The same as exporters write it: linear layers are MatMul and Add."""
    net = hone.Network("mlp")
    x = net.input("x", (2, 8))
    net.output("y", net.relu(x @ W1 + B1) @ W2)
    return net


SAMPLES = [numpy.random.default_rng(seed).uniform(-1, 1, (2, 8)).astype(numpy.float32) for seed in range(20)]


def test_quantize(tmp_path):
    for samples in (SAMPLES, tuple({"x": x} for x in SAMPLES), (x for x in SAMPLES)):
        made = hone.quantize(mlp_network(), samples, threads=1)
        assert len(made.layers) == 2 and not made.kept
        engine = hone.build(made, level=0, threads=1)
        got, want = engine(SAMPLES[0]), mlp_of(SAMPLES[0])
        error = numpy.linalg.norm(got - want) / numpy.linalg.norm(want)
        assert 0 < error < 0.05
    made.save(tmp_path / "q.onnx")
    assert (hone.build(tmp_path / "q.onnx", level=0, threads=1)(SAMPLES[0]) == got).all()


def test_options(tmp_path):
    cache = tmp_path / "ranges.txt"
    made = hone.quantize(mlp_network(), SAMPLES, method="minmax", activations="int8", per_tensor=True, cache=cache,
                         correct_biases=False, threads=1)
    assert len(made.layers) == 2 and cache.read_text(encoding="utf-8")
    assert hone.quantize(mlp_network(), SAMPLES[:1], cache=cache, threads=1).layers
    floats = hone.quantize(mlp_network(), SAMPLES, activations="float8_e4m3fn", threads=1)
    error = numpy.linalg.norm(hone.build(floats, level=0, threads=1)(SAMPLES[0]) - mlp_of(SAMPLES[0]))
    assert len(floats.layers) == 2 and 0 < error < 0.1 * numpy.linalg.norm(mlp_of(SAMPLES[0]))
    for arguments, kind in [({"method": "no such"}, hone.InvalidError), ({"keep": ["no such layer"]}, hone.InvalidError),
                            ({"activations": "float32"}, hone.InvalidError),
                            ({"activations": "float8_e4m3fn", "method": "mse"}, hone.InvalidError)]:
        with pytest.raises(kind):
            hone.quantize(mlp_network(), SAMPLES, threads=1, **arguments)


def test_samples_that_do_not_fit():
    for samples, kind, words in [([], hone.InvalidError, "sample"), ([SAMPLES[0].astype(float)], hone.InvalidError, None),
                                 ([[1.0]], TypeError, "no array"), ([{"z": SAMPLES[0]}], hone.InvalidError, "no tensor for the input x"),
                                 ([SAMPLES[0], SAMPLES[0] * numpy.nan], hone.InvalidError, None)]:
        with pytest.raises(kind, match=words):
            hone.quantize(mlp_network(), samples, threads=1)

    def progress(what, done, total):
        raise KeyError("stop")

    with pytest.raises(KeyError):
        hone.quantize(mlp_network(), SAMPLES, threads=1, progress=progress)
