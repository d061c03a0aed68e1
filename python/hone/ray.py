# SPDX-License-Identifier: Apache-2.0
"""Engines on many machines, by Ray.

    results = hone.ray.predict(dataset, "model.hone", actors=(2, 8))     # Ray Data: batches through actors
    serve.run(hone.ray.deployment("model.hone").bind())                  # Ray Serve: requests, put together into batches

An engine belongs to one kind of CPU. Where nodes differ, give a model and a folder on each node's own disk: `cache_dir`
keeps the engine of that node's CPU there, built by whoever comes first. docs/PYTHON.md says more.
"""
from __future__ import annotations

import fcntl
import hashlib
import os
import platform
from typing import Any, Mapping, Optional, Sequence, Union

import numpy

from . import _native
from ._build import Path, build
from ._engine import Engine, load
from ._errors import HoneError
from ._session import Session

__all__ = ["Predictor", "deployment", "engine_of", "predict"]

Rows = dict[str, Any]


def _cpu() -> str:
    """What an engine depends on: the CPU's features as the kernel tells them, else the machine's kind."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith(("flags", "Features")))
    except (OSError, StopIteration):
        return platform.machine()


def engine_of(model: Union[Path, bytes], cache_dir: Path, *, threads: Optional[int] = None, **options: Any) -> Engine:
    """The engine of a model on this machine: from the folder, or built there once, while others wait. options are those of
    hone.build(). The file's name tells model, options, version and CPU."""
    if isinstance(model, bytes):
        data = model
    else:
        with open(model, "rb") as file:
            data = file.read()
    facts = repr((sorted(options.items()), threads, _native.version(), _cpu()))
    key = hashlib.sha256(hashlib.sha256(data).digest() + facts.encode()).hexdigest()[:32]
    os.makedirs(cache_dir, exist_ok=True)
    path = os.path.join(os.fspath(cache_dir), f"{key}.hone")
    with open(f"{path}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            if os.path.exists(path):
                return load(path, threads=threads)
        except HoneError:  # damaged: it is made again
            pass
        return build(model, path, threads=threads, progress=False, **options)


def _opened(engine: Union[Path, bytes, Engine], cache_dir: Optional[Path], threads: int,
            options: Optional[Mapping[str, Any]]) -> Engine:
    if isinstance(engine, Engine):
        return engine
    if cache_dir is not None:
        return engine_of(engine, cache_dir, threads=threads, **dict(options or {}))
    return load(engine, threads=threads)


class _Rows:
    """Runs any number of rows by an engine whose first dims are batches: in pieces that it takes, the last one filled up."""

    def __init__(self, engine: Engine, columns: Optional[Mapping[str, str]]) -> None:
        self.session = Session(engine)
        self.columns = {port.name: (columns or {}).get(port.name, port.name) for port in engine.inputs}
        self.outputs = [port.name for port in engine.outputs]
        firsts = {(port.min[0], port.max[0]) if port.min and port.max else (1, 1) for port in engine.inputs}
        if len(firsts) != 1:
            raise ValueError(f"{engine!r}: its inputs take different numbers of rows")
        self.least, self.most = firsts.pop()

    def given(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """The engine's inputs out of a batch; the only column is the only input, whatever its name."""
        if len(self.columns) == 1 and len(batch) == 1:
            return dict(zip(self.columns, batch.values()))
        missing = [column for column in self.columns.values() if column not in batch]
        if missing:
            raise KeyError(f"the batch has no column {missing[0]!r}; it has {', '.join(batch)}")
        return {name: batch[column] for name, column in self.columns.items()}

    def feed(self, given: Mapping[str, Any], begin: int) -> tuple[dict[str, Any], int]:
        """Rows from begin on, as many as a run takes, and how many of them are real."""
        piece = {name: numpy.ascontiguousarray(array[begin:begin + self.most]) for name, array in given.items()}
        count = len(next(iter(piece.values())))
        if count < self.least:
            piece = {name: numpy.concatenate([array, numpy.repeat(array[-1:], self.least - count, axis=0)])
                     for name, array in piece.items()}
        return piece, count

    def __call__(self, given: Mapping[str, Any]) -> Rows:
        count = len(next(iter(given.values())))
        parts = []
        for begin in range(0, count, self.most):
            piece, real = self.feed(given, begin)
            parts.append({name: array[:real] for name, array in self.session.run(piece).items()})
        return {name: numpy.concatenate([part[name] for part in parts]) for name in self.outputs}


class Predictor:
    """An actor of Dataset.map_batches(): dict of arrays in, dict of arrays out.

    engine     a file's path on each node, or its bytes; with cache_dir a model, which engine_of() builds on each node
    columns    {input: column} where the names differ
    keep       columns that go on into the result
    threads    of the engine; give the actor as many CPUs (predict() does)
    """

    def __init__(self, engine: Union[Path, bytes, Engine], *, columns: Optional[Mapping[str, str]] = None,
                 keep: Sequence[str] = (), threads: int = 1, cache_dir: Optional[Path] = None,
                 options: Optional[Mapping[str, Any]] = None) -> None:
        self._keep = tuple(keep)
        self._rows = _Rows(_opened(engine, cache_dir, threads, options), columns)

    def __call__(self, batch: Rows) -> Rows:
        given = {name: array for name, array in batch.items() if name not in self._keep}
        return {**{name: batch[name] for name in self._keep}, **self._rows(self._rows.given(given))}


def predict(dataset: Any, engine: Union[Path, bytes], *, actors: Union[int, tuple[int, int]] = 1, threads: int = 1,
            batch_size: Optional[int] = None, columns: Optional[Mapping[str, str]] = None, keep: Sequence[str] = (),
            cache_dir: Optional[Path] = None, options: Optional[Mapping[str, Any]] = None, **map_options: Any) -> Any:
    """The dataset's rows through `actors` engines (from, to: as many as there is work for), each with `threads` CPUs.

    batch_size   rows that an actor gets at a time; None: 64. Runs have as many of them as the engine takes
    map_options  of Dataset.map_batches()
    """
    import ray.data
    strategy = (ray.data.ActorPoolStrategy(size=actors) if isinstance(actors, int) else
                ray.data.ActorPoolStrategy(min_size=actors[0], max_size=actors[1]))
    arguments = {"columns": columns, "keep": keep, "threads": threads, "cache_dir": cache_dir, "options": options}
    return dataset.map_batches(Predictor, fn_constructor_args=(engine,), fn_constructor_kwargs=arguments,
                               batch_size=batch_size or 64, num_cpus=threads, compute=strategy, **map_options)


def deployment(engine: Union[Path, bytes], *, threads: int = 1, max_batch: Optional[int] = None, max_delay: float = 0.002,
               columns: Optional[Mapping[str, str]] = None, cache_dir: Optional[Path] = None,
               options: Optional[Mapping[str, Any]] = None, **serve_options: Any) -> Any:
    """A deployment of Ray Serve. Each request is one row: handle.remote({input: row}) gives {output: row}; by HTTP both are
    JSON with nested lists. Requests that come within max_delay seconds run as one batch, of max_batch rows at most
    (None: what the engine takes). serve_options are those of serve.deployment(): num_replicas, ..."""
    from ray import serve

    class HoneModel:
        def __init__(self) -> None:
            opened = _opened(engine, cache_dir, threads, options)
            self.rows = _Rows(opened, columns)
            self.types = {port.name: port.dtype for port in opened.inputs}
            self.batch.set_max_batch_size(max_batch or self.rows.most)
            self.batch.set_batch_wait_timeout_s(max_delay)

        @serve.batch  # type: ignore[untyped-decorator]
        async def batch(self, requests: list[Rows]) -> list[Rows]:
            names = list(self.rows.columns)
            given = {name: numpy.stack([request[name] for request in requests]) for name in names}
            results: list[Rows] = []
            for begin in range(0, len(requests), self.rows.most):
                piece, real = self.rows.feed(given, begin)
                got = await self.rows.session.run_async(piece)
                arrays = (got,) if len(self.rows.outputs) == 1 else got
                results += [dict(zip(self.rows.outputs, (array[row] for array in arrays))) for row in range(real)]
            return results

        async def __call__(self, request: Any) -> Any:
            if not hasattr(request, "json"):
                return await self.batch(self.rows.given(request))
            row = {name: numpy.asarray(value, self.types[name])
                   for name, value in self.rows.given(await request.json()).items()}
            return {name: array.tolist() for name, array in (await self.batch(row)).items()}

    return serve.deployment(**{"ray_actor_options": {"num_cpus": threads}, **serve_options})(HoneModel)
