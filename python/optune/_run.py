# SPDX-License-Identifier: Apache-2.0
"""Long calls of the library: in a thread of their own, told about and ended in the caller's."""

from __future__ import annotations

import math
import queue
import threading
from contextlib import contextmanager
from ctypes import byref, c_void_p
from typing import Any, Callable, Iterator, Optional, Tuple

from ._errors import Interrupted, PartialError, UsageError, failure, text_of
from ._library import CProgress, Counted, Err, ProgressFn, lib
from ._types import Progress

ProgressCallback = Callable[[Progress], Any]


def _text(raw: Optional[bytes]) -> Optional[str]:
    return None if raw is None else text_of(raw)


def _progress(p: CProgress) -> Progress:
    return Progress(
        phase=text_of(p.phase), workload=p.workload, workloads=p.workloads, call=_text(p.call),
        impl=_text(p.impl), trial=p.trial, trials=p.trials,
        best=p.best if math.isfinite(p.best) and p.best > 0 else None, best_impl=_text(p.best_impl),
        flops=p.flops, failures=p.failures, left=p.left if p.left >= 0 else None,
        note=_text(p.note))


def callback(name: str, given: Any, takes: str) -> None:
    """Refuses what is given as a callback and cannot be called, before anything begins."""
    if given is not None and not callable(given):
        raise UsageError(f"{name} is a function that takes {takes}; "
                         f"{given.__class__.__name__} {given!r:.40} cannot be called")


class LongCall:
    """One call of optune_run or its like on one handle; others on this handle wait.

    The library works in a thread while the caller's thread hands events to ``progress`` and can be
    interrupted: what leaves it there, Ctrl-C above all, asks the library to end, waits until it
    has stored what it measured, and goes on then.
    """

    def __init__(self, handle: Counted) -> None:
        self._handle = handle
        self._turn = threading.Lock()
        self._whose = 0  # the thread that has it
        self._running = False
        self._state = threading.RLock()  # a signal's handler may interrupt what interrupts
        self._late = False  # the last interruption met no run and is still to be taken

    def interrupt(self) -> None:
        with self._state:
            if self._running:
                with self._handle as o:
                    lib.optune_interrupt(o)
                self._late = True

    def __call__(self, function: Any, options: Any,
                 progress: Optional[ProgressCallback]) -> c_void_p:
        """The result's pointer. Failures that have a result carry it as ``pointer``."""
        callback("progress", progress, "an optune.Progress")
        self._handle.refuse()  # before a turn that a fork may have left taken
        if self._whose == threading.get_ident():
            raise UsageError("this handle is at work: it begins nothing else from its own "
                             "progress; open another handle, or wait until it has ended")
        with self._turn, self._handle as o, self._mine():
            late, self._late = self._late, False
            status, result, err, raised = self._once(o, function, options, progress)
            if late and status == -15 and raised is None and not self._late:
                lib.optune_result_free(result)  # an interruption that came after the last run
                status, result, err, raised = self._once(o, function, options, progress)
            if status == -15:
                self._late = False
        if raised is not None and not isinstance(raised, KeyboardInterrupt):
            lib.optune_result_free(result)
            raise raised
        if raised is not None:
            made: Any = Interrupted(text_of(err.text) or "interrupted")
            made.pointer = result
            raise made from None
        if status < 0:
            made = failure(status, text_of(err.text))
            if isinstance(made, (Interrupted, PartialError)):
                made.pointer = result  # type: ignore[union-attr]
            else:
                lib.optune_result_free(result)
            raise made
        return result

    @contextmanager
    def _mine(self) -> Iterator[None]:
        self._whose = threading.get_ident()
        try:
            yield
        finally:
            self._whose = 0

    def _once(self, o: c_void_p, function: Any, options: Any,
              progress: Optional[ProgressCallback]
              ) -> Tuple[int, c_void_p, Err, Optional[BaseException]]:
        events: "queue.SimpleQueue[Optional[Progress]]" = queue.SimpleQueue()
        result, err, status = c_void_p(), Err(), [0]
        told = ProgressFn(lambda _, p: events.put(_progress(p.contents)))
        options.progress = ProgressFn() if progress is None else told

        def work() -> None:
            try:
                status[0] = function(o, byref(options), byref(result), byref(err))
            finally:
                with self._state:
                    self._running = False
                events.put(None)

        with self._state:
            self._running = True
        thread = threading.Thread(target=work, name="optune", daemon=False)
        raised: Optional[BaseException] = None
        thread.start()
        while True:
            try:
                event = events.get()
                if event is None:
                    break
                if progress is not None and raised is None:
                    progress(event)
            except BaseException as reason:  # noqa: B902 - Ctrl-C, and what the callback raises
                raised = raised or reason
                self.interrupt()
        thread.join()
        return status[0], result, err, raised
