# SPDX-License-Identifier: Apache-2.0
"""Operators that ONNX's own tests reach little of, by their references, against plain NumPy of what
their headers say: drawn calls with odd sizes, NaN, infinities, boxes turned over and far away."""

import ctypes
import math
import os

import optune  # noqa: F401, the library of this build
import pytest
from optune._library import Err, check, encode, lib, opened

numpy = pytest.importorskip("numpy")

CALLS = 120
NAMES = {"f32": "float32", "f64": "float64", "f16": "float16", "i8": "int8", "u8": "uint8",
         "i32": "int32", "i64": "int64", "u16": "uint16"}


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


def short(array):
    return next(n for n, name in NAMES.items() if array.dtype == name)


def evaluate(folder, op, arrays, attrs, kinds):
    """The outputs of dtypes `kinds`."""
    types = [f"{short(a)}[{','.join(map(str, a.shape))}]" for a in arrays]
    lines = [f"x{i} = var {t}" for i, t in enumerate(types)]
    words = [f"x{i}" for i in range(len(arrays))] + [f"{k}={v}" for k, v in attrs.items()]
    outputs = ", ".join(f"y.{i}" for i in range(len(kinds))) if len(kinds) > 1 else "y"
    path = folder / "call.graph"
    path.write_text("\n".join(lines + [f"y = {op}({', '.join(words)})", f"output {outputs}", ""]))
    graph = opened(lib.optune_graph_read, encode(str(path)))
    values, err = ctypes.c_void_p(), Err()
    try:
        arrays = [numpy.ascontiguousarray(a) for a in arrays]
        given = (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])
        check(lib.optune_graph_evaluate(graph, given, None, ctypes.byref(values),
                                        ctypes.byref(err)), err)
        out = []
        for i, kind in enumerate(kinds):
            told = lib.optune_values_type(values, i).contents
            shape = tuple(told.dim[d].min for d in range(told.rank))
            n = math.prod(shape) * numpy.dtype(kind).itemsize
            raw = ctypes.string_at(lib.optune_values_data(values, i), n) if n else b""
            out.append(numpy.frombuffer(raw, kind).reshape(shape))
        return out
    finally:
        lib.optune_values_free(values)
        lib.optune_graph_close(graph)


def draws():
    """A generator of each call, told apart by their seeds."""
    first = int(os.environ.get("OPTUNE_TEST_SEED", "1"))
    for i in range(CALLS):
        yield numpy.random.default_rng([first, i])


def some(r, *choices):
    return choices[r.integers(len(choices))]


def same(got, want, what):
    assert got.shape == want.shape and got.dtype == want.dtype, what
    assert numpy.array_equal(got, want, equal_nan=want.dtype.kind == "f"), what


# ---- boxes


def bins_of(low, high, bins, ratio, half, kind):
    """For each bin its places along one axis, in pixels."""
    length = kind(high - low)
    if not half:
        length = max(length, kind(1))
    size = kind(length / kind(bins))
    n = ratio or max(math.ceil(float(length) / bins), 0)
    return [[kind(kind(low + kind(kind(b) * size)) + kind(kind(kind(p + 0.5) * size) / kind(n)))
             for p in range(n)] for b in range(bins)]


def pixels(at, extent):
    if not -1 <= at <= extent:
        return None
    at = max(float(at), 0)
    low = min(int(at), extent - 1)
    high = min(low + 1, extent - 1)
    far = at - low if high > low else 0
    return (low, 1 - far), (high, far)


def roi_align(data, rois, image, size, scale, ratio, mode, half):
    kind = data.dtype.type if data.dtype == numpy.float64 else numpy.float32
    out = numpy.zeros((len(rois), data.shape[1], *size))
    for n, roi in enumerate(rois):
        x1, y1, x2, y2 = (kind(kind(kind(c) * kind(scale)) - kind(0.5 if half else 0)) for c in roi)
        of = data[max(min(image[n] + (len(data) if image[n] < 0 else 0), len(data) - 1), 0)]
        ys = bins_of(y1, y2, size[0], ratio, half, kind)
        xs = bins_of(x1, x2, size[1], ratio, half, kind)
        for i, rows in enumerate(ys):
            for j, columns in enumerate(xs):
                parts = []
                for y in rows:
                    for x in columns:
                        a, b = pixels(y, data.shape[2]), pixels(x, data.shape[3])
                        parts += [[of[:, v, u].astype(float) * (p * q) for v, p in a for u, q in b]
                                  if a and b else [numpy.zeros(len(of))] * 4]
                if parts:
                    parts = numpy.array(parts)
                    out[n, :, i, j] = (parts.sum(1).mean(0) if mode == "avg" else
                                       parts.max((0, 1)))
    return out


