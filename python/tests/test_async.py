# SPDX-License-Identifier: Apache-2.0
"""Runs beside the caller: futures and coroutines, cancelled ones, how many at a time, and which threads are left."""
import asyncio
import concurrent.futures
import gc
import os
import subprocess
import sys
import time
import weakref

import numpy
import pytest
from conftest import mlp_of

import hone


def batch_of(seed):
    return numpy.random.default_rng(seed).uniform(-1, 1, (1 + seed % 8, 8)).astype(numpy.float32)


@pytest.fixture(scope="module")
def slow():
    """Some seconds of the reference: a cancelled one ends long before."""
    net = hone.Network("slow")
    value = net.input("x", (256, 256))
    for _ in range(60):
        value = net.tanh(value @ value)
    net.output("y", value)
    return hone.build(net, level=0, threads=1, reference_only=True)


SLOW_X = numpy.zeros((256, 256), numpy.float32)


def thread_count():
    return len(os.listdir("/proc/self/task"))


def until(true, seconds=30):
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.01)
    return true()


def test_await(free_mlp):
    async def main():
        many = await asyncio.gather(*(free_mlp.run_async(batch_of(seed)) for seed in range(100)))
        y = numpy.empty((2, 4), numpy.float32)
        assert await free_mlp.run_async(x=batch_of(1), out=y) is y
        return many, y

    many, y = asyncio.run(main())
    for seed, got in enumerate(many):
        numpy.testing.assert_allclose(got, mlp_of(batch_of(seed)), atol=1e-5)
    numpy.testing.assert_allclose(y, mlp_of(batch_of(1)), atol=1e-5)


def test_several_outputs_and_copied_ones(two_ports):
    a, b = numpy.float32([1, 2, 3]), numpy.float32([3, 2, 1])
    got = two_ports.submit(a, b).result(30)
    assert got.sum.tolist() == [4, 4, 4] and got.difference.tolist() == [-2, 0, 2]
    net = hone.Network("nonzero")
    net.output("where", net.non_zero(net.input("x", (4,))))
    where = hone.build(net, level=0, threads=1).submit(numpy.float32([0, 1, 0, 2])).result(30)
    assert where.tolist() == [[1, 3]]


def test_the_caller_goes_on(slow):
    run = slow.submit(SLOW_X)
    turns = 0
    while turns < 1000 and not run.done():
        turns += 1
    assert turns == 1000 and not run.done()
    assert run.cancel() and run.cancelled()


def test_wrong_arguments_are_the_futures(mlp):
    with pytest.raises(hone.InvalidError, match="float64"):
        mlp.submit(numpy.zeros((2, 8))).result(30)
    with pytest.raises(TypeError, match="no input 'z'"):
        asyncio.run(mlp.run_async(z=1))
    assert mlp.submit(numpy.zeros((2, 8), numpy.float32)).result(30).shape == (2, 4)


def test_cancel(slow):
    """A run ends where it is, one that waits is never begun, and the session goes on."""
    session = hone.Session(slow, at_once=1)
    begin = time.monotonic()
    first, second = session.submit(SLOW_X), session.submit(SLOW_X)
    assert second.cancel() and first.cancel() and not second.running()
    with pytest.raises(concurrent.futures.CancelledError):
        first.result()
    x = weakref.ref(first)
    assert until(lambda: first._over.is_set() and second._over.is_set())
    ended = time.monotonic() - begin
    session(SLOW_X)  # the same native session, not cancelled
    whole = time.monotonic() - begin - ended
    assert session.opened() == 1
    assert ended < whole / 2, (ended, whole)
    del first, second
    gc.collect()
    assert x() is None


def test_a_cancelled_task(slow):
    async def main():
        task = asyncio.create_task(slow.run_async(SLOW_X))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(slow.run_async(SLOW_X), 0.05)

    asyncio.run(main())


def test_deadline(slow):
    with pytest.raises(hone.LimitError):
        hone.Session(slow, deadline=0.02).submit(SLOW_X).result(30)


def test_as_many_as_asked_for(free_mlp):
    for at_once in (1, 3):
        session = hone.Session(free_mlp, at_once=at_once)
        runs = [session.submit(batch_of(seed)) for seed in range(200)]
        for seed, run in enumerate(runs):
            numpy.testing.assert_allclose(run.result(30), mlp_of(batch_of(seed)), atol=1e-5)
        assert 1 <= session.opened() <= at_once
    with pytest.raises(ValueError, match="at_once is 0"):
        hone.Session(free_mlp, at_once=0)


def test_no_thread_is_left(free_mlp):
    gc.collect()
    before = thread_count()
    for _ in range(20):
        session = hone.Session(free_mlp, at_once=4)
        runs = [session.submit(batch_of(seed)) for seed in range(8)]
        del session  # the last run lets it go, in its own thread
        concurrent.futures.wait(runs, 30)
        del runs
    gc.collect()
    assert until(lambda: thread_count() <= before), (thread_count(), before)


def test_leaving_with_runs_under_way():
    """The interpreter ends them, and itself without a word."""
    text = """
import numpy, hone
net = hone.Network("slow")
value = net.input("x", (256, 256))
for _ in range(60): value = net.tanh(value @ value)
net.output("y", value)
session = hone.Session(hone.build(net, level=0, threads=1, reference_only=True), at_once=2)
runs = [session.submit(numpy.zeros((256, 256), numpy.float32)) for _ in range(4)]
print("leaves")
"""
    got = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120)
    assert (got.returncode, got.stdout.split(), got.stderr) == (0, ["leaves"], "")
