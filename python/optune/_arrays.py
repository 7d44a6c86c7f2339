# SPDX-License-Identifier: Apache-2.0
"""Arrays of other packages as memory: checked against a type, never copied.

numpy arrays, torch tensors, whatever speaks DLPack, whatever has the buffer protocol, asked in
this order. Each way ends in an address, which is good as long as what came with it is kept.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import (POINTER, Structure, c_char_p, c_int, c_int32, c_int64, c_size_t, c_ssize_t,
                    c_uint8, c_uint16, c_uint32, c_uint64, c_void_p, py_object)
from typing import Any, List, Optional, Tuple

from ._caller import native
from ._errors import UnsupportedError, UsageError
from ._types import DTYPE_NAMES, TensorType


def numpy_dtype(dtype: str) -> Any:
    """numpy's dtype of ours; bf16 needs ml_dtypes."""
    import numpy
    name = DTYPE_NAMES.get(dtype)
    if name == "bfloat16":
        try:
            import ml_dtypes
        except ImportError:
            raise UnsupportedError("numpy has no bfloat16 of its own: install ml_dtypes, or "
                                   "use torch tensors") from None
        return numpy.dtype(ml_dtypes.bfloat16)
    if name is None:
        raise UnsupportedError(f"numpy has no dtype for '{dtype}'")
    return numpy.dtype(name)


def wrong(where: str, type: TensorType, what: str, remedy: str = "") -> UsageError:
    return UsageError(f"{where} is {what}, the workload has {type}"
                      + (f": {remedy}" if remedy else ""))


def _remedy(copy: str, writable: bool) -> str:
    """A copy serves what is read; what is computed would end in it."""
    return "hand over another array; without out= a call makes one" if writable else copy


def _check(where: str, type: TensorType, dtype: str, shape: Tuple[int, ...],
           contiguous: bool, address: int, remedy: str) -> None:
    if dtype != DTYPE_NAMES.get(type.dtype, type.dtype):
        raise wrong(where, type, f"of dtype {dtype}", "convert it")
    if shape != type.shape:
        raise wrong(where, type, f"of shape {shape}")
    if not contiguous:
        raise wrong(where, type, "not contiguous in row-major order", remedy)
    if type.size and address % type.itemsize:
        raise wrong(where, type, "not aligned to its elements", remedy)


# ---- numpy ------------------------------------------------------------------------------------


class Numpy:
    """How to find the memory of numpy's arrays, once numpy is there.

    ``ndarray.ctypes`` takes microseconds. The address of the elements is the first field behind
    the object's head in numpy's stable C interface; that is believed when it agrees with what
    numpy says of a few arrays.
    """

    ready = False
    ndarray: Any = None
    generic: Any = None  # its scalars
    head: int = 0  # bytes in front of the address; 0: it is not believed
    words: Any = None  # this process's memory, to be read at id(array) + head
    agrees = False  # so does what the part in C reads there

    @classmethod
    def load(cls) -> bool:
        if cls.ready:
            return True
        if "numpy" not in sys.modules:
            return False
        import numpy
        cls.ndarray, cls.generic = numpy.ndarray, numpy.generic
        head = object.__basicsize__
        samples: List[Any] = [numpy.zeros((2, 3), numpy.float32), numpy.ones(5)[1:],
                   numpy.zeros((4, 4, 4), numpy.int8)[::2]]
        if sys.implementation.name == "cpython" and sys.maxsize > 1 << 32 and head % 8 == 0:
            cls.words = (c_uint64 * (sys.maxsize // 8)).from_address(0)
            cls.head = head if all(
                cls.words[(id(a) + head) >> 3] == a.__array_interface__["data"][0]
                for a in samples) else 0
        if cls.head and native is not None:
            cls.agrees = all(
                native.fields(a, cls.head) == (a.__array_interface__["data"][0], a.shape,
                                               a.flags.num, a.dtype) for a in samples)
        cls.ready = True
        return True

    @classmethod
    def address(cls, array: Any) -> int:
        if cls.head:
            return int(cls.words[(id(array) + cls.head) >> 3])
        return int(array.__array_interface__["data"][0])


def _numpy(array: Any, type: TensorType, where: str, writable: bool) -> int:
    address = Numpy.address(array)
    name = array.dtype.name if array.dtype.isnative else f"byte-swapped {array.dtype.name}"
    _check(where, type, name, array.shape, array.flags.c_contiguous, address,
           _remedy("numpy.ascontiguousarray makes a copy that is", writable))
    if writable and not array.flags.writeable:
        raise UsageError(f"{where} is read-only")
    if array.__class__ is not Numpy.ndarray:
        masked = sys.modules["numpy"].ma
        if isinstance(array, masked.MaskedArray) and masked.is_masked(array):
            raise UsageError(f"{where} has masked elements, and a mask is not followed here: "
                             ".filled(VALUE) gives them one")
    return address


# ---- torch ------------------------------------------------------------------------------------


def is_torch(array: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, getattr(torch, "Tensor", ()))


def _torch(tensor: Any, type: TensorType, where: str, writable: bool) -> int:
    if tensor.device.type != "cpu":
        raise UsageError(f"{where} is on {tensor.device}: move it with .cpu()")
    if tensor.layout is not sys.modules["torch"].strided or tensor.is_neg() or tensor.is_nested:
        raise UsageError(f"{where} is no plain tensor (sparse, nested, or negated lazily): "
                         ".to_dense(), .to_padded_tensor() or .resolve_neg() makes one")
    if tensor.requires_grad:
        raise UsageError(f"{where} requires a gradient, which is not followed through here: "
                         ".detach() it")
    try:
        address = int(tensor.data_ptr())
    except RuntimeError:  # of some wrappers
        address = 0
    if not address and tensor.numel():
        raise UsageError(f"{where} is a {tensor.__class__.__name__} without memory: hand over "
                         "values, or use the operators of optune.torch, which can be traced")
    _check(where, type, str(tensor.dtype).rpartition(".")[2], tuple(tensor.shape),
           tensor.is_contiguous(), address,
           _remedy(".contiguous() makes a copy that is", writable))
    return address


# ---- DLPack -----------------------------------------------------------------------------------


class _DLTensor(Structure):
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32),
                ("ndim", c_int32), ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
                ("byte_offset", c_uint64)]


