# SPDX-License-Identifier: Apache-2.0
"""Single operators, chains of them, small networks, attention: a seed makes the same again."""

import numpy as np
from models import R, Skip
from operators import OPS

NAMES = [k for k, v in OPS.items() for _ in range(v[3])]


def usable(r, name):
    f, since, upto, w = OPS[name]
    return since <= r.opset <= upto


def single(seed, only, opset):
    r = R(seed, opset)
    if only:
        names = [n for n in only.split(",")]
        name = r.pick(names)
        if not usable(r, name):
            r.opset = max(OPS[name][1], 13)
            if r.opset > OPS[name][2]:
                r.opset = OPS[name][2]
    else:
        name = r.pick(NAMES)
        while not usable(r, name):
            name = r.pick(NAMES)
    out = OPS[name][0](r, None)
    outs = out if isinstance(out, list) else [out]
    if not r.inputs:
        raise Skip
    return name, r.model(outs), r.feeds(), outs


ELEM = [
    "Abs",
    "Neg",
    "Exp",
    "Sigmoid",
    "Tanh",
    "Relu",
    "Erf",
    "Sin",
    "Softplus",
    "HardSwish",
    "LeakyRelu",
    "Elu",
    "HardSigmoid",
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Max",
    "Min",
    "Clip",
    "Cast",
    "Where",
    "ReduceSum",
    "ReduceMean",
    "ReduceMax",
    "ReduceMin",
    "Softmax",
    "Transpose",
    "Reshape",
    "Squeeze",
    "Unsqueeze",
    "Expand",
    "Tile",
    "Concat",
    "Split",
    "Slice",
    "Gather",
    "Pad",
    "MatMul",
    "CumSum",
    "Flatten",
    "Mul",
    "Add",
    "LayerNormalization",
    "ArgMax",
    "Trilu",
    "GatherElements",
    "PRelu",
]


def chain(seed, only, opset):
    r = R(seed, opset)
    r.special = False
    x = r.take(None, 1, 4, ["f32", "f32", "f32", "i64", "f16"])
    n = r.i(3, 12)
    label = []
    kept = [x]
    tries = 0
    while len(label) < n and tries < 60:
        tries += 1
        name = r.pick(ELEM if r.p(0.8) else NAMES)
        if not usable(r, name) or name in ("Attention",):
            continue
        v = r.pick(kept[-3:]) if r.p(0.25) else kept[-1]
        mark = len(r.nodes), len(r.inits), len(r.inputs)
        try:
            out = OPS[name][0](r, v)
            outs = out if isinstance(out, list) else [out]
            r.settle(outs)
            for o in outs:
                if np.prod(o.shape) > 30000:
                    raise Skip
        except (Skip, RuntimeError, ValueError, IndexError):
            del r.nodes[mark[0] :], r.inits[mark[1] :], r.inputs[mark[2] :]
            continue
        label.append(name)
        kept.append(r.pick(outs))
        if not kept[-1].dt[0] in "fbiu":
            raise Skip
    outs = [kept[-1]] + ([kept[-2]] if r.p(0.3) and len(kept) > 2 else [])
    return "+".join(label), r.model(outs), r.feeds(), outs


