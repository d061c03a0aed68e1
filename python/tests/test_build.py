# SPDX-License-Identifier: Apache-2.0
"""Builds: their arguments, what they refuse, progress and Ctrl-C."""
import logging
import os
import re
import subprocess
import sys
import textwrap
import types

import numpy
import onnx
import pytest
from conftest import mlp_network, mlp_of

import hone


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "mlp.onnx"
    mlp_network().save(path)
    return path


def test_models_of_every_kind(model, x):
    proto = onnx.load(model)
    for given in (model, str(model), model.read_bytes(), bytearray(model.read_bytes()), memoryview(model.read_bytes()),
                  proto, hone.Network.from_onnx(model), mlp_network()):
        engine = hone.build(given, level=0, threads=1)
        numpy.testing.assert_allclose(engine(x), mlp_of(x), atol=1e-5)


def test_save_and_load(model, tmp_path, x):
    path = tmp_path / "m.hone"
    engine = hone.build(model, path, level=1, threads=1)
    assert path.exists() and (tmp_path / "m.hone.ledger").exists()
    loaded = hone.load(path, threads=1)
    assert loaded.to_bytes() == engine.to_bytes() == path.read_bytes()
    assert (loaded(x) == engine(x)).all()
    assert "cpu.linear" in loaded.explain() and loaded.decisions()[0]["candidates"]
    with pytest.raises(hone.InvalidError, match="ledger"):
        hone.load(path.read_bytes(), threads=1).explain()


def test_lock_and_timing_cache(model, tmp_path):
    lock, cache = tmp_path / "m.lock", tmp_path / "t.cache"
    first = hone.build(model, level=1, threads=1, lock=lock, timing_cache=cache)
    assert lock.exists() and cache.exists()
    second = hone.build(model, level=1, threads=1, lock=lock)
    assert [step.tactic for step in second.steps] == [step.tactic for step in first.steps]
    with pytest.raises(hone.UnsupportedError):
        hone.build(model, level=1, threads=1, timing_cache=tmp_path / "empty.cache", timing_cache_only=True)
    assert hone.build(model, level=1, threads=1, timing_cache=cache, timing_cache_only=True).steps


def test_several_schedules():
    net = mlp_network("batch")
    engine = hone.build(net, level=0, threads=1, shapes=[{"x": (1, 8)}, {"x": ((2, 8), (4, 8), (6, 8))}])
    assert engine.summary["schedules"] == 2
    port = engine.inputs[0]
    assert (port.min, port.opt, port.max) == ((1, 8), (1, 8), (6, 8)) and port.shape == ("batch", 8)
    for batch in (1, 2, 6):
        x = numpy.ones((batch, 8), numpy.float32)
        numpy.testing.assert_allclose(engine(x), mlp_of(x), atol=1e-5)
    with pytest.raises(hone.InvalidError, match="7"):
        engine(numpy.ones((7, 8), numpy.float32))


def test_choices(model):
    assert all(step.reference for step in hone.build(model, level=0, threads=1, reference_only=True).steps)
    portable = hone.build(model, level=0, threads=1, tactics=["*=*.c"])
    assert all(step.tactic.split("{")[0].endswith(".c") for step in portable.steps)
    half = hone.build(model, level=1, threads=1, bf16=True, max_error=0.1, layer_types=[("*", "bfloat16", None)])
    assert any("bf16" in step.tactic for step in half.steps) and 0 < half.summary["output_error"] <= 0.1
    plain = hone.build(model, level=0, threads=1, tf32=True)
    assert [step.tactic for step in plain.steps] == [step.tactic for step in hone.build(model, level=0, threads=1).steps]
    unfused = hone.build(model, level=0, threads=1, disable_passes=["fuse_linear", "group_elementwise"])
    assert len(unfused.steps) >= 2


def test_a_free_dim_without_a_shape_is_logged(caplog):
    with caplog.at_level(logging.WARNING, "hone"):
        hone.build(mlp_network("batch"), level=0, threads=1)
    assert any("batch" in record.message or "x" in record.message for record in caplog.records)


REFUSED = [
    ({"level": 9}, ValueError, "level is 9"),
    ({"threads": 0}, ValueError, "threads is 0"),
    ({"threads": 100000}, hone.InvalidError, "100000"),
    ({"device": "gpu:x"}, ValueError, "gpu:x"),
    ({"device": "abacus"}, hone.InvalidError, "abacus"),
    ({"shapes": {"y": (2, 8)}}, hone.InvalidError, "y"),
    ({"shapes": {"x": ((1, 8), (2, 8))}}, ValueError, "2 shapes"),
    ({"shapes": {"x": (1,) * 9}}, ValueError, "at most 8"),
    ({"tactics": ["nonsense"]}, hone.InvalidError, "nonsense"),
    ({"tactics": [3]}, TypeError, "tactics"),
    ({"inputs": {"x": [1.0]}, "max_error": 0.1}, TypeError, "no array"),
    ({"layer_types": [("*", "f33", None)]}, ValueError, "f33"),
    ({"layer_types": [("*", None, "tf32")]}, hone.InvalidError, "tf32"),
    ({"disable_passes": ["no such pass"]}, hone.InvalidError, "no such pass"),
    ({"timing_runs": -1}, hone.InvalidError, "timing_runs"),
    ({"memory_limit": 1}, hone.OutOfMemoryError, None),
]


