# SPDX-License-Identifier: Apache-2.0
"""hone.Engine: a network as it runs here."""
from __future__ import annotations

import html
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _native
from ._build import DeviceLike, Path, split_device
from ._native import Engine as NativeEngine
from ._session import Run, Session

if TYPE_CHECKING:
    from ._profile import Diff, Page

Dim = Union[int, str, None]


@dataclass(frozen=True)
class Port:
    """An input or output: free dims in `shape` are their names, None where there is none."""

    name: str
    dtype: str
    shape: tuple[Dim, ...]
    min: Optional[tuple[int, ...]] = None  # inputs: over all schedules; opt is the first one's
    opt: Optional[tuple[int, ...]] = None
    max: Optional[tuple[int, ...]] = None
    on_device: bool = False
    held: str = ""  # the type that it has on a device

    def __str__(self) -> str:
        dims = ", ".join("?" if dim is None else str(dim) for dim in self.shape)
        return f"{self.name} {self.dtype}[{dims}]"


@dataclass(frozen=True)
class Step:
    """One step of a run: its operator, what runs it, and the model's nodes that it stands for."""

    name: str
    op: str
    provider: str
    tactic: str  # "": nothing runs, as for a reshape
    reference: bool
    flops: float
    error: float  # measured at the build, relative L2; -1: it was not
    origins: tuple[str, ...]


@dataclass(frozen=True)
class Memory:
    """Bytes that a run needs, at the first schedule's opt shapes."""

    weights_bytes: int
    arena_bytes: int
    scratch_bytes: int
    peak_step: str
    text: str  # the whole plan, as `hone show --memory` prints it

    def __str__(self) -> str:
        return self.text


def _port(row: tuple[Any, ...]) -> Port:
    name, dtype, shape, names, low, opt, high, on_device, held = row
    dims: tuple[Dim, ...] = () if shape is None else tuple(
        dim if dim >= 0 else names[axis] for axis, dim in enumerate(shape))
    return Port(name, dtype, dims, low, opt, high, on_device, held)


