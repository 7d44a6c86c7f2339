# SPDX-License-Identifier: Apache-2.0
"""A model while it is made: random values, constants and nodes, at a random opset."""

import warnings
import numpy as np
import ml_dtypes
import onnx
from onnx import TensorProto as T, helper as h

warnings.simplefilter("ignore")
BF16 = ml_dtypes.bfloat16
F = ["f32", "f32", "f32", "f16", "bf16", "f64"]
DT = {
    "f32": np.float32,
    "f16": np.float16,
    "bf16": BF16,
    "f64": np.float64,
    "i64": np.int64,
    "i32": np.int32,
    "i16": np.int16,
    "u16": np.uint16,
    "i8": np.int8,
    "u8": np.uint8,
    "bool": np.bool_,
    "u32": np.uint32,
    "u64": np.uint64,
}
OT = {
    k: (T.BFLOAT16 if k == "bf16" else h.np_dtype_to_tensor_dtype(np.dtype(v)))
    for k, v in DT.items()
}
NAME = {np.dtype(v): k for k, v in DT.items()}


class Skip(Exception):
    pass


def tensor(array, name):
    return h.make_tensor(name, OT[NAME[array.dtype]], array.shape, array.tobytes(), raw=True)


class V:
    def __init__(self, name, dt, shape, value=None):
        self.name, self.dt, self.shape, self.value = name, dt, tuple(int(s) for s in shape), value

    @property
    def rank(self):
        return len(self.shape)


class R:
    def __init__(self, seed, opset=None):
        self.r = np.random.default_rng(seed)
        self.opset = (
            int(self.r.choice([7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23]))
            if opset is None
            else opset
        )
        self.nodes, self.inits, self.inputs, self.count = [], [], [], 0
        self.types = None
        self.dt = None
        self.special = self.r.random() < 0.08
        self.f16_ok = True

    # random
    def i(self, a, b):
        return int(self.r.integers(a, b + 1))

    def p(self, x=0.5):
        return bool(self.r.random() < x)

    def pick(self, some):
        return some[self.i(0, len(some) - 1)]

    def dim(self, most=9):
        u = self.r.random()
        return 1 if u < 0.15 else self.i(2, most) if u < 0.93 else self.i(10, 40)

    def shape(self, lo=0, hi=5, zero=0.02, most=7):
        s = [self.dim(most) for _ in range(self.i(lo, hi))]
        while np.prod(s) > 20000:
            s[int(np.argmax(s))] //= 2
        if s and self.p(zero):
            s[self.i(0, len(s) - 1)] = 0
        return tuple(s)

    def array(self, dt, shape, lo=None, hi=None, scale=1.0):
        t = DT[dt]
        if dt == "bool":
            return self.r.random(shape) < 0.5
        if dt in ("f32", "f16", "bf16", "f64"):
            if lo is not None:
                a = self.r.uniform(lo, hi, shape)
            else:
                a = self.r.normal(0, scale, shape)
                if self.p(0.2):
                    a = np.round(a * 2) / 2
                if self.special and np.size(a):
                    flat = np.array(a, ndmin=1).reshape(-1)
                    for _ in range(self.i(1, 4)):
                        flat[self.i(0, flat.size - 1)] = self.pick(
                            [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e4, -1e4]
                        )
                    a = flat.reshape(np.shape(a))
            return np.asarray(a).astype(t)
        info = np.iinfo(t)
        lo = max(info.min, -10 if lo is None else lo)
        hi = min(info.max, 10 if hi is None else hi)
        if self.p(0.2) and t in (np.int8, np.uint8):
            lo, hi = info.min, info.max
        return np.asarray(self.r.integers(lo, hi, shape, endpoint=True)).astype(t)

    def fresh(self, stem="v"):
        self.count += 1
        return f"{stem}{self.count}"

    # values
    def const(self, array, dt=None):
        array = np.asarray(array)
        if dt:
            array = array.astype(DT[dt])
        name = self.fresh("c")
        if self.p(0.3):
            self.nodes.append(
                h.make_node("Constant", [], [name], value=tensor(array, name + "_t"))
            )
        else:
            self.inits.append(tensor(array, name))
        return V(name, NAME[array.dtype], array.shape, array)

    def ints(self, *values):
        return self.const(np.array(values, np.int64).reshape(-1))

    def input(self, array):
        name = self.fresh("x")
        v = V(name, NAME[array.dtype], array.shape, array)
        self.inputs.append(v)
        return v

    def new(self, dt, shape, lo=None, hi=None, scale=1.0, const=0.3):
        a = self.array(dt, shape, lo, hi, scale)
        return self.const(a) if self.p(const) else self.input(a)

    def take(self, x, lo=0, hi=5, dts=None, zero=0.02, shape=None, rng=None, most=7):
        """x where it fits, a new input else."""
        dts = dts or F
        if x is not None:
            if (
                not lo <= x.rank <= hi
                or x.dt not in dts
                or (shape is not None and x.shape != shape)
            ):
                raise Skip
            return x
        dt = self.pick(dts)
        s = self.shape(lo, hi, zero, most) if shape is None else shape
        return self.input(self.array(dt, s, *(rng or ())))

    def out(self, dt, shape):
        return V(self.fresh("v"), dt, shape)

    def node(self, op, ins, n_out=1, domain=None, **attrs):
        """The first output(s); shapes are found by inference later."""
        attrs = {k: v for k, v in attrs.items() if v is not None}
        outs = [self.fresh("v") for _ in range(n_out)]
        self.nodes.append(
            h.make_node(
                op, [i.name if i is not None else "" for i in ins], outs, domain=domain, **attrs
            )
        )
        vs = [V(o, None, ()) for o in outs]
        return vs[0] if n_out == 1 else vs

    def settle(self, vs):
        """Types of values, from running what is there."""
        import peers

        vs = [v for v in vs if v.dt is None]
        if not vs:
            return
        got = peers.peer(self.model(vs), self.feeds())
        for v, a in zip(vs, got):
            v.dt, v.shape = NAME[a.dtype], a.shape

    def feeds(self):
        return {v.name: v.value for v in self.inputs}

    def model(self, outs, shapes=True):
        gi = [h.make_tensor_value_info(v.name, OT[v.dt], v.shape) for v in self.inputs]
        go = [
            (
                onnx.ValueInfoProto(name=v.name)
                if v.dt is None
                else h.make_tensor_value_info(v.name, OT[v.dt], v.shape if shapes else None)
            )
            for v in outs
        ]
        for v, o in zip(outs, go):
            o.name = v.name
        g = h.make_graph(self.nodes, "g", gi, go, self.inits)
        ir = 3 if self.opset == 7 else 4 if self.opset < 10 else 8 if self.opset < 19 else 10
        if ir == 3:
            ir = 4
        opsets = [h.make_opsetid("", self.opset)]
        opsets += [h.make_opsetid(d, 1) for d in sorted({n.domain for n in self.nodes} - {""})]
        return h.make_model(g, opset_imports=opsets, ir_version=ir)
