# SPDX-License-Identifier: Apache-2.0
"""Attention as exporters write it."""

import numpy as np
from models import R, DT, OT


def make(seed, only, opset):
    r = R(seed, opset or int(np.random.default_rng(seed).choice([9, 11, 13, 14, 17, 18, 21])))
    r.special = False
    style = only or r.pick(
        [
            "torch",
            "bert",
            "gpt2",
            "llama",
            "t5",
            "tf",
            "optimum",
            "swin",
            "vit",
            "sdpa",
            "einsum",
            "clip",
            "whisper",
        ]
    )
    dt = r.pick(["f32", "f32", "f32", "f16"])
    b, hq, d = r.i(1, 2), r.pick([2, 4]), r.pick([2, 3, 4, 8])
    s = r.i(2, 7)
    t = s if r.p(0.7) else r.i(s, s + 5)
    hk = (
        r.pick([x for x in (1, 2, 4) if hq % x == 0])
        if style in ("llama", "sdpa", "optimum")
        else hq
    )
    c = lambda v: r.const(np.asarray(v), dt)
    w = lambda *sh: r.const((r.r.normal(size=sh) / np.sqrt(sh[0])).astype(DT[dt]))
    N = lambda op, *ins, **kw: r.node(op, list(ins), **kw)
    D = hq * d
    x = r.input(r.array(dt, (b, s, D)))
    y = r.input(r.array(dt, (b, t, D))) if t != s else x

    def proj(v, heads, n, key=False):
        p = N("MatMul", v, w(D, heads * d))
        if r.p():
            p = N("Add", p, w(heads * d)) if r.p() else N("Add", w(heads * d), p)
        p = N(
            "Reshape",
            p,
            (
                r.ints(0 if r.p() else b, 0 if r.p() else n, heads, d)
                if r.p(0.7)
                else r.ints(b, -1, heads, d)
            ),
        )
        if key and r.p(0.6):
            return N("Transpose", p, perm=[0, 2, 3, 1]), True
        return N("Transpose", p, perm=[0, 2, 1, 3]), False

    q, _ = proj(x, hq, s)
    k, flipped = proj(y, hk, t, style not in ("llama", "sdpa", "optimum"))
    v, _ = proj(y, hk, t)
    if hk != hq:
        g = hq // hk

        def repeat(z):
            how = r.pick(["expand", "tile5", "tile4?", "gather", "concat"])
            if how == "expand":
                u = N("Unsqueeze", z, r.ints(2)) if r.opset >= 13 else N("Unsqueeze", z, axes=[2])
                if r.p():
                    u = N("Expand", u, r.ints(b, hk, g, t, d))
                else:
                    u = N("Expand", u, r.ints(1, 1, g, 1, 1))
                return N("Reshape", u, r.ints(b, hq, t, d) if r.p() else r.ints(b, -1, t, d))
            if how == "tile5":
                u = N("Unsqueeze", z, r.ints(2)) if r.opset >= 13 else N("Unsqueeze", z, axes=[2])
                u = N("Tile", u, r.ints(1, 1, g, 1, 1))
                return N("Reshape", u, r.ints(b, hq, t, d))
            if how == "concat":
                u = N("Unsqueeze", z, r.ints(2)) if r.opset >= 13 else N("Unsqueeze", z, axes=[2])
                u = N("Concat", *[u] * g, axis=2)
                return N("Reshape", u, r.ints(b, hq, t, d))
            return N("Gather", z, r.ints(*np.repeat(np.arange(hk), g)), axis=1)

        k, v = repeat(k), repeat(v)
    scale = 1 / np.sqrt(d)
    how = r.pick(["q", "k", "both", "after_mul", "after_div", "none", "qdiv"])
    if how == "q":
        q = N("Mul", q, c(scale)) if r.p() else N("Mul", c(scale), q)
    if how == "qdiv":
        q = N("Div", q, c(1 / scale))
    if how == "k":
        k = N("Mul", k, c(scale))
    if how == "both":
        q, k = N("Mul", q, c(scale**0.5)), N("Mul", k, c(scale**0.5))
    kt = k if flipped else N("Transpose", k, perm=[0, 1, 3, 2])
    flat = style == "clip"
    if flat:
        q = N("Reshape", q, r.ints(b * hq, s, d))
        v = N("Reshape", v, r.ints(b * hq, t, d))
        kt = N("Reshape", kt, r.ints(b * hq, d, t))
    sc = N("MatMul", q, kt)
    if how == "after_mul":
        sc = N("Mul", sc, c(scale))
    if how == "after_div":
        sc = N("Div", sc, c(1 / scale))
    if flat:
        sc = N("Reshape", sc, r.ints(b, hq, s, t))
    low = r.pick([-10000.0, -1e9, float(np.finfo(np.float32).min), -np.inf])
    if dt == "f16" and low < -65504:
        low = r.pick([-65504.0, -np.inf, -10000.0])
    mask = r.pick(
        [
            "none",
            "pad",
            "causal_where",
            "causal_trilu",
            "causal_add",
            "gpt2",
            "both",
            "pad_bool",
            "rel",
            "swin",
            "where_not",
            "lower_tf",
        ]
    )
    tri = np.tril(np.ones((s, t), bool), t - s)
    n64 = 12
    if mask == "pad" or mask == "both":
        m = r.array("bool", (b, t))
        m[:, 0] = True
        a = r.input(m.astype(np.int64))
        a = N("Unsqueeze", a, r.ints(1, 2)) if r.opset >= 13 else N("Unsqueeze", a, axes=[1, 2])
        a = N("Cast", a, to=OT[dt])
        a = N("Sub", c(1), a)
        a = N("Mul", a, c(-10000.0 if low == -np.inf else low))
        sc = N("Add", sc, a) if r.p() else N("Add", a, sc)
    if mask == "pad_bool":
        m = r.array("bool", (b, 1, 1, t))
        m[..., 0] = True
        a = r.input(m)
        sc = N("Where", a, sc, c(low))
    if mask == "where_not":
        m = r.array("bool", (b, 1, s, t))
        m[..., 0] = False
        sc = N("Where", r.input(m), c(low), sc)
    if mask in ("causal_where", "both"):
        big = np.tril(np.ones((1, 1, n64, n64), bool))
        e = r.const(big)
        if r.opset >= 10:
            e = N("Slice", e, r.ints(t - s), r.ints(t), r.ints(2))
            e = N("Slice", e, r.ints(0), r.ints(t), r.ints(3))
        else:
            e = N("Slice", e, starts=[t - s, 0], ends=[t, t], axes=[2, 3])
        if mask == "both" or r.p(0.6):
            sc = N("Where", e, sc, c(low))
        else:
            sc = N("Add", sc, N("Where", e, c(0), c(low)))
    if mask == "gpt2":
        # w * b - 1e4 * (1 - b)
        e = r.const(np.tril(np.ones((1, 1, n64, n64))).astype(DT[dt]))
        if r.opset >= 10:
            e = N("Slice", e, r.ints(t - s, 0), r.ints(t, t), r.ints(2, 3))
        else:
            e = N("Slice", e, starts=[t - s, 0], ends=[t, t], axes=[2, 3])
        z = N("Mul", N("Sub", c(1), e), c(10000.0))
        sc = N("Sub", N("Mul", sc, e), z)
    if mask == "lower_tf":
        e = r.const(tri.astype(DT[dt])[None, None])
        sc = N("Sub", sc, N("Mul", N("Sub", c(1), e), c(1e4 if dt == "f16" else 1e10)))
    if mask == "causal_trilu" and r.opset >= 14:
        e = r.const(np.full((s, t), -np.inf if r.p() else np.finfo(DT[dt]).min), dt)
        e = N("Trilu", e, r.const(np.asarray(t - s + 1), "i64"), upper=1)
        sc = N("Add", sc, e)
    if mask == "causal_add":
        e = np.where(tri, 0, low)[None, None]
        sc = N("Add", sc, c(e))
    if mask == "rel":
        sc = N("Add", sc, r.const(r.array(dt, (1, hq, s, t))))
    if mask == "swin" and b == 2:
        nw = 2
        u = N("Reshape", sc, r.ints(b // nw, nw, hq, s, t))
        u = N(
            "Add",
            u,
            r.const(
                np.where(r.array("bool", (1, nw, 1, s, t)) | np.eye(s, t, dtype=bool), 0, -100.0),
                dt,
            ),
        )
        sc = N("Reshape", u, r.ints(b, hq, s, t))
    wide = dt == "f16" and r.p(0.5)
    if wide:
        sc = N("Cast", sc, to=1)
    p = N("Softmax", sc, axis=-1 if r.opset >= 11 else 3)
    if r.p(0.3):
        nan = N("IsNaN", p)
        p = N("Where", nan, r.const(np.asarray(0, np.float32 if wide else DT[dt])), p)
    if wide:
        p = N("Cast", p, to=10)
    if r.p(0.2):
        p = r.node("Dropout", [p])
    if flat:
        p = N("Reshape", p, r.ints(b * hq, s, t))
    o = N("MatMul", p, v)
    if flat:
        o = N("Reshape", o, r.ints(b, hq, s, d))
    o = N("Transpose", o, perm=[0, 2, 1, 3])
    o = N(
        "Reshape", o, r.ints(b, s, D) if r.p() else r.ints(0, 0, D) if r.p() else r.ints(b, -1, D)
    )
    o = N("MatMul", o, w(D, D))
    return (
        f"{style} hk{hk}/{hq} {how} {mask} {dt}{' wide' if wide else ''} s{s} t{t}",
        r.model([o]),
        r.feeds(),
        [o],
    )
