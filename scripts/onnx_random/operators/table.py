# SPDX-License-Identifier: Apache-2.0
"""The table of operators, and what many of them draw."""

import numpy as np
from models import F

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


def real(r, lo, hi):
    return float(np.float32(r.r.uniform(lo, hi)))


def maybe(r, v):
    return v if r.p(0.75) else None
