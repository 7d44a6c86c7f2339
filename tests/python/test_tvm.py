# SPDX-License-Identifier: Apache-2.0
"""A dispatch context of AutoTVM's: with a TVM that has it, else with a stand-in (tvm_stand_in.py)."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

try:
    import tvm.autotvm.task  # noqa: F401
    REAL = True
except Exception:
    import tvm_stand_in
    tvm_stand_in.install()
    REAL = False

import optune
import optune.tvm
from conftest import ROOT
from tvm.autotvm.task import DispatchContext
from tvm.target import Target

CALL = "dense(f32[16,32], const f32[8,32])"
LLVM = "llvm -mtriple=x86_64-linux-gnu" if REAL else "llvm"


def workload(template="dense_pack.x86", m=16):
    return (template, ("TENSOR", (m, 32), "float32"), ("TENSOR", (8, 32), "float32"), None,
            "float32")


@pytest.fixture
def tuned(o):
    o.tune(CALL, impls=["dense_pack.x86", "dense_nopack.x86"], trials=8, seconds=60)
    return o


def test_each_template_has_its_own_best(tuned):
    with optune.tvm.ApplyOptuneBest(tuned) as best:
        costs = []
        for name in ("dense_pack.x86", "dense_nopack.x86"):
            config = DispatchContext.current.query(Target(LLVM), workload(name))
            rows = tuned.trials(impl=name, best=True)
            assert json.loads(json.dumps(config.to_json_dict()["entity"])) == rows[0].config
            assert config.cost == pytest.approx(rows[0].cost)
            assert not config.is_fallback
            costs.append(config.cost)
        assert min(costs) == pytest.approx(tuned.query(CALL).cost)
        assert best.query(Target(LLVM), workload()) is best.query(Target(LLVM), workload())
        assert "us, tuned: " in best.explain("dense_pack.x86")
        assert best.untuned == []


def test_what_is_not_known_is_left_to_tvm(tuned):
    with optune.tvm.ApplyOptuneBest(tuned) as best:
        for target, asked, why in (
                (LLVM, workload("no_such.x86"), "no template 'no_such.x86'"),
                (LLVM, workload(m=17), "never tuned"),
                (LLVM, workload()[:2], "argument"),
                (LLVM, ("dense_pack.x86", object()), "cannot be said"),
                (LLVM + " -num-cores=3", workload(), "num-cores '3'"),
                ("llvm -mtriple=riscv64-unknown-linux-gnu", workload(), "machine 'riscv64'"),
                ("cuda -arch=sm_90", workload(), "kind 'cuda'")):
            assert best.query(Target(target), asked).is_fallback
            assert why in best.answers[-1].reason
            assert best.answers[-1].config is None
        assert best.untuned == ["dense(f32[17,32], const f32[8,32])"]
        assert "left to TVM: " in best.explain()
        tuned.tune(best.untuned, impls=["dense_pack.x86"], trials=3, seconds=60)
        assert best.query(Target(LLVM), workload(m=17)).is_fallback  # one build, one answer
    with best:
        assert not best.query(Target(LLVM), workload(m=17)).is_fallback
        with pytest.raises(RuntimeError, match="target"):
            best.query(None, workload())


def test_contexts_around_it_and_what_tvm_says_itself(tuned, tmp_path):
    class Outer(DispatchContext):
        def _query_inside(self, target, asked):
            return "the outer one's"

        def update(self, target, asked, cfg):
            raise NotImplementedError

    with Outer(), optune.tvm.ApplyOptuneBest(tuned) as best:
        assert best.query(Target(LLVM), workload(m=99)) == "the outer one's"
        config = best.query(Target(LLVM), workload())
        best.update(Target(LLVM), ("altered", 1), config)
        altered = best.query(Target(LLVM + " -model=unlike"), ("altered", 1))
        assert altered.cost == 0 and config.cost > 0
        assert altered.to_json_dict() == config.to_json_dict()
    assert DispatchContext.current is not best
    with pytest.raises(optune.UsageError, match="folder is db="):
        optune.tvm.ApplyOptuneBest("results")
    with pytest.raises(optune.UsageError, match="has its database"):
        optune.tvm.ApplyOptuneBest(tuned, db=tmp_path)
    own = optune.tvm.ApplyOptuneBest(db=tmp_path / "other", target="cpu -threads=1")
    with own:
        assert own.query(Target(LLVM), workload()).is_fallback
    own.close()
    assert own.handle.closed and not tuned.closed


def test_logs_of_tvm_are_understood_but_no_answers(o):
    shared = os.environ.get("OPTUNE_SHARED") or ROOT.parent / "shared"
    logs = sorted((pathlib.Path(shared) / "data" / "autotvm_0.19").glob("*.log"))
    if not logs:
        pytest.skip("no logs of TVM's here")

    def as_tvm_has(x):
        return tuple(map(as_tvm_has, x)) if isinstance(x, list) else x

    for log in logs:
        o.import_(log)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        with optune.tvm.ApplyOptuneBest(o) as best:
            for line in lines:
                target, name, args, _ = line["input"]
                asked = (name, *as_tvm_has(args))
                assert best.query(Target(target if not REAL else LLVM), asked).is_fallback
                assert best.answers[-1].call and "no current record" in best.answers[-1].reason
    o.tune(best.untuned, impls=["dense_pack.x86"], trials=2, seconds=60)
    with best:
        assert not best.query(Target(LLVM), asked).is_fallback


def test_without_tvm_it_can_be_imported_and_says_what_it_needs(tmp_path):
    (tmp_path / "tvm").mkdir()
    (tmp_path / "tvm" / "__init__.py").write_text("")  # as one without AutoTVM
    said = subprocess.run(
        [sys.executable, "-c", "import optune, optune.tvm\n"
         "try: optune.tvm.ApplyOptuneBest()\n"
         "except optune.UnsupportedError as error: print(error)"],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT / 'python'}"},
        stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
    assert "needs a TVM that has AutoTVM, 0.8 to 0.19" in said
