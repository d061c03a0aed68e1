# SPDX-License-Identifier: Apache-2.0
"""hone.Batcher: requests of many threads, put together into batches."""
from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import os
import weakref
from types import TracebackType
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _native
from ._build import ModelLike, Path
from ._session import Session

if TYPE_CHECKING:
    from ._engine import Engine

_open: weakref.WeakSet[Batcher] = weakref.WeakSet()


@atexit.register
def _end_batchers() -> None:
    """Before the interpreter goes: workers would come back to one that is not there."""
    for batcher in list(_open):
        if batcher._process == os.getpid():
            batcher._native.end(0)


class Batcher:
    """batcher(x) runs x together with what other threads ask for at the same time.

    Inputs have their rows along the first axis, one or a few; results are new arrays with as many, as a Session's call
    returns them. A batch runs when it is as large as the engine was tuned for (a schedule's opt shape), or when its oldest
    request has waited for max_delay seconds. The engine wants a free first axis, or fixed_batch=True and a fixed one.

    max_batch: rows; None: as many as the engine takes. max_waiting: requests; one more is refused with LimitError, as is
    what comes faster than max_rate a second. timeout: seconds after which a request that still waits ends with LimitError.
    workers: batches that run at a time, each with so many threads; None: one a CPU. A fork makes it useless in the child.
    """

    def __init__(self, engine: Union[Engine, Path, ModelLike], *, max_delay: float = 0.0, max_batch: Optional[int] = None,
                 max_waiting: int = 256, max_rate: float = 0.0, timeout: Optional[float] = None,
                 workers: Optional[int] = None, threads: int = 1, fixed_batch: bool = False) -> None:
        session = Session(engine, threads=threads)
        self.engine: Engine = session.engine
        wait_ms = 0 if timeout is None else max(1, int(timeout * 1000))
        self._native = _native.new_batcher(session, workers or 0, threads, max_batch or 0, max_waiting,
                                           int(max_delay * 1e6), max_rate, wait_ms, fixed_batch)
        self._process = os.getpid()
        _open.add(self)

    def submit(self, *args: Any, priority: int = 0, **kwargs: Any) -> concurrent.futures.Future[Any]:
        """Returns at once: a Future of what a call returns. Inputs must stay as they are until it is done. priority: 1 runs
        before 2, and so on; 0 behind all others. LimitError is raised here. The Future cannot be cancelled."""
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        future.set_running_or_notify_cancel()

        def done(result: Any, error: Optional[BaseException]) -> None:
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

        self._native.start(done, args, kwargs, priority)
        return future

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.submit(*args, **kwargs).result()

    async def run_async(self, *args: Any, **kwargs: Any) -> Any:
        """The same, to be awaited."""
        return await asyncio.wrap_future(self.submit(*args, **kwargs))

    @property
    def stats(self) -> dict[str, int]:
        """waiting, taken, refused, failed (requests); runs and their rows; max_batch, preferred (rows); workers."""
        return self._native.stats()

    def close(self, wait: Optional[float] = None) -> bool:
        """Takes nothing more, and waits for what was taken: so many seconds, None: as long as it takes. What is left ends
        with CancelledError; True: nothing was."""
        return self._native.end(-1 if wait is None else int(wait * 1000))

    def __enter__(self) -> Batcher:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<hone.Batcher of {self.engine!r}>"
