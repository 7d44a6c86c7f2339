# SPDX-License-Identifier: Apache-2.0
"""Kernels of one's own: a file with its statements (docs/tune.md), written here where there is none."""

from __future__ import annotations

import hashlib
import os
import re
from ctypes import Structure, byref, c_bool, c_char, c_double, c_int64, c_size_t, sizeof
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from ._errors import ConflictError, UsageError, text_of
from ._library import STRUCTS, Err, check, encode, lib
from ._types import DTYPE_NAMES, Record, Tuning


class CBrought(Structure):
    _fields_ = [("size", c_size_t), ("op", c_char * 64), ("impl", c_char * 64),
                ("target", c_char * 64), ("workload", c_char * 1024), ("reference", c_char * 256),
                ("absolute", c_double), ("relative", c_double), ("combinations", c_double),
                ("valid", c_int64), ("undefined", c_int64), ("counted", c_bool)]


STRUCTS["optune_brought"] = CBrought

_SUFFIX = {"c": ".c", "opencl": ".cl", "cuda": ".cu"}
_WORDS = {"c": "c", "cpu": "c", "opencl": "opencl", "cl": "opencl", "cuda": "cuda"}
#: What says right and wrong: a tolerance for both, or the absolute and the relative one.
Tolerance = Union[float, Tuple[float, float]]
#: Blocks or threads: an expression, a number, or up to three of these.
Extent = Union[str, int, Sequence[Union[str, int]]]


@dataclass(frozen=True)
class Kernel:
    """A kernel that was brought: an operator like any other from now on."""

    path: Path
    op: str
    impl: str
    #: Whose language it is in: "cpu", "opencl", "cuda".
    target: str
    #: The call of the sizes that its file names.
    workload: str
    #: What its outputs are compared with, and how near they must be; negative: what is usual for
    #: each one's type.
    reference: str
    absolute: float
    relative: float
    #: Of all knobs' values, and how many are valid; None: too many to count.
    combinations: float
    valid: Optional[int]


@dataclass(frozen=True)
class KernelTuning:
    """What :meth:`optune.Optune.tune_kernel` found; ``results, env = tuning`` works, too."""

    kernel: Kernel
    #: A row for each config: its knobs, "time" in seconds (None where it failed), "outcome".
    results: List[Dict[str, Any]] = field(repr=False)
    #: The fastest of them, as a finalist where it was one; None: all failed.
    best: Optional[Dict[str, Any]]
    env: Dict[str, Any] = field(repr=False)
    tuning: Tuning = field(repr=False)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.results, self.env))

    def __str__(self) -> str:
        return self.tuning.text


def bring(path: Union[str, "os.PathLike[str]"], workload: Optional[str] = None) -> Kernel:
    """Reads a kernel's file."""
    own, err = CBrought(size=sizeof(CBrought)), Err()
    check(lib.optune_bring(encode(os.fspath(path)), encode(workload), byref(own), byref(err)), err)
    return Kernel(path=Path(path), op=text_of(own.op), impl=text_of(own.impl),
                  target=text_of(own.target), workload=workload or text_of(own.workload),
                  reference=text_of(own.reference), absolute=own.absolute, relative=own.relative,
                  combinations=own.combinations, valid=own.valid if own.counted else None)


# ---- statements -------------------------------------------------------------------------------


def _literal(value: Any) -> str:
    item = getattr(value, "item", None)  # numpy's scalars
    return repr(item() if item else value)


def _type_of(name: str, value: Any, role: str) -> str:
    """A parameter as the notation has it, from a text or from something with dtype and shape."""
    if isinstance(value, str):
        word, _, told = value.partition(" ")
        own, told = (f"{word} ", told) if word in ("out", "inout") else ("", value)
        return f"{role or own}{name}: {told}"
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
    if dtype is None or shape is None:
        raise UsageError(f"argument '{name}': a {type(value).__name__} does not say its type: give "
                         f"numpy.float32(...), an array, or a text such as 'f32[N]' or "
                         f"'f32 = {value!r}'")
    known = {theirs: ours for ours, theirs in DTYPE_NAMES.items()}
    kind = known.get(str(dtype).replace("torch.", ""))
    if kind is None:
        raise UsageError(f"argument '{name}': there is no type for {dtype}")
    if shape == ():
        return f"{name}: {kind} = {_literal(value)}"
    dims = ",".join(str(int(d)) for d in shape)
    return f"{role}{name}: {kind}[{dims}]"


def _parameters(arguments: Union[Sequence[str], Mapping[str, Any]],
                outputs: Optional[Sequence[str]], inouts: Optional[Sequence[str]]) -> List[str]:
    if not isinstance(arguments, Mapping):
        if outputs is not None or inouts is not None:
            raise UsageError("outputs and inouts go with named arguments; in a list it is "
                             "'out y: f32[N]', 'inout y: f32[N]'")
        return [str(a) for a in arguments]
    roles: Dict[str, str] = {}
    for role, names in (("out ", outputs), ("inout ", inouts)):
        for name in names or []:
            if name not in arguments:
                raise UsageError(f"{role}'{name}' is no argument: there are {', '.join(arguments)}")
            if name in roles:
                raise UsageError(f"'{name}' is among the outputs and the inouts: it is one of them")
            roles[name] = role
    return [_type_of(name, value, roles.get(name, "")) for name, value in arguments.items()]


def _extent(value: Extent) -> str:
    if isinstance(value, (str, int)):
        return str(value)
    return "[" + ", ".join(str(v) for v in value) + "]"


