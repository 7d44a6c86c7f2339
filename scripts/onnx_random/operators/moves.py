# SPDX-License-Identifier: Apache-2.0
"""Elements that go elsewhere: transpose to pad, gather and scatter."""

import numpy as np
from models import Skip
from operators.table import maybe, real, ALL, FF, op, axis_of, broadcast


@op("Transpose", 1, w=2)
def transpose(r, x):
    x = r.take(x, dts=ALL)
    return r.node(
        "Transpose",
        [x],
        perm=None if r.p(0.2) else [int(i) for i in r.r.permutation(x.rank)] if x.rank else None,
    )


@op("Reshape", 5, w=2)
def reshape(r, x):
    x = r.take(x, dts=ALL)
    n = int(np.prod(x.shape))
    s, left = [], n
    while left > 1 and len(s) < 5:
        f = [d for d in range(2, min(left, 40) + 1) if left % d == 0] or [left]
        d = r.pick(f)
        s.append(d)
        left //= d
    if left > 1:
        s.append(left)
    if n == 0:
        s = list(x.shape)
    if r.p(0.3):
        s.insert(r.i(0, len(s)), 1)
    if s and n and r.p(0.5):
        s[r.i(0, len(s) - 1)] = -1
    elif s and n and x.rank and r.p(0.4):
        for d in range(min(len(s), x.rank)):
            if s[d] == x.shape[d]:
                s[d] = 0
                break
    kw = {}
    if n == 0:
        if r.opset < 14:
            s = [0] * len(s)
        else:
            kw = dict(allowzero=1)
    return r.node("Reshape", [x, r.ints(*s)], **kw)


@op("Flatten", 1)
def flatten(r, x):
    x = r.take(x, 1, 5, FF if r.opset < 9 else ALL)
    return r.node(
        "Flatten",
        [x],
        axis=r.pick([None, r.i(0, x.rank), -r.i(0, x.rank - 1) or 0 if r.opset >= 11 else 0]),
    )


@op("Squeeze", 1)
def squeeze(r, x):
    x = r.take(x, dts=ALL)
    ones = [d for d in range(x.rank) if x.shape[d] == 1]
    if not ones and x.rank < 5:
        x = unsqueeze(r, x)
        r.settle([x])
        ones = [d for d in range(x.rank) if x.shape[d] == 1]
    if not ones or r.p(0.15):
        return r.node("Squeeze", [x])
    axes = [d - x.rank if r.opset >= 11 and r.p(0.4) else d for d in ones if r.p(0.7)] or ones[:1]
    return (
        r.node("Squeeze", [x], axes=axes)
        if r.opset < 13
        else r.node("Squeeze", [x, r.ints(*axes)])
    )


@op("Unsqueeze", 1)
def unsqueeze(r, x):
    x = r.take(x, 0, 4, ALL)
    k = r.i(1, min(2, 6 - x.rank))
    axes = [int(a) for a in r.r.permutation(x.rank + k)[:k]]
    axes = [a - x.rank - k if r.opset >= 11 and r.p(0.4) else a for a in axes]
    return (
        r.node("Unsqueeze", [x], axes=axes)
        if r.opset < 13
        else r.node("Unsqueeze", [x, r.ints(*axes)])
    )


@op("Expand", 8)
def expand(r, x):
    x = r.take(x, 0, 4, ALL)
    if r.p(0.5) and x.rank:
        x2 = r.take(None, dts=[x.dt], shape=broadcast(r, x.shape)) if not r.nodes else x
        x = x2
    s = [r.i(1, 4) if d == 1 else (1 if r.p(0.3) else d) for d in x.shape]
    if r.p(0.3) and len(s) < 5:
        s = [r.i(1, 3)] + s
    return r.node("Expand", [x, r.ints(*s)])


@op("Tile", 6)
def tile(r, x):
    x = r.take(x, 1, 4, ALL)
    return r.node("Tile", [x, r.ints(*[r.i(1, 3) if r.p() else 1 for _ in x.shape])])


@op("Concat", 4, w=2)
def concat(r, x):
    x = r.take(x, 1, 5, ALL)
    a = axis_of(r, x.rank)
    ins = [x]
    for _ in range(r.i(0, 4)):
        s = list(x.shape)
        s[a] = r.i(0, 4)
        ins.insert(r.i(0, len(ins)), r.new(x.dt, s))
    return r.node("Concat", ins, axis=a)


