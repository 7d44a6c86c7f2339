# SPDX-License-Identifier: Apache-2.0
"""GridSample and RoiAlign."""

import numpy as np
from operators.table import op


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
