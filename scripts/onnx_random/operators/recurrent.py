# SPDX-License-Identifier: Apache-2.0
"""LSTM, GRU, RNN."""

from operators.table import op


def recurrent(name, gates):
    @op(name, 7, w=2)
    def f(r, x):
        r.special = False
        x = r.take(
            x, 3, 3, ["f32"], zero=0, shape=None if x else (r.i(1, 5), r.i(1, 3), r.i(1, 5))
        )
        s, b, i = x.shape
        hid = r.i(1, 6)
        dr = r.pick([None, "forward", "reverse", "bidirectional"])
        d = 2 if dr == "bidirectional" else 1
        ins = [
            x,
            r.new("f32", (d, gates * hid, i), const=0.9, scale=0.5),
            r.new("f32", (d, gates * hid, hid), const=0.9, scale=0.5),
        ]
        opt = [
            r.new("f32", (d, 2 * gates * hid), scale=0.5) if r.p(0.6) else None,
            r.new("i32", (b,), 1, s) if r.p(0.3) else None,
            r.new("f32", (d, b, hid)) if r.p(0.4) else None,
        ]
        if name == "LSTM":
            opt += [
                r.new("f32", (d, b, hid)) if r.p(0.4) else None,
                r.new("f32", (d, 3 * hid)) if r.p(0.3) else None,
            ]
        while opt and opt[-1] is None:
            opt.pop()
        kw = {}
        if name == "GRU":
            kw["linear_before_reset"] = r.pick([None, 0, 1])
        if name == "LSTM":
            kw["input_forget"] = r.pick([None, None, 1])
        if r.p(0.2):
            kw["clip"] = 1.5
        if r.p(0.3):
            acts = {"LSTM": 3, "GRU": 2, "RNN": 1}[name] * d
            kw["activations"] = [
                r.pick(["Tanh", "Sigmoid", "Relu", "HardSigmoid", "Softsign", "Softplus"])
                for _ in range(acts)
            ]
        return r.node(
            name, ins + opt, 3 if name == "LSTM" else 2, hidden_size=hid, direction=dr, **kw
        )


recurrent("RNN", 1)
recurrent("GRU", 3)
recurrent("LSTM", 4)
