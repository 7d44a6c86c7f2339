# SPDX-License-Identifier: Apache-2.0
"""The selected implementation of one workload, as something to call on arrays."""

from __future__ import annotations

import ctypes
import json
from ctypes import c_int64, c_void_p
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ._arrays import empty, memory, overlap, part
from ._caller import Caller, Step, new_lock, raises, usable
from ._errors import UnsupportedError, UsageError, WorkloadTypeError, text_of
from ._fast import Way, ways
from ._library import Counted, Err, Forks, Here, check, computing, encode, lib, opened
from ._types import CallType, TensorType


def result_json(result: c_void_p) -> Any:
    """The document of a result, which is freed."""
    try:
        return json.loads(lib.optune_result_json(result))
    finally:
        lib.optune_result_free(result)


def _types(entries: Sequence[Mapping[str, Any]]) -> Tuple[TensorType, ...]:
    return tuple(TensorType(e["dtype"], None if e["shape"] is None else tuple(e["shape"]),
                            bool(e.get("const", False))) for e in entries)


class Call:
    """A workload, read: ``pointer`` is the library's."""

    def __init__(self, workload: str) -> None:
        self.pointer = c_void_p()
        self.pointer = opened(lib.optune_call_open, encode(workload))
        told = result_json(opened(lib.optune_call_describe, self.pointer))
        self.type = CallType(told["call"], told["op"], _types(told["inputs"]),
                             _types(told["outputs"]))
        #: Whether dims of outputs follow from values; those of the type are their bounds.
        self.by_values = bool(told.get("shape_function", False))

    def __del__(self) -> None:
        if self.pointer:
            lib.optune_call_close(self.pointer)


def workload_type(workload: str) -> CallType:
    """What a workload takes and gives: its canonical text, its types.

    >>> optune.workload_type("dense(f32[2,8], f32[4,8])").outputs[0].shape
    (2, 4)
    """
    return Call(workload).type


Constants = Union[None, Sequence[Any], Mapping[int, Any]]


def _constant_arrays(type: CallType, given: Constants) -> Dict[int, Any]:
    """Arrays of constant inputs by the input's number, from 0."""
    wanted = [i for i, t in enumerate(type.inputs) if t.const]
    if given is None:
        arrays: Dict[int, Any] = {}
    elif isinstance(given, Mapping):
        arrays = dict(given)
    elif isinstance(given, (list, tuple)):
        if len(given) != len(wanted):
            raise UsageError(f"{len(given)} constants are given, {type.op} has {len(wanted)}: "
                             "a list has one for each constant input, in order")
        arrays = dict(zip(wanted, given))
    else:
        raise UsageError("constants are a list of arrays, or arrays by the input's number: "
                         "[weight], {1: weight}")
    for i in wanted:
        if i not in arrays:
            raise UsageError(f"input {i} of '{type.op}', {type.inputs[i]}, is a constant: hand "
                             f"its array over with constants=, or write 'var "
                             f"{type.inputs[i].dtype}[...]' in the workload")
    for i in arrays:
        if i not in wanted:
            raise UsageError(f"input {i!r} of '{type.op}' is no constant input; these are: "
                             f"{wanted}")
    return arrays


