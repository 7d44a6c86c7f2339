# SPDX-License-Identifier: Apache-2.0
"""What is stored of workloads, to look at or to draw from."""

from __future__ import annotations

import ctypes
import html
import json
import os
import tempfile
from ctypes import c_size_t
from dataclasses import dataclass, field
from typing import Any, Dict, List, Union

from ._errors import Error
from ._library import Err, check, encode, lib


@dataclass(frozen=True)
class Report:
    """Made by :meth:`optune.Optune.report`. In a notebook it shows itself."""

    #: The document of docs/formats.md (`optune report --json`).
    details: Dict[str, Any] = field(repr=False)
    #: A line or two for each workload.
    text: str

    def rows(self) -> List[Dict[str, Any]]:
        """Its trials in the order of time, flat, for plots of one's own: ``pandas.DataFrame``'s,
        with the seconds spent on the workload by then in ``at``, the best cost so far in ``best``
        and a knob in ``knob.NAME``. Times are seconds; a failed trial's ``cost`` is None."""
        rows = []
        for workload in self.details["workloads"]:
            best = None
            for trial in workload["trials"]:
                row = {"workload": workload["call"], "best": None}
                row.update((name, value) for name, value in trial.items()
                           if name not in ("values", "samples"))
                row.setdefault("cost", None)
                if row["cost"] is not None and (best is None or row["cost"] < best):
                    best = row["cost"]
                row["best"] = best
                row.update((f"knob.{name}", value) for name, value in trial["values"].items())
                rows.append(row)
        return rows

    def save(self, path: Union[str, "os.PathLike[str]"]) -> int:
        """Writes it as one page that opens offline; gives its size in bytes. UnsupportedError: there
        is no Chart.js, which draws it."""
        err, size = Err(), c_size_t()
        check(lib.optune_report_write(encode(json.dumps(self.details)), os.fsencode(path),
                                      ctypes.byref(size), ctypes.byref(err)), err)
        return size.value

    def _repr_html_(self) -> str:
        try:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "report.html")
                self.save(path)
                with open(path, encoding="utf-8") as page:
                    text = page.read()
        except Error as none:
            return f"<pre>{html.escape(self.text)}\n{html.escape(str(none))}</pre>"
        # A frame keeps its styles and scripts from the notebook's.
        return (f'<iframe srcdoc="{html.escape(text)}" sandbox="allow-scripts allow-downloads" '
                'style="width: 100%; height: 800px; border: 0"></iframe>')

    def __str__(self) -> str:
        return self.text


__all__ = ["Report"]
