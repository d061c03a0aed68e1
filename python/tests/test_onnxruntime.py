# SPDX-License-Identifier: Apache-2.0
"""hone.InferenceSession beside ONNX Runtime's own, on the same models and calls."""
import numpy
import onnxruntime
import pytest
from conftest import mlp_network

import hone


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    hone.zoo("lenet5", dynamic=True).save(folder / "lenet5.onnx")
    mlp_network("batch").save(folder / "mlp.onnx")
    return [str(folder / name) for name in ("lenet5.onnx", "mlp.onnx")]


def pair(path):
    options = hone.SessionOptions()
    options.intra_op_num_threads = 1
    options.add_session_config_entry("hone.level", "0")
    return (onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]),
            hone.InferenceSession(path, options, providers=["HoneExecutionProvider"]))


def feed_of(session):
    random = numpy.random.default_rng(0)
    return {port.name: random.uniform(-1, 1, [1 if isinstance(dim, (str, type(None))) else dim for dim in port.shape])
            .astype(numpy.float32) for port in session.get_inputs()}


def test_the_same_calls(models):
    for path in models:
        theirs, ours = pair(path)
        for got, want in zip(ours.get_inputs() + ours.get_outputs(), theirs.get_inputs() + theirs.get_outputs()):
            assert (got.name, got.type) == (want.name, want.type) and len(got.shape) == len(want.shape)
        feed = feed_of(theirs)
        names = [port.name for port in theirs.get_outputs()]
        for wanted in (None, names):
            for got, want in zip(ours.run(wanted, feed), theirs.run(wanted, feed)):
                numpy.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_io_binding(models):
    theirs, ours = pair(models[1])
    feed = feed_of(theirs)
    results = []
    for session in (theirs, ours):
        binding = session.io_binding()
        for name, array in feed.items():
            binding.bind_cpu_input(name, array)
        binding.bind_output("y")
        session.run_with_iobinding(binding)
        results.append(binding.copy_outputs_to_cpu())
    numpy.testing.assert_allclose(results[1][0], results[0][0], rtol=1e-4, atol=1e-5)
    with pytest.raises(NotImplementedError):
        ours.io_binding().bind_output("y", "cuda")


def test_options(models, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = hone.SessionOptions()
    options.intra_op_num_threads = 1
    options.add_session_config_entry("hone.level", "0")
    options.add_free_dimension_override_by_name("batch", 3)
    options.execution_mode = "any attribute is taken"
    options.enable_profiling = True
    session = hone.InferenceSession(models[1], options)
    assert session.run(None, {"x": numpy.zeros((3, 8), numpy.float32)})[0].shape == (3, 4)
    assert session.get_inputs()[0].type == "tensor(float)"
    assert session.get_modelmeta().graph_name and session.get_providers() == hone.get_available_providers()
    assert session.get_session_options() is options
    assert (tmp_path / session.end_profiling()).exists()
    with pytest.raises(ValueError, match='no output "z"'):
        session.run(["z"], {"x": numpy.zeros((3, 8), numpy.float32)})


def test_engines(models, mlp, x, tmp_path):
    mlp.save(tmp_path / "m.hone")
    for given in (mlp, mlp.to_bytes(), str(tmp_path / "m.hone")):
        assert (hone.InferenceSession(given).run(["y"], {"x": x})[0] == mlp(x)).all()
