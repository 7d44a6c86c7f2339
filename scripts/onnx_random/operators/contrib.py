# SPDX-License-Identifier: Apache-2.0
"""Operators of com.microsoft's that exports of transformers have. None is drawn unless it is asked
for by name, so that seeds go on to draw what they drew."""

import numpy as np
from models import Skip
from operators.table import op, maybe, real

MS = "com.microsoft"


def floats(r, dt, *shape, scale=1.0):
    return r.const(
        (r.r.normal(size=shape) * scale).astype(np.float32 if dt == "f32" else np.float16)
    )


def bytes_of(r, *shape):
    return r.r.integers(0, 256, shape).astype(np.uint8)


@op("GatherBlockQuantized", 11, w=0)
def gather_blocks(r, x):
    bits = r.pick([4, 4, 8])
    block = r.pick([16, 32])
    rank = r.pick([2, 2, 3])
    dims = [r.i(1, 5) for _ in range(rank - 1)]
    last = r.i(1, 4) * block // (2 if r.p(0.3) else 1)
    last += 2 * r.i(0, 3) if r.p(0.4) else 0
    blocks = -(-last // block)
    data = r.const(bytes_of(r, *dims, last * bits // 8))
    scale = floats(r, r.pick(["f32", "f32", "f16"]), *dims, blocks)
    index = r.r.integers(-dims[0], dims[0], r.shape(0, 3, 0, 3)).astype(
        r.pick([np.int64, np.int32])
    )
    ins = [data, r.input(index) if r.p(0.7) else r.const(index), scale]
    if r.p():
        ins.append(r.const(bytes_of(r, *dims, -(-blocks * bits // 8))))
    axis = r.pick([-1, rank - 1])
    return r.node(
        "GatherBlockQuantized",
        ins,
        domain=MS,
        gather_axis=0,
        quantize_axis=axis,
        block_size=block,
        bits=bits,
    )


@op("MatMulBnb4", 11, w=0)
def bnb4(r, x):
    n, k, block = r.i(1, 20), r.i(1, 40), r.pick([16, 32, 64, 128])
    a = r.input(r.array("f32", (*r.shape(0, 2, 0, 3), r.i(1, 4), k)))
    b = r.const(bytes_of(r, (n * k + 1) // 2))
    most = r.const(r.array("f32", (-(-n * k // block),), 0.1, 2))
    return r.node(
        "MatMulBnb4", [a, b, most], domain=MS, K=k, N=n, block_size=block, quant_type=r.pick([0, 1])
    )


@op("MatMulInteger16", 11, w=0)
def integer16(r, x):
    m, k, n = r.i(1, 5), r.i(1, 9), r.i(1, 6)
    most = r.pick([100, 3000, 32767])
    lead = r.shape(0, 2, 0, 3)
    a = r.r.integers(-most, most, (*lead, m, k)).astype(np.int16)
    b = r.r.integers(-most, most, (*(lead if r.p(0.3) else ()), k, n)).astype(np.int16)
    return r.node("MatMulInteger16", [r.input(a), r.const(b) if r.p() else r.input(b)], domain=MS)


@op("QEmbedLayerNormalization", 11, w=0)
def embed(r, x):
    b, s, h = r.i(1, 3), r.i(1, 6), r.i(2, 12)
    t = r.pick([np.uint8, np.int8])
    table = lambda *shape: r.const(
        r.r.integers(np.iinfo(t).min, np.iinfo(t).max + 1, shape).astype(t)
    )
    segments = r.p(0.7)
    words, kinds = r.i(3, 9), r.i(1, 3)
    ids = r.input(r.r.integers(0, words, (b, s)).astype(np.int32))
    kind = r.input(r.r.integers(0, kinds, (b, s)).astype(np.int32)) if segments else None
    mask = r.input(r.r.integers(0, 2, (b, s)).astype(np.int32)) if r.p() else None
    ins = [
        ids,
        kind,
        table(words, h),
        table(s + r.i(0, 3), h),
        table(kinds, h) if segments else None,
        table(h),
        table(h),
        mask,
    ]
    there = [True, True, segments, True, True]
    ins += [r.const(np.float32(r.r.uniform(0.01, 0.1))) if k else None for k in there]
    ins += [r.const(np.array(r.r.integers(0, 100), t)) if k else None for k in there]
    return r.node("QEmbedLayerNormalization", ins, 2, domain=MS, epsilon=maybe(r, 1e-3))


def gates(r, ins):
    word = r.pick(["relu", "gelu", "silu", "identity", "swiglu", "swiglu"])
    more = {}
    if word == "swiglu":
        more = dict(
            swiglu_fusion=1,
            activation_alpha=maybe(r, real(r, 0.5, 2)),
            activation_beta=maybe(r, real(r, -1, 1)),
            swiglu_limit=r.pick([None, 0.7, 7.0]),
        )
    return word, more


def tokens(r, dt, hidden, experts):
    shape = (r.i(1, 5),) if r.p() else (r.i(1, 3), r.i(1, 4))
    x = r.input(r.array(dt, (*shape, hidden)))
    scores = r.array(dt, (int(np.prod(shape)), experts))
    if r.p(0.2):
        scores = np.round(scores)  # equal ones
    return x, r.input(scores)


@op("MoE", 11, w=0)
def moe(r, x):
    dt = "f32"
    experts, hidden, inner = r.i(1, 6), r.i(1, 12), r.i(1, 12)
    word, more = gates(r, None)
    wide = inner * (2 if word == "swiglu" else 1)
    if hidden == inner or hidden == wide:
        raise Skip  # which of two layouts it is cannot be told
    x, scores = tokens(r, dt, hidden, experts)
    ins = [
        x,
        scores,
        floats(r, dt, experts, wide, hidden, scale=0.5),
        floats(r, dt, experts, wide) if r.p() else None,
        floats(r, dt, experts, hidden, inner, scale=0.5),
        floats(r, dt, experts, hidden) if r.p() else None,
    ]
    while ins[-1] is None:
        ins.pop()
    return r.node(
        "MoE",
        ins,
        domain=MS,
        k=r.i(1, experts),
        activation_type=word,
        normalize_routing_weights=r.pick([None, 0, 1]),
        **more
    )


@op("QMoE", 11, w=0)
def qmoe(r, x):
    dt, bits = "f32", r.pick([4, 8])
    experts, block = r.i(1, 5), r.pick([0, 0, 16, 32])
    each = 8 // bits
    hidden = r.i(1, 3) * (block * each if block else 2 * r.i(1, 9))
    inner = r.i(1, 3) * (block * each if block else 2 * r.i(1, 9))
    word, more = gates(r, None)
    wide = inner * (2 if word == "swiglu" else 1)
    if hidden in (inner, wide):
        raise Skip
    x, scores = tokens(r, dt, hidden, experts)
    zeros = r.p(0.4)

    def layer(n, k):
        groups = (k // block,) if block else ()
        zero = (n, k // block // each) if block else (n // each,)
        return [
            r.const(bytes_of(r, experts, n, k // each)),
            r.const(r.array(dt, (experts, n, *groups), 0.002, 0.05)),
            floats(r, dt, experts, n) if r.p() else None,
        ], (r.const(bytes_of(r, experts, *zero)) if zeros else None)

    up, up_zero = layer(wide, hidden)
    down, down_zero = layer(hidden, inner)
    ins = [x, scores, *up, *down, None, None, None, up_zero, down_zero]
    while ins[-1] is None:
        ins.pop()
    return r.node(
        "QMoE",
        ins,
        domain=MS,
        k=r.i(1, experts),
        activation_type=word,
        expert_weight_bits=bits,
        block_size=block or None,
        normalize_routing_weights=r.pick([0, 1]),
        **more
    )
