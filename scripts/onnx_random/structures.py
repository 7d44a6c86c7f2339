# SPDX-License-Identifier: Apache-2.0
"""Graphs with odd structure: values read several times by one node, outputs that are inputs or
constants, nodes and inputs that nobody reads, tensors of nothing and of no dims, bodies that read
what is around them, shapes that are computed, dims that a name stands for."""

import numpy as np
from models import R, Skip, V, OT
from onnx import helper as h

FLOATS = ["f32", "f32", "f32", "f64", "f16"]
MOST = 4000


class Body(R):
    """A body in a node of `outer`: its nodes are its own, its numbers and names the outer's."""

    def __init__(self, outer):
        self.outer, self.r, self.opset, self.special = outer, outer.r, outer.opset, False
        self.nodes, self.inits, self.inputs = [], [], []
        self.dt, self.types, self.f16_ok = None, None, True

    def fresh(self, stem="v"):
        return self.outer.fresh("b" + stem)

    def graph(self, outs, ins=()):
        given = [h.make_tensor_value_info(v.name, OT[v.dt], list(v.shape)) for v in ins]
        told = self.p()
        made = [
            h.make_tensor_value_info(v.name, OT[v.dt], list(v.shape) if told else None)
            for v in outs
        ]
        return h.make_graph(self.nodes, self.fresh("g"), given, made, self.inits)


def broadcast(a, b):
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        return None