class _Versioned(Structure):
    """How it is handed over since version 1: with a word on whether it may be written."""

    _fields_ = [("major", c_uint32), ("minor", c_uint32), ("manager", c_void_p),
                ("deleter", c_void_p), ("flags", c_uint64), ("tensor", _DLTensor)]


_READ_ONLY = 1
_CODES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = c_void_p
_capsule_pointer.argtypes = [py_object, c_char_p]
_capsule_named = ctypes.pythonapi.PyCapsule_IsValid
_capsule_named.restype = c_int
_capsule_named.argtypes = [py_object, c_char_p]


def _capsule(array: Any) -> Any:
    try:
        return array.__dlpack__(max_version=(1, 0))
    except TypeError:  # one from before versions
        return array.__dlpack__()


def _dlpack(array: Any, type: TensorType, where: str, writable: bool) -> Tuple[int, Any]:
    if array.__dlpack_device__()[0] != 1:
        raise UsageError(f"{where} is not in the processor's memory: copy it there")
    capsule = _capsule(array)
    if _capsule_named(capsule, b"dltensor_versioned"):
        told = _Versioned.from_address(_capsule_pointer(capsule, b"dltensor_versioned"))
        if told.major != 1:
            raise UsageError(f"{where} speaks version {told.major} of DLPack, not 1")
        if writable and told.flags & _READ_ONLY:
            raise UsageError(f"{where} is read-only")
        t = told.tensor
    else:
        t = _DLTensor.from_address(_capsule_pointer(capsule, b"dltensor"))
    shape = tuple(t.shape[i] for i in range(t.ndim))
    code = _CODES.get(t.code, f"code {t.code} ")
    dtype = "bool" if code == "bool" else f"{code}{t.bits}"
    if t.lanes != 1:
        dtype += f"x{t.lanes}"
    contiguous, stride = True, 1
    for i in range(t.ndim - 1, -1, -1):
        if t.strides and shape[i] != 1 and 0 not in shape:
            contiguous = contiguous and t.strides[i] == stride
        stride *= shape[i]
    address = (t.data or 0) + t.byte_offset
    _check(where, type, dtype, shape, contiguous, address, _remedy("copy it first", writable))
    return address, capsule


# ---- the buffer protocol ----------------------------------------------------------------------


class _PyBuffer(Structure):
    _fields_ = [("buf", c_void_p), ("obj", c_void_p), ("len", c_ssize_t),
                ("itemsize", c_ssize_t), ("readonly", c_int), ("ndim", c_int),
                ("format", c_char_p), ("shape", c_void_p), ("strides", c_void_p),
                ("suboffsets", c_void_p), ("internal", c_void_p)]


_get_buffer = ctypes.pythonapi.PyObject_GetBuffer
_get_buffer.argtypes = [py_object, POINTER(_PyBuffer), c_int]
_release_buffer = ctypes.pythonapi.PyBuffer_Release
_release_buffer.argtypes = [POINTER(_PyBuffer)]
_release_buffer.restype = None


class _Buffer:
    """An exported buffer; its owner can neither move nor free it while this lives."""

    def __init__(self, array: Any) -> None:
        self.raw: Optional[_PyBuffer] = _PyBuffer()
        _get_buffer(array, ctypes.byref(self.raw), 0)  # raises what the exporter raises

    @property
    def address(self) -> int:
        return self.raw.buf or 0 if self.raw else 0

    def __del__(self) -> None:
        if self.raw is not None and self.raw.buf is not None:
            _release_buffer(ctypes.byref(self.raw))


_KINDS = {"e": "float", "f": "float", "d": "float", "?": "bool"}


