# SPDX-License-Identifier: Apache-2.0
"""What is taken is given back: references of arrays, and memory, also after errors."""
import gc
import sys

import numpy
import pytest
from conftest import mlp_network

import hone


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


def references(objects):
    return [sys.getrefcount(item) for item in objects]


def steady(work, objects=(), turns=300, room=2 << 20):
    """work() again and again changes neither reference counts, nor how many objects there are, nor memory by more than
    the allocator's own noise."""
    for _ in range(turns):
        work()
    gc.collect()
    counts, known, bytes_before = references(objects), len(gc.get_objects()), resident_bytes()
    for _ in range(turns):
        work()
    gc.collect()
    assert references(objects) == counts
    assert len(gc.get_objects()) - known < max(20, turns // 4)
    assert resident_bytes() - bytes_before < room


def refuse(work, kind=Exception):
    try:
        work()
    except kind:
        return
    raise AssertionError("it was not refused")


def test_calls(mlp, two_ports, x):
    session, y = hone.Session(mlp), numpy.empty((2, 4), numpy.float32)
    a = numpy.ones(3, numpy.float32)
    kept = (x, y, a, session, mlp, two_ports, numpy.dtype("float32"), numpy.empty)
    for work in (lambda: session(x), lambda: session(x=x, out=y), lambda: session({"x": x}), lambda: two_ports(a, b=a),
                 lambda: two_ports(a, a, out={"sum": numpy.empty(3, numpy.float32)}),
                 lambda: session(memoryview(x)), lambda: session.run({"x": x})):
        steady(work, kept, turns=2000)


def test_refusals(mlp, x):
    session, wrong = hone.Session(mlp), numpy.zeros((2, 8))
    y = numpy.zeros((4, 2), numpy.float32)
    kept = (x, wrong, y, session)
    for work in (lambda: session(wrong), lambda: session(x[:1]), lambda: session(x[:, ::2]), lambda: session([1]),
                 lambda: session(z=x), lambda: session(x, out=y), lambda: session.bind(x, out=y),
                 lambda: session.bind(wrong), lambda: session(x, x)):
        steady(lambda work=work: refuse(work), kept, turns=500)


class Dlpack:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **kwargs):
        return self.array.__dlpack__(**kwargs)


class Interface:
    def __init__(self, array):
        self.dtype, self.__array_interface__ = array.dtype, array.__array_interface__


def test_other_arrays(mlp, x):
    session, wrong = hone.Session(mlp), x.astype("float64")
    steady(lambda: session(Dlpack(x)), (x,), turns=2000)
    steady(lambda: session(Interface(x)), (x,), turns=2000)
    steady(lambda: refuse(lambda: session(Dlpack(wrong))), (wrong,), turns=500)
    steady(lambda: refuse(lambda: session(Interface(wrong))), (wrong,), turns=500)


def test_bindings(mlp, x):
    session, y = hone.Session(mlp), numpy.empty((2, 4), numpy.float32)
    before = sys.getrefcount(x), sys.getrefcount(y)
    bound = session.bind(x, out=y)
    assert sys.getrefcount(y) > before[1]  # it is kept alive
    steady(bound, (x, y), turns=2000)
    del bound
    gc.collect()
    assert (sys.getrefcount(x), sys.getrefcount(y)) == before
    steady(lambda: session.bind(x, out=y)(), (x, y))


def test_sessions_and_engines(mlp, x):
    data = mlp.to_bytes()
    steady(lambda: hone.Session(mlp)(x), (mlp, x))
    steady(lambda: hone.load(data, threads=1)(x), (x,), turns=200, room=6 << 20)
    steady(mlp.to_bytes, turns=100)
    steady(lambda: (mlp.inputs, mlp.outputs, mlp.steps, mlp.memory, mlp.summary, str(mlp)), (mlp,), turns=100)
    steady(lambda: refuse(lambda: hone.load(data[:-1])), turns=100, room=6 << 20)
    steady(lambda: refuse(lambda: hone.load(b"nothing")), turns=100)


def test_networks_and_builds():
    steady(mlp_network, turns=50)
    steady(lambda: hone.build(mlp_network(), level=0, threads=1), turns=30, room=8 << 20)
    net = mlp_network()
    value = hone.Value(net, 0)
    array = numpy.ones((3, 3), numpy.float32)
    steady(lambda: refuse(lambda: net.node("no such operator", value)), (net, value))
    steady(lambda: refuse(lambda: net.node("softmax", value, axis={})), (net, value))
    steady(lambda: refuse(lambda: hone.build(net, level=0, threads=1, inputs={"x": array, "no such": [1]})), (array,),
           turns=30, room=8 << 20)

    def stop(what, done, total):
        raise KeyError(what)

    steady(lambda: refuse(lambda: hone.build(mlp_network(), level=1, threads=1, progress=stop), KeyError), turns=20,
           room=8 << 20)


def test_profiles(mlp):
    steady(lambda: str(hone.profile(mlp, runs=1, duration=0, warm_up=0)), (mlp,), turns=5, room=8 << 20)


def test_a_session_outlives_its_engines_name(x):
    engine = hone.build(mlp_network(), level=0, threads=1)
    want = engine(x)
    session = hone.Session(engine)
    bound = session.bind(x)
    del engine, session
    gc.collect()
    assert (bound() == want).all()
    with pytest.raises(TypeError):
        hone.Engine()
