# SPDX-License-Identifier: Apache-2.0
"""Operators with random attributes: f(r, x) gives values."""

import numpy as np
from models import R, V, Skip, F, DT, OT, h

OPS = {}
INTS = ["i32", "i64", "i32", "i64", "i8", "u8", "i16"]
ALL = F + INTS + ["bool"]
FF = ["f32", "f32", "f32", "f16", "f64"]


def op(name, since=1, upto=99, w=1):
    def keep(f):
        OPS[name] = (f, since, upto, w)
        return f

    return keep


def axis_of(r, rank, lo=None):
    a = r.i(0 if lo is None else lo, rank - 1)
    return a - rank if r.p(0.4) and (r.opset >= 11) else a


def broadcast(r, shape):
    """A shape that is broadcast with this one."""
    s = list(shape)
    if r.p(0.5):
        s = s[r.i(0, len(s)) :]
    s = [1 if r.p(0.25) else d for d in s]
    if r.p(0.15) and len(s) == len(shape) and len(s) < 5:
        s = [r.i(1, 3)] + s
    return tuple(s)


def unary(name, since=1, dts=F, rng=None, attrs=None, upto=99):
    @op(name, since, upto)
    def f(r, x):
        x = r.take(x, dts=dts, rng=rng)
        return r.node(name, [x], **(attrs(r) if attrs else {}))


real = lambda r, lo, hi: float(np.float32(r.r.uniform(lo, hi)))
maybe = lambda r, v: v if r.p(0.75) else None
for n, s in [("Abs", 6), ("Neg", 6)]:
    unary(n, s, dts=F + ["i32", "i64", "i8"])
for n, s in [
    ("Exp", 6),
    ("Sigmoid", 6),
    ("Tanh", 6),
    ("Relu", 6),
    ("Ceil", 6),
    ("Floor", 6),
    ("Erf", 9),
    ("Sin", 7),
    ("Cos", 7),
    ("Tan", 7),
    ("Atan", 7),
    ("Sinh", 9),
    ("Cosh", 9),
    ("Asinh", 9),
    ("Round", 11),
    ("Sign", 9),
    ("Softplus", 1),
    ("Softsign", 1),
    ("HardSwish", 14),
    ("Mish", 18),
    ("Reciprocal", 6),
]:
    unary(n, s, dts=FF)
for n, s, lo, hi in [
    ("Sqrt", 6, 0, 4),
    ("Log", 6, 0.01, 5),
    ("Acos", 7, -1, 1),
    ("Asin", 7, -1, 1),
    ("Acosh", 9, 1, 4),
    ("Atanh", 9, -0.95, 0.95),
]:
    unary(n, s, dts=FF, rng=(lo, hi))
unary("Not", 1, ["bool"])
unary("LeakyRelu", 6, FF, attrs=lambda r: dict(alpha=maybe(r, real(r, -1, 2))))
unary("Elu", 6, FF, attrs=lambda r: dict(alpha=maybe(r, real(r, -1, 2))))
unary(
    "Selu",
    6,
    FF,
    attrs=lambda r: dict(alpha=maybe(r, real(r, -1, 2)), gamma=maybe(r, real(r, -1, 2))),
)
unary(
    "Celu", 12, ["f32"], attrs=lambda r: dict(alpha=maybe(r, r.pick([-1, 1]) * real(r, 0.3, 2)))
)
unary("ThresholdedRelu", 10, FF, attrs=lambda r: dict(alpha=maybe(r, real(r, -1, 2))))
unary(
    "HardSigmoid",
    6,
    FF,
    attrs=lambda r: dict(alpha=maybe(r, real(r, -1, 2)), beta=maybe(r, real(r, -1, 2))),
)
unary("Gelu", 20, FF, attrs=lambda r: dict(approximate=r.pick([None, "none", "tanh"])))
unary("Swish", 24, FF, attrs=lambda r: dict(alpha=maybe(r, real(r, -1, 2))))
unary(
    "Shrink",
    9,
    FF + ["i32", "i64"],
    attrs=lambda r: dict(bias=maybe(r, real(r, 0, 1)), lambd=maybe(r, real(r, 0, 1))),
)
unary("Identity", 1, ALL)
unary("IsNaN", 9, FF)
unary(
    "IsInf",
    10,
    ["f32", "f64"],
    attrs=lambda r: dict(
        detect_negative=r.pick([None, 0, 1]), detect_positive=r.pick([None, 0, 1])
    ),
)
unary("BitwiseNot", 18, INTS)


@op("PRelu", 7)
def prelu(r, x):
    x = r.take(x, 1, 4, FF)
    s = broadcast(r, x.shape)
    if len(s) > x.rank:
        raise Skip
    if r.p() and x.rank > 2:
        s = (x.shape[1],) + (1,) * (x.rank - 2)
    return r.node("PRelu", [x, r.new(x.dt, s, const=0.8)])


