#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/data/autotvm/draw.py > indices.log: configs that TVM's own templates number, at random, for
tests/answer/test_autotvm.c. Needs a TVM with AutoTVM (docs/autotvm.md; written with 0.16); the
workloads are drawn here, nothing is compiled or measured, and no GPU is asked for. --seed and
--tasks draw others."""

import argparse
import random
import sys

from tvm import autotvm, topi  # noqa: F401, templates

CPU = "llvm -mtriple=x86_64-linux-gnu -mcpu=core-avx2 -num-cores=2"
GPU = "cuda -arch=sm_80"


def tensor(*dims):
    return "TENSOR", dims, "float32"


def sizes(n, most, least=1):
    return [random.randint(least, most) for _ in range(n)]


def dense(_):
    m, n, k = sizes(3, 200)
    data, weight = tensor(m, k), tensor(n, k)
    for template in "dense_pack.x86", "dense_nopack.x86":
        yield CPU, template, (data, weight, None, "float32")
    yield CPU, "dense_pack.x86", (data, weight, tensor(n), "float32")


def batch_matmul(i):
    b, m, n, k = sizes(4, 96)
    transpose_a, transpose_b = i % 2 == 1, i % 4 < 2
    x = tensor(b, k, m) if transpose_a else tensor(b, m, k)
    y = tensor(b, n, k) if transpose_b else tensor(b, k, n)
    yield CPU, "batch_matmul.x86", (x, y, (b, m, n), "float32", transpose_a, transpose_b)


def conv2d(i):
    kernel = [(3, 3), (1, 1), (5, 5), (1, 3), (3, 1), (2, 2), (7, 7)][i % 7]
    channels, filters = random.randint(2, 64), random.randint(1, 64)
    height, width = sizes(2, 40, 20)
    dilation = tuple(sizes(2, 3)) if i % 2 == 0 else (1, 1)
    window = tuple(sizes(2, 3)), tuple(sizes(4, 3, 0)), dilation
    data = tensor(1 + i % 2, channels, height, width)
    weight = tensor(filters, channels, *kernel)
    yield (CPU, "conv2d_NCHWc.x86", (data, weight, *window, "NCHW", "NCHW", "float32"))
    yield GPU, "conv2d_nchw.cuda", (data, weight, *window, "float32")
    yield (GPU, "depthwise_conv2d_nchw.cuda",
           (data, tensor(channels, 1, *kernel), *window, "float32"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tasks", type=int, default=8, help="workloads of each operator")
    parser.add_argument("--configs", type=int, default=2, help="of each template's task")
    args = parser.parse_args()
    random.seed(args.seed)
    print("# Configs that TVM 0.16 drew of its own spaces: draw.py. Nothing was measured.")
    drawn = set()
    for target, template, arguments in (t for i in range(args.tasks)
                                        for op in (dense, batch_matmul, conv2d) for t in op(i)):
        task = autotvm.task.create(template, args=arguments, target=target)
        result = autotvm.MeasureResult([1e-3], 0, 1.0, 1.7e9)
        for _ in range(args.configs):
            config = task.config_space.get(random.randrange(len(task.config_space)))
            drawn.add(autotvm.record.encode(
                autotvm.MeasureInput(task.target, task, config), result))
    print("\n".join(sorted(drawn)))
    print(f"{len(drawn)} configs", file=sys.stderr)


if __name__ == "__main__":
    main()