class Function(Here, Caller):
    """What is selected for a workload, compiled and loaded into this process.

    Made by :meth:`optune.Optune.function`. Call it with one array for each input that is no
    constant; it returns a new array for each output (one array, or a tuple of several), or fills
    ``out``::

        dense = o.function("dense(f32[128,768], f32[3072,768])", constants=[weight])
        y = dense(x)            # x: float32 of shape (128, 768); y: (128, 3072)
        dense(x, out=y)

    Arrays are used where they are: numpy arrays, torch tensors on the CPU, whatever speaks DLPack
    or has the buffer protocol. They must have the workload's dtype and shape and be contiguous;
    nothing is converted. Constants are copied and packed once, when it is made.

    Where an output's dims follow from values (``argwhere``, ``unique`` ...), its type has their
    bounds. ``out`` is as large as that; what a call returns is the part of it that the true shape
    has, and :attr:`shapes` tells it, too.

    Several threads may call one function; they take turns. It is a context manager.
    """

    _again = "make it there from its workload"

    def __init__(self, handle: Counted, workload: str, constants: Constants = None) -> None:
        call = Call(workload)
        self._counted: Optional[Counted] = None
        #: What it takes and gives.
        self.type: CallType = call.type
        self._by_values = call.by_values
        for t in (*call.type.inputs, *call.type.outputs):
            if t.shape is None or None in t.shape:
                raise WorkloadTypeError(f"only a workload of known sizes can be called, not "
                                        f"'{call.type.workload}': give its dims numbers, or "
                                        "see dispatch()")
            if "x" in t.dtype:
                raise UnsupportedError(f"arrays of vectors ({t.dtype}) are not supported")
        arrays = _constant_arrays(call.type, constants)
        given = (c_void_p * (len(call.type.inputs) + 1))()
        kept = []
        for i, array in arrays.items():
            given[i], keep = memory(array, call.type.inputs[i], f"constant {i}")
            kept.append(keep)
        with handle as o:
            pointer = opened(computing(lib.optune_function_open), o, call.pointer, given)
            self._counted = Counted("function", pointer, lib.optune_function_close, handle)
        self._pointer = pointer.value
        self._lock = new_lock()
        self._err = Err()
        self._inputs = (c_void_p * (len(call.type.inputs) + 1))()
        self._outputs = (c_void_p * (len(call.type.outputs) + 1))()
        self._places = [i for i, t in enumerate(call.type.inputs) if not t.const]
        self._run = computing(lib.optune_function_run)
        self._args = (self._pointer, ctypes.addressof(self._inputs),
                      ctypes.addressof(self._outputs), ctypes.addressof(self._err))
        self._ways: Dict[Any, Optional[Way]] = {}  # by the kind of the first array
        #: Whether calls may take the part that is in C.
        self._native = usable()
        if self._native:
            self._counted.shut = self._lock.shut
            self._ready(self._lock, ctypes.cast(lib.optune_function_run, c_void_p).value,
                        self._pointer, self._err, ctypes.addressof(self._err), raises,
                        len(self._places))

    # ---- looking ----

    @property
    def workload(self) -> str:
        """The canonical text."""
        return self.type.workload

    @property
    def impl(self) -> str:
        """The name of the implementation that was selected."""
        with self._use() as pointer:
            return text_of(lib.optune_function_impl(pointer))

    @property
    def inputs(self) -> Tuple[TensorType, ...]:
        """Types of the arrays that a call takes: the inputs without the constants."""
        return tuple(self.type.inputs[i] for i in self._places)

    @property
    def outputs(self) -> Tuple[TensorType, ...]:
        return self.type.outputs

    @property
    def shapes(self) -> Tuple[Tuple[int, ...], ...]:
        """The outputs' shapes as they came out of the last call."""
        with self._use() as pointer, self._lock:
            return self._shapes(pointer)

    def _shapes(self, pointer: Any) -> Tuple[Tuple[int, ...], ...]:
        dims = (c_int64 * 8)()
        err = Err()
        return tuple(tuple(dims[:check(lib.optune_function_shape(
            pointer, i, ctypes.addressof(dims), ctypes.byref(err)), err)])
            for i in range(len(self.type.outputs)))

    def __repr__(self) -> str:
        if self._counted is None or self._counted.closed:
            return f"<closed optune.Function {self.workload}>"
        return f"<optune.Function {self.workload} by {self.impl}>"

    # ---- calling ----

    def _use(self) -> Counted:
        assert self._counted is not None
        return self._counted

    def _wrong_count(self, n: int) -> UsageError:
        return UsageError(f"{n} arrays are given, '{self.type.op}' takes {len(self._places)}: "
                          + ", ".join(str(t) for t in self.inputs)
                          + (", as its constants were handed over when it was made"
                             if len(self._places) < len(self.type.inputs) else ""))

    def _prepare(self, arrays: Sequence[Any], out: Any) -> Tuple[List[int], List[int], Any, Any]:
        """Addresses of inputs and outputs, the outputs, and what must be kept."""
        if len(arrays) != len(self._places):
            raise self._wrong_count(len(arrays))
        sources, kept = [], []
        for k, i in enumerate(self._places):
            address, keep = memory(arrays[k], self.type.inputs[i], f"argument {k}")
            sources.append(address)
            kept.append(keep)
        types = self.type.outputs
        if out is None:
            like = arrays[0] if arrays else None
            made = [empty(t, like) for t in types]
        else:
            made = list(out) if isinstance(out, (tuple, list)) else [out]
            if len(made) != len(types):
                raise UsageError(f"out has {len(made)} arrays, '{self.type.op}' has "
                                 f"{len(types)} outputs")
        targets = []
        for i, t in enumerate(types):
            where = "out" if len(types) == 1 else f"out {i}"
            address, keep = memory(made[i], t, where, writable=True)
            targets.append(address)
            kept.append(keep)
        if out is not None and overlap(
                [(a, self.type.inputs[i].nbytes) for a, i in zip(sources, self._places)],
                [(a, t.nbytes) for a, t in zip(targets, types)]):
            raise UsageError("out shares memory with an argument, or with itself: hand over "
                             "memory of its own")
        return sources, targets, made[0] if len(made) == 1 else tuple(made), kept

    def _call(self, *arrays: Any, out: Any = None) -> Any:
        """Computes; see the class. ``out``: an array, or one for each output in a tuple."""
        # What the part in C does not take; without that part it is every call.
        kind = type(arrays[0]) if arrays else None
        way = self._ways.get(kind)
        if way is not None:
            made = way(arrays, out)
            if made is not None:
                return made
        sources, targets, made, kept = self._prepare(arrays, out)
        with self._use() as pointer, self._lock:
            for i, source in zip(self._places, sources):
                self._inputs[i] = source
            for i, target in enumerate(targets):
                self._outputs[i] = target
            status = self._run(*self._args)
            if status < 0:
                raises(self._err, status)
            if self._by_values:
                shapes = self._shapes(pointer)
                made = tuple(map(part, made, shapes)) if isinstance(made, tuple) \
                    else part(made, shapes[0])
        del kept
        if kind not in self._ways:
            ways(self, self._ways, kind)
        return made

    def bind(self, *arrays: Any, out: Any = None) -> "Bound":
        """Checks the arrays once; what it gives runs on them again and again, for loops in which
        a tenth of a microsecond counts::

            step = dense.bind(x, out=y)
            for _ in range(1000):
                step()              # reads x, writes y
        """
        with self._use():
            return Bound(self, *self._prepare(arrays, out))

    # ---- the end ----

    def close(self) -> None:
        """Frees it; a call that is under way ends first. Calling it again is fine."""
        if self._counted is not None and self._counted.generation == Forks.generation:
            with self._lock:
                self._counted.close()

    def __enter__(self) -> "Function":
        self._use().refuse()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Bound(Here, Step):
    """A function over certain arrays, see :meth:`Function.bind`. ``out`` is what it writes."""

    _again = "make it there with bind()"

    def __init__(self, function: Function, sources: Sequence[int], targets: Sequence[int],
                 out: Any, kept: Any) -> None:
        self.out = out
        self._kept = (kept, function)
        inputs = (c_void_p * (len(function.type.inputs) + 1))()
        outputs = (c_void_p * (len(targets) + 1))()
        for i, source in zip(function._places, sources):
            inputs[i] = source
        for k, target in enumerate(targets):
            outputs[k] = target
        self._arrays = (inputs, outputs)
        self._run = function._run
        self._args = (function._pointer, ctypes.addressof(inputs), ctypes.addressof(outputs),
                      ctypes.addressof(function._err))
        self._lock = function._lock
        self._counted = function._use()
        self._err = function._err
        if function._native:
            self._ready(function, self._args[1], self._args[2], out)

    def _call(self) -> Any:
        if self._counted.generation != Forks.generation:
            self._counted.refuse()
        with self._lock:
            if self._counted.closed:
                self._counted.refuse()
            status = self._run(*self._args)
            if status < 0:
                raises(self._err, status)
        return self.out


__all__ = ["Bound", "Function", "workload_type"]
