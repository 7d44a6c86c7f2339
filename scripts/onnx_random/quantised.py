# SPDX-License-Identifier: Apache-2.0
"""Small quantised networks, by operators or with QuantizeLinear and DequantizeLinear around each:
scales follow from the values, zeros are anything, the ends included."""

import numpy as np
from models import DT, R, Skip
from operators.windows import window

MS = "com.microsoft"


class Q:
    """Bytes, and what they stand for."""

    def __init__(self, v, scale, zero):
        self.v, self.scale, self.zero = v, scale, zero

    def real(self):
        whole = self.v.value.astype(np.float32) - np.float32(self.zero.value)
        return whole * np.float32(self.scale.value)


def values(r, *vs):
    """What these are for the model's inputs; types and shapes are known then."""
    import peers

    for v, a in zip(vs, peers.peer(r.model(list(vs)), r.feeds())):
        v.dt, v.shape, v.value = next(k for k, t in DT.items() if a.dtype == t), a.shape, a
    return vs[0]


def steps(r, real, dt):
    """A scale and a zero for such values: mostly they fit, some are cut off."""
    info = np.iinfo(DT[dt])
    low, high = min(float(real.min()), 0.0), max(float(real.max()), 0.0)
    scale = np.float32(max(high - low, 1e-3) / 255 * r.pick([1, 1, 1, 0.7, 2]))
    if r.p(0.15):
        scale = np.float32(2.0 ** np.round(np.log2(scale)))  # ties
    zero = np.clip(round(info.min - low / float(scale)), info.min, info.max)
    if r.p(0.3):
        zero = r.pick([info.min, info.max, 0, r.i(info.min, info.max)])
    return r.const(scale), r.const(DT[dt](zero))


def slid(r, v, k, **how):
    """A window of pooling; others pad in ways of their own where SAME meets dilation, or windows
    with gaps between."""
    k[:] = [min(a, b) for a, b in zip(k, v.shape[2:])]
    how = window(r, v, k, v.rank - 2, **how)
    if str(how.get("auto_pad", "")).startswith("SAME"):
        how.pop("dilations", None)
        how["strides"] = [min(a, b) for a, b in zip(how.get("strides", [1] * len(k)), k)]
    return how


# ---- QuantizeLinear and DequantizeLinear -----------------------------------------------------------


def quantise(r, v, dt=None):
    values(r, v)
    if not np.isfinite(v.value).all():
        raise Skip
    dt = dt or r.pick(["u8", "u8", "i8"])
    scale, zero = steps(r, v.value, dt)
    ins = [v, scale] + ([] if dt == "u8" and not zero.value and r.p() else [zero])
    q = Q(r.node("QuantizeLinear", ins), scale, zero)
    values(r, q.v)
    return q


def dequantise(r, q):
    v = r.node("DequantizeLinear", [q.v, q.scale, q.zero])
    values(r, v)
    return v


def weight(r, shape, axis):
    """A constant of floats, from bytes by one scale or many."""
    dt = r.pick(["i8", "i8", "u8"])
    info = np.iinfo(DT[dt])
    many = r.opset >= 13 and r.p(0.6)
    n = (shape[axis],) if many else ()
    zero = np.zeros(n, DT[dt]) if r.p(0.6) else r.array(dt, n, info.min, info.max)
    fan = max(1, np.prod(shape) / shape[axis])
    scale = r.r.uniform(0.5, 1.5, n).astype(np.float32) / np.float32(60 * fan**0.5)
    w = r.const(r.r.integers(info.min, info.max, shape, endpoint=True).astype(DT[dt]))
    scale = r.const(np.asarray(scale, np.float32))
    real = r.node(
        "DequantizeLinear", [w, scale, r.const(zero)], axis=axis if many else None
    )
    return real, scale.value


def bias(r, n, x, scale):
    by = np.broadcast_to(np.float32(x.scale.value) * scale, (n,)).astype(np.float32)
    whole = r.r.integers(-2000, 2000, n).astype(np.int32)
    if r.opset < 13:
        return r.const(whole * by)
    if r.p(0.1):
        by = by * np.float32(2)
    return r.node("DequantizeLinear", [r.const(whole), r.const(by)], axis=0)


