# SPDX-License-Identifier: Apache-2.0
"""Symbolic shapes: a table that says for every size what to use."""

from __future__ import annotations

import json
from ctypes import c_int64
from dataclasses import dataclass
from typing import Any, Dict, List, Tuple

from ._errors import UsageError, WorkloadTypeError, text_of
from ._library import Counted, Here, encode, lib, opened
from ._types import knobs_of


@dataclass(frozen=True)
class DispatchRow:
    """What is used where this row of a table holds."""

    row: int
    impl: str
    #: Entities ``[name, kind, value]``.
    config: List[Any]

    @property
    def knobs(self) -> Dict[str, Any]:
        return knobs_of(self.config)


class Dispatch(Here):
    """A dispatch table, opened by :meth:`optune.Optune.dispatch`. It needs no handle.

    ``dims`` are the names of the symbolic dims, ``rows`` what may be used. Several threads may
    ask at once. It is a context manager.
    """

    _again = "open it again with dispatch()"

    def __init__(self, handle: Counted, workload_or_file: str) -> None:
        with handle as o:
            pointer = opened(lib.optune_dispatch_open, o, encode(workload_or_file))
        self._counted = Counted("dispatch table", pointer, lib.optune_dispatch_close)
        self.dims: Tuple[str, ...] = tuple(
            text_of(lib.optune_dispatch_dim(pointer, i))
            for i in range(lib.optune_dispatch_dims(pointer)))
        self.rows: Tuple[DispatchRow, ...] = tuple(
            DispatchRow(i, text_of(lib.optune_dispatch_impl(pointer, i)),
                        json.loads(lib.optune_dispatch_config(pointer, i) or b"[]"))
            for i in range(lib.optune_dispatch_rows(pointer)))
        #: The whole table: for people, and the document of docs/formats.md.
        self.text: str = text_of(lib.optune_dispatch_text(pointer))
        self.details: Dict[str, Any] = json.loads(lib.optune_dispatch_json(pointer))

    def select(self, *sizes: int, **named: int) -> DispatchRow:
        """The row for one size of each dim: ``table.select(128)``, ``table.select(m=128)``."""
        if len(sizes) + len(named) != len(self.dims) or \
                set(named) - set(self.dims[len(sizes):]):
            raise UsageError("a size for each of these dims is expected: "
                             + ", ".join(self.dims))
        given = [*sizes, *(named[dim] for dim in self.dims[len(sizes):])]
        with self._counted as table:
            row: int = lib.optune_dispatch_select(table, (c_int64 * (len(given) + 1))(*given))
        if row < 0:
            told = ", ".join(f"{d}={n}" for d, n in zip(self.dims, given))
            raise WorkloadTypeError(f"{told} is outside the ranges of "
                                    f"{self.details.get('call')}")
        return self.rows[row]

    def close(self) -> None:
        self._counted.close()

    def __enter__(self) -> "Dispatch":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __str__(self) -> str:
        return self.text
