# SPDX-License-Identifier: Apache-2.0
"""Finds liboptune, checks its version, and declares its functions."""

from __future__ import annotations

import concurrent.futures
import ctypes
import os
import sys
import threading
from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_int,
                    c_int32, c_int64, c_size_t, c_uint8, c_uint16, c_uint64, c_void_p)
from pathlib import Path
from typing import Any, Callable, Iterator, List, Optional, Sequence, Tuple

from ._errors import InputOutputError, UsageError, VersionError, failure, text_of
from ._version import __version__

_FILE = "liboptune.so.0"


class Err(Structure):
    _fields_ = [("status", c_int), ("text", c_char * 1024)]


LogFn = CFUNCTYPE(None, c_void_p, c_int, c_char_p)


class Options(Structure):
    _fields_ = [("size", c_size_t), ("target", c_char_p), ("db", c_char_p),
                ("device", c_char_p), ("plugins", POINTER(c_char_p)), ("log_level", c_int),
                ("log", LogFn), ("log_arg", c_void_p), ("policy", c_char_p)]


class CProgress(Structure):
    _fields_ = [("phase", c_char_p), ("workload", c_int), ("workloads", c_int),
                ("call", c_char_p), ("impl", c_char_p), ("trial", c_int), ("trials", c_int),
                ("best", c_double), ("best_impl", c_char_p), ("flops", c_double),
                ("failures", c_int), ("left", c_double), ("note", c_char_p),
                ("unitless", c_bool)]


ProgressFn = CFUNCTYPE(None, c_void_p, POINTER(CProgress))


class RunOptions(Structure):
    _fields_ = [("size", c_size_t), ("op", c_char_p), ("workloads", POINTER(c_char_p)),
                ("preset", c_char_p), ("impls", POINTER(c_char_p)), ("search", c_char_p),
                ("trials", c_int), ("seconds", c_double), ("seed", c_uint64),
                ("again", c_bool), ("log", c_char_p), ("progress", ProgressFn),
                ("progress_arg", c_void_p), ("compile_only", c_bool), ("table", c_char_p),
                ("width", c_int), ("policy", c_char_p), ("graph", c_void_p),
                ("no_transfer", c_bool), ("metrics", POINTER(c_char_p))]


class SimulateOptions(Structure):
    _fields_ = [("size", c_size_t), ("files", POINTER(c_char_p)),
                ("searches", POINTER(c_char_p)), ("repeats", c_int), ("seed", c_uint64),
                ("progress", ProgressFn), ("progress_arg", c_void_p), ("transfer", c_bool),
                ("plot", c_char_p), ("workload", c_char_p), ("log", c_char_p),
                ("trials", c_int)]


class VerifyOptions(Structure):
    _fields_ = [("size", c_size_t), ("what", POINTER(c_char_p)), ("seconds", c_double),
                ("sample", c_int), ("seed", c_uint64), ("max_age", c_double),
                ("idle", c_bool), ("progress", ProgressFn), ("progress_arg", c_void_p)]


class DispatchOptions(Structure):
    _fields_ = [("size", c_size_t), ("workload", c_char_p), ("output", c_char_p),
                ("search", c_char_p), ("trials", c_int), ("seconds", c_double),
                ("points", c_int), ("regret", c_int), ("seed", c_uint64), ("log", c_char_p),
                ("progress", ProgressFn), ("progress_arg", c_void_p)]


class ExportOptions(Structure):
    _fields_ = [("size", c_size_t), ("op", c_char_p), ("impl", c_char_p),
                ("target", c_char_p), ("threads", c_int), ("device", c_char_p),
                ("policy", c_char_p), ("best", c_bool), ("tvm", c_bool), ("path", c_char_p),
                ("format", c_char_p)]


class HubOptions(Structure):
    # `progress` is a function of another type, and NULL from here.
    _fields_ = [("size", c_size_t), ("what", c_char_p), ("words", POINTER(c_char_p)),
                ("keys", POINTER(c_char_p)), ("hints", c_bool), ("anybody", c_bool),
                ("plain_http", c_bool), ("s3_region", c_char_p), ("ops", POINTER(c_char_p)),
                ("all_devices", c_bool), ("finals", c_bool), ("imported", c_bool),
                ("key_file", c_char_p), ("progress", ProgressFn), ("progress_arg", c_void_p)]


class ReportOptions(Structure):
    _fields_ = [("size", c_size_t), ("workloads", POINTER(c_char_p)), ("op", c_char_p),
                ("partition", c_void_p), ("title", c_char_p)]


class Binding(Structure):
    _fields_ = [("dim", c_char_p), ("value", c_int64)]