def test_roi_align(tmp_path):
    for r in draws():
        kind = some(r, "float32", "float32", "float64")
        shape = tuple(int(r.integers(1, m)) for m in (4, 4, 9, 9))
        data = r.standard_normal(shape).astype(kind)
        if r.random() < 0.2:
            data[r.random(shape) < 0.1] = some(r, numpy.nan, numpy.inf, -numpy.inf)
        n = int(r.integers(0, 5))
        rois = r.uniform(-3, 12, (n, 4))
        if r.random() < 0.6:
            rois = numpy.concatenate([numpy.minimum(rois[:, :2], rois[:, 2:]),
                                      numpy.maximum(rois[:, :2], rois[:, 2:])], 1)
        if r.random() < 0.3:
            rois = numpy.round(rois)
        rois = rois.astype(kind)
        image = r.integers(-shape[0], shape[0], n).astype(some(r, "int32", "int64"))
        size = [int(r.integers(1, 5)), int(r.integers(1, 5))]
        how = dict(scale=some(r, 1.0, 0.5, 0.25, 1.75), ratio=some(r, 0, 1, 2, 3),
                   mode=some(r, "avg", "max"), half=bool(r.integers(2)))
        attrs = dict(pooled_size=f"[{size[0]},{size[1]}]", spatial_scale=how["scale"],
                     sample_ratio=how["ratio"], mode=how["mode"],
                     half_pixel=str(how["half"]).lower())
        got, = evaluate(tmp_path, "roi_align", [data, rois, image], attrs, [kind])
        with numpy.errstate(all="ignore"):
            want = roi_align(data, rois, image, size, **how)
        assert got.shape == want.shape
        assert numpy.allclose(got, want, rtol=1e-5, atol=1e-5, equal_nan=True), (attrs, rois)


def overlap(a, b, centred, kind, limit):
    """Intersection over union, each step rounded; whether it is more than the limit."""
    def edges(box, axis):
        if centred:
            half = kind(box[2 + axis] * kind(0.5))
            return kind(box[axis] - half), kind(box[axis] + half)
        return min(box[axis], box[2 + axis]), max(box[axis], box[2 + axis])
    area, both = [kind(1), kind(1)], kind(1)
    for axis in range(2):
        p, q = edges(a, axis), edges(b, axis)
        area = [kind(area[0] * kind(p[1] - p[0])), kind(area[1] * kind(q[1] - q[0]))]
        both = kind(both * max(kind(min(p[1], q[1]) - max(p[0], q[0])), kind(0)))
    return both > kind(kind(limit) * kind(kind(area[0] + area[1]) - both))


def suppress(boxes, scores, most, iou, least, centred):
    kind = boxes.dtype.type if boxes.dtype == numpy.float64 else numpy.float32
    rows = []
    for image in range(len(boxes)):
        for k, of in enumerate(scores[image]):
            chosen = []
            order = [j for j in range(len(of)) if kind(of[j]) > kind(least)]
            for j in sorted(order, key=lambda j: (-float(of[j]), j)):
                box = [kind(c) for c in boxes[image, j]]
                if len(chosen) != most and not any(
                        overlap(box, [kind(c) for c in boxes[image, c]], centred, kind, iou)
                        for c in chosen):
                    chosen.append(j)
            rows += [[image, k, j] for j in chosen]
    return numpy.array(rows, "int64").reshape(-1, 3)


def test_non_max_suppression(tmp_path):
    for r in draws():
        kind = some(r, "float32", "float64", "float16")
        images, classes, n = int(r.integers(1, 3)), int(r.integers(1, 4)), int(r.integers(0, 14))
        boxes = r.integers(0, 9, (images, n, 4)).astype(kind)
        if r.random() < 0.5:
            boxes = r.uniform(-4, 9, (images, n, 4)).astype(kind)
        scores = r.integers(-3, 6, (images, classes, n)).astype(kind)
        if r.random() < 0.4:
            scores[r.random(scores.shape) < 0.2] = some(r, numpy.nan, numpy.inf, -numpy.inf)
        if r.random() < 0.2:
            boxes[r.random(boxes.shape) < 0.1] = numpy.inf
        centred = bool(r.integers(2))
        how = dict(most=some(r, -1, 0, 1, 3), iou=some(r, 0.0, 0.3, 0.5, 1.0),
                   least=some(r, -5.0, 0.0, 2.0))
        attrs = dict(max_output_size=how["most"], iou_threshold=how["iou"],
                     score_threshold=how["least"], center_point_box=str(centred).lower())
        got, = evaluate(tmp_path, "non_max_suppression", [boxes, scores], attrs, ["int64"])
        with numpy.errstate(all="ignore"):
            want = suppress(boxes, scores, centred=centred, **how)
        same(got, want, (attrs, boxes, scores))


# ---- rows


def test_unique(tmp_path):
    for r in draws():
        kind = some(r, *NAMES.values())
        n = int(r.integers(0, 25))
        data = r.integers(0, 9, n)
        data = (data if kind[0] == "u" else data - 4).astype(kind)
        if kind == "int64":  # other numbers, and as doubles the same
            data[r.random(n) < 0.4] = 2**62
            data[r.random(n) < 0.2] = 2**62 + 1
        if kind[0] == "f":
            for odd in (numpy.nan, numpy.inf, -0.0, 0.0):
                data[r.random(n) < 0.1] = odd
        ordered, counts = bool(r.integers(2)), bool(r.integers(2))
        attrs = dict(is_sorted=str(ordered).lower(), return_counts=str(counts).lower())
        got = evaluate(tmp_path, "unique", [data], attrs, [kind] + ["int64"] * (2 + counts))
        want = list(numpy.unique(data, return_index=True, return_inverse=True,
                                 return_counts=True))
        want[0] = data[want[1]]  # of zeros the one that comes first
        if kind == "int64":  # references give doubles
            want[0] = want[0].astype("float64").astype(kind)
        if not ordered:
            turn = numpy.argsort(want[1])
            want = [want[0][turn], want[1][turn], numpy.argsort(turn)[want[2]], want[3][turn]]
        for a, b in zip(got, want):
            same(a, b.reshape(a.shape).astype(a.dtype), (attrs, data))
        assert got[0].shape == want[0].shape


