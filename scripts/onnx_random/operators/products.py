# SPDX-License-Identifier: Apache-2.0
"""MatMul, Gemm, Einsum."""

from models import Skip
from operators.table import real, FF, op


@op("MatMul", 9, w=3)
def matmul(r, x):
    x = r.take(x, 1, 4, FF + ["i32", "i64"])
    k = x.shape[-1]
    u = r.p()
    if u:  # x on the left
        s = (k,) if r.p(0.15) else (k, r.i(1, 12))
        if len(s) == 2 and x.rank > 2 and r.p(0.6):
            s = tuple(1 if r.p(0.3) else d for d in x.shape[r.i(0, x.rank - 2) : -2]) + s
        return r.node("MatMul", [x, r.new(x.dt, s)])
    k = x.shape[-2] if x.rank > 1 else x.shape[0]
    s = (k,) if r.p(0.15) else (r.i(1, 12), k)
    if len(s) == 2 and x.rank > 2 and r.p(0.6):
        s = tuple(1 if r.p(0.3) else d for d in x.shape[r.i(0, x.rank - 2) : -2]) + s
    return r.node("MatMul", [r.new(x.dt, s), x])


@op("Gemm", 7, w=2)
def gemm(r, x):
    x = r.take(x, 2, 2, FF)
    ta, tb = r.pick([None, 0, 1]), r.pick([None, 0, 1])
    m, k = x.shape if not ta else x.shape[::-1]
    n = r.i(1, 14)
    ins = [x, r.new(x.dt, (n, k) if tb else (k, n), const=0.7)]
    if r.p(0.7) or r.opset < 11:
        ins.append(
            r.new(x.dt, r.pick([(n,), (1, n), (m, n), (m, 1), (1,), (1, 1), ()]), const=0.7)
        )
    return r.node(
        "Gemm",
        ins,
        transA=ta,
        transB=tb,
        alpha=r.pick([None, real(r, -2, 2)]),
        beta=r.pick([None, real(r, -2, 2), 0.0]),
    )


EQ = [
    "ij,jk->ik",
    "bij,bjk->bik",
    "ij->ji",
    "ij->i",
    "ij->",
    "bhid,bhjd->bhij",
    "i,j->ij",
    "bij,bij->b",
    "...ij,...jk->...ik",
    "bij,jk",
    "ijk,ilm,njm,nlk,abc->",
    "bnqd,bnkd->bnqk",
    "abc,cde->abde",
    "abc,ad->bcd",
    "ij,ij->ij",
    "b...d,d->b...",
    "bid,bjd->ijb",
    "nctkv,kvw->nctw",
    "ncuv,nctv->nctu",
]


@op("Einsum", 12)
def einsum(r, x):
    eq = r.pick(EQ)
    left = eq.split("->")[0].split(",")
    size = {c: r.i(1, 6) for c in "abcdehijklmnqtuvw"}
    dots = r.shape(0, 2, zero=0)
    ins = []
    for t in left:
        t = t.replace("...", ".")
        s = sum(((dots if c == "." else (size[c],)) for c in t), ())
        ins.append(r.new("f32", s))
    if len(ins) > 3:
        raise Skip
    if all(v in [] for v in ins):
        raise Skip
    return r.node("Einsum", ins, equation=eq)
