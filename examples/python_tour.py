#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A tour of optune from Python: ask, tune, look, compute. Takes about a minute.

    pip install build/wheel/optune-*.whl numpy        # or PYTHONPATH=python in the source tree
    python3 examples/python_tour.py [SECONDS]         # of tuning for each workload; default 8
"""

import sys
import tempfile
import time

import numpy
import optune

DENSE = "dense(f32[64,256], f32[256,256])"
FUSED = "dense(f32[64,256], f32[256,256]) -> add(const f32[256]) -> relu()"
MLP = """x = var f32[64,256]
h = relu(add(dense(x, const f32[256,256]), const f32[256]))
output softmax(dense(h, const f32[10,256]))
"""


def seconds_of(call, n=200):
    """Seconds of one call, the best of n."""
    times = []
    for _ in range(n):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def progress(p):
    best = f"{p.best * 1e6:.1f} us, {p.best_impl}" if p.best else "nothing yet"
    print(f"\r  {p.phase:10} {p.trial:3}/{p.trials:<3} best {best:40}", end="", flush=True)


def main(seconds=8.0):
    random = numpy.random.default_rng(0)
    x = random.standard_normal((64, 256), numpy.float32)
    w = random.standard_normal((256, 256), numpy.float32)
    b = random.standard_normal(256, numpy.float32)

    with tempfile.TemporaryDirectory() as db, optune.open(db=db) as o:
        print("Nothing is known yet; the choice rests on priority levels:")
        print(o.select(DENSE))

        print("\nTuning; Ctrl-C loses nothing:")
        tuning = o.tune([DENSE, FUSED], seconds=2 * seconds, progress=progress)
        print("\n" + tuning.text)

        best = o.query(DENSE)
        print(f"The best record: {best.impl}, {best.cost * 1e6:.1f} us, {best.knobs}")
        print(o.select(DENSE, explain=True))

        rows = o.records("dense", workload=DENSE)
        print(f"{len(rows)} records; the three fastest (pandas.DataFrame(rows) takes them, too):")
        for row in sorted((r for r in rows if r["cost"]), key=lambda r: r["cost"])[:3]:
            print(f"  {row['cost'] * 1e6:8.1f} us  {row['impl']}")

        print("\nComputing with what was selected:")
        with o.function(FUSED, constants=[w, b]) as layer:
            want = numpy.maximum(x @ w.T + b, 0)
            assert numpy.allclose(layer(x), want, atol=1e-3)
            step = layer.bind(x, out=numpy.empty_like(want))
            print(f"  {layer.impl}: {seconds_of(step) * 1e6:.1f} us; "
                  f"numpy: {seconds_of(lambda: numpy.maximum(x @ w.T + b, 0)) * 1e6:.1f} us")

        print("A whole graph:")
        with o.graph(MLP) as g:
            probabilities = g.fill(seed=1)(x)
            assert numpy.allclose(probabilities.sum(axis=1), 1, atol=1e-4)
            for group in g.select()["groups"]:
                print(f"  {' '.join(group['nodes']):20} {group['selection']['impl']}")
            print(f"  {g.time()[0] * 1e6:.0f} us a run")

        try:
            layer(x)
        except optune.UsageError as error:
            print(f"\nErrors say what is wrong: {error}")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:2]))
