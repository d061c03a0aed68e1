# SPDX-License-Identifier: Apache-2.0
"""hone.Session: runs of an engine."""
from __future__ import annotations

import collections
import os
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


class Session(_native.Session):
    """session(x) runs: arrays by position, by name, or as one dict; `out=` reuses memory for the results.

    Arrays are taken as they are, without a copy or a cast: whatever has the buffer protocol, __array_interface__ or
    DLPack (torch.Tensor on the CPU), in row-major order and of the model's own type. Results are new arrays: one, or a
    named tuple of several.

    Any threads may call it, also at once: it opens as many sessions of the library as are in use. It can be pickled,
    and goes on in the child of a fork. deadline: seconds after which a run ends with LimitError.
    """

    engine: Engine
    _threads: Optional[int]
    _deadline: Optional[float]

    def __new__(cls, engine: Union[Engine, Path, ModelLike], *, threads: Optional[int] = None,
                deadline: Optional[float] = None) -> Session:
        opened = _open(engine, threads)
        names = [port.name for port in opened.outputs]
        result = None if len(names) == 1 else _result_type(names)
        self: Session = _native.new_session(cls, opened._native, result,
                                            0 if deadline is None else max(1, int(deadline * 1000)))
        self.engine = opened
        self._threads = threads
        self._deadline = deadline
        return self

    def __init__(self, engine: Union[Engine, Path, ModelLike], *, threads: Optional[int] = None,
                 deadline: Optional[float] = None) -> None:
        """All is done by __new__."""

    def run(self, feeds: dict[str, Any], out: Any = None) -> dict[str, Any]:
        """The results by the outputs' names."""
        results = self(feeds, out=out)
        names = [port.name for port in self.engine.outputs]
        return dict(zip(names, (results,) if len(names) == 1 else results))

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self.engine, self._deadline)

    def __repr__(self) -> str:
        return f"<hone.Session of {self.engine!r}>"


def _reopen(engine: Engine, deadline: Optional[float]) -> Session:
    return Session(engine, deadline=deadline)


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