class Engine:
    """Made by hone.build() and hone.load(). Immutable: any threads and sessions share it. It can be pickled (its bytes
    are), also to other machines of the same instruction sets."""

    __slots__ = ("__weakref__", "_ledger", "_native", "_path", "_session")
    _native: NativeEngine
    _path: Optional[str]
    _ledger: Optional[str]
    _session: Optional[Session]

    def __init__(self) -> None:
        raise TypeError("hone.build() and hone.load() make engines")

    @classmethod
    def _of(cls, native: NativeEngine, path: Optional[str] = None) -> Engine:
        self = object.__new__(cls)
        self._native = native
        self._path = path
        self._ledger = f"{path}.ledger" if path is not None and os.path.exists(f"{path}.ledger") else None
        self._session = None
        return self

    # ---- running ----

    def _kept_session(self) -> Session:
        if self._session is None:
            self._session = Session(self)
        return self._session

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs, as hone.Session(engine)(...) does, with a session that the engine keeps."""
        return self._kept_session()(*args, **kwargs)

    def submit(self, *args: Any, **kwargs: Any) -> Run:
        """Begins a run and returns at once, as hone.Session.submit() does."""
        return self._kept_session().submit(*args, **kwargs)

    async def run_async(self, *args: Any, **kwargs: Any) -> Any:
        """`y = await engine.run_async(x)`: other tasks go on while it runs."""
        return await self._kept_session().run_async(*args, **kwargs)

    # ---- looking ----

    @property
    def name(self) -> str:
        return str(self._native.summary()["name"])

    @property
    def inputs(self) -> list[Port]:
        return [_port(row) for row in self._native.inputs()]

    @property
    def outputs(self) -> list[Port]:
        return [_port(row) for row in self._native.outputs()]

    @property
    def summary(self) -> dict[str, Any]:
        """Counts, bytes, FLOP of a run, the largest measured error, the device."""
        return self._native.summary()

    @property
    def steps(self) -> list[Step]:
        """Of the first schedule, in the order of a run."""
        schedules = json.loads(self._native.report("engine", json=True))["schedules"]
        return [Step(step["name"], step.get("type") or step["kind"], step.get("provider") or "",
                     step.get("tactic") or "", step.get("reference", False), step.get("flops", 0.0), step.get("error_rel_l2", -1.0),
                     tuple(step.get("from", ()))) for step in schedules[0]["steps"]]

    @property
    def memory(self) -> Memory:
        plan = json.loads(self._native.report("memory", json=True))
        first = plan["schedules"][0]
        return Memory(plan["weights_bytes"], first["arena_bytes"], first["scratch_bytes"], first.get("peak_step", ""),
                      self._native.report("memory"))

    def explain(self, node: Optional[str] = None, *, all: bool = False) -> str:
        """Why each layer runs as it does: every tactic with its time, its estimate or the reason against it. Of an engine
        that was built in this process, or loaded from a file with its ledger beside it."""
        return self._native.report("explain", node=node, ledger=self._ledger, all=all)

    def decisions(self, node: Optional[str] = None) -> list[dict[str, Any]]:
        """The same as data."""
        found: list[dict[str, Any]] = json.loads(
            self._native.report("explain", json=True, node=node, ledger=self._ledger, all=True))
        return found

    def report(self, path: Path, **kwargs: Any) -> Page:
        """Profiles the engine and writes the page for a browser; in a notebook the result shows itself. Arguments are
        those of hone.profile()."""
        from ._profile import profile
        return profile(self, **kwargs).html(path)

    def diff(self, other: Engine, **kwargs: Any) -> Diff:
        """Which layers differ in time from another engine of the same model, measured in turns."""
        from ._profile import diff
        return diff(self, other, **kwargs)

    def __str__(self) -> str:
        return self._native.report("engine").rstrip()

    def __repr__(self) -> str:
        s = self.summary
        ports = "; ".join(str(port) for port in self.inputs), "; ".join(str(port) for port in self.outputs)
        return f"<hone.Engine {s['name']}: {ports[0]} -> {ports[1]}, {s['steps']} steps on {s['kind']}>"

    def _repr_html_(self) -> str:
        s = self.summary
        facts = [("inputs", ", ".join(str(port) for port in self.inputs)),
                 ("outputs", ", ".join(str(port) for port in self.outputs)),
                 ("device", f"{s['device']}, {s['threads']} threads"),
                 ("weights", f"{s['weights_bytes'] / 1e6:.1f} MB"), ("arena", f"{s['arena_bytes'] / 1e6:.2f} MB"),
                 ("work of a run", f"{s['flops'] * 1e-9:.3g} GFLOP")]
        head = "".join(f"<tr><th>{html.escape(what)}</th><td>{html.escape(text)}</td></tr>" for what, text in facts)
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in (step.name, step.op, step.tactic)) + "</tr>"
            for step in self.steps)
        return (f"<b>{html.escape(str(s['name']))}</b><table>{head}</table><details><summary>{s['steps']} steps"
                f"</summary><table><tr><th>step</th><th>operator</th><th>tactic</th></tr>{rows}</table></details>")

    # ---- keeping ----

    def to_bytes(self) -> bytes:
        """What save() puts into the file; hone.load() takes it."""
        return self._native.write()

    def save(self, path: Path) -> None:
        """The engine's file, and beside it PATH.ledger when the engine was built in this process."""
        text = os.fspath(path)
        self._native.save(text)

    def __reduce__(self) -> tuple[Any, ...]:
        s = self.summary
        return _unpickle, (self.to_bytes(), s["kind"], s["index"], self._native.threads())


def _unpickle(data: bytes, kind: str, index: int, threads: int) -> Engine:
    return Engine._of(_native.load_engine(None, data, kind=kind, index=index, threads=threads))


def load(engine: Union[Path, bytes, bytearray, memoryview], *, device: DeviceLike = "cpu",
         threads: Optional[int] = None, memory_limit: int = 0) -> Engine:
    """Opens an engine: a file, which is mapped and must not change underneath, or bytes, which are copied.

    device, threads  as in hone.build(); IncompatibleError when the engine is of another kind of machine
    """
    if threads is not None and threads < 1:
        raise ValueError(f"threads is {threads}; allowed: 1 or more")
    kind, index = split_device(device)
    if isinstance(engine, (bytes, bytearray, memoryview)):
        return Engine._of(_native.load_engine(None, engine, kind=kind, index=index, threads=threads or 0,
                                              memory_limit=memory_limit))
    path = os.fspath(engine)
    return Engine._of(_native.load_engine(path, kind=kind, index=index, threads=threads or 0,
                                          memory_limit=memory_limit), path)
