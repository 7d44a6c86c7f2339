# SPDX-License-Identifier: Apache-2.0
"""The short way of a call: arrays of numpy or torch that are all as they should be.

Where there is a part in C (``_caller``) it learns what to take, and a call comes here no more. Else
each way is made for one function once and gives None for whatever it does not take, so that the
long way (``Function._prepare``) takes it or says what is wrong. Nothing is believed here that the
long way would refuse.
"""

from __future__ import annotations

import sys
from typing import Any, Callable, Dict, Optional, Tuple

from ._arrays import Numpy, numpy_dtype
from ._errors import Error, failure, text_of
from ._library import Forks
from ._types import DTYPE_NAMES, CallType, TensorType

#: From the arrays of a call and its ``out`` to the result; None: not by this way.
Way = Callable[[Tuple[Any, ...], Any], Any]


def _shape(type: TensorType) -> Tuple[int, ...]:
    return tuple(dim or 0 for dim in type.shape or ())


def _way(function: Any, address_of: Callable[[Any, Any, Tuple[int, ...]], int],
         dtype_of: Callable[[str], Any], new: Callable[[Tuple[int, ...], Any], Any]) -> Way:
    """``address_of(array, dtype, shape)`` is negative for an array that it does not take."""
    type: CallType = function.type
    wanted = [(i, dtype_of(t.dtype), _shape(t), t.itemsize - 1, t.nbytes)
              for i, t in ((i, type.inputs[i]) for i in function._places)]
    output = type.outputs[0]
    made_dtype, made_shape, made_mask = dtype_of(output.dtype), _shape(output), output.itemsize - 1
    made_bytes, n = output.nbytes, len(wanted)
    inputs, outputs = function._inputs, function._outputs
    run, args, err = function._run, function._args, function._err
    lock, counted = function._lock, function._use()

    def way(arrays: Tuple[Any, ...], out: Any) -> Any:
        if len(arrays) != n:
            return None
        made = new(made_shape, made_dtype) if out is None else out
        target = address_of(made, made_dtype, made_shape)
        if target < 0 or target & made_mask:
            return None
        if counted.generation != Forks.generation:
            return None  # in front of the lock, which may have been held at the fork
        with lock:
            if counted.closed:
                return None
            k = 0
            for i, dtype, shape, mask, nbytes in wanted:
                source = address_of(arrays[k], dtype, shape)
                k += 1
                if source < 0 or source & mask or (
                        target < source + nbytes and source < target + made_bytes):
                    return None
                inputs[i] = source
            outputs[0] = target
            status = run(*args)
            if status < 0:
                raise failure(status, text_of(err.text))
        return made
    return way


def _numpy_way(function: Any) -> Way:
    """The same, with everything in its place: what is called often here is what a call costs."""
    import numpy
    type_: CallType = function.type
    wanted = [(k, i, numpy_dtype(t.dtype), _shape(t), t.itemsize - 1, t.nbytes)
              for k, (i, t) in enumerate((i, type_.inputs[i]) for i in function._places)]
    output = type_.outputs[0]
    made_dtype, made_shape, made_mask = (numpy_dtype(output.dtype), _shape(output),
                                         output.itemsize - 1)
    made_bytes, n = output.nbytes, len(wanted)
    inputs, outputs = function._inputs, function._outputs
    run, args, err = function._run, function._args, function._err
    lock, counted = function._lock, function._use()
    new, ndarray, head = numpy.empty, numpy.ndarray, Numpy.head
    words: Any = Numpy.words

    def way(arrays: Tuple[Any, ...], out: Any) -> Any:
        if len(arrays) != n or counted.generation != Forks.generation:
            return None
        if out is None:
            made = new(made_shape, made_dtype)
        elif type(out) is ndarray and out.shape == made_shape and out.flags.carray and (
                out.dtype is made_dtype or out.dtype == made_dtype):
            made = out
        else:
            return None
        target = words[(id(made) + head) >> 3]
        if target & made_mask:
            return None
        with lock:
            for k, i, dtype, shape, mask, nbytes in wanted:
                a = arrays[k]
                if type(a) is not ndarray or a.shape != shape or not a.flags.c_contiguous or (
                        a.dtype is not dtype and a.dtype != dtype):
                    return None
                source = words[(id(a) + head) >> 3]
                if source & mask or (out is not None and target < source + nbytes
                                     and source < target + made_bytes):
                    return None
                inputs[i] = source
            outputs[0] = target
            if counted.closed:
                return None
            status = run(*args)
            if status < 0:
                raise failure(status, text_of(err.text))
        return made
    return way


