# SPDX-License-Identifier: Apache-2.0
"""hone.Session: runs of an engine."""
from __future__ import annotations

import asyncio
import atexit
import collections
import concurrent.futures
import os
import threading
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy

from . import _native
from ._build import ModelLike, Path

if TYPE_CHECKING:
    from ._engine import Engine

Binding = _native.Binding


def _open(engine: Union[Engine, Path, ModelLike], threads: Optional[int]) -> Engine:
    from ._build import build
    from ._engine import Engine, load
    if isinstance(engine, Engine):
        return engine
    if isinstance(engine, (str, os.PathLike)):
        with open(engine, "rb") as file:
            is_engine = file.read(8) == b"HONEENG\n"
        return load(engine, threads=threads) if is_engine else build(engine, threads=threads)
    if isinstance(engine, (bytes, bytearray, memoryview)) and bytes(engine[:8]) == b"HONEENG\n":
        return load(engine, threads=threads)
    return build(engine, threads=threads)


_under_way: set[Run] = set()  # of this process


@atexit.register
def _end_runs() -> None:
    """Before the interpreter goes: runs beside it would come back to one that is not there."""
    runs = [run for run in _under_way if run._process == os.getpid()]
    for run in runs:
        run.cancel()
    for run in runs:
        run._over.wait()


class Run(concurrent.futures.Future[Any]):
    """A run that submit() began: a Future of what a call returns. cancel() also ends a run that is under way; its arrays
    are let go a moment later. Callbacks are called by a thread of the library's."""

    def __init__(self) -> None:
        super().__init__()
        self._native: Optional[_native.Run] = None
        self._process = os.getpid()
        self._over = threading.Event()

    def cancel(self) -> bool:
        """False: it is done already."""
        if not super().cancel():
            return False
        native = self._native
        if native is not None:
            native.cancel()
        return True

    def _finish(self, result: Any, error: Optional[BaseException]) -> None:
        self._native = None
        _under_way.discard(self)
        self._over.set()
        if not self.set_running_or_notify_cancel():
            return
        if error is None:
            self.set_result(result)
        else:
            self.set_exception(error)