def binary(name, since=7, dts=None, rng=None, positive=False):
    @op(name, since, w=2)
    def f(r, x):
        x = r.take(x, dts=dts or F + ["i32", "i64"])
        s = broadcast(r, x.shape)
        lo, hi = rng or (None, None)
        if positive:
            lo, hi = (0.3, 3) if x.dt[0] in "fb" else (1, 9)
        y = r.new(x.dt, s, lo, hi)
        ins = [x, y] if positive or r.p() else [y, x]
        return r.node(name, ins)


for n in ["Add", "Sub", "Mul"]:
    binary(n)
binary("Div", positive=True)
for n in ["Less", "Greater"]:
    binary(n, 9)
for n in ["LessOrEqual", "GreaterOrEqual"]:
    binary(n, 12)
binary("Equal", 7, ["i32", "i64", "bool"])
for n in ["And", "Or", "Xor"]:
    binary(n, 7, ["bool"])


@op("Equal_f", 11)
def equalf(r, x):
    x = r.take(x, dts=FF)
    return r.node("Equal", [x, r.new(x.dt, broadcast(r, x.shape))])


@op("Pow", 7)
def pow_(r, x):
    x = r.take(x, dts=FF, rng=(0.1, 3))
    if r.p(0.4):
        return r.node("Pow", [x, r.const(np.asarray(r.pick([2, 3, 0.5, -1, 0, 1, -0.5])), x.dt)])
    if r.opset >= 12 and r.p(0.3):
        return r.node(
            "Pow", [x, r.new(r.pick(["i32", "i64", "f32"]), broadcast(r, x.shape), 0, 3)]
        )
    return r.node("Pow", [x, r.new(x.dt, broadcast(r, x.shape), -2, 2)])


@op("Mod", 10)
def mod(r, x):
    x = r.take(x, dts=["i32", "i64", "i8", "u8", "f32", "f16"])
    f = x.dt[0] == "f"
    y = r.const(r.array(x.dt, broadcast(r, x.shape), *((0.5, 3) if f else (1, 7))))
    if r.p(0.4) and not f and x.dt[0] != "u":
        y = r.const(-y.value)
    return r.node("Mod", [x, y], fmod=1 if f else r.pick([None, 0, 1]))


@op("BitShift", 11)
def shift(r, x):
    x = r.take(x, dts=["u8", "u32", "u64"])
    return r.node(
        "BitShift",
        [x, r.new(x.dt, broadcast(r, x.shape), 0, 7, const=1)],
        direction=r.pick(["LEFT", "RIGHT"]),
    )


def variadic(name, dts):
    @op(name, 8)
    def f(r, x):
        x = r.take(x, dts=dts)
        return r.node(name, [x] + [r.new(x.dt, broadcast(r, x.shape)) for _ in range(r.i(0, 3))])


variadic("Max", FF + (["i32", "i64"]))
variadic("Min", FF + (["i32", "i64"]))
variadic("Sum", FF)
variadic("Mean", FF)


@op("Clip", 6)
def clip(r, x):
    x = r.take(x, dts=FF if r.opset < 12 else FF + ["i32", "i64", "i8", "u8"])
    lo, hi = sorted([real(r, -2, 2), real(r, -2, 2)])
    if x.dt[0] not in "fb":
        lo, hi = int(lo * 3), int(hi * 3)
        if x.dt[0] == "u":
            lo, hi = abs(lo), abs(lo) + 3
    if r.opset < 11:
        return r.node("Clip", [x], min=maybe(r, float(lo)), max=maybe(r, float(hi)))
    ins = [
        x,
        r.const(np.asarray(lo), x.dt) if r.p(0.7) else None,
        r.const(np.asarray(hi), x.dt) if r.p(0.7) else None,
    ]
    while ins[-1] is None:
        ins.pop()
    return r.node("Clip", ins)


@op("Cast", 9, w=2)
def cast(r, x):
    x = r.take(x, dts=ALL)
    to = r.pick(ALL + ["u16", "u32", "u64"])
    if x.dt[0] in "fb" and x.dt != "bool" and to[0] == "u":
        to = "i32"
    return r.node("Cast", [x], to=OT[to])


@op("CastLike", 15)
def castlike(r, x):
    x = r.take(x, dts=ALL)
    return r.node(
        "CastLike", [x, r.new(r.pick(["f32", "f16", "i32", "i64", "bool"]), r.shape(0, 2))]
    )


@op("Where", 9)
def where(r, x):
    x = r.take(x, dts=ALL)
    c = r.new("bool", broadcast(r, x.shape))
    y = r.new(x.dt, broadcast(r, x.shape))
    return r.node("Where", [c] + ([x, y] if r.p() else [y, x]))


