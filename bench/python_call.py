#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a call from Python costs over the same call from C.

A function whose kernel takes next to nothing is called from a loop in C, and from loops in Python
in each way there is, as the package has it: with its part in C where that was built. Prints
nanoseconds of the processor for a call, the best of several rounds, and what each way adds.

    PYTHONPATH=python python3 bench/python_call.py
"""

import ctypes
import subprocess
import sys
import tempfile
import time

import numpy
import optune

LOOP = """
typedef int (*run_fn)(void *, const void *const *, void *const *, void *);
int loop(run_fn run, void *function, void *in, void *out, void *err, long n)
{
    int status = 0;
    for (long i = 0; i < n && status >= 0; i++)
        status = run(function, in, out, err);
    return status;
}
"""
ROUNDS, CALLS = 300, 500  # rounds short enough to be left alone now and then
MOST = 64  # inputs of one call


def c_loop(folder):
    source, library = f"{folder}/loop.c", f"{folder}/loop.so"
    with open(source, "w") as file:
        file.write(LOOP)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
    loop = ctypes.CDLL(library).loop
    loop.argtypes = [ctypes.c_void_p] * 5 + [ctypes.c_long]
    return loop


def best(run):
    """Seconds of the processor for one call: the best of several rounds, as others disturb and
    nobody helps."""
    times = []
    for _ in range(ROUNDS):
        start = time.thread_time()
        run(CALLS)
        times.append((time.thread_time() - start) / CALLS)
    return min(times)


def python_loop(call):
    def run(n):
        for _ in range(n):
            call()
    return run


def ways(function, arrays, outs):
    out = outs[0]
    step = function.bind(*arrays, out=out)
    yield "bind(x, out=y)()", step
    yield "f(x)", lambda: function(*arrays)
    yield "f(x, out=y)", lambda: function(*arrays, out=out)


def main():
    with tempfile.TemporaryDirectory() as folder:
        loop = c_loop(folder)
        handle = optune.open(db=f"{folder}/db", target="cpu -threads=1")
        run = ctypes.cast(optune._function.lib.optune_function_run, ctypes.c_void_p)
        kinds = [("numpy", lambda a: a)]
        try:
            import torch
            kinds.append(("torch", torch.from_numpy))
        except ImportError:
            pass
        largest = 0.0
        most = ", ".join(["f32[16]"] * MOST)
        for n, what, workload in ((1, "relu(f32[16])", "relu(f32[16])"),
                                  (2, "add(f32[16], f32[16])", "add(f32[16], f32[16])"),
                                  (MOST, f"concatenate({MOST} times f32[16])",
                                   f"concatenate({most})")):
            plain = [numpy.ones(16, numpy.float32) for _ in range(n)]
            with handle.function(workload) as f:
                plain.append(numpy.empty(f.outputs[0].shape, numpy.float32))
                for kind, convert in kinds:
                    arrays = [convert(a) for a in plain]
                    step = f.bind(*arrays[:n], out=arrays[n])
                    base = best(lambda calls: loop(run, *step._args, calls))
                    print(f"{what}, {kind}\n  {'from C':18} {base * 1e9:7.0f} ns")
                    for name, call in ways(f, arrays[:n], arrays[n:]):
                        over = best(python_loop(call)) - base
                        print(f"  {name:18} {(base + over) * 1e9:7.0f} ns, {over * 1e9:+7.0f} ns")
                        if name == "f(x)" and kind == "numpy" and n < MOST:
                            largest = max(largest, over)
        print(f"python over C {largest * 1e6:.2f} us")
    return 0


if __name__ == "__main__":
    sys.exit(main())
