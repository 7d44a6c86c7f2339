# SPDX-License-Identifier: Apache-2.0
"""Quantised operators."""

import numpy as np
from models import DT
from operators.table import op, axis_of
from operators.windows import window


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
