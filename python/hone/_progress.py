# SPDX-License-Identifier: Apache-2.0
"""Signs of life during a build: one line of plain text, overwritten as it goes, on terminals and in notebooks."""
from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Callable, Optional, Union

ProgressFunction = Callable[[str, int, int], object]
ProgressLike = Union[None, bool, ProgressFunction]
WIDTH = 78


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


class Line:
    """A line `what  [####    ]  12 of 40, 3 s` that replaces the one before it."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.begin = time.monotonic()
        self.shown = False

    def __call__(self, what: str, done: int, total: int) -> None:
        seconds = time.monotonic() - self.begin
        part = min(1.0, done / total) if total > 0 else 0.0
        bar = "#" * int(20 * part)
        text = f"{self.title} [{bar:<20}] {done} of {total}, {seconds:.0f} s  {what}"
        sys.stderr.write("\r" + text[:WIDTH].ljust(WIDTH))
        sys.stderr.flush()
        self.shown = True

    def __enter__(self) -> Line:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if self.shown:
            sys.stderr.write("\r" + " " * WIDTH + "\r")
            sys.stderr.flush()


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
    if progress is None:
        progress = _in_notebook() or (sys.stderr is not None and sys.stderr.isatty())
    return Line(title) if progress else Silent(None)
