# SPDX-License-Identifier: Apache-2.0
"""Convolutions and pooling."""

from operators.table import op


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
