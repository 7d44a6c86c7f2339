# SPDX-License-Identifier: Apache-2.0
"""Normalisations."""

from operators.table import maybe, real, FF, op, axis_of


@op("BatchNormalization", 9, w=2)
def bn(r, x):
    x = r.take(x, 2, 4, ["f32", "f32", "f64"], zero=0)
    c = x.shape[1]
    k = 1 if r.p(0.8) else 0
    ins = (
        [x]
        + [r.new(x.dt, (c,), 0.2, 2, const=k) for _ in range(1)]
        + [
            r.new(x.dt, (c,), const=k),
            r.new(x.dt, (c,), const=k),
            r.new(x.dt, (c,), 0.1, 2, const=k),
        ]
    )
    return r.node("BatchNormalization", ins, epsilon=r.pick([None, 1e-3, 0.1]))


@op("InstanceNormalization", 6)
def inorm(r, x):
    x = r.take(x, 3, 4, ["f32"], zero=0)
    c = x.shape[1]
    return r.node(
        "InstanceNormalization",
        [x, r.new(x.dt, (c,)), r.new(x.dt, (c,))],
        epsilon=r.pick([None, 1e-3, 0.1]),
    )


@op("LayerNormalization", 17, w=2)
def lnorm(r, x):
    x = r.take(x, 1, 4, FF[:3] + ["f64", "f16"], zero=0)
    a = axis_of(r, x.rank)
    s = x.shape[a:] if a < 0 else x.shape[a:]
    ins = [x, r.new(x.dt, s)] + ([r.new(x.dt, s)] if r.p() else [])
    return r.node("LayerNormalization", ins, axis=a, epsilon=r.pick([None, 1e-3, 0.1]))


@op("RMSNormalization", 23)
def rms(r, x):
    x = r.take(x, 1, 4, ["f32", "f16"], zero=0)
    a = axis_of(r, x.rank)
    return r.node(
        "RMSNormalization", [x, r.new(x.dt, x.shape[a:])], axis=a, epsilon=r.pick([None, 1e-3])
    )


@op("GroupNormalization", 21)
def gnorm(r, x):
    x = r.take(x, 3, 4, ["f32"], zero=0)
    c = x.shape[1]
    g = r.pick([d for d in range(1, c + 1) if c % d == 0])
    return r.node(
        "GroupNormalization",
        [x, r.new(x.dt, (c,)), r.new(x.dt, (c,))],
        num_groups=g,
        epsilon=r.pick([None, 1e-3]),
    )


@op("LRN", 1)
def lrn(r, x):
    x = r.take(x, 4, 4, ["f32"], zero=0)
    return r.node(
        "LRN",
        [x],
        size=r.pick([1, 3, 5, 7]),
        alpha=maybe(r, real(r, 0, 1)),
        beta=maybe(r, real(r, 0.2, 1)),
        bias=maybe(r, real(r, 0.5, 2)),
    )


@op("LpNormalization", 1)
def lpnorm(r, x):
    x = r.take(x, 1, 4, ["f32", "f64"], zero=0)
    return r.node(
        "LpNormalization", [x], axis=r.pick([None, axis_of(r, x.rank)]), p=r.pick([None, 1, 2])
    )


@op("MeanVarianceNormalization", 13)
def mvn(r, x):
    x = r.take(x, 4, 4, ["f32"], zero=0)
    return r.node(
        "MeanVarianceNormalization",
        [x],
        axes=r.pick([None, [0, 2, 3], [2, 3], [1], [0, 1, 2, 3]]),
    )