def conv(r, x):
    v, dims = dequantise(r, x), x.v.rank - 2
    if dims not in (1, 2):
        raise Skip
    c = v.shape[1]
    g = c if r.p(0.25) else r.pick([d for d in range(1, c + 1) if c % d == 0]) if r.p(0.3) else 1
    o = g * r.pick([1, 1, 2, 4, max(1, 16 // g), max(1, 40 // g)])
    k = [r.pick([1, 1, 3, 3, 2, 5]) for _ in range(dims)]
    w, scale = weight(r, (o, c // g, *k), 0)
    ins = [v, w] + ([bias(r, o, x, scale)] if r.p(0.6) else [])
    return r.node("Conv", ins, group=g if g > 1 else None, **window(r, v, k, dims))


def product(r, x):
    v = dequantise(r, x)
    if r.p(0.4) and v.rank == 2:
        turn, n = r.i(0, 1), r.i(1, 40)
        w, scale = weight(r, (n, v.shape[1]) if turn else (v.shape[1], n), 1 - turn)
        ins = [v, w] + ([bias(r, n, x, scale)] if r.p(0.7) else [])
        return r.node("Gemm", ins, transB=turn or None)
    if v.rank < 2:
        raise Skip
    k, n = v.shape[-1], r.i(1, 40)
    if r.opset >= 21 and k % 4 == 0 and r.p(0.3):  # in blocks
        w = r.const(r.array("i8", (k, n), -128, 127))
        scale = r.const(r.array("f32", (k // 4, n), 0.001, 0.01))
        return r.node("MatMul", [v, r.node("DequantizeLinear", [w, scale], axis=0, block_size=4)])
    w, _ = weight(r, (k, n), 1)
    return r.node("MatMul", [v, w])


def other(r, x, kept):
    """One more of the same shape, or one that is broadcast to it."""
    same = [q for q in kept if q is not x and q.v.shape == x.v.shape]
    if same and r.p(0.7):
        return r.pick(same)
    shape = [d if r.p(0.6) else 1 for d in x.v.shape][r.i(0, max(x.v.rank - 1, 0)) if r.p(0.3) else 0 :]
    dt = x.v.dt
    scale, zero = steps(r, np.array([-1.0, 1.0]), dt)
    data = r.array(dt, tuple(shape), np.iinfo(DT[dt]).min, np.iinfo(DT[dt]).max)
    v = r.const(data) if r.p(0.5) else r.input(data)
    return Q(v, scale, zero)


def two(r, x, kept):
    a, b = dequantise(r, x), dequantise(r, other(r, x, kept))
    return r.node(r.pick(["Add", "Add", "Mul"]), [a, b] if r.p() else [b, a])


def concat(r, x, kept):
    axis = r.i(0, x.v.rank - 1) if r.p(0.4) else min(1, x.v.rank - 1)
    fits = [q for q in kept if q.v.rank == x.v.rank and q.v.dt == x.v.dt
            and all(a == b or d == axis for d, (a, b) in enumerate(zip(q.v.shape, x.v.shape)))]
    parts = [dequantise(r, r.pick(fits + [x])) for _ in range(r.i(2, 3))]
    return r.node("Concat", parts, axis=axis)


CURVES = ["Sigmoid", "HardSigmoid", "Tanh", "Relu", "LeakyRelu", "Elu", "Abs", "Neg", "Erf", "Softplus",
          "Floor", "Identity", "Exp", "Clip", "Mul", "Add", "Div", "HardSwish", "Pow"]


def curve(r, x):
    v = dequantise(r, x)
    for _ in range(r.i(1, 3)):
        op = r.pick(CURVES)
        if op == "HardSwish" and r.opset < 14:
            op = "Relu"
        if op == "Clip" and r.opset < 11:
            op = "Relu"
        ins = [v]
        if op == "Clip":
            ins += [r.const(np.float32(r.pick([-1, 0, 0.5]))), r.const(np.float32(r.pick([1, 6])))]
        elif op == "Pow":
            ins.append(r.const(np.float32(2)))
        elif op in ("Mul", "Add", "Div"):
            ins.append(r.const(np.float32(r.r.uniform(0.3, 2)) if r.p() else r.array("f32", (1,), 0.3, 2)))
        v = r.node(op, ins)
    return v


def moved(r, v):
    """A node that takes bytes and floats alike."""
    kind = r.pick(["Transpose", "Reshape", "Flatten", "Unsqueeze", "Slice", "MaxPool", "MaxPool", "Resize"])
    if kind == "MaxPool":
        if v.rank not in (3, 4):
            raise Skip
        k = [r.i(1, 3) for _ in range(v.rank - 2)]
        how = slid(r, v, k, dil=r.opset >= 10)
        return r.node("MaxPool", [v], kernel_shape=k, ceil_mode=1 if r.p(0.2) else None, **how)
    if kind == "Transpose":
        return r.node("Transpose", [v], perm=[int(d) for d in r.r.permutation(v.rank)])
    if kind == "Reshape":
        return r.node("Reshape", [v, r.ints(v.shape[0], -1)])
    if kind == "Flatten":
        return r.node("Flatten", [v], axis=r.i(0, v.rank))
    if kind == "Unsqueeze":
        if v.rank > 4:
            raise Skip
        return r.node("Unsqueeze", [v, r.ints(0)]) if r.opset >= 13 else r.node("Unsqueeze", [v], axes=[0])
    if kind == "Slice":
        d = r.i(0, v.rank - 1)
        return r.node("Slice", [v, r.ints(0), r.ints(max(1, v.shape[d] - 1)), r.ints(d), r.ints(1)])
    if v.rank != 4 or r.opset < 13:
        raise Skip
    scales = r.const(np.array([1, 1, 2, r.pick([1, 2])], np.float32))
    return r.node("Resize", [v, None, scales], mode="nearest",
                  coordinate_transformation_mode="asymmetric", nearest_mode="floor")


def averaged(r, x):
    v = dequantise(r, x)
    if v.rank not in (3, 4):
        raise Skip
    if r.p():
        return r.node("GlobalAveragePool", [v])
    k = [r.i(1, 3) for _ in range(v.rank - 2)]
    how = slid(r, v, k, dil=False)
    how.pop("dilations", None)
    return r.node("AveragePool", [v], kernel_shape=k, count_include_pad=r.i(0, 1), **how)


def around(r, x, kept):
    """One operator between DequantizeLinear and QuantizeLinear."""
    kind = r.pick([conv, conv, conv, product, two, two, concat, curve, curve, "moved", "moved", averaged])
    if kind == "moved":
        v = moved(r, dequantise(r, x))
        if r.p(0.7):  # by the same scale, as quantisers write it
            q = Q(r.node("QuantizeLinear", [v, x.scale, x.zero]), x.scale, x.zero)
            values(r, q.v)
            return "moved", q
    else:
        v = kind(r, x, kept) if kind in (two, concat) else kind(r, x)
    cut = r.i(0, 3)
    if cut == 1:
        v = r.node("Relu", [v])
    elif cut == 2 and r.opset >= 11:
        v = r.node("Clip", [v, r.const(np.float32(0)), r.const(np.float32(6))])
    return getattr(kind, "__name__", kind), quantise(r, v)


# ---- by operators ----------------------------------------------------------------------------------


def three(q):
    return [q.v, q.scale, q.zero]


def said_weight(r, x, shape, axis):
    dt = r.pick(["i8", "u8"]) if x.v.dt == "u8" else "i8"
    info = np.iinfo(DT[dt])
    n = (shape[axis],) if r.p(0.5) else ()
    zero = np.zeros(n, DT[dt])
    if not n and r.p():
        zero = DT[dt](r.pick([info.min, info.max, r.i(info.min, info.max)]))
    fan = max(1, np.prod(shape) / shape[axis])
    scale = r.r.uniform(0.5, 1.5, n).astype(np.float32) / np.float32(60 * fan**0.5)
    w = r.const(r.r.integers(info.min, info.max, shape, endpoint=True).astype(DT[dt]))
    return [w, r.const(np.asarray(scale, np.float32)), r.const(zero)]


def said(r, op, ins, like, domain="", first=False, real=None, bare=(), **attrs):
    """An operator that says its output's scale; what that is follows from a guess that is run."""
    dt = like.v.dt
    scale, zero = steps(r, real if real is not None else like.real(), dt)
    ins = [scale, zero] + ins if first else ins + [scale, zero]
    q = Q(r.node(op, ins + list(bare), domain=domain or None, **attrs), scale, zero)
    values(r, q.v)
    return q


def by_operator(r, x, kept):
    kind = r.pick(["conv", "conv", "conv", "add", "add", "mul", "concat", "sigmoid", "leaky", "product",
                   "gemm", "gap", "pool", "moved", "moved"])
    if kind == "conv":
        dims = x.v.rank - 2
        if dims not in (1, 2):
            raise Skip
        c = x.v.shape[1]
        g = c if r.p(0.25) else 1
        o = g * r.pick([1, 2, max(1, 16 // g), max(1, 40 // g)])
        k = [r.pick([1, 1, 3, 3, 2]) for _ in range(dims)]
        w = said_weight(r, x, (o, c // g, *k), 0)
        more = [r.const(r.r.integers(-2000, 2000, o).astype(np.int32))] if r.p(0.6) else []
        span = np.array([-1.0, 1.5]) * max(float(np.abs(x.real()).max()), 1e-3)
        q = said(r, "QLinearConv", three(x) + w, x, real=span, bare=more,
                 group=g if g > 1 else None, **window(r, x.v, k, dims))
    elif kind in ("add", "mul"):
        y = other(r, x, [q for q in kept if q.v.dt == x.v.dt])
        a, b = (x, y) if r.p() else (y, x)
        real = a.real() + b.real() if kind == "add" else a.real() * b.real() if y.v.value is not None else None
        q = said(r, "QLinearAdd" if kind == "add" else "QLinearMul", three(a) + three(b), x, MS, real=real)
    elif kind == "concat":
        axis = min(1, x.v.rank - 1)
        fits = [q for q in kept if q.v.rank == x.v.rank and q.v.dt == x.v.dt
                and all(a == b or d == axis for d, (a, b) in enumerate(zip(q.v.shape, x.v.shape)))]
        parts = [r.pick(fits + [x]) for _ in range(r.i(1, 3))]
        q = said(r, "QLinearConcat", [i for p in parts for i in three(p)], x, MS, first=True, axis=axis)
    elif kind == "sigmoid":
        q = said(r, "QLinearSigmoid", three(x), x, MS, real=np.array([0.0, 1.0]))
    elif kind == "leaky":
        q = said(r, "QLinearLeakyRelu", three(x), x, MS, alpha=0.1)
    elif kind == "product":
        if x.v.rank < 2:
            raise Skip
        w = said_weight(r, x, (x.v.shape[-1], r.i(1, 40)), 1)
        q = said(r, "QLinearMatMul", three(x) + w, x)
    elif kind == "gemm":
        if x.v.rank != 2:
            raise Skip
        turn, n = r.i(0, 1), r.i(1, 40)
        k = x.v.shape[1]
        w = said_weight(r, x, (n, k) if turn else (k, n), 1 - turn)
        c = r.const(r.r.integers(-2000, 2000, n).astype(np.int32)) if r.p(0.7) else None
        q = said(r, "QGemm", three(x) + w + [c], x, MS, transB=turn or None)
    elif kind == "gap":
        if x.v.rank not in (3, 4):
            raise Skip
        q = said(r, "QLinearGlobalAveragePool", three(x), x, MS, channels_last=0)
    elif kind == "pool":
        if x.v.rank != 4:
            raise Skip
        k = [r.i(1, 3), r.i(1, 3)]
        how = slid(r, x.v, k, dil=False)
        how.pop("dilations", None)
        q = said(r, "QLinearAveragePool", three(x), x, MS, kernel_shape=k, count_include_pad=r.i(0, 1), **how)
    else:
        if r.opset < 12:
            raise Skip
        q = Q(moved(r, x.v), x.scale, x.zero)
        values(r, q.v)
    return kind, q


# ---- sides that are quantised by what they span ----------------------------------------------------


def dynamic(r, v):
    if v.rank < 2:
        raise Skip
    y, scale, zero = r.node("DynamicQuantizeLinear", [v], 3)
    k, n = v.shape[-1], r.i(1, 40)
    dt = r.pick(["i8", "u8"])
    w = r.const(r.r.integers(*((-128, 128) if dt == "i8" else (0, 256)), (k, n)).astype(DT[dt]))
    many = r.p(0.3)
    ins = [y, w, zero] + ([r.const(r.array(dt, (n,) if many else ()))] if r.p(0.6) else [])
    whole = r.node("MatMulInteger", ins)
    by = r.node("Mul", [scale, r.const(r.array("f32", (n,) if r.p() else (1,), 0.001, 0.01))])
    return r.node("Mul", [r.node("Cast", [whole], to=1), by])


def make(seed, only, opset):
    r = R(seed, opset or int(np.random.default_rng(seed).integers(13, 24)))
    r.special = False
    dims = r.pick([0, 1, 2, 2, 2, 2])
    shape = (r.i(1, 2), r.pick([1, 3, 8, 16, 24]), *[r.i(3, 14) for _ in range(dims)])
    v = r.input(r.array("f32", shape))
    ways = ["qdq", "operators", "dynamic"]
    if only and only not in ways:
        raise SystemExit(f"onnx_random: quant has no '{only}': {', '.join(ways)}")
    way = only or r.pick(["qdq", *ways])
    label = [way]
    if way == "dynamic":
        out = dynamic(r, v)
        values(r, out)
        return "dynamic", r.model([out]), r.feeds(), [out]
    kept = [quantise(r, v)]
    for _ in range(r.i(1, 6)):
        x = r.pick(kept) if r.p(0.2) else kept[-1]
        mark = len(r.nodes), len(r.inits), len(r.inputs)
        try:
            kind, q = (around if way == "qdq" else by_operator)(r, x, kept)
            if not 0 < q.v.value.size < 40000 or (kind == "conv" and q.v.rank != x.v.rank):
                raise Skip
        except (Skip, RuntimeError, ValueError, IndexError):
            del r.nodes[mark[0] :], r.inits[mark[1] :], r.inputs[mark[2] :]
            continue
        label.append(kind)
        kept.append(q)
    if len(kept) < 2:
        raise Skip
    outs = [kept[-1].v] + ([kept[-2].v] if r.p(0.3) and len(kept) > 2 else [])
    if r.p(0.5):
        outs[0] = dequantise(r, kept[-1])
    return "+".join(label), r.model(outs), r.feeds(), outs
