# SPDX-License-Identifier: Apache-2.0
"""What the library refuses, as exceptions: one class for each status."""

from __future__ import annotations

from typing import Any, Dict, Optional, Type


class Error(Exception):
    """The base of all failures of optune. ``status`` is the library's number."""

    status: int = 0


class UsageError(Error, ValueError):
    """Wrong usage: a closed handle, an array of another dtype or shape, a missing argument."""

    status = -1


class WorkloadSyntaxError(Error, ValueError):
    """A malformed text; the message shows the place."""

    status = -2


class WorkloadTypeError(Error, TypeError):
    """Types that do not fit together, or are not known."""

    status = -3


class NotFoundError(Error, LookupError):
    """No such thing: operator, record, database, file."""

    status = -4


class DeviceError(Error):
    """No such device."""

    status = -5


class OutOfMemoryError(Error, MemoryError):
    """Out of memory."""

    status = -6


class LimitError(Error):
    """A fixed limit would be exceeded."""

    status = -7


class InputOutputError(Error, OSError):
    """Input or output failed."""

    status = -8


class StoreError(Error):
    """The database refused."""

    status = -9


class DamagedError(Error):
    """Data is damaged."""

    status = -10


class VersionError(Error):
    """A version that is not understood: of the library, of a file, of a table."""

    status = -11


class ToolError(Error):
    """A program that is needed cannot be run: the C compiler, the worker."""

    status = -12


class WorkerError(Error):
    """The worker process failed."""

    status = -13


class TimeLimitError(Error, TimeoutError):
    """A time limit was reached."""

    status = -14


class Interrupted(KeyboardInterrupt):
    """A run was asked to end, by Ctrl-C or :meth:`optune.Optune.interrupt`.

    Everything measured so far is stored; the same call goes on from there. ``result`` is what the
    run would have returned, or None when it had not begun.
    """

    status: int = -15
    result: Any = None


class UnsupportedError(Error):
    """Not supported."""

    status = -16


class NetworkError(Error):
    """A network transfer failed."""

    status = -17


class ConflictError(Error):
    """It conflicts with something that exists."""

    status = -18


class PartialError(Error):
    """Done in part: ``result`` has what was done, its rows say why others were not."""

    status = -19
    result: Any = None


_BY_STATUS: Dict[int, Type[BaseException]] = {
    kind.status: kind
    for kind in (
        UsageError, WorkloadSyntaxError, WorkloadTypeError, NotFoundError, DeviceError,
        OutOfMemoryError, LimitError, InputOutputError, StoreError, DamagedError, VersionError,
        ToolError, WorkerError, TimeLimitError, Interrupted, UnsupportedError, NetworkError,
        ConflictError, PartialError,
    )
}


def failure(status: int, text: str, result: Any = None) -> BaseException:
    """The exception of a negative status."""
    made = _BY_STATUS.get(status, Error)(text)
    if isinstance(made, Error):
        made.status = status
    if result is not None or isinstance(made, (Interrupted, PartialError)):
        made.result = result  # type: ignore[attr-defined]
    return made


def text_of(raw: Optional[bytes]) -> str:
    """A text of the library's."""
    return raw.decode("utf-8", "replace") if raw else ""
