#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python_call.py - what a call from Python costs above the library's own run, on an MLP of some 20 us; ONNX Runtime beside it.
Blocks of calls in turns; of each kind the median of the blocks' means, in us.
usage: PYTHONPATH=BUILD/python bench/python_call.py [BLOCKS]"""
import statistics
import sys
import tempfile
import time

import numpy
import onnxruntime

import hone
from hone import _native

WIDTHS, CALLS = [256, 512, 512, 256, 10], 1000


def network():
    random = numpy.random.default_rng(0)
    net = hone.Network("mlp")
    value = net.input("x", (1, WIDTHS[0]))
    for inputs, outputs in zip(WIDTHS, WIDTHS[1:]):
        weight = random.normal(0, inputs ** -0.5, (inputs, outputs)).astype(numpy.float32)
        value = net.relu(value @ weight)
    net.output("y", value)
    return net


def theirs(net, x):
    with tempfile.TemporaryDirectory() as folder:
        net.save(f"{folder}/mlp.onnx")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(f"{folder}/mlp.onnx", options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    binding.bind_cpu_input("x", x)
    binding.bind_output("y")
    return session, binding


def timed(call):
    begin = time.perf_counter_ns()
    for _ in range(CALLS):
        call()
    return (time.perf_counter_ns() - begin) / CALLS * 1e-3


def main(blocks):
    net = network()
    engine = hone.build(net, level=2, threads=1)
    x, y = hone.empty((1, WIDTHS[0])), hone.empty((1, WIDTHS[-1]))
    x[:] = numpy.random.default_rng(1).uniform(-1, 1, x.shape)
    session = hone.Session(engine)
    profiler = _native.new_profiler(engine._native, (x,))  # its runs are timed in C, around hone_session_run()
    other, binding = theirs(net, x)
    feed = {"x": x}
    kinds = {
        "the library's run, timed in C": lambda: statistics.fmean(profiler.run(False, CALLS, 0)) * 1e3,
        "bound(): buffers bound once": (bound := session.bind(x, out=y)) and (lambda: timed(bound)),
        "session(x, out=y)": lambda: timed(lambda: session(x, out=y)),
        "session(x), a new array": lambda: timed(lambda: session(x)),
        "onnxruntime run_with_iobinding": lambda: timed(lambda: other.run_with_iobinding(binding)),
        "onnxruntime run": lambda: timed(lambda: other.run(None, feed)),
    }
    numpy.testing.assert_allclose(session(x), other.run(None, feed)[0], rtol=1e-4, atol=1e-5)
    times = {name: [] for name in kinds}
    for _ in range(blocks):
        for name, measure in kinds.items():
            times[name].append(measure())
    medians = {name: statistics.median(values) for name, values in times.items()}
    base = medians[next(iter(kinds))]
    for name, median in medians.items():
        print(f"{name:34} {median:8.2f} us  {median - base:+7.2f}")


main(int(sys.argv[1]) if len(sys.argv) > 1 else 21)