class DType(Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class Dim(Structure):
    _fields_ = [("min", c_int64), ("max", c_int64), ("name", c_char * 16)]


class Tensor(Structure):
    _fields_ = [("dtype", DType), ("rank", c_int32), ("dim", Dim * 8)]


STRUCTS = {"optune_err": Err, "optune_options": Options, "optune_progress": CProgress,
           "optune_run_options": RunOptions, "optune_simulate_options": SimulateOptions,
           "optune_dispatch_options": DispatchOptions,
           "optune_verify_options": VerifyOptions, "optune_hub_options": HubOptions,
           "optune_export_options": ExportOptions, "optune_report_options": ReportOptions,
           "optune_binding": Binding, "optune_dtype": DType, "optune_dim": Dim,
           "optune_tensor": Tensor}

_P, _S, _E = c_void_p, c_char_p, POINTER(Err)
_OUT = POINTER(c_void_p)
_FUNCTIONS = {
    # name: what it returns, what it takes
    "optune_version": (_S, []),
    "optune_open": (c_int, [POINTER(Options), _OUT, _E]),
    "optune_close": (None, [_P]),
    "optune_interrupt": (None, [_P]),
    "optune_result_text": (_S, [_P]),
    "optune_result_json": (_S, [_P]),
    "optune_result_free": (None, [_P]),
    "optune_run": (c_int, [_P, POINTER(RunOptions), _OUT, _E]),
    "optune_verify": (c_int, [_P, POINTER(VerifyOptions), _OUT, _E]),
    "optune_hub": (c_int, [_P, POINTER(HubOptions), _OUT, _E]),
    "optune_simulate": (c_int, [_P, POINTER(SimulateOptions), _OUT, _E]),
    "optune_query": (c_int, [_P, _S, _OUT, _E]),
    "optune_found_json": (c_int, [_P, _OUT, _E]),
    "optune_found_free": (None, [_P]),
    "optune_select": (c_int, [_P, _S, _OUT, _E]),
    "optune_selection_free": (None, [_P]),
    "optune_selection_impl": (_S, [_P]),
    "optune_selection_tier": (_S, [_P]),
    "optune_selection_config": (_S, [_P]),
    "optune_selection_cost": (c_double, [_P]),
    "optune_selection_text": (_S, [_P, c_bool]),
    "optune_selection_json": (_S, [_P]),
    "optune_dispatch_tune": (c_int, [_P, POINTER(DispatchOptions), _OUT, _E]),
    "optune_dispatch_open": (c_int, [_P, _S, _OUT, _E]),
    "optune_dispatch_close": (None, [_P]),
    "optune_dispatch_select": (c_int, [_P, POINTER(c_int64)]),
    "optune_dispatch_dims": (c_int, [_P]),
    "optune_dispatch_dim": (_S, [_P, c_int]),
    "optune_dispatch_rows": (c_int, [_P]),
    "optune_dispatch_impl": (_S, [_P, c_int]),
    "optune_dispatch_config": (_S, [_P, c_int]),
    "optune_dispatch_text": (_S, [_P]),
    "optune_dispatch_json": (_S, [_P]),
    "optune_emit": (c_int, [_P, _S, _S, _OUT, _E]),
    "optune_export_records": (c_int, [_P, POINTER(ExportOptions), _OUT, _E]),
    "optune_query_tvm": (c_int, [_P, _S, _OUT, _E]),
    "optune_import": (c_int, [_P, _S, _OUT, _E]),
    "optune_list_tuned": (c_int, [_P, POINTER(ExportOptions), c_int, _OUT, _E]),
    "optune_report": (c_int, [_P, POINTER(ReportOptions), _OUT, _E]),
    "optune_report_write": (c_int, [_S, _S, _P, _E]),
    "optune_list": (c_int, [_P, _S, _S, _OUT, _E]),
    "optune_bring": (c_int, [_S, _S, _P, _E]),
    "optune_remember": (c_int, [_P, _S, _E]),
    "optune_call_open": (c_int, [_S, _OUT, _E]),
    "optune_call_close": (None, [_P]),
    "optune_call_describe": (c_int, [_P, _OUT, _E]),
    "optune_function_open": (c_int, [_P, _P, _P, _OUT, _E]),
    "optune_function_run": (c_int, [_P, _P, _P, _P]),
    "optune_function_shape": (c_int, [_P, c_int, _P, _E]),
    "optune_function_impl": (_S, [_P]),
    "optune_function_close": (None, [_P]),
    "optune_graph_read_bound": (c_int, [_S, POINTER(Binding), c_int, _OUT, _E]),
    "optune_graph_parse": (c_int, [_S, _S, _OUT, _E]),
    "optune_graph_narrow": (c_int, [_P, _S, _OUT, _E]),
    "optune_graph_close": (None, [_P]),
    "optune_graph_infer": (c_int, [_P, _E]),
    "optune_graph_bind": (c_int, [_P, _S, c_int64, _E]),
    "optune_graph_bound": (c_int, [_P, _S, c_int64, c_int64, _E]),
    "optune_graph_input_type": (POINTER(Tensor), [_P, c_int]),
    "optune_graph_find": (c_int, [_P, _S]),
    "optune_graph_text": (_S, [_P, c_bool]),
    "optune_graph_json": (_S, [_P]),
    "optune_graph_set_data": (c_int, [_P, c_int, _P, _E]),
    "optune_graph_fill": (c_int, [_P, c_uint64, _E]),
    "optune_partition_open": (c_int, [_P, _P, _OUT, _E]),
    "optune_partition_close": (None, [_P]),
    "optune_partition_size": (c_int, [_P]),
    "optune_partition_workload": (_S, [_P, c_int]),
    "optune_partition_place": (_S, [_P, c_int]),
    "optune_partition_policy": (_S, [_P]),
    "optune_partition_select": (c_int, [_P, _E]),
    "optune_partition_text": (_S, [_P, c_bool]),
    "optune_partition_json": (_S, [_P]),
    "optune_partition_workloads": (c_int, [_P, POINTER(POINTER(c_char_p)), _E]),
    "optune_program_open": (c_int, [_P, _OUT, _E]),
    "optune_program_run": (c_int, [_P, _P, _P, _E]),
    "optune_program_resize": (c_int, [_P, POINTER(Tensor), _E]),
    "optune_program_shape": (c_int, [_P, c_int, _P, _E]),
    "optune_program_time": (c_int, [_P, POINTER(c_double), POINTER(c_double),
                                    POINTER(c_double), _E]),
    "optune_program_close": (None, [_P]),
}


def _places() -> Iterator[Path]:
    """Where the library may lie, the most particular first."""
    here = Path(__file__).resolve().parent
    yield here / "_native" / "lib" / _FILE  # a wheel
    root = here.parent.parent
    if (root / "CMakeLists.txt").exists():  # the source tree
        yield root / "build" / _FILE
    for prefix in (*here.parents[1:4], Path(sys.prefix)):  # PREFIX/lib/python3/dist-packages
        for folder in ("lib", "lib64"):
            yield prefix / folder / _FILE
        yield from sorted(prefix.glob(f"lib/*-linux-gnu/{_FILE}"))


def _open() -> Tuple[ctypes.CDLL, str]:
    named = os.environ.get("OPTUNE_LIBRARY")
    if named:
        try:
            return ctypes.CDLL(named), named
        except OSError as error:
            raise InputOutputError(f"OPTUNE_LIBRARY names '{named}', which cannot be loaded: "
                                   f"{error}") from None
    looked: List[str] = []
    for place in _places():
        if str(place) in looked:
            continue
        looked.append(str(place))
        if place.exists():
            try:
                return ctypes.CDLL(str(place)), str(place)
            except OSError as error:
                raise InputOutputError(f"'{place}' cannot be loaded: {error}") from None
    try:
        return ctypes.CDLL(_FILE), _FILE
    except OSError:
        raise InputOutputError(
            f"no {_FILE}: build it with scripts/build, install the wheel, or name the file in "
            f"OPTUNE_LIBRARY; looked at {', '.join(looked)}, and where the system looks"
        ) from None


def _declare(library: ctypes.CDLL, path: str) -> None:
    try:
        library.optune_version.restype = c_char_p
        version = text_of(library.optune_version())
    except AttributeError:
        raise VersionError(f"'{path}' is no liboptune: it has no optune_version") from None
    if version.split(".")[:2] != __version__.split(".")[:2]:
        raise VersionError(f"'{path}' is optune {version}, this package is {__version__}: "
                           "install both from one build, or name another file in "
                           "OPTUNE_LIBRARY")
    for name, (returns, takes) in _FUNCTIONS.items():
        function = getattr(library, name, None)
        if function is None:
            raise VersionError(f"'{path}' (optune {version}) has no function '{name}': it is "
                               "older than this package; build or install it anew")
        function.restype = returns
        function.argtypes = takes


lib, path = _open()
_declare(lib, path)


def share_symbols() -> None:
    """Lets plugins, which are shared objects without the library among their needs, find it."""
    ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)