def _format_name(code: str, itemsize: int) -> str:
    order, kind = (code[0], code[1:]) if code[:1] in ("@", "=", "<", ">", "!") else ("@", code)
    swapped = {"<": sys.byteorder != "little", ">": sys.byteorder != "big",
               "!": sys.byteorder != "big"}.get(order, False) and itemsize > 1
    if kind == "?":
        return "bool"
    if kind in _KINDS:
        name = f"float{8 * itemsize}"
    elif len(kind) == 1 and kind in "bhilqn":
        name = f"int{8 * itemsize}"
    elif len(kind) == 1 and kind in "BHILQN":
        name = f"uint{8 * itemsize}"
    else:
        name = f"buffer format '{code}'"
    return f"byte-swapped {name}" if swapped else name


def _buffer(array: Any, type: TensorType, where: str, writable: bool) -> Tuple[int, Any]:
    view = memoryview(array)
    if writable and view.readonly:
        raise UsageError(f"{where} is read-only")
    shape = tuple(view.shape or ())
    remedy = _remedy("copy it first", writable)
    if not view.c_contiguous:
        raise wrong(where, type, "not contiguous in row-major order", remedy)
    held = _Buffer(view)
    _check(where, type, _format_name(view.format, view.itemsize), shape, True, held.address, remedy)
    return held.address, held


# ---- all --------------------------------------------------------------------------------------


def memory(array: Any, type: TensorType, where: str, writable: bool = False) -> Tuple[int, Any]:
    """Address of an array's elements, and what must be kept while it is used.

    Raises UsageError where dtype, shape or layout are not the type's: nothing is converted.
    """
    if Numpy.load() and isinstance(array, Numpy.ndarray):
        return _numpy(array, type, where, writable), array
    if Numpy.ready and isinstance(array, Numpy.generic):
        if writable:
            raise UsageError(f"{where} is read-only")
        held = sys.modules["numpy"].asarray(array)  # not each of them has a buffer
        return _numpy(held, type, where, writable), held
    if is_torch(array):
        return _torch(array, type, where, writable), array
    try:
        if hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__"):
            return _dlpack(array, type, where, writable)
        return _buffer(array, type, where, writable)
    except (TypeError, BufferError) as error:
        remedy = "numpy.asarray makes one" if isinstance(array, (list, tuple, int, float)) \
            else str(error)
        raise UsageError(f"{where} is no array that can be used without a copy "
                         f"({array.__class__.__name__}): {remedy}") from None


def shape_of(array: Any, where: str) -> Tuple[int, ...]:
    """The shape of an array of any kind, before it is held against a type."""
    shape = getattr(array, "shape", None)
    try:
        return tuple(int(n) for n in (memoryview(array).shape if shape is None else shape) or ())
    except (TypeError, ValueError):
        raise UsageError(f"{where} has no shape ({array.__class__.__name__}): "
                         "numpy.asarray makes an array of it") from None


_LETTERS = {"float16": "e", "float32": "f", "float64": "d", "bool": "?", "int8": "b",
            "int16": "h", "int32": "i", "int64": "q", "uint8": "B", "uint16": "H",
            "uint32": "I", "uint64": "Q"}


def empty(type: TensorType, like: Any = None) -> Any:
    """A new array of a type: of torch, like ``like``, else of numpy, else a memoryview."""
    if like is not None and is_torch(like):
        torch = sys.modules["torch"]
        return torch.empty(type.shape, dtype=getattr(torch, DTYPE_NAMES[type.dtype]))
    try:
        import numpy
    except ImportError:
        letter: Any = _LETTERS.get(DTYPE_NAMES.get(type.dtype, ""))
        if letter is None:
            raise UnsupportedError(f"without numpy there is no array of {type}: pass out=") \
                from None
        shape = [int(n or 0) for n in type.shape or ()]
        return memoryview(bytearray(max(type.nbytes, 0))).cast("B").cast(letter, shape) \
            if type.size else memoryview(bytearray(0)).cast(letter)
    return numpy.empty([dim or 0 for dim in type.shape or ()], numpy_dtype(type.dtype))


def part(array: Any, shape: Tuple[int, ...]) -> Any:
    """The first elements of an array in another shape, without a copy; what has no reshape is
    left as it is."""
    if not hasattr(array, "reshape") or tuple(array.shape) == shape:
        return array
    n = 1
    for dim in shape:
        n *= dim
    return array.reshape(-1)[:n].reshape(shape)


def overlap(spans: List[Tuple[int, int]], written: List[Tuple[int, int]]) -> bool:
    """Whether memory that is written, (address, bytes), is also in ``spans``, or twice there."""
    for i, (start, n) in enumerate(written):
        for other, m in spans + written[:i]:
            if start < other + m and other < start + n:
                return True
    return False


__all__ = ["Numpy", "empty", "is_torch", "memory", "numpy_dtype", "overlap", "shape_of",
           "wrong"]
