# SPDX-License-Identifier: Apache-2.0
"""hone.Batcher: what many threads ask for is what each would get alone; refusals, errors of one, ends."""
import asyncio
import concurrent.futures
import gc
import os
import subprocess
import sys
import threading

import numpy
import pytest

import hone


@pytest.fixture(scope="module")
def engine():
    net = hone.Network("rows")
    random = numpy.random.default_rng(3)
    weights, bias = (random.uniform(-1, 1, dims).astype(numpy.float32) for dims in ((8, 3), (3,)))
    net.output("y", net.tanh(net.linear(net.input("x", ("rows", 8)), weights, bias)))
    return hone.build(net, level=0, threads=1, shapes={"x": ((1, 8), (8, 8), (8, 8))})


def rows_of(seed):
    return numpy.random.default_rng(seed).uniform(-1, 1, (1 + seed % 3, 8)).astype(numpy.float32)


def test_threads(engine):
    session = hone.Session(engine)
    with hone.Batcher(engine, max_delay=0.002, workers=2) as batcher:
        def ask(seed):
            return seed, batcher(rows_of(seed))

        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            for seed, got in pool.map(ask, range(120)):
                numpy.testing.assert_allclose(got, session(rows_of(seed)), rtol=1e-5, atol=1e-6)
        stats = batcher.stats
        assert stats["taken"] == 120 and stats["failed"] == stats["refused"] == stats["waiting"] == 0
        assert stats["rows"] == 240 and stats["runs"] < 120 and stats["max_batch"] == 8 and stats["workers"] == 2
    with pytest.raises(hone.CancelledError):
        batcher(rows_of(1))


def test_coroutines_and_names(engine):
    session = hone.Session(engine)

    async def ask(batcher):
        return await asyncio.gather(*(batcher.run_async(x=rows_of(seed)) for seed in range(8)))

    with hone.Batcher(engine, max_delay=0.01) as batcher:
        for seed, got in enumerate(asyncio.run(ask(batcher))):
            numpy.testing.assert_allclose(got, session(rows_of(seed)), rtol=1e-5, atol=1e-6)


def test_refused(engine):
    with hone.Batcher(engine, max_delay=100, max_waiting=2, timeout=0.05) as batcher:
        futures = [batcher.submit(rows_of(0), priority=1), batcher.submit(rows_of(3))]
        with pytest.raises(hone.LimitError, match="2 requests are waiting"):
            batcher.submit(rows_of(0))
        for future in futures:
            with pytest.raises(hone.LimitError, match="time limit"):
                future.result(60)
        with pytest.raises(TypeError):
            batcher.submit(rows_of(0), z=1)
        with pytest.raises(hone.InvalidError, match="x"):
            batcher.submit(numpy.zeros((9, 8), numpy.float32))
        with pytest.raises((TypeError, ValueError)):
            batcher.submit(rows_of(0).astype(numpy.float64))
    with hone.Batcher(engine, max_rate=0.01) as batcher:
        batcher(rows_of(0))
        with pytest.raises(hone.LimitError, match="0.01 requests a second"):
            batcher(rows_of(0))
    with pytest.raises(hone.InvalidError, match="fixed_batch"):
        hone.Batcher(engine, fixed_batch=True)


def test_ends(engine):
    batcher = hone.Batcher(engine, max_delay=100)
    futures = [batcher.submit(rows_of(0)) for _ in range(3)]
    assert batcher.close(0) is False
    assert all(isinstance(future.exception(10), hone.CancelledError) for future in futures)
    batcher = hone.Batcher(engine, max_delay=100)
    future = batcher.submit(rows_of(0))
    assert batcher.close() is True and future.result(0).shape == (1, 3)
    # dropped with a request under way, also by the request's own callback
    batcher = hone.Batcher(engine, max_delay=100)
    future = batcher.submit(rows_of(0))
    del batcher
    gc.collect()
    assert isinstance(future.exception(10), hone.CancelledError)
    kept, gone = [hone.Batcher(engine)], threading.Event()
    future = kept[0].submit(rows_of(0))
    future.add_done_callback(lambda _: (kept.clear(), gone.set()))
    assert gone.wait(60) and future.result(60).shape == (1, 3)


def test_fork_and_exit(engine, tmp_path):
    batcher = hone.Batcher(engine)
    child = os.fork()
    if child == 0:
        try:
            batcher(rows_of(0))
            os._exit(1)
        except hone.InvalidError as error:
            os._exit(0 if "fork" in str(error) else 2)
    assert os.waitpid(child, 0)[1] == 0
    assert batcher(rows_of(0)).shape == (1, 3)
    path = tmp_path / "rows.hone"
    engine.save(path)
    program = ("import hone, numpy, sys\nb = hone.Batcher(sys.argv[1], max_delay=100)\n"
               "f = b.submit(numpy.zeros((1, 8), numpy.float32))\n")
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and not done.stderr