@op("Split", 2)
def split(r, x):
    x = r.take(x, 1, 5, ALL)
    a = axis_of(r, x.rank)
    n = x.shape[a]
    k = r.i(1, max(1, min(4, n)))
    parts = []
    for i in range(k):
        parts.append(r.i(0, n - sum(parts)) if i < k - 1 else n - sum(parts))
    if r.opset < 13:
        return r.node("Split", [x], k, axis=a, split=parts)
    if r.opset >= 18 and r.p():
        if n == 0:
            raise Skip
        size = -(-n // k)
        k = -(-n // size)
        return r.node("Split", [x], k, axis=a, num_outputs=k)
    return r.node("Split", [x, r.ints(*parts)], k, axis=a)


@op("Slice", 1, w=3)
def slice_(r, x):
    x = r.take(x, 1, 5, ALL)
    k = r.i(1, x.rank)
    axes = [int(a) for a in r.r.permutation(x.rank)[:k]]
    starts, ends, steps = [], [], []
    for a in axes:
        n = x.shape[a]
        step = r.pick([1, 1, 1, 2, 3, -1, -2, -3]) if r.opset >= 10 else 1
        s, e = r.i(-n - 2, n + 2), r.i(-n - 2, n + 2)
        if r.p(0.7):
            s, e = (
                (r.i(0, n // 2), r.i(n // 2, n)) if step > 0 else (r.i(n // 2, n), r.i(0, n // 2))
            )
            s = s - n if r.p(0.3) and s < n else s
            e = e - n if r.p(0.3) and e < n else e
        if r.p(0.15):
            e = r.pick([2**63 - 1, 2**31 - 1]) if step > 0 else r.pick([-(2**63) + 1, -(2**31)])
        starts.append(s), ends.append(e), steps.append(step)
    if r.opset >= 10 and r.p(0.3):
        axes = [a - x.rank for a in axes]
    if r.opset < 10:
        return r.node("Slice", [x], starts=starts, ends=ends, axes=axes)
    ins = [x, r.ints(*starts), r.ints(*ends), r.ints(*axes)]
    if any(s != 1 for s in steps) or r.p(0.3):
        ins.append(r.ints(*steps))
    return r.node("Slice", ins)


@op("Gather", 1, w=2)
def gather(r, x):
    x = r.take(x, 1, 4, ALL, zero=0)
    a = axis_of(r, x.rank)
    n = x.shape[a]
    if n == 0:
        raise Skip
    s = r.shape(0, 2)
    lo = -n if r.opset >= 11 else 0
    return r.node(
        "Gather",
        [x, r.new(r.pick(["i64", "i32"]), s, lo, n - 1)],
        axis=r.pick([a, a, None]) if x.shape[0] == n else a,
    )


@op("GatherElements", 11)
def gather_elements(r, x):
    x = r.take(x, 1, 4, ALL, zero=0)
    a = axis_of(r, x.rank)
    s = [r.i(1, d) if r.p() else d for d in x.shape]
    s[a] = r.i(1, 6)
    return r.node(
        "GatherElements",
        [x, r.new(r.pick(["i64", "i32"]), s, -x.shape[a], x.shape[a] - 1)],
        axis=a,
    )


@op("GatherND", 11)
def gather_nd(r, x):
    x = r.take(x, 1, 4, ALL, zero=0)
    b = r.i(0, x.rank - 1) if r.opset >= 12 and r.p(0.3) else 0
    k = r.i(1, x.rank - b)
    s = r.shape(0, 2, zero=0)
    idx = np.stack(
        [r.r.integers(-x.shape[b + j], x.shape[b + j], x.shape[:b] + s) for j in range(k)], -1
    ).astype(np.int64)
    if idx.ndim + x.rank - k - b > 7:
        raise Skip
    return r.node("GatherND", [x, r.const(idx) if r.p() else r.input(idx)], batch_dims=b or None)


@op("ScatterElements", 11)
def scatter_elements(r, x):
    x = r.take(x, 1, 4, ["f32", "i64", "i32", "f64"], zero=0)
    a = axis_of(r, x.rank)
    s = [r.i(1, d) if r.p() else d for d in x.shape]
    n = x.shape[a]
    s[a] = r.i(1, n)
    red = (
        r.pick([None, None, "add", "mul", "max", "min"])
        if r.opset >= 18
        else r.pick([None, "add", "mul"]) if r.opset >= 16 else None
    )
    if red in (None,):
        idx = np.argsort(r.r.random(s[: a % x.rank] + [n] + s[a % x.rank + 1 :]), axis=a)
        idx = np.take(idx, range(s[a]), axis=a)
    else:
        idx = r.r.integers(0, n, s)
    idx = np.where((r.r.random(s) < 0.3), idx - n, idx).astype(np.int64)
    return r.node(
        "ScatterElements",
        [x, r.const(idx) if r.p() else r.input(idx), r.new(x.dt, s)],
        axis=a,
        reduction=red,
    )


@op("ScatterND", 11)
def scatter_nd(r, x):
    x = r.take(x, 1, 4, ["f32", "i64", "i32"], zero=0)
    k = r.i(1, x.rank)
    all_ = int(np.prod(x.shape[:k]))
    m = r.i(1, min(all_, 6))
    red = (
        r.pick([None, None, "add", "mul", "max", "min"])
        if r.opset >= 18
        else r.pick([None, "add", "mul"]) if r.opset >= 16 else None
    )
    flat = r.r.permutation(all_)[:m] if red is None else r.r.integers(0, all_, m)
    idx = np.stack(np.unravel_index(flat, x.shape[:k]), -1).astype(np.int64)
    return r.node(
        "ScatterND",
        [x, r.const(idx) if r.p() else r.input(idx), r.new(x.dt, (m,) + x.shape[k:])],
        reduction=red,
    )


@op("OneHot", 9)
def onehot(r, x):
    x = r.take(x, 0, 3, ["i64", "i32", "f32"], rng=(-3, 6)) if x is None else x
    if x.dt not in ("i64", "i32"):
        raise Skip
    dt = r.pick(["f32", "i64", "i32"])
    return r.node(
        "OneHot",
        [x, r.const(np.asarray(r.i(1, 8)), "i64"), r.const(r.array(dt, (2,)))],
        axis=r.pick([None, r.i(0, x.rank), -1 - r.i(0, x.rank)]),
    )


@op("Trilu", 14)
def trilu(r, x):
    x = r.take(x, 2, 4, FF + ["i64", "i32", "bool"])
    ins = [x] + ([r.const(np.asarray(r.i(-4, 4)), "i64")] if r.p(0.6) else [])
    return r.node("Trilu", ins, upper=r.pick([None, 0, 1]))


@op("Pad", 2, w=2)
def pad(r, x):
    x = r.take(x, 1, 4, FF if r.opset < 11 else FF + ["i32", "i64"], zero=0)
    mode = r.pick([None, "constant", "reflect", "edge"] + (["wrap"] if r.opset >= 19 else []))
    axes = list(range(x.rank))
    if r.opset >= 18 and r.p(0.4):
        axes = [int(a) for a in r.r.permutation(x.rank)[: r.i(1, x.rank)]]
    lo, hi = [], []
    for a in axes:
        n = x.shape[a]
        m = n - 1 if mode == "reflect" else n if mode == "wrap" else 4
        lo.append(r.i(0, min(m, 4)) if r.p(0.7) else 0), hi.append(
            r.i(0, min(m, 4)) if r.p(0.7) else 0
        )
        if r.p(0.1) and n > 2 and mode in (None, "constant"):
            lo[-1] = -1
    v = real(r, -2, 2)
    if r.opset < 11:
        return r.node("Pad", [x], pads=lo + hi, mode=mode, value=maybe(r, v))
    ins = [x, r.ints(*lo, *hi)]
    if r.p() and mode in (None, "constant"):
        ins.append(r.const(np.asarray(v), x.dt))
    if len(axes) < x.rank or axes != sorted(axes):
        if len(ins) == 2:
            ins.append(None)
        ins.append(r.ints(*[a - x.rank if r.p(0.3) else a for a in axes]))
    return r.node("Pad", ins, mode=mode)


@op("DepthToSpace", 1)
def d2s(r, x):
    b = r.i(1, 3)
    x = r.take(
        x,
        4,
        4,
        ["f32", "f16"],
        shape=None if x else (r.i(1, 2), b * b * r.i(1, 4), r.i(1, 5), r.i(1, 5)),
    )
    if x.shape[1] % (b * b):
        raise Skip
    return r.node(
        "DepthToSpace",
        [x],
        blocksize=b,
        mode=r.pick([None, "DCR", "CRD"]) if r.opset >= 11 else None,
    )


@op("SpaceToDepth", 1)
def s2d(r, x):
    b = r.i(1, 3)
    x = r.take(
        x,
        4,
        4,
        ["f32"],
        shape=None if x else (r.i(1, 2), r.i(1, 4), b * r.i(1, 5), b * r.i(1, 5)),
    )
    if x.shape[2] % b or x.shape[3] % b:
        raise Skip
    return r.node("SpaceToDepth", [x], blocksize=b)


@op("ReverseSequence", 10)
def revseq(r, x):
    x = r.take(x, 2, 4, FF, zero=0)
    b = r.i(0, 1)
    return r.node(
        "ReverseSequence",
        [x, r.new("i64", (x.shape[b],), 1, x.shape[1 - b])],
        batch_axis=b,
        time_axis=1 - b,
    )


@op("Dropout", 7)
def dropout(r, x):
    x = r.take(x, dts=FF)
    return r.node("Dropout", [x])


@op("EyeLike", 9)
def eye(r, x):
    x = r.take(x, 2, 2, ["f32", "i64", "i32"])
    return r.node("EyeLike", [x], k=r.pick([None, r.i(-3, 3)]))


@op("Shape", 1)
def shape_(r, x):
    x = r.take(x, dts=ALL)
    kw = {}
    if r.opset >= 15:
        kw = dict(start=r.pick([None, r.i(-6, 6)]), end=r.pick([None, r.i(-6, 6)]))
    v = r.node("Shape", [x], **kw)
    return v