def test_collapse_sum_like(tmp_path):
    for r in draws():
        kind = some(r, "float32", "float64", "float16", "int32", "int64")
        shape = [int(r.integers(0 if r.random() < 0.1 else 1, 5)) for _ in range(r.integers(0, 5))]
        like = [some(r, 1, d) for d in shape][int(r.integers(0, len(shape) + 1)):]
        data = r.integers(-9, 10, shape).astype(kind)
        if kind[0] == "f" and r.random() < 0.4:
            data[r.random(data.shape) < 0.1] = some(r, numpy.nan, numpy.inf)
        got, = evaluate(tmp_path, "collapse_sum_like", [data, numpy.zeros(like, kind)], {}, [kind])
        front = len(shape) - len(like)
        gone = tuple(range(front)) + tuple(
            front + d for d, n in enumerate(like) if n == 1 != shape[front + d])
        want = data.astype("float64" if kind[0] == "f" else kind).sum(gone).reshape(like)
        same(got, want.astype(kind), (shape, like))


# ---- 8 bits


def rounded_to(v, zero, kind, limits):
    low, high = limits or (numpy.iinfo(kind).min, numpy.iinfo(kind).max)
    return numpy.clip(numpy.rint(v.astype("float64")) + zero, low, high).astype(kind)


def fma(a, b, c):
    return (a.astype("longdouble") * b + c).astype("float32")


def pair_of(op, a, b, q):
    f = numpy.float32
    scale = [f(q[s]) for s in ("a_scale", "b_scale", "scale")]
    zero = [f(q["a_zero"]), f(q["b_zero"]), f(q["zero"])]
    a, b = a.astype(f), b.astype(f)
    if not q["merged"]:
        x, y = (a - zero[0]) * scale[0], (b - zero[1]) * scale[1]
        return (x + y if op == "quantized_add" else x * y) / scale[2], q["zero"]
    if op == "quantized_multiply":
        return (a - zero[0]) * (b - zero[1]) * (scale[0] * scale[1] / scale[2]) + zero[2], 0
    by = scale[0] / scale[2], scale[1] / scale[2]
    shift = zero[2] - fma(by[0], zero[0], by[1] * zero[1])
    return fma(a, by[0], fma(b, by[1], shift)), 0


@pytest.mark.parametrize("op", ["quantized_add", "quantized_multiply"])
def test_quantized_pairs(tmp_path, op):
    for r in draws():
        kinds = [some(r, "int8", "uint8") for _ in range(3)]
        shape = [int(r.integers(0 if r.random() < 0.1 else 1, 20)) for _ in range(r.integers(0, 3))]
        sides = [r.integers(numpy.iinfo(k).min, numpy.iinfo(k).max + 1, shape).astype(k)
                 for k in kinds[:2]]
        zeros = [int(r.integers(numpy.iinfo(k).min, numpy.iinfo(k).max + 1)) for k in kinds]
        q = dict(zip(("a_zero", "b_zero", "zero"), zeros), merged=bool(r.integers(2)))
        for name in ("a_scale", "b_scale", "scale"):  # halves make ties
            q[name] = float(numpy.float32(some(r, 0.5, 0.25, 1.0, 2.0, r.uniform(0.01, 2))))
        end = numpy.iinfo(kinds[2])
        limits = sorted(r.integers(end.min, end.max + 1, 2).tolist()) if r.random() < 0.3 else None
        attrs = dict(q, merged=str(q["merged"]).lower(), out_dtype=some(r, short(
            numpy.zeros(0, kinds[2]))))
        if limits:
            attrs["limits"] = f"[{limits[0]},{limits[1]}]"
        got, = evaluate(tmp_path, op, sides, attrs, [kinds[2]])
        v, zero = pair_of(op, *sides, q)
        same(got, rounded_to(v, zero, kinds[2], limits), attrs)


def test_quantized_map(tmp_path):
    for r in draws():
        kinds = some(r, "int8", "uint8"), some(r, "int8", "uint8")
        shape = [int(r.integers(0 if r.random() < 0.1 else 1, 30)) for _ in range(r.integers(0, 4))]
        data, table = (r.integers(numpy.iinfo(k).min, numpy.iinfo(k).max + 1, s).astype(k)
                       for k, s in zip(kinds, (shape, 256)))
        got, = evaluate(tmp_path, "quantized_map", [data, table], {}, [kinds[1]])
        same(got, table[data.astype(int) - numpy.iinfo(kinds[0]).min], shape)