def _language(lang: Optional[str], suffix: str, text: str) -> str:
    if lang is not None:
        if lang.lower() not in _WORDS:
            raise UsageError(f"no language '{lang}': there are C, OpenCL and CUDA")
        return _WORDS[lang.lower()]
    for name, own in _SUFFIX.items():
        if suffix == own:
            return name
    return ("cuda" if "__global__" in text else
            "opencl" if re.search(r"\b(__)?kernel\b", text) else "c")


def statements(kernel: str, arguments: Union[Sequence[str], Mapping[str, Any]],
               tune_params: Mapping[str, Sequence[Any]], *, name: Optional[str] = None,
               outputs: Optional[Sequence[str]] = None,
               inouts: Optional[Sequence[str]] = None,
               sizes: Optional[Mapping[str, Union[int, str]]] = None,
               restrictions: Optional[Sequence[str]] = None,
               defaults: Optional[Mapping[str, Any]] = None, grid: Optional[Extent] = None,
               block: Optional[Extent] = None, shared: Union[None, str, int] = None,
               reference: Optional[str] = None, tolerance: Optional[Tolerance] = None,
               flops: Union[None, str, float] = None,
               bytes: Union[None, str, float] = None,
               flags: Optional[str] = None) -> List[str]:
    """The lines that a kernel's file would have."""
    lines = [f"kernel {kernel}({', '.join(_parameters(arguments, outputs, inouts))})"]
    lines += [f"size {size} = {value}" for size, value in (sizes or {}).items()]
    for knob, values in tune_params.items():
        default = (f" default {_literal(defaults[knob])}" if defaults and knob in defaults else "")
        lines.append(f"knob {knob} = [{', '.join(_literal(v) for v in values)}]{default}")
    if isinstance(restrictions, str) or callable(restrictions):
        raise UsageError("restrictions are a list of expressions, such as ['N % STEP == 0']")
    lines += [f"where {condition}" for condition in restrictions or []]
    if grid is not None or block is not None or shared is not None:
        told = {"grid": grid, "block": block, "shared": shared}
        lines.append("launch " + ", ".join(f"{what} = {_extent(value)}"
                                           for what, value in told.items() if value is not None))
    if reference is not None:
        lines.append(f"reference {reference}")
    if tolerance is not None:
        lines.append("tolerance absolute={}, relative={}".format(*tolerance)
                     if isinstance(tolerance, (tuple, list)) else f"tolerance {tolerance}")
    lines += [f"{what} {value}" for what, value in
              (("flops", flops), ("bytes", bytes), ("flags", flags), ("name", name))
              if value is not None]
    for line in lines:
        if "\n" in line:
            raise UsageError(f"a statement is one line: {line!r}")
    return lines


# ---- the file ---------------------------------------------------------------------------------


def _home() -> Path:
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "optune" / "kernels"


_here: Dict[str, str] = {}  # files of this process, whose operators they are for its life


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        new = path.with_name(f".{path.name}.{os.getpid()}")
        new.write_text(text, encoding="utf-8")
        os.replace(new, path)


def write(kernel: str, source: str, told: Dict[str, Any], folder: Optional[str],
          lang: Optional[str], workload: Optional[str]) -> Kernel:
    """The source with its statements as a file, brought. In one process an operator means one
    thing: another source or other statements under its name get a name with their digest."""
    from_file = "\n" not in source and os.path.exists(source)
    text = Path(source).read_text(encoding="utf-8") if from_file else source
    if "\n" not in source and not from_file and "{" not in source:
        raise UsageError(f"the source is neither a file that is there nor code: {source!r}")
    language = _language(lang, Path(source).suffix if from_file else "", text)
    where = Path(folder) if folder is not None else (
        Path(source).resolve().parent / ".optune" if from_file and '#include "' not in text
        else Path(source).resolve().parent if from_file else _home())

    def brought(name: str) -> Optional[Kernel]:
        lines = statements(kernel, **{**told, "name": name})
        whole = "".join(f"// optune: {line}\n" for line in lines) + text
        path = where / f"{name}.tuned{_SUFFIX[language]}"
        if _here.get(str(path), whole) != whole:
            return None
        _write(path, whole)
        kernel_there = bring(path, workload)
        _here[str(path)] = whole
        return kernel_there

    name = told.get("name") or kernel
    try:
        found = brought(name)
    except ConflictError:
        found = None
    if found:
        return found
    digest = hashlib.sha256("\n".join([*statements(kernel, **told), text]).encode()).hexdigest()
    found = brought(f"{name}_{digest[:6]}")
    assert found
    return found


# ---- results ----------------------------------------------------------------------------------


def results_of(kernel: Kernel, records: Sequence[Record], env: Dict[str, Any],
               tuning: Tuning) -> KernelTuning:
    """Of each config the finalist's record, else the latest."""
    kept: Dict[str, Record] = {}
    for r in records:
        key = repr(sorted(r.knobs.items()))
        if key not in kept or r.final or not kept[key].final:
            kept[key] = r
    rows = [{**r.knobs, "time": r.cost, "outcome": r.outcome, "message": r.message,
             "final": r.final, "low": r.low, "high": r.high} for r in kept.values()]
    good = [row for row in rows if row["time"] is not None]
    finals = [row for row in good if row["final"]]
    best = min(finals or good, key=lambda row: row["time"], default=None)
    return KernelTuning(kernel=kernel, results=rows, best=best, env=env, tuning=tuning)
