# SPDX-License-Identifier: Apache-2.0
"""Several threads on one session, processes that fork, and pickles."""
import os
import pickle
import signal
import threading

import numpy
import pytest
from conftest import mlp_network, mlp_of

import hone


def batch_of(seed, batch=2):
    return numpy.random.default_rng(seed).uniform(-1, 1, (batch, 8)).astype(numpy.float32)


def in_child(work):
    """Runs work() in a child of a fork, which must end by itself."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.alarm(60)  # what hangs is killed
            work()
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_many_threads_one_session(free_mlp):
    session = hone.Session(free_mlp)
    wrong = []

    def work(seed):
        for turn in range(200):
            x = batch_of(seed * 1000 + turn, 1 + (seed + turn) % 8)
            if not numpy.allclose(session(x), mlp_of(x), atol=1e-5):
                wrong.append((seed, turn))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert 1 <= session.opened() <= 8


def slow_engine():
    net = hone.Network("slow")
    value = net.input("x", (256, 256))
    for _ in range(20):
        value = net.tanh(value @ value)
    net.output("y", value)
    return hone.build(net, level=0, threads=1, reference_only=True)


def test_the_gil_is_free_during_a_run_and_a_binding_is_one_threads():
    x = numpy.zeros((256, 256), numpy.float32)
    bound = hone.Session(slow_engine()).bind(x)
    begun, refused, others = threading.Event(), [], 0

    def work():
        begun.set()
        bound()

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    while thread.is_alive():  # Python goes on beside it
        others += 1
        try:
            bound()
        except RuntimeError as error:
            refused.append(str(error))
            break
    thread.join()
    assert others > 0
    assert refused and "another thread" in refused[0]
    bound()


def test_a_graph_is_one_threads():
    net = hone.Network("busy")
    value = net.input("x", (64, 64))
    for _ in range(30):
        value = net.relu(value @ numpy.ones((64, 64), numpy.float32))
    net.output("y", value)
    said = []

    def progress(what, done, total):
        thread = threading.Thread(target=attempt)
        thread.start()
        thread.join()

    def attempt():
        try:
            len(net)
        except RuntimeError as error:
            said.append(str(error))

    hone.build(net, level=1, threads=1, progress=progress)
    assert said and "another thread" in said[0]
    assert len(net) > 0


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork(x):
    """With a pool of threads, which the child has not; sessions that are free and one that is bound go on there."""
    engine = hone.build(mlp_network(), level=0, threads=2)
    session = hone.Session(engine)
    y = numpy.empty((2, 4), numpy.float32)
    bound = session.bind(x, out=y)
    want = session(x)
    bound()

    def work():
        assert (session(x) == want).all()
        y[:] = 0
        bound()
        assert (y == want).all()
        assert (hone.Session(engine)(-x) == hone.load(engine.to_bytes(), threads=1)(-x)).all()
        assert (engine(x) == want).all()

    for _ in range(3):
        in_child(work)
    in_child(lambda: in_child(work))  # and in the child of a child
    assert (session(x) == want).all()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork_while_threads_run(free_mlp):
    session = hone.Session(free_mlp)
    stop = threading.Event()

    def work():
        while not stop.is_set():
            session(batch_of(1))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    x = batch_of(2)
    try:
        for _ in range(5):
            in_child(lambda: numpy.testing.assert_allclose(session(x), mlp_of(x), atol=1e-5))
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_pickles(mlp, x):
    session = hone.Session(mlp, deadline=5)
    engine = pickle.loads(pickle.dumps(mlp))
    assert engine.to_bytes() == mlp.to_bytes()
    again = pickle.loads(pickle.dumps(session))
    assert (again(x) == session(x)).all() and (engine(x) == session(x)).all()


def test_processes(mlp, x):
    import concurrent.futures
    import multiprocessing
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, context) as pool:
        results = list(pool.map(hone.Session(mlp), [x, -x, 2 * x]))
    for given, got in zip([x, -x, 2 * x], results):
        numpy.testing.assert_allclose(got, mlp_of(given), atol=1e-5)