def net(seed, only, opset):
    r = R(seed, opset or int(np.random.default_rng(seed).choice([9, 11, 13, 17, 18, 20, 21])))
    r.special = False
    dims = r.pick([1, 2, 2, 2])
    x = r.input(
        r.array("f32", (r.i(1, 2), r.pick([1, 3, 4]), *[r.i(7, 24) for _ in range(dims)]))
    )
    label = []
    v = x
    for _ in range(r.i(3, 9)):
        kind = r.pick(
            [
                "conv",
                "conv",
                "conv",
                "dw",
                "pool",
                "act",
                "se",
                "res",
                "cat",
                "up",
                "bn",
                "shuffle",
                "convT",
            ]
        )
        try:
            before = v
            mark = len(r.nodes), len(r.inits), len(r.inputs)
            c = v.shape[1]
            if kind in ("conv", "dw", "res"):
                k = r.pick([1, 3, 3, 5, 7])
                g = c if kind == "dw" else 1
                o = c if kind != "conv" else r.pick([4, 6, 8, 12, 16, 5])
                st = r.pick([1, 1, 2]) if kind != "res" else 1
                w = r.const(
                    (
                        r.r.normal(size=(o, c // g, *[k] * dims)) / np.sqrt(c // g * k**dims)
                    ).astype(np.float32)
                )
                ins = [v, w] + ([r.const(r.array("f32", (o,)))] if r.p(0.7) else [])
                v = r.node("Conv", ins, group=g, pads=[k // 2] * 2 * dims, strides=[st] * dims)
                if r.p(0.4):
                    v = r.node(
                        "BatchNormalization",
                        [
                            v,
                            r.const(r.array("f32", (o,), 0.3, 2)),
                            r.const(r.array("f32", (o,))),
                            r.const(r.array("f32", (o,))),
                            r.const(r.array("f32", (o,), 0.3, 2)),
                        ],
                    )
                if r.p(0.6):
                    v = act(r, v)
                if kind == "res":
                    v = r.node("Add", [v, before] if r.p() else [before, v])
                    if r.p():
                        v = r.node("Relu", [v])
            elif kind == "pool":
                v = OPS[r.pick(["MaxPool", "AveragePool"])][0](r, v)
            elif kind == "act":
                v = act(r, v)
            elif kind == "bn":
                v = r.node(
                    "BatchNormalization",
                    [
                        v,
                        r.const(r.array("f32", (c,), 0.3, 2)),
                        r.const(r.array("f32", (c,))),
                        r.const(r.array("f32", (c,))),
                        r.const(r.array("f32", (c,), 0.3, 2)),
                    ],
                )
            elif kind == "se":
                s = r.node("GlobalAveragePool", [v])
                s = r.node("Conv", [s, r.const(r.array("f32", (c, c, *[1] * dims)))])
                s = r.node(r.pick(["Sigmoid", "HardSigmoid"]), [s])
                v = r.node("Mul", [v, s])
            elif kind == "cat":
                s = r.node("Conv", [v, r.const(r.array("f32", (r.i(1, 5), c, *[1] * dims)))])
                v = r.node("Concat", [v, s], axis=1)
            elif kind == "up" and dims == 2 and r.opset >= 11:
                v = r.node(
                    "Resize",
                    [
                        v,
                        r.const(np.zeros(0, np.float32)),
                        r.const(np.array([1, 1, 2, 2], np.float32)),
                    ],
                    mode=r.pick(["nearest", "linear"]),
                    coordinate_transformation_mode="asymmetric",
                    nearest_mode="floor",
                )
            elif kind == "shuffle" and dims == 2 and c % 2 == 0:
                n_, c_, hh, ww = v.shape
                v = r.node("Reshape", [v, r.ints(n_, 2, c // 2, hh, ww)])
                v = r.node("Transpose", [v], perm=[0, 2, 1, 3, 4])
                v = r.node("Reshape", [v, r.ints(n_, c, hh, ww)])
            elif kind == "convT":
                v = OPS["ConvTranspose"][0](r, v)
            else:
                continue
            r.settle([v])
            if np.prod(v.shape) > 40000 or 0 in v.shape:
                raise Skip
            label.append(kind)
        except (Skip, RuntimeError):
            v = before
            del r.nodes[mark[0] :], r.inits[mark[1] :], r.inputs[mark[2] :]
    if r.p():
        v = r.node("GlobalAveragePool", [v])
        v = r.node("Flatten", [v])
        r.settle([v])
        if r.p():
            v = r.node(
                "Gemm",
                [v, r.const(r.array("f32", (v.shape[1], 7))), r.const(r.array("f32", (7,)))],
            )
            v = r.node("Softmax", [v], axis=1)
    if not label:
        raise Skip
    return "+".join(label), r.model([v]), r.feeds(), [v]


def act(r, v):
    k = r.pick(
        [
            "Relu",
            "Sigmoid",
            "Tanh",
            "LeakyRelu",
            "hs",
            "silu",
            "relu6",
            "gelu",
            "Elu",
            "prelu",
            "mish",
        ]
    )
    if k == "silu":
        return r.node("Mul", [v, r.node("Sigmoid", [v])])
    if k == "hs":
        a = r.node("Add", [v, r.const(np.float32(3))])
        a = (
            r.node("Clip", [a], min=0.0, max=6.0)
            if r.opset < 11
            else r.node("Clip", [a, r.const(np.float32(0)), r.const(np.float32(6))])
        )
        return r.node("Div", [r.node("Mul", [v, a]), r.const(np.float32(6))])
    if k == "relu6":
        return (
            r.node("Clip", [v], min=0.0, max=6.0)
            if r.opset < 11
            else r.node("Clip", [v, r.const(np.float32(0)), r.const(np.float32(6))])
        )
    if k == "gelu":
        e = r.node("Erf", [r.node("Div", [v, r.const(np.float32(2**0.5))])])
        return r.node(
            "Mul",
            [
                r.node("Mul", [v, r.node("Add", [e, r.const(np.float32(1))])]),
                r.const(np.float32(0.5)),
            ],
        )
    if k == "mish":
        return r.node("Mul", [v, r.node("Tanh", [r.node("Softplus", [v])])])
    if k == "prelu":
        return r.node("LeakyRelu", [v], alpha=0.3)
    return r.node(k, [v])


def make(kind, seed, only, opset):
    import attention
    import quantised
    import structures

    kinds = {
        "single": single,
        "chain": chain,
        "net": net,
        "attn": attention.make,
        "graph": structures.make,
        "quant": quantised.make,
    }
    return kinds[kind](seed, only, opset)