class _Queue:
    """Runs of one session: so many at a time, the others wait in their order. One process's: a fork makes another."""

    def __init__(self, most: int) -> None:
        self.process = os.getpid()
        self.most = most
        self.count = 0  # under way
        self.waiting: collections.deque[tuple[Run, Any, tuple[Any, ...], dict[str, Any]]] = collections.deque()
        self.lock = threading.Lock()

    def submit(self, session: _native.Session, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Run:
        run = Run()
        with self.lock:
            if self.count >= self.most:
                self.waiting.append((run, session, args, kwargs))
                return run
            self.count += 1
        if not self._start(run, session, args, kwargs):
            self._next()
        return run

    def _start(self, run: Run, session: _native.Session, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """False: there was nothing to run; the place is free."""
        def done(result: Any, error: Optional[BaseException]) -> None:
            self._next()
            run._finish(result, error)

        if run.cancelled():
            run._finish(None, None)
            return False
        _under_way.add(run)
        try:
            native = session.start(done, args, kwargs)
        except BaseException as error:
            run._finish(None, error)
            if not isinstance(error, Exception):
                raise
            return False
        if not run._over.is_set():
            run._native = native
        if run.cancelled():  # it was while this began
            native.cancel()
        return True

    def _next(self) -> None:
        """A place is free: for the first that waits and can be begun."""
        while True:
            with self.lock:
                if not self.waiting:
                    self.count -= 1
                    return
                first = self.waiting.popleft()
            if self._start(*first):
                return


class Session(_native.Session):
    """session(x) runs: arrays by position, by name, or as one dict; `out=` reuses memory for the results.

    Arrays are taken as they are, without a copy or a cast: whatever has the buffer protocol, __array_interface__ or
    DLPack (torch.Tensor on the CPU), in row-major order and of the model's own type. Results are new arrays: one, or a
    named tuple of several.

    Any threads may call it, also at once: it opens as many sessions of the library as are in use. It can be pickled,
    and goes on in the child of a fork. deadline: seconds after which a run ends with LimitError. at_once: how many runs
    of submit() and run_async() are under way at a time; None: as many as have CPUs of their own, by the engine's threads.
    stream: of a GPU, as its driver knows it (torch.cuda.Stream().cuda_stream; not the default one), for engines that were
    built with device_io: runs wait there for what made their tensors.
    """

    engine: Engine
    _threads: Optional[int]
    _deadline: Optional[float]
    _queue: _Queue

    def __new__(cls, engine: Union[Engine, Path, ModelLike], *, threads: Optional[int] = None,
                deadline: Optional[float] = None, at_once: Optional[int] = None, stream: int = 0) -> Session:
        if at_once is not None and at_once < 1:
            raise ValueError(f"at_once is {at_once}; allowed: 1 or more")
        opened = _open(engine, threads)
        names = [port.name for port in opened.outputs]
        result = None if len(names) == 1 else _result_type(names)
        self: Session = _native.new_session(cls, opened._native, result,
                                            0 if deadline is None else max(1, int(deadline * 1000)), stream)
        self.engine = opened
        self._threads = threads
        self._deadline = deadline
        cpus = len(os.sched_getaffinity(0))
        self._queue = _Queue(at_once or max(1, cpus // (opened.summary["threads"] or cpus)))
        return self

    def __init__(self, engine: Union[Engine, Path, ModelLike], *, threads: Optional[int] = None,
                 deadline: Optional[float] = None, at_once: Optional[int] = None, stream: int = 0) -> None:
        """All is done by __new__."""

    def run(self, feeds: dict[str, Any], out: Any = None) -> dict[str, Any]:
        """The results by the outputs' names."""
        results = self(feeds, out=out)
        names = [port.name for port in self.engine.outputs]
        return dict(zip(names, (results,) if len(names) == 1 else results))

    def submit(self, *args: Any, **kwargs: Any) -> Run:
        """Begins what a call does and returns at once: a concurrent.futures.Future of the result, or of what is wrong
        with the arguments. Inputs and `out` must stay as they are until it is done."""
        if self._queue.process != os.getpid():
            self._queue = _Queue(self._queue.most)
        return self._queue.submit(self, args, kwargs)

    async def run_async(self, *args: Any, **kwargs: Any) -> Any:
        """The same, to be awaited: `y = await session.run_async(x)`. Cancelling the task ends the run."""
        return await asyncio.wrap_future(self.submit(*args, **kwargs))

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self.engine, self._deadline, self._queue.most)

    def __repr__(self) -> str:
        return f"<hone.Session of {self.engine!r}>"


def _reopen(engine: Engine, deadline: Optional[float], at_once: int) -> Session:
    return Session(engine, deadline=deadline, at_once=at_once)


def _result_type(names: list[str]) -> Any:
    """A named tuple's type: names that are no identifiers become _0, _1, ... ."""
    return collections.namedtuple("Outputs", names, rename=True)


def empty(shape: Any, dtype: Any = "float32") -> numpy.ndarray[Any, Any]:
    """An array whose memory begins at a multiple of 64, as runs like it best."""
    kind = numpy.dtype(dtype)
    count = int(numpy.prod(shape, dtype=numpy.int64)) * kind.itemsize
    room = numpy.empty(count + 64, numpy.uint8)
    first = -room.ctypes.data % 64
    aligned: numpy.ndarray[Any, Any] = room[first:first + count].view(kind).reshape(shape)
    return aligned


def random_inputs(engine: Engine, seed: int = 0) -> dict[str, numpy.ndarray[Any, Any]]:
    """Seeded numbers for all inputs at the opt shapes: uniform in [-1, 1); 0 or 1 for integers and bool."""
    random = numpy.random.default_rng(seed)
    made: dict[str, numpy.ndarray[Any, Any]] = {}
    for port in engine.inputs:
        try:
            kind = numpy.dtype(port.dtype)
        except TypeError:
            import ml_dtypes
            kind = numpy.dtype(getattr(ml_dtypes, port.dtype))
        numbers: Any = random.integers(0, 2, port.opt) if kind.kind in "iub" else random.uniform(-1, 1, port.opt)
        made[port.name] = numpy.asarray(numbers).astype(kind)
    return made
