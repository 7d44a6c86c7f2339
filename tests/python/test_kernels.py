# SPDX-License-Identifier: Apache-2.0
"""Kernels of one's own, from Python: arguments by text and by array, restrictions, references,
edits, wrong answers; what was tuned is an operator like any other."""

import optune
import pytest
from conftest import ROOT

SCALE = """
void scale(const float *x, float *y, float factor)
{
    for (int i = 0; i < N; i += STEP)
        for (int j = i; j < i + STEP; j++)
            y[j] = FACTOR;
}
void plain(const float *x, float *y, float factor)
{
    for (int i = 0; i < N; i++)
        y[i] = x[i] * factor;
}
"""
GOOD = SCALE.replace("FACTOR", "x[j] * factor")
ARGUMENTS = ["x: f32[N]", "out y: f32[N]", "factor: f32 = 2.5"]


@pytest.fixture
def kernels(tmp_path):
    return tmp_path / "kernels"


def test_texts(o, kernels):
    t = o.tune_kernel("scale", GOOD, ARGUMENTS, {"STEP": [1, 4, 7, 8, 16]}, sizes={"N": 64},
                      restrictions=["N % STEP == 0"], reference="plain", folder=kernels,
                      trials=8, seconds=60)
    results, env = t
    assert {row["STEP"] for row in results} == {1, 4, 8, 16}
    assert t.kernel.valid == 4 and "plain" in t.kernel.reference and env["search"]
    assert t.best["time"] == min(row["time"] for row in results if row["final"])
    assert o.select(t.kernel.workload).tier == "tuned" and t.kernel.op == "scale"
    y = o.function(t.kernel.workload)
    numpy = pytest.importorskip("numpy")
    x = numpy.arange(64, dtype=numpy.float32)
    assert (y(x) == x * numpy.float32(2.5)).all()


def test_a_call_longer_than_a_kernel_names(o):
    names = [f"x{i}" for i in range(60)]
    source = f"""void add_all({", ".join(f"const float *{x}" for x in names)}, float *y)
{{
    for (int i = 0; i < 4; i++)
        y[i] = {" + ".join(f"{x}[i]" for x in names)};
}}
"""
    t = o.tune_kernel("add_all", source, [f"{x}: f32[1,1,1,1,1,1,1,4]" for x in names] +
                      ["out y: f32[4]"], {"U": [1, 2]}, trials=2)
    assert t.kernel.workload == "" and len(t.tuning.workloads[0].workload) > 1023
    assert sorted(row["U"] for row in t.results) == [1, 2]



def test_an_edit_in_one_process(o, kernels):
    knobs, more = {"STEP": [1, 2]}, {"sizes": {"N": 8}, "folder": kernels, "trials": 2,
                                     "seconds": 60, "name": "edited"}
    first = o.tune_kernel("scale", GOOD, ARGUMENTS, knobs, **more)
    again = o.tune_kernel("scale", GOOD, ARGUMENTS, knobs, **more)
    assert first.kernel.op == again.kernel.op == "edited" and not again.tuning.new_trials
    other = o.tune_kernel("scale", GOOD.replace("x[j] *", "x[j] * 1 *"), ARGUMENTS, knobs, **more)
    assert other.kernel.op.startswith("edited_") and other.tuning.new_trials
    back = o.tune_kernel("scale", GOOD, ARGUMENTS, knobs, **more)
    assert back.kernel.op == "edited" and not back.tuning.new_trials
    with optune.open(db=kernels.parent / "db", target="cpu -threads=1") as later:
        assert later.select(other.kernel.workload).tier == "tuned"


def test_wrong_answers_lose(o, kernels):
    bad = SCALE.replace("FACTOR", "STEP == 4 ? 0 : x[j] * factor")
    t = o.tune_kernel("scale", bad, ARGUMENTS, {"STEP": [1, 4]}, sizes={"N": 32}, name="doubtful",
                      reference="plain", tolerance=(1e-6, 1e-6), folder=kernels, trials=4,
                      seconds=60)
    assert {row["STEP"]: row["outcome"] for row in t.results} == {1: "ok", 4: "wrong"}
    assert t.best["STEP"] == 1