def native_dir() -> Optional[Path]:
    """The folder of a wheel in which programs, headers and the library lie; None: no wheel."""
    folder = Path(__file__).resolve().parent / "_native"
    return folder if folder.is_dir() else None


def encode(text: Optional[str]) -> Optional[bytes]:
    """A text for the library; None stays NULL."""
    if text is None:
        return None
    if not isinstance(text, (str, os.PathLike)):
        raise TypeError(f"a text is expected, not {type(text).__name__}")
    raw = os.fsencode(text) if isinstance(text, os.PathLike) else text.encode()
    if b"\0" in raw:
        raise ValueError("a text must not contain a zero byte")
    return raw


def texts(words: Optional[Sequence[str]]) -> Any:
    """A NULL-terminated list of texts; None stays NULL."""
    if words is None:
        return None
    if isinstance(words, (str, bytes)):
        raise TypeError("a list of texts is expected, not one text")
    encoded = [encode(word) for word in words]
    return (c_char_p * (len(encoded) + 1))(*encoded, None)


_COUNTS = {"points", "repeats", "sample", "threads", "trials"}


def filled(kind: Any, **values: Any) -> Any:
    """Options of the library, with the size they have here. A number that its field cannot hold, or
    that is negative and counts, is refused by its name; ctypes would cut it off."""
    made = kind(size=ctypes.sizeof(kind))
    fields = dict(kind._fields_)
    for name, value in values.items():
        try:
            setattr(made, name, value)
        except TypeError as error:
            raise TypeError(f"{name}: {error}") from None
        if fields[name] in (c_int, c_uint64, c_double):
            kept = getattr(made, name)
            if kept != value or (name in _COUNTS and kept < 0):
                raise UsageError(f"{name} cannot be {value}")
    return made


