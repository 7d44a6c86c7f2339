# SPDX-License-Identifier: Apache-2.0
"""Upsample and Resize."""

import numpy as np
from models import Skip
from operators.table import op


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