def test_arrays(o, kernels):
    numpy = pytest.importorskip("numpy")
    x = numpy.zeros((4, 8), numpy.float32)
    source = GOOD.replace("N;", "32;")
    t = o.tune_kernel("scale", source, {"x": x, "y": numpy.empty_like(x),
                                        "factor": numpy.float32(3)},
                      {"STEP": [1, 2]}, outputs=["y"], name="of_arrays", folder=kernels, trials=2,
                      seconds=60)
    assert "f32[4,8]" in t.kernel.workload and t.best


ADDS = """
void adds(const float *x, float *y)
{
    for (int i = 0; i < 32; i += STEP)
        for (int j = i; j < i + STEP; j++)
            y[j] += x[j];
}
"""


def test_what_is_read_and_written(o, kernels):
    numpy = pytest.importorskip("numpy")
    x, y = numpy.full(32, 2, numpy.float32), numpy.full(32, 3, numpy.float32)
    told = {"folder": kernels, "trials": 2, "seconds": 60}
    t = o.tune_kernel("adds", ADDS, {"x": x, "y": y}, {"STEP": [1, 2]}, inouts=["y"], **told)
    assert t.kernel.workload == "adds(f32[32], f32[32])" and t.best
    texts = o.tune_kernel("adds", ADDS, {"x": "f32[32]", "y": "inout f32[32]"}, {"STEP": [1, 2]},
                          **told)
    assert texts.kernel.op == "adds" and not texts.tuning.new_trials
    f = o.function(t.kernel.workload)
    assert (f(x, y) == 5).all() and (f(x, y) == 5).all() and (y == 3).all()
    with pytest.raises(optune.Error, match="is an in-out parameter"):
        o.tune_kernel("adds", ADDS, {"x": x, "y": y}, {"STEP": [1, 2]}, outputs=["y"],
                      name="unsaid", **told)
    for more, what in (({"outputs": ["y"], "inouts": ["y"]}, "it is one of them"),
                       ({"inouts": ["z"]}, "inout 'z' is no argument: there are x, y")):
        with pytest.raises(optune.UsageError, match=what):
            o.tune_kernel("adds", ADDS, {"x": x, "y": y}, {"STEP": [1]}, **more)


def test_a_file_with_statements(o):
    t = o.tune_kernel(str(ROOT / "examples" / "tune" / "matmul.c"), trials=3, seconds=60)
    assert t.kernel.op == "matmul" and len(t.results) >= 3 and t.best["time"] > 0


@pytest.mark.parametrize("args, more, says", [
    (("scale", "nothing.c", ARGUMENTS, {"A": [1]}), {}, "neither a file"),
    (("scale", GOOD), {}, "needs its arguments"),
    (("scale", GOOD, {"x": 2.5}, {"A": [1]}), {}, "does not say its type"),
    (("scale", GOOD, {"x": "f32[4]"}, {"A": [1]}), {"outputs": ["z"]}, "is no argument"),
    (("scale", GOOD, ARGUMENTS, {"A": [1]}), {"lang": "fortran"}, "no language"),
    (("scale", GOOD, ARGUMENTS, {"A": [1]}), {"restrictions": "A > 1"}, "a list"),
    (("scale", GOOD, ARGUMENTS, {"A\nB": [1]}), {}, "one line"),
    (("a.c",), {"reference": "f"}, "own statements"),
])
def test_refused(o, kernels, args, more, says):
    with pytest.raises(optune.UsageError, match=says):
        o.tune_kernel(*args, folder=kernels, **more)
    with pytest.raises(TypeError):
        o.tune_kernel("scale", GOOD, ARGUMENTS, {"A": [1]}, tempo=3)


def test_what_the_notation_refuses(o, kernels):
    with pytest.raises(optune.Error, match="'M'"):
        o.tune_kernel("scale", GOOD, ["x: f32[M]", "out y: f32[M]"], {"A": [1]}, folder=kernels)