def _torch_way(function: Any) -> Way:
    torch: Any = sys.modules["torch"]
    tensor, strided, kind = torch.Tensor, torch.strided, type

    def address_of(a: Any, dtype: Any, shape: Tuple[int, ...]) -> int:
        if kind(a) is not tensor or a.dtype is not dtype or a.is_nested or a.shape != shape or \
                not a.is_cpu or a.layout is not strided or not a.is_contiguous() or \
                a.requires_grad or a.is_neg():
            return -1
        return int(a.data_ptr())
    return _way(function, address_of, lambda dtype: getattr(torch, DTYPE_NAMES[dtype]),
                lambda shape, dtype: torch.empty(shape, dtype=dtype))


#: DLPack's codes of kinds of numbers.
_CODES = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "bool": 6}


def _spec(place: int, type: TensorType, dtype: Any) -> Tuple[Any, ...]:
    name = DTYPE_NAMES[type.dtype]
    return (place, dtype, _CODES[name.rstrip("0123456789")], 8 * type.itemsize, _shape(type),
            type.itemsize, type.nbytes)


def _teach(function: Any, kind: Any, dtype_of: Callable[[str], Any], *how: Any) -> None:
    """``how``: the bytes in front of numpy's fields, what must not hold of an array, and what makes
    a new one."""
    type_: CallType = function.type
    function._learn(kind, *how, tuple(_spec(i, type_.inputs[i], dtype_of(type_.inputs[i].dtype))
                                      for i in function._places),
                    _spec(0, type_.outputs[0], dtype_of(type_.outputs[0].dtype)))


def _teach_numpy(function: Any) -> None:
    import numpy
    output: TensorType = function.type.outputs[0]
    _teach(function, numpy.ndarray, numpy_dtype, Numpy.head, (), numpy.empty,
           (_shape(output), numpy_dtype(output.dtype)), {})


def _teach_torch(function: Any) -> None:
    torch: Any = sys.modules["torch"]
    output: TensorType = function.type.outputs[0]
    strides = [1]
    for n in _shape(output)[:0:-1]:
        strides.insert(0, max(n, 1) * strides[0])
    _teach(function, torch.Tensor, lambda dtype: None, 0,
           (torch.Tensor.requires_grad.__get__, torch.Tensor.is_neg),
           torch.empty_strided,  # half as long as `empty`
           (_shape(output), tuple(strides[:len(_shape(output))])),
           {"dtype": getattr(torch, DTYPE_NAMES[output.dtype])})


def ways(function: Any, known: Dict[Any, Optional[Way]], kind: Any) -> None:
    """Adds the way for arrays of a kind to those that are known; None: there is none."""
    known[kind] = None
    if len(function.type.outputs) != 1 or function._by_values:
        return
    try:
        if Numpy.load() and Numpy.head and kind is Numpy.ndarray:
            known[kind] = _numpy_way(function)
            if function._native and Numpy.agrees:
                _teach_numpy(function)
        elif "torch" in sys.modules and kind is getattr(sys.modules["torch"], "Tensor", None):
            known[kind] = _torch_way(function)
            if function._native and hasattr(kind, "__dlpack_c_exchange_api__"):
                _teach_torch(function)
    except (Error, ValueError):  # a dtype that this package does not have; a newer DLPack
        pass
