# SPDX-License-Identifier: Apache-2.0
"""Signs of life during a build: one line of plain text that changes as it goes, on terminals and in notebooks."""
from __future__ import annotations

import importlib
import sys
import time
import uuid
from types import TracebackType
from typing import Any, Callable, Optional, Union

ProgressFunction = Callable[[str, int, int], object]
ProgressLike = Union[None, bool, ProgressFunction]
WIDTH = 78
_LEAST_SECONDS = 2.0  # before that a rate says little


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


class Line:
    """A line `what  [####    ]  12 of 40, 3 s, 7 s left` that replaces the one before it, and is gone at the end."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.begin = time.monotonic()
        self.shown = False
        # Of the work that the bar shows: it begins anew when the total is another, or less is done than before.
        self.since, self.first, self.done, self.total = self.begin, 0, 0, 0

    def _left(self, now: float, done: int, total: int) -> str:
        if total != self.total or done < self.done:
            self.since, self.first = now, done
        self.done, self.total = done, total
        if done <= self.first or done >= total or now - self.since < _LEAST_SECONDS:
            return ""
        seconds = (now - self.since) * (total - done) / (done - self.first)
        return f", {seconds:.0f} s left" if seconds < 120 else f", {seconds / 60:.0f} min left"

    def __call__(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        part = min(1.0, done / total) if total > 0 else 0.0
        bar = "#" * int(20 * part)
        left = self._left(now, done, total)
        self._show(f"{self.title} [{bar:<20}] {done} of {total}, {now - self.begin:.0f} s{left}  {what}"[:WIDTH], done >= total)

    def _show(self, text: str, is_last: bool) -> None:
        sys.stderr.write("\r" + text.ljust(WIDTH))
        sys.stderr.flush()
        self.shown = True

    def _end(self) -> None:
        sys.stderr.write("\r" + " " * WIDTH + "\r")
        sys.stderr.flush()

    def __enter__(self) -> Line:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if self.shown:
            self._end()


class Cell(Line):
    """The same as an output of a notebook's cell, which ends as how long it took: a notebook keeps what cells wrote."""

    _EVERY = 0.1  # seconds: each change is a message, and may be written into the file

    def __init__(self, title: str) -> None:
        super().__init__(title)
        self.told = 0.0
        self.id = uuid.uuid4().hex
        self.display: Any = importlib.import_module("IPython.display").display

    def _say(self, text: str) -> None:
        self.display({"text/plain": text}, raw=True, display_id=self.id, update=self.shown)
        self.shown = True

    def _show(self, text: str, is_last: bool) -> None:
        now = time.monotonic()
        if is_last or now - self.told >= self._EVERY:
            self.told = now
            self._say(text)

    def _end(self) -> None:
        self._say(f"{self.title}: {time.monotonic() - self.begin:.1f} s")


class Silent:
    """No signs, or the caller's own."""

    def __init__(self, function: Optional[ProgressFunction]) -> None:
        self.function = function

    def __enter__(self) -> Optional[ProgressFunction]:
        return self.function

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        pass


def shown(progress: ProgressLike, title: str) -> Union[Line, Silent]:
    """progress: a function of (what, done, total); True or False; None: where somebody looks on."""
    if callable(progress):
        return Silent(progress)
    if progress is not False and _in_notebook():
        return Cell(title)
    if progress is None:
        progress = sys.stderr is not None and sys.stderr.isatty()
    return Line(title) if progress else Silent(None)
