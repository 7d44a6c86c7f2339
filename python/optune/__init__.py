# SPDX-License-Identifier: Apache-2.0
"""optune: what is fastest on this machine, measured, remembered, and callable.

    import numpy, optune

    with optune.open() as o:                        # db=..., target="cpu -threads=2"
        o.tune("dense(f32[128,768], f32[3072,768])", seconds=10, progress=print)
        print(o.select("dense(f32[128,768], f32[3072,768])", explain=True))
        dense = o.function("dense(f32[128,768], f32[3072,768])", constants=[weight])
        y = dense(x)

The functions of this module ask a handle on the default target and database, which is opened
when it is first needed. Workloads, configs and documents are those of docs/formats.md.
"""

from __future__ import annotations

import threading as _threading
from pathlib import Path as _Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from ._dispatch import Dispatch, DispatchRow
from ._errors import (ConflictError, DamagedError, DeviceError, Error, InputOutputError,
                      Interrupted, LimitError, NetworkError, NotFoundError, OutOfMemoryError,
                      PartialError, StoreError, TimeLimitError, ToolError, UnsupportedError,
                      UsageError, VersionError, WorkerError, WorkloadSyntaxError,
                      WorkloadTypeError)
from ._function import Bound, Constants, Function, workload_type
from ._graph import Graph
from ._handle import Optune, Path
from ._kernel import Kernel, KernelTuning
from ._library import Forks as _Forks, native_dir as _native_dir, path as library_path
from ._report import Report
from ._run import ProgressCallback
from ._types import (CallType, Progress, Record, Selection, TensorType, Timing, TunedWorkload,
                     Tuning)
from ._version import __version__

_default: Dict[int, Optune] = {}  # by how many forks came before
_lock = _threading.Lock()


def open(db: Optional[Path] = None, target: Optional[str] = None, *,
         device: Optional[str] = None, policy: Optional[str] = None,
         plugins: Union[None, Path, Sequence[Path]] = None,
         log: Optional[Callable[[str, str], Any]] = None,
         log_level: str = "warning") -> Optune:
    """Opens a handle; the device is probed and the database opened when they are first needed.

    ``db``: a folder; None: $OPTUNE_DB, else $XDG_DATA_HOME/optune, else ~/.local/share/optune.
    ``target``: "cpu", "cpu -threads=2 -libs=cblas", "cuda", "opencl"; None: "cpu".
    ``device``: answer for this stored device's key instead of this machine.
    ``policy``: "warm", "cold" (caches flushed before every measured run), or
    "model-128M" (constants come from where a model of 128 MiB finds them).
    ``plugins``: shared objects. ``log``: called with level and text; None: logging's "optune".
    """
    return Optune(db, target, device=device, policy=policy, plugins=plugins, log=log,
                  log_level=log_level)


def default() -> Optune:
    """The handle that the functions of this module ask."""
    if _Forks.generation not in _default:
        with _lock:
            if _Forks.generation not in _default:
                _default[_Forks.generation] = Optune()
    return _default[_Forks.generation]


def select(workload: str, explain: bool = False) -> Selection:
    """:meth:`Optune.select` of the default handle."""
    return default().select(workload, explain)


def query(workload: str) -> Record:
    """:meth:`Optune.query` of the default handle."""
    return default().query(workload)


def records(op: Optional[str] = None, **conditions: Any) -> List[Dict[str, Any]]:
    """:meth:`Optune.records` of the default handle."""
    return default().records(op, **conditions)


def tuned(op: Optional[str] = None, **conditions: Any) -> List[Dict[str, Any]]:
    """:meth:`Optune.tuned` of the default handle."""
    return default().tuned(op, **conditions)


def report(what: Union[str, Sequence[str], Graph], *, title: Optional[str] = None) -> Report:
    """:meth:`Optune.report` of the default handle."""
    return default().report(what, title=title)


def tune(what: Union[str, Sequence[str], Graph], **options: Any) -> Tuning:
    """:meth:`Optune.tune` of the default handle."""
    return default().tune(what, **options)


def tune_kernel(kernel: str, source: Optional[str] = None, *args: Any,
                **options: Any) -> KernelTuning:
    """:meth:`Optune.tune_kernel` of the default handle."""
    return default().tune_kernel(kernel, source, *args, **options)


def function(workload: str, constants: Constants = None) -> Function:
    """:meth:`Optune.function` of the default handle."""
    return default().function(workload, constants)


def graph(source: Path, bind: Optional[Mapping[str, Bound]] = None,
          precision: Optional[str] = None) -> Graph:
    """:meth:`Optune.graph` of the default handle."""
    return default().graph(source, bind, precision)


def dispatch(workload_or_file: str) -> Dispatch:
    """:meth:`Optune.dispatch` of the default handle."""
    return default().dispatch(workload_or_file)


def simulate(files: Union[Path, Sequence[Path]], **options: Any) -> Dict[str, Any]:
    """:meth:`Optune.simulate` of the default handle."""
    return default().simulate(files, **options)


def get_include() -> str:
    """The folder of the C headers: of the wheel, else of the source tree or the prefix."""
    here = _Path(__file__).resolve().parent
    native = _native_dir()
    places = [native / "include"] if native else []
    places += [here.parent.parent / "include", *(p / "include" for p in here.parents[1:4])]
    for place in places:
        if (place / "optune" / "optune.h").exists():
            return str(place)
    raise NotFoundError("no headers of optune beside this package; looked at "
                        + ", ".join(map(str, places)))


# Without `open`: `from optune import *` leaves the one of Python alone.
__all__ = [
    "Bound", "CallType", "Dispatch", "DispatchRow", "Function", "Graph", "Kernel", "KernelTuning",
    "Optune", "Progress", "ProgressCallback", "Record", "Report", "Selection", "TensorType",
    "Timing", "TunedWorkload", "Tuning", "Error", "ConflictError", "DamagedError", "DeviceError",
    "InputOutputError",
    "Interrupted", "LimitError", "NetworkError", "NotFoundError", "OutOfMemoryError",
    "PartialError", "StoreError", "TimeLimitError", "ToolError", "UnsupportedError",
    "UsageError", "VersionError", "WorkerError", "WorkloadSyntaxError", "WorkloadTypeError",
    "__version__", "default", "dispatch", "function", "get_include", "graph", "library_path",
    "query", "records", "report", "select", "simulate", "tune", "tune_kernel", "tuned",
    "workload_type",
]
