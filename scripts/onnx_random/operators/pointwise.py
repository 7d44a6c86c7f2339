# SPDX-License-Identifier: Apache-2.0
"""One element at a time: unary, binary, variadic, casts."""

import numpy as np
from models import Skip, F, OT
from operators.table import maybe, real, INTS, ALL, FF, op, broadcast


def unary(name, since=1, dts=F, rng=None, attrs=None, upto=99):
    @op(name, since, upto)
    def f(r, x):
        x = r.take(x, dts=dts, rng=rng)
        return r.node(name, [x], **(attrs(r) if attrs else {}))


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
