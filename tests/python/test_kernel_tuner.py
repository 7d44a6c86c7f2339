# SPDX-License-Identifier: Apache-2.0
"""Scripts for Kernel Tuner: its calls, answered here; what is refused says what to do instead."""

from collections import OrderedDict

import optune
import pytest
from optune.kernel_tuner import tune_kernel

numpy = pytest.importorskip("numpy")

ADD = """
// vector_add(float *c) in a comment is no definition
void vector_add(float *c, const float *a, float *b /* not const */, int n)
{
    for (int i = 0; i < n; i += STEP)
        for (int j = i; j < i + STEP && j < n; j++)
            c[j] = a[j] + b[j];
}
"""
N = 1000
A = numpy.arange(N, dtype=numpy.float32)
ARGUMENTS = [numpy.zeros_like(A), A, A + 1, numpy.int32(N)]
ANSWER = [2 * A + 1, None, None, None]


def test_results(o, tmp_path):
    metrics = OrderedDict([("GB/s", lambda p: 12 * N / p["time"] / 1e6), ("twice", "2 * time")])
    results, env = tune_kernel(
        "vector_add", ADD, N, ARGUMENTS, OrderedDict(STEP=[1, 2, 4, 8]), restrictions="STEP != 2",
        answer=ANSWER, metrics=metrics, compiler_options=["-O2"], iterations=7, verbose=True,
        handle=o, folder=tmp_path)
    assert {row["STEP"] for row in results} == {1, 4, 8} and not env["failed"]
    assert all(row["twice"] == 2 * row["time"] and row["GB/s"] > 0 for row in results)
    assert env["kernel"].valid == 3 and env["device"]


def test_an_answer_that_is_wrong(o, tmp_path):
    with pytest.raises(optune.Error, match="'c' of the best config is not the answer: up to 1 "):
        tune_kernel("vector_add", ADD, N, ARGUMENTS, {"STEP": [1]}, handle=o, folder=tmp_path,
                    answer=[2 * A + 2, None, None, None], name="not_that", lang="C",
                    strategy="random_sample", strategy_options={"max_fevals": 1, "time_limit": 60})


CHANGE = """
void axpy(float *y, const float *x, int *calls, float *spare, int n)
{
    ++calls[0];
    for (int i = 0; i < n; i += STEP)
        for (int j = i; j < i + STEP && j < n; j++)
            y[j] += x[j], spare[j] = spare[j] >= 1 ? spare[j] : 1;
}
"""


def test_what_is_changed_where_it_stands(o, tmp_path):
    arrays = [A.copy(), A, numpy.array([7], numpy.int32), A.copy(), numpy.int32(N)]
    right = [2 * A, None, numpy.array([8]), numpy.maximum(A, 1), None]
    told = {"handle": o, "folder": tmp_path, "answer": right, "inouts": ["spare"]}
    results, env = tune_kernel("axpy", CHANGE, N, arrays, {"STEP": [1, 4]}, **told)
    assert len(results) == 2 and not env["failed"]
    assert env["kernel"].workload == "axpy(f32[1000], f32[1000], i32[1], f32[1000])"
    assert (arrays[0] == A).all() and arrays[2][0] == 7
    told["answer"] = [2 * A, None, numpy.array([9]), None, None]
    with pytest.raises(optune.Error, match="'calls' of the best config is not the answer"):
        tune_kernel("axpy", CHANGE, N, arrays, {"STEP": [1, 4]}, **told)
    with pytest.raises(optune.UsageError, match="'axpy' has no parameter 'z'"):
        tune_kernel("axpy", CHANGE, N, arrays, {"STEP": [1]}, inouts=["z"], handle=o)


def test_a_grid(tmp_path):
    source = """
kernel void vector_add(global float *c, global const float *a, global const float *b, int n)
{
    int i = get_group_id(0) * bx + get_local_id(0);
    if (i < n)
        c[i] = a[i] + b[i];
}
"""
    with optune.open(db=tmp_path / "db", target="opencl") as o:
        try:
            results, _ = tune_kernel(
                "vector_add", source, (N, 1), ARGUMENTS, {"bx": [32, 64]}, handle=o,
                folder=tmp_path, block_size_names=["bx"], grid_div_x=["bx"],
                strategy="genetic_algorithm")
        except optune.DeviceError as error:
            pytest.skip(f"no OpenCL device: {error}")
    assert {row["bx"] for row in results} == {32, 64}


@pytest.mark.parametrize("more, says", [
    ({"cache": "x.json"}, "--format kernel-tuner"),
    ({"smem_args": {"size": 4}}, "`shared`"),
    ({"restrictions": lambda p: p["STEP"] > 1}, "write it as an expression"),
    ({"restrictions": [lambda STEP: STEP > 1]}, "write it as an expression"),
    ({"strategy": "firefly_algorithm"}, "no strategy 'firefly_algorithm' here: there are brute"),
    ({"objective": "energy"}, "the objective is time"),
    ({"answer": ANSWER[:2]}, "2 items for 4 arguments"),
    ({"arguments": ARGUMENTS[:3]}, "4 parameters, and there are 3"),
    ({"kernel_name": "vector_sub"}, "no function 'vector_sub'"),
    ({"kernel_source": lambda p: ADD}, "text or a file"),
])
def test_refused(o, tmp_path, more, says):
    told = {"kernel_name": "vector_add", "kernel_source": ADD, "problem_size": N,
            "arguments": ARGUMENTS, "tune_params": {"STEP": [1]}, "handle": o, "folder": tmp_path}
    with pytest.raises(optune.UsageError, match=says):
        tune_kernel(**{**told, **more})
    with pytest.raises(TypeError, match="tempo"):
        tune_kernel(**told, tempo=3)
