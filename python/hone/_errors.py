# SPDX-License-Identifier: Apache-2.0
"""Exceptions: one class for each status of the library, which is one for each thing that a caller can do about it."""
from __future__ import annotations

import logging
import os

LIBRARY_PATH = os.path.dirname(os.path.abspath(__file__))  # where backends in files of their own are looked for
_logger = logging.getLogger("hone")


class HoneError(Exception):
    """The library refused. str() has all its messages, one a line; `messages` has them as a list."""

    status = "error"

    def __init__(self, *messages: str) -> None:
        super().__init__("\n".join(messages))
        self.messages: list[str] = list(messages)


class InvalidError(HoneError, ValueError):
    """A wrong argument: fix the call."""

    status = "invalid"


class MalformedError(HoneError, ValueError):
    """A damaged or wrong file: fix the file."""

    status = "malformed"


class UnsupportedError(HoneError):
    """An operator or a feature that is not there: choose another device, or write the operator."""

    status = "unsupported"


class IncompatibleError(HoneError):
    """An engine of another machine or version: build it again here."""

    status = "incompatible"


class OutOfMemoryError(HoneError, MemoryError):
    """On the host or the device."""

    status = "no memory"


class FileError(HoneError, OSError):
    """The operating system refused a file."""

    status = "io"


class DeviceError(HoneError, RuntimeError):
    """A device is not there, or failed."""

    status = "device"


class LimitError(HoneError, TimeoutError):
    """A limit or a deadline was reached: raise it."""

    status = "limit"


class CancelledError(HoneError):
    """The call was ended by another thread."""

    status = "cancelled"


class InternalError(HoneError, RuntimeError):
    """A defect of hone: please report it."""

    status = "internal"


# By the number of hone_status (include/hone/status.h).
_CLASSES: list[type[HoneError]] = [
    HoneError, InvalidError, MalformedError, UnsupportedError, IncompatibleError, OutOfMemoryError, FileError,
    DeviceError, LimitError, CancelledError, InternalError,
]
_LEVELS = [logging.NOTSET, logging.WARNING, logging.INFO, logging.DEBUG]  # by hone_log_level


def make(status: int, messages: list[str]) -> HoneError:
    """The exception of a status. Called by the extension."""
    kind = _CLASSES[status] if 0 <= status < len(_CLASSES) else InternalError
    return kind(*(messages or [kind.__doc__ or kind.status]))


def log(level: int, line: str) -> None:
    """A line of the library's log. Called by the extension."""
    _logger.log(_LEVELS[level], "%s", line)
