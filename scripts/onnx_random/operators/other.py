# SPDX-License-Identifier: Apache-2.0
"""Attention, and what has a shape that depends on values."""

import numpy as np
from models import h
from operators.table import op, axis_of


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