def test_what_is_refused_is_named(model):
    for arguments, kind, words in REFUSED:
        with pytest.raises(kind, match=words):
            hone.build(model, **{"level": 0, "threads": 1, **arguments})


def test_all_messages(tmp_path):
    """A model with three unknown operators names all three."""
    nodes = [onnx.helper.make_node(f"Unknown{i}", ["x" if i == 0 else f"v{i - 1}"], [f"v{i}"], name=f"n{i}")
             for i in range(3)]
    graph = onnx.helper.make_graph(nodes, "g", [onnx.helper.make_tensor_value_info("x", 1, [2])],
                                   [onnx.helper.make_tensor_value_info("v2", 1, [2])])
    with pytest.raises(hone.UnsupportedError) as caught:
        hone.build(onnx.helper.make_model(graph))
    for i in range(3):
        assert any(f"Unknown{i}" in message for message in caught.value.messages)
        assert f"Unknown{i}" in str(caught.value)
    with pytest.raises(hone.FileError) as missing:
        hone.build(tmp_path / "missing.onnx")
    assert isinstance(missing.value, OSError) and "missing.onnx" in str(missing.value)
    with pytest.raises(hone.MalformedError):
        hone.build(b"no model")
    with pytest.raises(hone.FileError):
        hone.load(tmp_path / "missing.hone")
    with pytest.raises(hone.FileError):
        hone.build(mlp_network(), tmp_path / "no folder" / "m.hone", level=0, threads=1)


def test_damaged_engines(mlp):
    data = mlp.to_bytes()
    for damaged in (b"", data[:100], data[:-1], b"x" + data[1:], data[:200] + b"\xff" + data[201:]):
        with pytest.raises((hone.MalformedError, hone.IncompatibleError)):
            hone.load(damaged)
    broken = bytearray(data)
    broken[-5] ^= 1  # in the weights, whose hashes the session looks at
    with pytest.raises(hone.MalformedError, match="weights"):
        hone.Session(hone.load(bytes(broken), threads=1))


def test_progress(model):
    told = []
    hone.build(model, level=1, threads=1, progress=lambda what, done, total: told.append((what, done, total)))
    assert told and all(0 <= done <= total for _, done, total in told)

    class Enough(Exception):
        pass

    def stop(what, done, total):
        raise Enough

    with pytest.raises(Enough):
        hone.build(model, level=1, threads=1, progress=stop)


SLOW = """
    import os, signal, sys, threading, time, warnings
    import hone
    warnings.simplefilter("always")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # who runs tests in the background may have it ignored
    begun = threading.Event()
    def from_a_thread(what, done, total):
        begun.set()
    def in_the_callback(what, done, total):
        os.kill(os.getpid(), signal.SIGINT)
    def interrupt():
        begun.wait()
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=interrupt, daemon=True).start()
    try:
        engine = hone.build(hone.zoo("squeezenet1_1"), level=5, threads=1, timing_runs=20000, progress={progress})
    except KeyboardInterrupt:
        print("ended")
        sys.exit(0)
    print("built", len(engine.steps), engine(*hone.random_inputs(engine).values()).shape)
"""


def interrupted(progress):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(SLOW.format(progress=progress))], capture_output=True,
                          text=True, timeout=600, check=True, env=os.environ)


def test_ctrl_c_ends_the_timing():
    ended = interrupted("from_a_thread")
    assert ended.stdout.startswith("built") and "(1, 1000)" in ended.stdout
    assert "TimingInterrupted" in ended.stderr


def test_ctrl_c_twice_ends_the_build():
    assert interrupted("in_the_callback").stdout == "ended\n"


def test_the_line_of_progress(capsys):
    from hone._progress import shown
    with shown(True, "hone.build") as tell:
        tell("conv_1", 3, 10)
    said = capsys.readouterr().err
    assert "3 of 10" in said and "conv_1" in said and said.endswith("\r")
    with shown(None, "hone.build") as tell:  # nobody looks on
        assert tell is None


def test_the_time_that_is_left(capsys, monkeypatch):
    from hone import _progress
    now = [100.0]
    monkeypatch.setattr(_progress.time, "monotonic", lambda: now[0])
    with _progress.shown(True, "hone.build") as tell:
        # Three seconds for a tenth; then less is done than before, which is other work.
        for seconds, done, left in ((101, 0, ""), (104, 10, "27 s left"), (104, 1, ""), (107, 2, "5 min left"), (108, 100, "")):
            now[0] = seconds
            tell("conv_1", done, 100)
            said = capsys.readouterr().err
            assert left in said if left else "left" not in said


def test_progress_in_a_notebook(monkeypatch):
    """IPython as a kernel has it: one output, which is changed in place and stays as the time that it took."""
    outputs = {}

    def display(data, raw, display_id, update):
        assert raw and update == (display_id in outputs)
        outputs[display_id] = data["text/plain"]

    class Shell:
        kernel = None

    ipython, shows = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    ipython.get_ipython, shows.display = Shell, display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", shows)
    from hone._progress import shown
    with shown(None, "hone.build") as tell:
        tell("conv_1", 3, 10)
        assert "3 of 10" in str(outputs)
        tell("conv_2", 10, 10)
        assert "10 of 10" in str(outputs)
    assert len(outputs) == 1 and re.fullmatch(r"hone.build: \d+\.\d s", *outputs.values())
