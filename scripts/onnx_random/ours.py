# SPDX-License-Identifier: Apache-2.0
"""What the library computes, by references or compiled, and how far that is from what is wanted."""

import ctypes
import sys
from pathlib import Path

import ml_dtypes
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
import optune  # noqa: E402
from optune._library import Binding, Err, check, encode, lib, opened  # noqa: E402


class Dim(ctypes.Structure):  # optune_dim
    _fields_ = [("min", ctypes.c_int64), ("max", ctypes.c_int64), ("name", ctypes.c_char * 16)]


class Tensor(ctypes.Structure):  # optune_tensor
    _fields_ = [("dtype", ctypes.c_uint32), ("rank", ctypes.c_int32), ("dim", Dim * 8)]


lib.optune_graph_evaluate.argtypes = [ctypes.c_void_p] * 5
lib.optune_values_data.restype = ctypes.c_void_p
lib.optune_values_data.argtypes = [ctypes.c_void_p, ctypes.c_int]
lib.optune_values_type.restype = ctypes.POINTER(Tensor)
lib.optune_values_type.argtypes = [ctypes.c_void_p, ctypes.c_int]
lib.optune_values_free.restype = None
lib.optune_values_free.argtypes = [ctypes.c_void_p]


def bound(model, feeds):
    """What the names of the inputs' dims stand for."""
    return {
        d.dim_param: n
        for x in model.graph.input
        for d, n in zip(x.type.tensor_type.shape.dim, feeds[x.name].shape)
        if d.dim_param
    }


def evaluated(path, feeds, wants, bind):
    given = (Binding * len(bind))(*[Binding(encode(d), n) for d, n in bind.items()])
    graph = opened(lib.optune_graph_read_bound, encode(path), given, len(given))
    values, err = ctypes.c_void_p(), Err()
    try:
        arrays = [np.ascontiguousarray(a) for a in feeds.values()]
        given = (ctypes.c_void_p * (len(arrays) + 1))(*[a.ctypes.data for a in arrays])
        told = ctypes.byref(values), ctypes.byref(err)
        check(lib.optune_graph_evaluate(graph, given, None, *told), err)
        out = []
        for i, want in enumerate(wants):
            kind = lib.optune_values_type(values, i).contents
            shape = tuple(kind.dim[d].min for d in range(kind.rank))
            if shape != want.shape:
                raise AssertionError(f"output {i} is {shape}, not {want.shape}")
            data, n = lib.optune_values_data(values, i), want.nbytes
            raw = ctypes.string_at(data, n) if n else b""
            out.append(np.frombuffer(raw, want.dtype).reshape(want.shape))
        return out
    finally:
        lib.optune_values_free(values)
        lib.optune_graph_close(graph)


def compiled(handle, path, feeds, bind):
    with handle.graph(path, bind=bind) as graph:
        got = graph(*feeds.values())
        return list(got) if isinstance(got, (list, tuple)) else [got]


def has_type(model, code):
    """Whether anything in the model is told to be of ONNX's type `code`."""
    graph = model.graph
    casts = (a for n in graph.node for a in n.attribute if a.name == "to")
    return (
        any(t.data_type == code for t in graph.initializer)
        or any(x.type.tensor_type.elem_type == code for x in graph.input)
        or any(a.i == code for a in casts)
    )


def tolerance(model, dtype):
    """Of the largest element: what narrow floats round, more where there are more operators."""
    if has_type(model, 16) or dtype == ml_dtypes.bfloat16:
        step = 3e-2
    elif has_type(model, 10) or dtype == np.float16:
        step = 4e-3
    else:
        step = 1e-4
    return step * max(1, len(model.graph.node) ** 0.5)


def differ_in_floats(want, got, model):
    a, b = want.astype(np.float64), got.astype(np.float64)
    if (np.isnan(a) != np.isnan(b)).any():
        return f"NaN in {np.isnan(b).sum()} places, not {np.isnan(a).sum()} of {a.size}"
    finite = np.isfinite(a) & np.isfinite(b)
    if ((a != b) & ~finite & ~np.isnan(a)).any():
        return "infinite where not both are"
    if not finite.any():
        return ""
    off = np.where(finite, np.abs(np.where(finite, a, 0) - np.where(finite, b, 0)), 0)
    largest = max(np.abs(a[finite]).max(), 1e-3)
    at = np.argmax(off)
    if off.flat[at] <= tolerance(model, want.dtype) * largest:
        return ""
    return f"off by {off.flat[at]:.3g} of {largest:.3g}: {b.flat[at]:.6g}, not {a.flat[at]:.6g}"


def differ_in_integers(want, got, model):
    """What is rounded to a few bits may be one apart in some places."""
    off = np.abs(want.astype(np.float64) - got.astype(np.float64))
    rounded = any("Quantize" in n.op_type or "QLinear" in n.op_type for n in model.graph.node)
    often = off.size > 20 and (off > 0).mean() > 0.2
    if off.max() <= (1 if rounded else 0) and not (rounded and often):
        return ""
    at = np.argmax(off)
    return f"{(off > 0).sum()} of {off.size}, {got.flat[at]}, not {want.flat[at]}"


def differ(wants, gots, model):
    """Where they do, in words; "" where they do not."""
    for i, (want, got) in enumerate(zip(wants, gots)):
        if want.shape != got.shape or want.dtype != got.dtype:
            return f"output {i} is {got.dtype}{got.shape}, not {want.dtype}{want.shape}"
        if not want.size:
            continue
        floats = want.dtype.kind in "fV"
        said = (differ_in_floats if floats else differ_in_integers)(want, got, model)
        if said:
            return f"output {i}: {said}"
    return ""
