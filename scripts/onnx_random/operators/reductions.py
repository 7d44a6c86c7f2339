# SPDX-License-Identifier: Apache-2.0
"""Reductions, argmax, cumsum, softmax, topk."""

import numpy as np
from operators.table import FF, op, axis_of


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