def check(status: int, err: Err) -> int:
    """The status, or the failure that it says."""
    if status < 0:
        raise failure(status, text_of(err.text))
    return status


def opened(function: Any, *args: Any) -> c_void_p:
    """Calls what makes something: the place for it and the error come last."""
    place, err = c_void_p(), Err()
    check(function(*args, ctypes.byref(place), ctypes.byref(err)), err)
    return place


class Forks:
    """Counts the forks behind this process: what was opened before one is the parent's."""

    generation = 0
    computed = False  # something was compiled to be run in this process, or in its parent
    stale_thread: Optional[int] = None


def _forked() -> None:
    Forks.generation += 1
    if Forks.computed:
        Forks.stale_thread = threading.get_ident()


os.register_at_fork(after_in_child=_forked)


def computing(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the library that runs kernels.

    GNU's OpenMP keeps a team for each thread that ever computed, and a fork loses the team's
    threads but not the knowledge of them: the thread that forked would wait for them for ever.
    In the child such a function runs in another thread, which has no such memory.
    """
    Forks.computed = True
    if Forks.stale_thread is None:
        return function
    elsewhere = concurrent.futures.ThreadPoolExecutor(1, "optune")

    def run(*args: Any) -> Any:
        if threading.get_ident() != Forks.stale_thread:
            return function(*args)
        return elsewhere.submit(function, *args).result()
    return run


class Here:
    """What stands for something of this process: neither a file, nor another process, nor a copy
    can have it."""

    _again = ""  # what to do instead

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"an optune.{type(self).__name__} is its process's and cannot be pickled "
                        f"or copied: {self._again}")


class Counted:
    """A handle of the library that is freed when nobody uses it any more.

    Whoever calls into it holds one use, and so does what was made from it; ``close`` gives up
    the owner's. A child process neither uses nor frees what its parent opened.
    """

    def __init__(self, what: str, pointer: c_void_p, free: Any,
                 parent: Optional["Counted"] = None) -> None:
        self._what = what
        self._pointer = pointer
        self._free = free
        self._parent = parent
        self.generation = Forks.generation
        # The collector runs in any function, and what it ends gives up its use in there.
        self._lock = threading.RLock()
        self._uses = 1
        self.closed = False
        #: Tells what does not ask `closed`; it must not know this object.
        self.shut: Optional[Callable[[], Any]] = None
        if parent:
            parent.__enter__()

    def refuse(self) -> None:
        """Says why it cannot be used, if so."""
        if self.generation != Forks.generation:
            raise UsageError(f"this {self._what} was opened before the process was forked: "
                             "open another one in the child")
        if self.closed:
            raise UsageError(f"this {self._what} is closed")

    def refused_here(self) -> bool:
        """Whether it is the parent process's."""
        return self.generation != Forks.generation

    def __enter__(self) -> c_void_p:
        if self.generation != Forks.generation:
            self.refuse()  # in front of the lock, which may have been held at the fork
        with self._lock:
            self.refuse()
            self._uses += 1
        return self._pointer

    def __exit__(self, *_: object) -> None:
        self._drop()

    def _drop(self) -> None:
        if self.generation != Forks.generation:
            return
        with self._lock:
            self._uses -= 1
            last = self._uses == 0
        if last:
            self._free(self._pointer)
            if self._parent:
                self._parent._drop()

    def close(self) -> None:
        if self.generation != Forks.generation:
            return
        with self._lock:
            if self.closed:
                return
            self.closed = True
        if self.shut:
            self.shut()
        self._drop()

    def __del__(self) -> None:
        try:
            if not sys.is_finalizing():
                self.close()
        except AttributeError:  # its making failed
            pass