class Maker:
    def __init__(self, seed, opset):
        rng = np.random.default_rng([seed, 77])
        self.r = R(seed, opset or int(rng.choice([11, 12, 13, 14, 16, 17, 18, 19, 20, 21, 22])))
        self.r.special = False
        self.values, self.label = [], []

    def any(self, dts=None, lo=0, hi=6, elements=MOST):
        fit = [
            v
            for v in self.values
            if (dts is None or v.dt in dts)
            and lo <= len(v.shape) <= hi
            and np.prod(v.shape, dtype=float) <= elements
        ]
        if not fit:
            raise Skip
        return self.r.pick(fit[-6:] if self.r.p(0.6) else fit)

    def axis(self, rank, least=0):
        a = self.r.i(least, rank - 1)
        return a - rank if self.r.p() else a

    def shape(self, lo=0, hi=4):
        s = [self.r.pick([1, 1, 2, 3, 4, 5, 7]) for _ in range(self.r.i(lo, hi))]
        if s and self.r.p(0.08):
            s[self.r.i(0, len(s) - 1)] = 0
        return tuple(s)

    def fresh(self):
        dt = self.r.pick(FLOATS + ["i64", "i32"])
        array = self.r.array(dt, self.shape())
        return self.r.input(array) if self.r.p(0.7) else self.r.const(array)

    # ---- what a step may be; each gives a list of values ----

    def binary(self):
        r, a = self.r, self.any(FLOATS + ["i64", "i32"])
        u = r.r.random()
        if u < 0.2:
            b = a
        elif u < 0.6:
            fit = [
                v for v in self.values if v.dt == a.dt and broadcast(a.shape, v.shape) is not None
            ]
            b = r.pick(fit)
        else:
            tail = a.shape[r.i(0, len(a.shape)) :]
            s = tuple(1 if r.p(0.3) else d for d in tail)
            b = r.new(a.dt, s)
        op = r.pick(["Add", "Sub", "Mul", "Max", "Min"])
        if op in ("Max", "Min") and (a.dt == "f16" or r.opset < 12):
            op = "Add"
        return [r.node(op, [a, b] if r.p() else [b, a])]

    def unary(self):
        x = self.any(FLOATS)
        op = self.r.pick(["Neg", "Abs", "Relu", "Sigmoid", "Tanh", "Identity", "Erf", "Softplus"])
        if op in ("Erf", "Softplus") and x.dt != "f32":
            op = "Neg"
        return [self.r.node(op, [x])]

    def many(self):
        r, a = self.r, self.any(FLOATS, 1)
        same = [v for v in self.values if v.dt == a.dt and len(v.shape) == len(a.shape)]
        at = self.axis(len(a.shape))
        k = at % len(a.shape)
        rest = lambda s: s[:k] + s[k + 1 :]
        fit = [v for v in same if rest(v.shape) == rest(a.shape)]
        parts = [r.pick(fit) for _ in range(r.i(1, 5))] + [a]
        return [r.node("Concat", parts, axis=at)]

    def variadic(self):
        r, a = self.r, self.any(["f32"])  # others onnxruntime has no kernel for
        fit = [v for v in self.values if v.dt == a.dt and v.shape == a.shape]
        return [
            r.node(r.pick(["Sum", "Mean", "Max", "Min"]), [r.pick(fit) for _ in range(r.i(1, 4))])
        ]

    def reduce(self):
        r, x = self.r, self.any(["f32", "i32", "i64", "f64"], 1)
        op = r.pick(["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL2"])
        if 0 in x.shape:
            op = "ReduceSum"
        if op in ("ReduceL2", "ReduceMean") and x.dt != "f32":
            op = "ReduceSum"
        if op == "ReduceProd" and x.dt != "f32":
            op = "ReduceMax"
        axes = sorted({self.axis(len(x.shape)) % len(x.shape) for _ in range(r.i(1, 2))})
        axes = [a - len(x.shape) if r.p() else a for a in axes]
        keep = r.pick([0, 1])
        by_input = r.opset >= (13 if op == "ReduceSum" else 18)
        if r.p(0.15):
            return [r.node(op, [x], keepdims=keep)]
        if by_input:
            return [r.node(op, [x, r.ints(*axes)], keepdims=keep)]
        return [r.node(op, [x], axes=axes, keepdims=keep)]

    def arg(self):
        x = self.any(["f32", "i32"], 1)
        if 0 in x.shape:
            raise Skip
        op = self.r.pick(["ArgMax", "ArgMin"])
        return [self.r.node(op, [x], axis=self.axis(len(x.shape)), keepdims=self.r.pick([0, 1]))]

    def softmax(self):
        x = self.any(["f32", "f64"], 1)
        return [
            self.r.node(self.r.pick(["Softmax", "LogSoftmax"]), [x], axis=self.axis(len(x.shape)))
        ]

    def transpose(self):
        x = self.any(None, 1)
        if self.r.p(0.3):
            return [self.r.node("Transpose", [x])]
        perm = [int(d) for d in self.r.r.permutation(len(x.shape))]
        return [self.r.node("Transpose", [x], perm=perm)]

    def split(self):
        r, x = self.r, self.any(FLOATS, 1)
        at = self.axis(len(x.shape))
        extent = x.shape[at]
        cuts = sorted(r.i(0, extent) for _ in range(r.i(1, 3)))
        sizes = [b - a for a, b in zip([0, *cuts], [*cuts, extent])]
        if r.opset >= 13:
            outs = r.node("Split", [x, r.ints(*sizes)], n_out=len(sizes), axis=at)
        else:
            outs = r.node("Split", [x], n_out=len(sizes), axis=at, split=sizes)
        return outs

    def slice(self):
        r, x = self.r, self.any(None, 1)
        n = len(x.shape)
        axes = [int(a) for a in r.r.permutation(n)[: r.i(1, n)]]
        starts, ends, steps = [], [], []
        for a in axes:
            d = x.shape[a]
            starts.append(r.i(-d - 2, d + 2))
            steps.append(r.pick([1, 1, 2, -1, -2, 3]))
            # onnxruntime takes the largest number as the front of a slice that goes backwards
            far = -(2**31) if steps[-1] < 0 else r.pick([2**31 - 1, 2**63 - 1])
            ends.append(r.pick([r.i(-d - 2, d + 2), far]))
        axes = [a - n if r.p() else a for a in axes]
        return [r.node("Slice", [x, r.ints(*starts), r.ints(*ends), r.ints(*axes), r.ints(*steps)])]

    def gather(self):
        r, x = self.r, self.any(None, 1)
        at = self.axis(len(x.shape))
        d = x.shape[at]
        s = self.shape(0, 2)
        if not d and np.prod(s):
            raise Skip
        index = r.r.integers(-d, max(d, 1) if d else 1, s).astype(np.int64)
        index = r.const(index) if r.p() else r.input(index)
        return [r.node("Gather", [x, index], axis=at)]

    def reshape(self):
        r, x = self.r, self.any(None)
        flat = int(np.prod(x.shape))
        kind = r.i(0, 4)
        if kind == 0:
            n = len(x.shape)
            return [r.node("Flatten", [x], axis=r.i(-n, n))]
        if kind == 1 and flat:
            return [r.node("Reshape", [x, r.ints(-1)])]
        if kind == 2:
            at = self.axis(len(x.shape) + 1)
            if r.opset >= 13:
                return [r.node("Unsqueeze", [x, r.ints(at)])]
            return [r.node("Unsqueeze", [x], axes=[at])]
        if kind == 3 and 1 in x.shape:
            if r.p(0.4):
                return [r.node("Squeeze", [x])]
            at = x.shape.index(1) - (len(x.shape) if r.p() else 0)
            if r.opset >= 13:
                return [r.node("Squeeze", [x, r.ints(at)])]
            return [r.node("Squeeze", [x], axes=[at])]
        if not x.shape:
            raise Skip
        shape = r.node("Shape", [x])
        if r.p() or len(x.shape) < 2:
            return [r.node("Reshape", [x, shape])]
        first = r.node("Gather", [shape, r.const(np.array([0]))], axis=0)
        return [r.node("Reshape", [x, r.node("Concat", [first, r.ints(-1)], axis=0)])]

    def expand(self):
        r, x = self.r, self.any(FLOATS + ["i64"], 0, 3, 200)
        y = self.any(None, 0, 4, 800)
        kind = r.i(0, 3)
        if kind == 0 and broadcast(x.shape, y.shape) is not None:
            return [r.node("Expand", [x, r.node("Shape", [y])])]
        if kind == 1:
            return [r.node("ConstantOfShape", [r.node("Shape", [y])])]
        if kind == 2 and x.shape:
            return [r.node("Tile", [x, r.ints(*[r.i(0 if r.p(0.1) else 1, 3) for _ in x.shape])])]
        size = r.node("Size", [y])
        if r.p():
            return [size]
        zero, one = r.const(np.int64(0)), r.const(np.int64(1))
        return [r.node("Range", [zero, size, one])]

    def where(self):
        r, a = self.r, self.any(["f32", "i64"])
        limit = r.new(a.dt, ())
        test = r.node(r.pick(["Less", "Greater", "Equal"]), [a, limit])
        if r.p(0.3):
            test = r.node("Not", [test])
        u = r.r.random()
        if u < 0.3:
            return [r.node("Where", [test, a, a])]
        return [r.node("Where", [test, a, r.new(a.dt, ())] if u < 0.7 else [test, limit, a])]

    def cast(self):
        x = self.any(FLOATS + ["i64", "i32"])
        to = self.r.pick(["f32", "f32", "f64", "i32", "i64"])
        return [self.r.node("Cast", [x], to=OT[to])]

    def product(self):
        r, a = self.r, self.any(["f32", "f64"], 1, 4, 600)
        k = a.shape[-1]
        u = r.r.random()
        fit = [
            v
            for v in self.values
            if v.dt == a.dt
            and len(v.shape) >= 2
            and v.shape[-2] == k
            and broadcast(v.shape[:-2], a.shape[:-2]) is not None
        ]
        if fit and u < 0.5:
            b = r.pick(fit)
        elif u < 0.65:
            b = r.new(a.dt, (k,))
        else:
            lead = tuple(1 if r.p(0.3) else d for d in a.shape[:-2])[r.i(0, 3) :]
            b = r.new(a.dt, lead + (k, r.i(1, 5)))
        return [r.node("MatMul", [a, b])]

    def topk(self):
        r, x = self.r, self.any(["f32"], 1)
        at = self.axis(len(x.shape))
        if not x.shape[at]:
            raise Skip
        k = r.i(1, x.shape[at])
        return r.node("TopK", [x, r.ints(k)], n_out=2, axis=at, largest=r.pick([0, 1]))

    def branch(self):
        """An If, whose branches read what is around them, one another If's."""
        r, a = self.r, self.any(["f32", "i64", "f64"])
        known = r.p(0.4)
        test = r.const(np.array(r.p())) if known else r.input(np.array(r.p()))
        if not known and r.p(0.3):
            test = r.node("Not", [test])
        bodies = []
        for k in range(2):
            b = Body(r)
            fit = [
                v for v in self.values if v.dt == a.dt and broadcast(a.shape, v.shape) == a.shape
            ]
            v = b.node(r.pick(["Add", "Sub", "Mul"]), [a, r.pick(fit)])
            if r.p(0.5):
                v = b.node("Mul", [v, b.const(r.array(a.dt, ()))])
            if r.p(0.15):  # what is around, and nothing else
                v = b.node("Identity", [a])
            v.dt, v.shape = a.dt, a.shape
            bodies.append(b.graph([v]))
        return [r.node("If", [test], then_branch=bodies[0], else_branch=bodies[1])]

    def loop(self):
        """A Loop of a known number of turns, that carries one value and collects another."""
        r, a = self.r, self.any(["f32", "f64"], 0, 3, 60)
        b = Body(r)
        turn, go, carried = (
            V(b.fresh(), "i64", ()),
            V(b.fresh(), "bool", ()),
            V(b.fresh(), a.dt, a.shape),
        )
        fit = [v for v in self.values if v.dt == a.dt and broadcast(a.shape, v.shape) == a.shape]
        on = b.node("Identity", [go])
        on.dt = "bool"
        v = b.node("Add", [b.node("Mul", [carried, b.const(np.array(0.5), a.dt)]), r.pick(fit)])
        v.dt, v.shape = a.dt, a.shape
        each = b.node("Mul", [carried, b.node("Cast", [turn], to=OT[a.dt])])
        each.dt, each.shape = a.dt, a.shape
        body = b.graph([on, v, each], [turn, go, carried])
        turns = r.const(np.int64(r.i(0 if r.p(0.1) else 1, 4)))
        return r.node(
            "Loop", [turns, r.const(np.array(True)) if r.p() else None, a], n_out=2, body=body
        )

    def scan(self):
        r, a = self.r, self.any(["f32"], 1, 3, 100)
        if not a.shape[0]:
            raise Skip
        state = r.new("f32", a.shape[1:])
        b = Body(r)
        carried, one = V(b.fresh(), "f32", a.shape[1:]), V(b.fresh(), "f32", a.shape[1:])
        fit = [
            v
            for v in self.values
            if v.dt == "f32" and broadcast(a.shape[1:], v.shape) == a.shape[1:]
        ]
        v = b.node("Add", [carried, b.node("Mul", [one, r.pick(fit)] if fit else [one, one])])
        v.dt, v.shape = "f32", a.shape[1:]
        out = b.node("Tanh", [v])
        out.dt, out.shape = "f32", a.shape[1:]
        back = dict(scan_input_directions=[1]) if r.p(0.3) else {}
        return r.node(
            "Scan",
            [state, a],
            n_out=2,
            body=b.graph([v, out], [carried, one]),
            num_scan_inputs=1,
            **back,
        )

    def step(self):
        some = [
            self.binary,
            self.binary,
            self.binary,
            self.unary,
            self.many,
            self.many,
            self.variadic,
            self.reduce,
            self.reduce,
            self.arg,
            self.softmax,
            self.transpose,
            self.split,
            self.slice,
            self.slice,
            self.gather,
            self.gather,
            self.reshape,
            self.reshape,
            self.expand,
            self.where,
            self.cast,
            self.product,
            self.product,
            self.topk,
            self.branch,
            self.loop,
            self.scan,
        ]
        r, chosen = self.r, self.r.pick(some)
        mark = len(r.nodes), len(r.inits), len(r.inputs)
        try:
            if r.p(0.12):
                self.values.append(self.fresh())
            outs = chosen()
            r.settle(outs)
            if any(np.prod(v.shape, dtype=float) > MOST or len(v.shape) > 6 for v in outs):
                raise Skip
        except (Skip, RuntimeError, ValueError, IndexError):
            del r.nodes[mark[0] :], r.inits[mark[1] :], r.inputs[mark[2] :]
            alive = {v.name for v in r.inputs} | {t.name for t in r.inits}
            alive |= {o for n in r.nodes for o in n.output}
            self.values = [v for v in self.values if v.name in alive]
            return
        self.label.append(chosen.__name__)
        self.values.extend(outs)


def make(seed, only, opset):
    m = Maker(seed, opset)
    r = m.r
    for _ in range(r.i(1, 3)):
        m.values.append(m.fresh())
    while not r.inputs:
        m.values.append(m.fresh())
    for _ in range(r.i(3, 16)):
        m.step()
    made = {o for n in r.nodes for o in n.output}
    outs = []
    for v in m.values[::-1]:  # not all: some nodes are of no use
        likely = 0.5 if v.name in made else 0.08
        if v.dt is not None and r.p(likely) and v.name not in {o.name for o in outs}:
            outs.append(v)
    if not outs or not m.label:
        raise Skip
    outs = [outs[int(k)] for k in r.r.permutation(len(outs))][:8]
    model = r.model(outs)
    if r.p(0.4):  # dims by name; equal ones share one
        for x in model.graph.input:
            for d in x.type.tensor_type.shape.dim:
                if d.dim_value > 1 and r.p(0.6):
                    d.dim_param = f"n{d.dim_value}"
        for x in model.graph.output:
            x.type.tensor_type.ClearField("shape")
    return "+".join(m.label), model, r.feeds(), outs
