# SPDX-License-Identifier: Apache-2.0
"""hone.profile: where the time of a run goes; and two engines beside each other."""
from __future__ import annotations

import html
import json
import os
import tempfile
from typing import TYPE_CHECKING, Any, Mapping, Optional, Union

import numpy

from . import _native
from ._build import ModelLike, Path
from ._session import _open, random_inputs

if TYPE_CHECKING:
    from ._engine import Engine


def _feeds(engine: Engine, inputs: Optional[Mapping[str, Any]]) -> tuple[Any, ...]:
    made = random_inputs(engine)
    made.update(inputs or {})
    ports = [port.name for port in engine.inputs]
    for name in made:
        if name not in ports:
            raise ValueError(f'inputs: the engine has no input "{name}"; its inputs are {", ".join(ports)}')
    return tuple(made[name] for name in ports)


class Page:
    """A report for a browser. In a notebook it shows itself."""

    def __init__(self, path: Optional[str], text: str) -> None:
        self.path = path
        self.text = text

    def _repr_html_(self) -> str:
        return (f'<iframe srcdoc="{html.escape(self.text, quote=True)}" width="100%" height="720" '
                'style="border:1px solid #ccc"></iframe>')

    def __repr__(self) -> str:
        return f"<hone.Page {self.path or 'in memory'}, {len(self.text)} characters>"


class Profile:
    """What hone.profile() measured. print() shows the table; `rows` are the layers as dicts."""

    def __init__(self, engine: Engine, native: _native.Profiler, unprofiled_ms: float) -> None:
        self.engine = engine
        self._native = native
        self._unprofiled_ns = unprofiled_ms * 1e6
        self.data: dict[str, Any] = json.loads(self._report("profile", json=True))

    def _report(self, what: str, **kwargs: Any) -> str:
        return self._native.report(what, unprofiled_ns=self._unprofiled_ns, ledger=self.engine._ledger, **kwargs)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One a layer, in the order of a run: name, type, tactic, median_ms, percent, bound, roof_percent, from, ..."""
        rows: list[dict[str, Any]] = self.data["layers"]
        return rows

    @property
    def total(self) -> float:
        """The median time of a run in ms, measured without profiling."""
        return self._unprofiled_ns * 1e-6

    def to_json(self) -> str:
        return json.dumps(self.data)

    def to_csv(self) -> str:
        """The layers, as RFC 4180 has them: pandas.read_csv(io.StringIO(p.to_csv()))."""
        return self._report("profile", csv=True)

    def table(self, *, by: str = "layer", top: int = 5, width: int = 0) -> str:
        """by: layer, type, onnx-node or module."""
        return self._report("profile", by=by, top=top, width=width)

    def advice(self) -> list[dict[str, Any]]:
        """What to do about it, by what each remedy would save."""
        found: list[dict[str, Any]] = json.loads(self._report("advice", json=True))["advice"]
        return found

    def roofline(self) -> str:
        return self._report("roofline")

    def html(self, path: Optional[Path] = None, *, before: Optional[Path] = None) -> Page:
        """The page: layers, roofline, timeline, memory, graph, tactics. Written to path, if there is one.

        before  a file with the to_json() of an earlier engine, to show beside
        """
        target = None if path is None else os.fspath(path)
        earlier = None if before is None else os.fspath(before)
        with tempfile.TemporaryDirectory() as folder:
            written = target or os.path.join(folder, "page.html")
            self._report("page", path=written, before=earlier, command="hone.profile(engine)")
            with open(written, encoding="utf-8") as file:
                return Page(target, file.read())

    def __str__(self) -> str:
        return self.table().rstrip()

    def __repr__(self) -> str:
        return f"<hone.Profile of {self.engine.name}: {self.total:.4g} ms, {len(self.rows)} layers>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(row['name'])}</td><td>{html.escape(row['type'])}</td>"
            f"<td style='text-align:right'>{row['median_ms']:.4f}</td>"
            f"<td style='text-align:right'>{row['percent']:.1f}</td><td>{html.escape(str(row.get('bound', '')))}</td>"
            f"<td>{html.escape(row.get('tactic', ''))}</td></tr>" for row in self.rows)
        return (f"<b>{html.escape(self.engine.name)}: {self.total:.4g} ms</b><table><tr><th>layer</th><th>type</th>"
                f"<th>ms</th><th>%</th><th>bound</th><th>tactic</th></tr>{rows}</table>")


def profile(engine: Union[Engine, ModelLike], inputs: Optional[Mapping[str, Any]] = None, *, runs: int = 10,
            duration: float = 1.0, warm_up: float = 0.2) -> Profile:
    """Measures an engine step by step.

    inputs    {name: array}; those not given are seeded numbers
    runs      profiled runs at least, for `duration` seconds at least, after `warm_up` seconds

    Half of the runs without profiling come before the profiled ones and half after, so that a drift of the machine's
    clock is not taken for the profiler's cost.
    """
    if runs < 1 or duration < 0 or warm_up < 0:
        raise ValueError("runs is at least 1; duration and warm_up are at least 0")
    opened = _open(engine, None)
    native = _native.new_profiler(opened._native, _feeds(opened, inputs))
    native.run(False, 1, warm_up * 1e3)
    plain = native.run(False, (runs + 1) // 2, duration * 250)
    native.run(True, runs, duration * 1e3)
    plain += native.run(False, (runs + 1) // 2, duration * 250)
    return Profile(opened, native, float(numpy.median(plain)))


class Diff:
    """Two engines of one model, layer by layer. print() shows the table."""

    def __init__(self, text: str, data: dict[str, Any], regressed: bool) -> None:
        self.text = text
        self.data = data
        self.regressed = regressed  # the second takes more than max_regression percent longer, and not by chance

    def to_json(self) -> str:
        return json.dumps(self.data)

    def __str__(self) -> str:
        return self.text.rstrip()

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


BLOCKS, SESSIONS, KEPT_RUNS = 32, 8, 512


def diff(a: Engine, b: Engine, *, duration: float = 4.0, max_regression: float = 5.0,
         inputs: Optional[Mapping[str, Any]] = None) -> Diff:
    """Runs both in turns, block after block, in several sessions each, since where a session's memory lies moves its
    times, too."""
    sides = [[_native.new_profiler(engine._native, _feeds(engine, inputs)) for _ in range(SESSIONS)]
             for engine in (a, b)]
    run_ms = 0.0
    for side in sides:
        for session in side:
            session.run(False, 1, 200 / SESSIONS)
        run_ms += float(numpy.median(side[0].run(False, 3, 0)))
    runs = int(min(max(duration * 1e3 / (run_ms * BLOCKS), 1), KEPT_RUNS // BLOCKS))
    for block in range(BLOCKS):
        for turn in range(2):  # neither is always the first
            sides[(block // SESSIONS + turn) % 2][block % SESSIONS].run(True, runs, 0)
    options: dict[str, Any] = {"runs_of_a_block": runs, "name_a": a.name, "name_b": b.name,
                               "max_regression": max_regression}
    text, regressed = _native.report_diff(sides[0], sides[1], **options)
    data, _ = _native.report_diff(sides[0], sides[1], json=True, **options)
    return Diff(text, json.loads(data), regressed)
