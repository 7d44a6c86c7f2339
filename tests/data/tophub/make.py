#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/data/tophub/make.py: writes the logs beside it, which stand in for TopHub's in tests/strategy/
test_tophub.c: records of AutoTVM's form, of workloads and configs that are drawn here and were never
measured. Their indices are counted by a codec of its own, from what docs/formats.md says of the order of
entities: not by ours, which they test. A few lines are damaged in the ways that TopHub's are."""

import itertools
import json
import pathlib
import random

HERE = pathlib.Path(__file__).resolve().parent


def split(n, parts):
    """The last size slowest, each the divisors ascending; those whose product divides n."""
    divisors = [d for d in range(1, n + 1) if n % d == 0]
    found = []
    for inner in itertools.product(divisors, repeat=parts - 1):
        product = 1
        for size in inner:
            product *= size
        if n % product == 0:
            found.append([n // product, *reversed(inner)])
    return "sp", found


def annotate(axes, words):
    return "an", [list(c) for c in itertools.product(words, repeat=axes) if c.count("vec") <= 1]


def record(random, target, task, args, knobs):
    """A config at random; the first knob counts fastest."""
    index, step, entity = 0, 1, []
    for name, (kind, entities) in knobs:
        digit = random.randrange(len(entities))
        index += digit * step
        step *= len(entities)
        entity.append([name, kind, entities[digit]])
    return {"input": [target, task, args, {}],
            "config": {"index": index, "code_hash": None, "entity": entity},
            "result": [[random.uniform(1e-5, 1e-3)], 0, random.uniform(1, 9), 1600000000.5],
            "version": 0.2, "tvm_version": "0.7.dev0"}


def tensor(*shape):
    return ["TENSOR", list(shape), "float32"]


def extent(size, kernel, stride, pad):
    return (size + 2 * pad - kernel) // stride + 1


def other(*values):
    return "ot", list(values)


def cuda(random):
    ci, co = random.choice([3, 12, 32]), random.choice([8, 18, 64])
    size, k, stride = random.choice([7, 14, 30]), random.choice([1, 3, 5]), random.choice([1, 2])
    out = extent(size, k, stride, k // 2)
    pads = [k // 2] * 4
    knobs = [("tile_f", split(co, 4)), ("tile_y", split(out, 4)), ("tile_x", split(out, 4)),
             ("tile_rc", split(ci, 2)), ("tile_ry", split(k, 2)), ("tile_rx", split(k, 2)),
             ("auto_unroll_max_step", other(0, 512, 1500)), ("unroll_explicit", other(0, 1))]
    args = [tensor(1, ci, size, size), tensor(co, ci, k, k), [stride] * 2, pads, [1, 1], "float32"]
    return record(random, "cuda -model=made-up", "conv2d_nchw.cuda", args, knobs)


def x86(random):
    ci, co = random.choice([16, 24, 64]), random.choice([16, 48, 96])
    size, k = random.choice([7, 14, 28]), random.choice([1, 3])
    out = extent(size, k, 1, k // 2)
    kind, rows = split(out, 2)
    last = ("tile_oh", other(1, 2)) if k == 1 else ("unroll_kw", other(True, False))
    knobs = [("tile_ic", split(ci, 2)), ("tile_oc", split(co, 2)),
             ("tile_ow", (kind, [r for r in rows if r[-1] <= 64])), last]
    args = [tensor(1, ci, size, size), tensor(co, ci, k, k), [1, 1], [k // 2] * 4, [1, 1], "NCHW",
            "NCHW", "float32"]
    return record(random, "llvm -mcpu=core-avx2", "conv2d_NCHWc.x86", args, knobs)


def arm(random):
    ci, co = random.choice([3, 16]), random.choice([8, 24, 60])
    size, k, stride = random.choice([14, 27]), random.choice([1, 3]), random.choice([1, 2])
    out = extent(size, k, stride, k // 2)
    orders = [list(range(10)), [0, 1, 2, 3, 4, 5, 6, 9, 7, 8]]
    knobs = [("tile_co", split(co, 2)), ("tile_oh", split(out, 2)), ("tile_ow", split(out, 2)),
             ("reorder_0", ("re", orders)), ("ann_reduce", annotate(2, ["none", "unroll"])),
             ("ann_spatial", annotate(3, ["none", "unroll", "vec"]))]
    args = [tensor(1, ci, size, size), tensor(co, ci, k, k), [stride] * 2, [k // 2] * 4, [1, 1],
            "float32"]
    return record(random, "llvm -device=arm_cpu -model=made-up", "conv2d_nchw_spatial_pack.arm_cpu",
                  args, knobs)


def damage(lines):
    """Of a log's first lines: an outer size left out, which is none; a split that does not cover its
    axis; a knob of another name; another index."""
    first = lines[0]["config"]["entity"][0]
    first[2] = [-1, *first[2][1:]]
    broken = lines[1]["config"]["entity"][0]
    broken[2] = [broken[2][0] + 1, *broken[2][1:]]
    lines[2]["config"]["entity"][1][0] = "tile_other"
    lines[3]["config"]["index"] += 1


def main():
    for name, draw in (("cuda", cuda), ("llvm", x86), ("arm_cpu", arm)):
        numbers = random.Random(name)
        lines = [draw(numbers) for _ in range(16)]
        damage(lines)
        text = "# Made by tests/data/tophub/make.py: never measured.\n"
        text += "".join(json.dumps(line) + "\n" for line in lines)
        (HERE / f"{name}.log").write_text(text)


if __name__ == "__main__":
    main()
