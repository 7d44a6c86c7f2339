# SPDX-License-Identifier: Apache-2.0
"""What functions and bound calls are made of: the part of a call that is in C, where there is one.

The module ``_call`` (python/native/call.c) lies beside the library. Without it (another Python
than CPython, a free-threaded one, a build without Python's headers) a call takes the same ways in
Python.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
import sysconfig
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

from ._errors import failure, text_of
from ._library import Forks, path
from ._version import __version__


def _load() -> Optional[Any]:
    if sys.implementation.name != "cpython" or hasattr(sys, "getobjects") or \
            sysconfig.get_config_var("Py_GIL_DISABLED"):
        return None
    if not os.path.dirname(path):  # found by the system, which does not say where
        return None
    here = Path(path).resolve().parent
    for place in (here / "optune" / "_call.abi3.so", here / "_call.abi3.so"):
        if not place.exists():
            continue
        loader = importlib.machinery.ExtensionFileLoader("optune._call", str(place))
        spec = importlib.util.spec_from_file_location("optune._call", str(place), loader=loader)
        try:
            assert spec is not None
            module = importlib.util.module_from_spec(spec)
            loader.exec_module(module)
        except ImportError:
            return None
        return module if getattr(module, "version", None) == __version__ else None
    return None


native: Optional[Any] = _load()
if native is not None:
    os.register_at_fork(after_in_child=native.forked)


def raises(err: Any, status: int) -> None:
    raise failure(status, text_of(err.text))


def new_lock() -> Any:
    return native.Lock() if native is not None else threading.Lock()


class _Plain:
    """Without the module: every call is the subclass's ``_call``."""

    _call: Any

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "_call" in cls.__dict__:
            setattr(cls, "__call__", cls.__dict__["_call"])


if TYPE_CHECKING:
    class Caller:
        """What calls a function by the short way once ``_ready`` and ``_learn`` said it."""

        def __call__(self, *arrays: Any, out: Any = None) -> Any:
            """Computes; see the class. ``out``: an array, or one for each output in a tuple."""

        def _ready(self, *args: Any) -> None: ...
        def _learn(self, *args: Any) -> None: ...

    class Step:
        """A call of certain arrays."""

        def __call__(self) -> Any: ...
        def _ready(self, *args: Any) -> None: ...
else:
    Caller, Step = (_Plain, _Plain) if native is None else (native.Caller, native.Step)


def usable() -> bool:
    """Whether what is made now may run its kernels by the module: see ``computing``."""
    return native is not None and Forks.stale_thread is None


__all__ = ["Caller", "Step", "native", "new_lock", "raises", "usable"]