# ---- reductions
def reduction(name, rng=None, dts=None):
    @op(name, 1, w=2)
    def f(r, x):
        x = r.take(x, 0 if r.opset >= 18 else 1, 5, dts or FF + ["i32", "i64"], rng=rng)
        kw = dict(keepdims=r.pick([None, 0, 1]))
        axes = list(r.r.permutation(x.rank)[: r.i(1, x.rank)]) if x.rank else []
        axes = [int(a) - x.rank if r.opset >= 11 and r.p(0.4) else int(a) for a in axes]
        if r.p(0.15) or not x.rank:
            axes = None
        since = 13 if name == "ReduceSum" else 18
        if r.opset >= since:
            ins = [x] + (
                [r.ints(*axes)]
                if axes is not None
                else [r.const(np.zeros(0, np.int64))] if r.p(0.3) else []
            )
            return r.node(name, ins, noop_with_empty_axes=r.pick([None, 0, 1]), **kw)
        return r.node(name, [x], axes=axes, **kw)


for n in ["ReduceSum", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceProd"]:
    reduction(n)
for n in ["ReduceMax", "ReduceMin"]:
    reduction(n, dts=FF + ["i32", "i64", "i8", "u8"])
reduction("ReduceLogSum", (0.1, 3), FF)
reduction("ReduceLogSumExp", None, FF)


def argument(name):
    @op(name, 1)
    def f(r, x):
        x = r.take(x, 1, 5, FF[:3] + ["f64", "f16", "i32", "u8", "i8"], zero=0)
        return r.node(
            name,
            [x],
            axis=r.pick([None, axis_of(r, x.rank)]),
            keepdims=r.pick([None, 0, 1]),
            select_last_index=r.pick([None, 0, 1]) if r.opset >= 12 else None,
        )


argument("ArgMax")
argument("ArgMin")


@op("CumSum", 11)
def cumsum(r, x):
    x = r.take(x, 1, 4, ["f32", "f64", "i32", "i64"])
    return r.node(
        "CumSum",
        [x, r.const(np.asarray(axis_of(r, x.rank), np.int64))],
        exclusive=r.pick([None, 0, 1]),
        reverse=r.pick([None, 0, 1]),
    )


def softmax(name):
    @op(name, 1, w=2)
    def f(r, x):
        x = r.take(x, 1, 4, FF)
        return r.node(name, [x], axis=r.pick([None, axis_of(r, x.rank)]))


softmax("Softmax")
softmax("LogSoftmax")
softmax("Hardmax")


@op("TopK", 10)
def topk(r, x):
    x = r.take(x, 1, 4, ["f32", "f64", "i32", "i64"], zero=0)
    a = axis_of(r, x.rank)
    kw = dict(largest=r.pick([None, 0, 1])) if r.opset >= 11 else {}
    return r.node("TopK", [x, r.ints(r.i(1, max(1, x.shape[a])))], 2, axis=a, **kw)


# ---- moves
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


# ---- products
@op("MatMul", 9, w=3)
def matmul(r, x):
    x = r.take(x, 1, 4, FF + ["i32", "i64"])
    k = x.shape[-1]
    u = r.p()
    if u:  # x on the left
        s = (k,) if r.p(0.15) else (k, r.i(1, 12))
        if len(s) == 2 and x.rank > 2 and r.p(0.6):
            s = tuple(1 if r.p(0.3) else d for d in x.shape[r.i(0, x.rank - 2) : -2]) + s
        return r.node("MatMul", [x, r.new(x.dt, s)])
    k = x.shape[-2] if x.rank > 1 else x.shape[0]
    s = (k,) if r.p(0.15) else (r.i(1, 12), k)
    if len(s) == 2 and x.rank > 2 and r.p(0.6):
        s = tuple(1 if r.p(0.3) else d for d in x.shape[r.i(0, x.rank - 2) : -2]) + s
    return r.node("MatMul", [r.new(x.dt, s), x])


@op("Gemm", 7, w=2)
def gemm(r, x):
    x = r.take(x, 2, 2, FF)
    ta, tb = r.pick([None, 0, 1]), r.pick([None, 0, 1])
    m, k = x.shape if not ta else x.shape[::-1]
    n = r.i(1, 14)
    ins = [x, r.new(x.dt, (n, k) if tb else (k, n), const=0.7)]
    if r.p(0.7) or r.opset < 11:
        ins.append(
            r.new(x.dt, r.pick([(n,), (1, n), (m, n), (m, 1), (1,), (1, 1), ()]), const=0.7)
        )
    return r.node(
        "Gemm",
        ins,
        transA=ta,
        transB=tb,
        alpha=r.pick([None, real(r, -2, 2)]),
        beta=r.pick([None, real(r, -2, 2), 0.0]),
    )


EQ = [
    "ij,jk->ik",
    "bij,bjk->bik",
    "ij->ji",
    "ij->i",
    "ij->",
    "bhid,bhjd->bhij",
    "i,j->ij",
    "bij,bij->b",
    "...ij,...jk->...ik",
    "bij,jk",
    "ijk,ilm,njm,nlk,abc->",
    "bnqd,bnkd->bnqk",
    "abc,cde->abde",
    "abc,ad->bcd",
    "ij,ij->ij",
    "b...d,d->b...",
    "bid,bjd->ijb",
    "nctkv,kvw->nctw",
    "ncuv,nctv->nctu",
]


@op("Einsum", 12)
def einsum(r, x):
    eq = r.pick(EQ)
    left = eq.split("->")[0].split(",")
    size = {c: r.i(1, 6) for c in "abcdehijklmnqtuvw"}
    dots = r.shape(0, 2, zero=0)
    ins = []
    for t in left:
        t = t.replace("...", ".")
        s = sum(((dots if c == "." else (size[c],)) for c in t), ())
        ins.append(r.new("f32", s))
    if len(ins) > 3:
        raise Skip
    if all(v in [] for v in ins):
        raise Skip
    return r.node("Einsum", ins, equation=eq)


# ---- windows
def window(r, x, k, dims, ceil=False, dil=True):
    kw = {}
    st = [r.i(1, 3) if r.p() else 1 for _ in range(dims)]
    d = [r.i(1, 3) if r.p(0.4) else 1 for _ in range(dims)] if dil else [1] * dims
    if r.p(0.6) or any(s > 1 for s in st):
        kw["strides"] = st
    if any(v > 1 for v in d) or r.p(0.3):
        kw["dilations"] = d
    how = r.pick(["NOTSET", "pads", "pads", "SAME_UPPER", "SAME_LOWER", "VALID", None])
    if how == "pads":
        p = [
            r.i(0, k[i % dims] - 1 if r.p(0.8) else min(k[i % dims], 9)) for i in range(2 * dims)
        ]
        if r.p(0.4):
            p = p[:dims] * 2
        kw["pads"] = p
    elif how:
        kw["auto_pad"] = how
    return kw


@op("Conv", 1, w=8)
def conv(r, x):
    dims = r.pick([1, 2, 2, 2, 2])
    x = r.take(
        x,
        3,
        4,
        ["f32", "f32", "f32", "f32", "f64", "f16"],
        zero=0,
        shape=(
            None
            if x
            else (
                r.i(1, 3),
                r.pick([1, 2, 3, 4, 6, 8, 16, 5, 12]),
                *[r.i(1, 20) for _ in range(dims)],
            )
        ),
    )
    dims = x.rank - 2
    c = x.shape[1]
    g = r.pick([d for d in range(1, c + 1) if c % d == 0]) if r.p(0.45) else 1
    o = g * r.i(1, 5)
    k = [r.pick([1, 1, 2, 3, 3, 3, 4, 5, 7, 9]) for _ in range(dims)]
    kw = window(r, x, k, dims)
    ins = [x, r.new(x.dt, (o, c // g, *k), const=0.9, scale=0.5)]
    if r.p(0.6):
        ins.append(r.new(x.dt, (o,), const=0.9))
    if r.p(0.6):
        kw["kernel_shape"] = k
    return r.node("Conv", ins, group=g if g > 1 or r.p(0.3) else None, **kw)


@op("ConvTranspose", 1, w=4)
def conv_t(r, x):
    dims = r.pick([1, 2, 2])
    x = r.take(
        x,
        3,
        4,
        ["f32"],
        zero=0,
        shape=(
            None
            if x
            else (r.i(1, 2), r.pick([1, 2, 3, 4, 6, 8]), *[r.i(1, 9) for _ in range(dims)])
        ),
    )
    dims = x.rank - 2
    c = x.shape[1]
    g = r.pick([d for d in range(1, c + 1) if c % d == 0]) if r.p(0.35) else 1
    k = [r.pick([1, 2, 3, 3, 4, 5, 7]) for _ in range(dims)]
    kw = window(r, x, k, dims)
    st = kw.get("strides", [1] * dims)
    if r.p(0.3) and any(s > 1 for s in st):
        kw["output_padding"] = [r.i(0, s - 1) for s in st]
    ins = [x, r.new(x.dt, (c, r.i(1, 4), *k), const=0.9, scale=0.5)]
    if r.p(0.6):
        ins.append(r.new(x.dt, (ins[1].shape[1] * g,), const=0.9))
    return r.node(
        "ConvTranspose",
        ins,
        group=g if g > 1 or r.p(0.3) else None,
        kernel_shape=k if r.p(0.6) else None,
        **kw
    )


def pooling(name):
    @op(name, 1, w=5)
    def f(r, x):
        dims = r.pick([1, 2, 2, 2])
        r.special = False
        x = r.take(
            x,
            3,
            4,
            ["f32", "f32", "f32", "f32", "f16"] if name != "LpPool" else ["f32"],
            zero=0,
            shape=None if x else (r.i(1, 3), r.i(1, 9), *[r.i(1, 17) for _ in range(dims)]),
        )
        dims = x.rank - 2
        k = [r.pick([1, 2, 2, 3, 3, 3, 4, 5, 7]) for _ in range(dims)]
        since = 10 if name == "MaxPool" else 19 if name == "AveragePool" else 18
        kw = window(r, x, k, dims, dil=r.opset >= since)
        if r.opset < since:
            kw.pop("dilations", None)
        if kw.get("auto_pad", "")[:4] == "SAME":
            kw.pop("dilations", None)
        if "pads" in kw:
            kw["pads"] = [min(p, k[i % dims] - 1) for i, p in enumerate(kw["pads"])]
        if r.opset >= (10 if name != "LpPool" else 18) and r.p(0.4):
            kw["ceil_mode"] = r.i(0, 1)
        if name == "AveragePool" and r.opset >= 7 and r.p(0.5):
            kw["count_include_pad"] = r.i(0, 1)
        if name == "LpPool":
            kw["p"] = r.pick([None, 1, 2, 3])
        return r.node(name, [x], kernel_shape=k, **kw)


pooling("MaxPool")
pooling("AveragePool")
pooling("LpPool")


def global_pool(name):
    @op(name, 1)
    def f(r, x):
        r.special = False
        x = r.take(x, 3, 4, ["f32", "f16"] if name != "GlobalLpPool" else ["f32"], zero=0)
        return r.node(
            name, [x], **(dict(p=r.pick([None, 1, 2, 3])) if name == "GlobalLpPool" else {})
        )


for n in ["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"]:
    global_pool(n)


# ---- norms
@op("BatchNormalization", 9, w=2)
def bn(r, x):
    x = r.take(x, 2, 4, ["f32", "f32", "f64"], zero=0)
    c = x.shape[1]
    k = 1 if r.p(0.8) else 0
    ins = (
        [x]
        + [r.new(x.dt, (c,), 0.2, 2, const=k) for _ in range(1)]
        + [
            r.new(x.dt, (c,), const=k),
            r.new(x.dt, (c,), const=k),
            r.new(x.dt, (c,), 0.1, 2, const=k),
        ]
    )
    return r.node("BatchNormalization", ins, epsilon=r.pick([None, 1e-3, 0.1]))


@op("InstanceNormalization", 6)
def inorm(r, x):
    x = r.take(x, 3, 4, ["f32"], zero=0)
    c = x.shape[1]
    return r.node(
        "InstanceNormalization",
        [x, r.new(x.dt, (c,)), r.new(x.dt, (c,))],
        epsilon=r.pick([None, 1e-3, 0.1]),
    )


@op("LayerNormalization", 17, w=2)
def lnorm(r, x):
    x = r.take(x, 1, 4, FF[:3] + ["f64", "f16"], zero=0)
    a = axis_of(r, x.rank)
    s = x.shape[a:] if a < 0 else x.shape[a:]
    ins = [x, r.new(x.dt, s)] + ([r.new(x.dt, s)] if r.p() else [])
    return r.node("LayerNormalization", ins, axis=a, epsilon=r.pick([None, 1e-3, 0.1]))


@op("RMSNormalization", 23)
def rms(r, x):
    x = r.take(x, 1, 4, ["f32", "f16"], zero=0)
    a = axis_of(r, x.rank)
    return r.node(
        "RMSNormalization", [x, r.new(x.dt, x.shape[a:])], axis=a, epsilon=r.pick([None, 1e-3])
    )


@op("GroupNormalization", 21)
def gnorm(r, x):
    x = r.take(x, 3, 4, ["f32"], zero=0)
    c = x.shape[1]
    g = r.pick([d for d in range(1, c + 1) if c % d == 0])
    return r.node(
        "GroupNormalization",
        [x, r.new(x.dt, (c,)), r.new(x.dt, (c,))],
        num_groups=g,
        epsilon=r.pick([None, 1e-3]),
    )


@op("LRN", 1)
def lrn(r, x):
    x = r.take(x, 4, 4, ["f32"], zero=0)
    return r.node(
        "LRN",
        [x],
        size=r.pick([1, 3, 5, 7]),
        alpha=maybe(r, real(r, 0, 1)),
        beta=maybe(r, real(r, 0.2, 1)),
        bias=maybe(r, real(r, 0.5, 2)),
    )


@op("LpNormalization", 1)
def lpnorm(r, x):
    x = r.take(x, 1, 4, ["f32", "f64"], zero=0)
    return r.node(
        "LpNormalization", [x], axis=r.pick([None, axis_of(r, x.rank)]), p=r.pick([None, 1, 2])
    )


@op("MeanVarianceNormalization", 13)
def mvn(r, x):
    x = r.take(x, 4, 4, ["f32"], zero=0)
    return r.node(
        "MeanVarianceNormalization",
        [x],
        axes=r.pick([None, [0, 2, 3], [2, 3], [1], [0, 1, 2, 3]]),
    )


# ---- resize
@op("Upsample", 9, 9)
def upsample(r, x):
    x = r.take(x, 4, 4, ["f32"], zero=0)
    mode = r.pick([None, "nearest", "linear"])
    s = [1, 1] + [r.pick([1, 2, 3, 1.5, 2.5]) for _ in range(2)]
    return r.node("Upsample", [x, r.const(np.array(s, np.float32))], mode=mode)


@op("Resize", 10, w=5)
def resize(r, x):
    x = r.take(
        x,
        3,
        4,
        ["f32", "f32", "u8"] if r.opset > 10 else ["f32"],
        zero=0,
        shape=(
            None
            if x
            else (r.i(1, 2), r.i(1, 3), *[r.i(1, 9) for _ in range(r.pick([1, 2, 2, 2]))])
        ),
    )
    mode = r.pick(["nearest", "linear"] + (["cubic"] if r.opset >= 11 else []))
    dims = x.rank - 2
    if x.dt == "u8":
        mode = "nearest"
    s = [1.0, 1.0] + [r.pick([1, 2, 3, 0.5, 1.5, 0.7, 2.3, 0.3]) for _ in range(dims)]
    if any(int(np.floor(f * d)) < 1 for f, d in zip(s, x.shape)):
        raise Skip
    sizes = [int(np.floor(f * d)) for f, d in zip(s, x.shape)]
    if r.opset == 10:
        return r.node("Resize", [x, r.const(np.array(s, np.float32))], mode=mode)
    kw = dict(mode=mode)
    if dims == 1 and mode == "cubic":
        raise Skip
    coord = r.pick(["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", None])
    kw["coordinate_transformation_mode"] = coord
    if mode == "nearest":
        kw["nearest_mode"] = r.pick(
            [None, "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
        )
    if mode == "cubic":
        kw["cubic_coeff_a"] = r.pick([None, -0.5, -0.75])
        kw["exclude_outside"] = r.pick([None, 0, 1])
    if r.opset >= 18 and r.p(0.2) and mode != "nearest":
        kw["antialias"] = 1
    if r.p():
        ins = [
            x,
            None if r.opset >= 13 else r.const(np.zeros(0, np.float32)),
            r.const(np.array(s, np.float32)),
        ]
    else:
        ins = [
            x,
            None if r.opset >= 13 else r.const(np.zeros(0, np.float32)),
            None if r.opset >= 13 else r.const(np.zeros(0, np.float32)),
            r.ints(*sizes),
        ]
    return r.node("Resize", ins, **kw)


# ---- quantised
@op("QuantizeLinear", 10, w=2)
def ql(r, x):
    x = r.take(x, 1, 4, ["f32"], zero=0)
    dt = r.pick(["u8", "i8"])
    if r.opset >= 13 and r.p(0.4):
        a = axis_of(r, x.rank)
        c = x.shape[a]
        return r.node(
            "QuantizeLinear",
            [x, r.const(r.array("f32", (c,), 0.01, 0.1)), r.const(r.array(dt, (c,)))],
            axis=a,
        )
    ins = [x, r.const(r.array("f32", (), 0.01, 0.1))]
    if r.p(0.8):
        ins.append(r.const(r.array(dt, ())))
    return r.node("QuantizeLinear", ins)


@op("DequantizeLinear", 10, w=2)
def dql(r, x):
    dts = ["u8", "i8"]
    x = r.take(x, 1, 4, dts, zero=0)
    if r.opset >= 13 and r.p(0.4):
        a = axis_of(r, x.rank)
        c = x.shape[a]
        return r.node(
            "DequantizeLinear",
            [x, r.const(r.array("f32", (c,), 0.01, 0.1)), r.const(r.array(x.dt, (c,)))],
            axis=a,
        )
    ins = [x, r.const(r.array("f32", (), 0.01, 0.1))]
    if r.p(0.8):
        ins.append(r.const(r.array(x.dt, ())))
    return r.node("DequantizeLinear", ins)


@op("DynamicQuantizeLinear", 11)
def dyql(r, x):
    x = r.take(x, 1, 4, ["f32"], zero=0)
    return r.node("DynamicQuantizeLinear", [x], 3)


@op("MatMulInteger", 10)
def mmi(r, x):
    x = r.take(x, 2, 3, ["u8", "i8"], zero=0)
    w = r.const(r.array(r.pick(["u8", "i8"]) if x.dt == "u8" else "i8", (x.shape[-1], r.i(1, 9))))
    ins = [x, w]
    if r.p(0.6):
        ins += [r.const(r.array(x.dt, ()))]
        if r.p():
            ins += [r.const(r.array(w.dt, ()))]
    return r.node("MatMulInteger", ins)


@op("QLinearMatMul", 10)
def qmm(r, x):
    x = r.take(x, 2, 3, ["u8", "i8"], zero=0)
    w = r.const(r.array(x.dt, (x.shape[-1], r.i(1, 9))))
    q = lambda dt: [r.const(r.array("f32", (), 0.01, 0.1)), r.const(r.array(dt, ()))]
    return r.node(
        "QLinearMatMul",
        [x] + q(x.dt) + [w] + q(w.dt) + [r.const(r.array("f32", (), 0.5, 2))] + q(x.dt)[1:],
    )


@op("QLinearConv", 10, w=2)
def qconv(r, x):
    x = r.take(
        x,
        4,
        4,
        ["u8", "i8"],
        zero=0,
        shape=None if x else (1, r.pick([1, 2, 4, 6]), r.i(1, 9), r.i(1, 9)),
    )
    c = x.shape[1]
    g = r.pick([d for d in range(1, c + 1) if c % d == 0]) if r.p(0.4) else 1
    o = g * r.i(1, 4)
    k = [r.pick([1, 2, 3, 3, 5]) for _ in range(2)]
    w = r.const(r.array(r.pick(["u8", "i8"]) if x.dt == "u8" else "i8", (o, c // g, *k)))
    q = lambda dt, s=(): [r.const(r.array("f32", s, 0.01, 0.1)), r.const(r.array(dt, s))]
    per = (o,) if r.p(0.4) else ()
    qw = q(w.dt, per)
    if per:
        qw[1] = r.const(np.zeros(per, DT[w.dt]))
    ins = [x] + q(x.dt) + [w] + qw + [r.const(r.array("f32", (), 0.5, 2))] + q(x.dt)[1:]
    if r.p(0.5):
        ins.append(r.const(r.array("i32", (o,), -500, 500)))
    return r.node("QLinearConv", ins, group=g if g > 1 else None, **window(r, x, k, 2))


@op("ConvInteger", 10)
def convi(r, x):
    x = r.take(
        x,
        4,
        4,
        ["u8"],
        zero=0,
        shape=None if x else (1, r.pick([1, 2, 4, 6]), r.i(1, 9), r.i(1, 9)),
    )
    c = x.shape[1]
    g = r.pick([d for d in range(1, c + 1) if c % d == 0]) if r.p(0.4) else 1
    o = g * r.i(1, 4)
    k = [r.pick([1, 2, 3, 3, 5]) for _ in range(2)]
    w = r.const(r.array("u8", (o, c // g, *k)))
    ins = [x, w] + ([r.const(r.array("u8", ()))] if r.p() else [])
    return r.node("ConvInteger", ins, group=g if g > 1 else None, **window(r, x, k, 2))


# ---- recurrent
def recurrent(name, gates):
    @op(name, 7, w=2)
    def f(r, x):
        r.special = False
        x = r.take(
            x, 3, 3, ["f32"], zero=0, shape=None if x else (r.i(1, 5), r.i(1, 3), r.i(1, 5))
        )
        s, b, i = x.shape
        hid = r.i(1, 6)
        dr = r.pick([None, "forward", "reverse", "bidirectional"])
        d = 2 if dr == "bidirectional" else 1
        ins = [
            x,
            r.new("f32", (d, gates * hid, i), const=0.9, scale=0.5),
            r.new("f32", (d, gates * hid, hid), const=0.9, scale=0.5),
        ]
        opt = [
            r.new("f32", (d, 2 * gates * hid), scale=0.5) if r.p(0.6) else None,
            r.new("i32", (b,), 1, s) if r.p(0.3) else None,
            r.new("f32", (d, b, hid)) if r.p(0.4) else None,
        ]
        if name == "LSTM":
            opt += [
                r.new("f32", (d, b, hid)) if r.p(0.4) else None,
                r.new("f32", (d, 3 * hid)) if r.p(0.3) else None,
            ]
        while opt and opt[-1] is None:
            opt.pop()
        kw = {}
        if name == "GRU":
            kw["linear_before_reset"] = r.pick([None, 0, 1])
        if name == "LSTM":
            kw["input_forget"] = r.pick([None, None, 1])
        if r.p(0.2):
            kw["clip"] = 1.5
        if r.p(0.3):
            acts = {"LSTM": 3, "GRU": 2, "RNN": 1}[name] * d
            kw["activations"] = [
                r.pick(["Tanh", "Sigmoid", "Relu", "HardSigmoid", "Softsign", "Softplus"])
                for _ in range(acts)
            ]
        return r.node(
            name, ins + opt, 3 if name == "LSTM" else 2, hidden_size=hid, direction=dr, **kw
        )


recurrent("RNN", 1)
recurrent("GRU", 3)
recurrent("LSTM", 4)


@op("GridSample", 16, w=3)
def gridsample(r, x):
    x = r.take(
        x,
        4,
        4,
        ["f32"],
        zero=0,
        shape=None if x else (r.i(1, 2), r.i(1, 3), r.i(1, 7), r.i(1, 7)),
    )
    g = r.new("f32", (x.shape[0], r.i(1, 6), r.i(1, 6), 2), -1.3, 1.3, const=0.2)
    modes = (
        [None, "bilinear", "nearest", "bicubic"]
        if r.opset < 20
        else [None, "linear", "nearest", "cubic"]
    )
    return r.node(
        "GridSample",
        [x, g],
        mode=r.pick(modes),
        padding_mode=r.pick([None, "zeros", "border", "reflection"]),
        align_corners=r.pick([None, 0, 1]),
    )


@op("RoiAlign", 10, w=3)
def roialign(r, x):
    x = r.take(
        x,
        4,
        4,
        ["f32"],
        zero=0,
        shape=None if x else (r.i(1, 2), r.i(1, 3), r.i(2, 12), r.i(2, 12)),
    )
    n = r.i(1, 4)
    a = np.sort(r.r.uniform(-2, 14, (n, 2, 2)), axis=2).transpose(0, 2, 1).reshape(n, 4)
    rois = a.astype(np.float32)
    kw = dict(
        mode=r.pick([None, "avg", "max"]),
        output_height=r.pick([None, r.i(1, 5)]),
        output_width=r.pick([None, r.i(1, 5)]),
        sampling_ratio=r.pick([None, 0, 1, 2, 3]),
        spatial_scale=r.pick([None, 0.5, 0.25, 1.0]),
    )
    if r.opset >= 16:
        kw["coordinate_transformation_mode"] = r.pick([None, "half_pixel", "output_half_pixel"])
    if False:
        kw["mode"] = "avg"
    return r.node(
        "RoiAlign",
        [
            x,
            r.input(rois) if r.p() else r.const(rois),
            r.const(r.r.integers(0, x.shape[0], n).astype(np.int64)),
        ],
        **kw
    )


# ---- other
@op("Attention", 23, w=2)
def attention(r, x):
    b, hq, s, d = r.i(1, 2), r.pick([1, 2, 4]), r.i(1, 6), r.i(1, 8)
    hk = r.pick([x for x in (1, 2, 4) if hq % x == 0])
    t, dv = r.i(1, 6), r.i(1, 8)
    kw = dict(is_causal=r.pick([None, 0, 1]), scale=r.pick([None, 0.3]))
    if r.p():
        ins = [
            r.new("f32", (b, hq, s, d), const=0),
            r.new("f32", (b, hk, t, d), const=0),
            r.new("f32", (b, hk, t, dv), const=0),
        ]
    else:
        ins = [
            r.new("f32", (b, s, hq * d), const=0),
            r.new("f32", (b, t, hk * d), const=0),
            r.new("f32", (b, t, hk * dv), const=0),
        ]
        kw.update(q_num_heads=hq, kv_num_heads=hk)
    if r.p(0.4):
        ins.append(
            r.new(
                r.pick(["f32", "bool"]),
                r.pick([(s, t), (1, 1, s, t), (b, 1, s, t), (b, hq, s, t)]),
            )
        )
    return r.node("Attention", ins, **kw)


@op("NonZero", 9)
def nonzero(r, x):
    x = r.take(x, 1, 3, ["f32", "i64", "bool", "i32"], zero=0)
    return r.node("NonZero", [x])


@op("Compress", 9)
def compress(r, x):
    x = r.take(x, 1, 4, ["f32", "i64"], zero=0)
    a = axis_of(r, x.rank)
    c = r.array("bool", (r.i(1, x.shape[a]),))
    return r.node("Compress", [x, r.const(c)], axis=a)


@op("Range", 11)
def range_(r, x):
    a, b, c = r.i(-5, 5), r.i(-9, 9), r.pick([1, 2, -1, 3, -2])
    dt = r.pick(["i64", "f32", "i32"])
    v = r.node("Range", [r.const(np.asarray(t), dt) for t in (a, b, c)])
    y = r.input(r.array(dt, (1,)))
    return r.node("Add", [v, y])


@op("ConstantOfShape", 9)
def cos(r, x):
    s = r.shape(1, 3, zero=0.1)
    v = r.node(
        "ConstantOfShape",
        [r.ints(*s)],
        **({} if r.p(0.3) else dict(value=h.make_tensor("t", 1, [1], [2.5])))
    )
    return r.node("Add", [v, r.input(r.array("f32", (1,)))])
