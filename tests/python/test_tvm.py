# SPDX-License-Identifier: Apache-2.0
"""A dispatch context of AutoTVM's: with a TVM that has it, else with a stand-in, tvm_stand_in."""

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


def small_net():
    """A net of the four operators, what goes in and what comes out, by numpy."""
    numpy = pytest.importorskip("numpy")
    import tvm
    from tvm import relay
    random = numpy.random.default_rng(5)
    data = random.standard_normal((1, 8, 8, 8)).astype("float32")
    params = {"w": random.standard_normal((16, 8, 3, 3)).astype("float32"),
              "v": random.standard_normal((16, 1, 3, 3)).astype("float32"),
              "d": random.standard_normal((16, 36)).astype("float32")}
    x = relay.var("x", shape=data.shape)
    w, v, d = (relay.var(name, shape=params[name].shape) for name in "wvd")
    y = relay.nn.relu(relay.nn.conv2d(
        x, w, channels=16, kernel_size=(3, 3), padding=(2, 2), dilation=(2, 2)))
    y = relay.nn.conv2d(y, v, groups=16, channels=16, kernel_size=(3, 3))
    y = relay.reshape(y, (16, 36))
    y = relay.nn.dense(y, d)
    y = relay.reshape(y, (2, 8, 16))
    y = relay.nn.batch_matmul(y, y)

    def convolved(x, w, pad, step, groups):
        x = numpy.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
        size = x.shape[2] - 2 * step
        out = 0
        for i in range(3):
            for j in range(3):
                part = x[:, :, i * step:i * step + size, j * step:j * step + size]
                tap = w[:, :, i, j]
                out = out + (part * tap.reshape(1, -1, 1, 1) if groups else
                             numpy.einsum("nchw,oc->nohw", part, tap))
        return out

    want = numpy.maximum(convolved(data.astype("float64"), params["w"], 2, 2, False), 0)
    want = convolved(want, params["v"], 0, 1, True).reshape(16, 36) @ params["d"].T
    want = want.reshape(2, 8, 16)
    want = want @ want.transpose(0, 2, 1)
    function = relay.Function(relay.analysis.free_vars(y), y)
    return tvm.IRModule.from_expr(function), params, data, want


@pytest.mark.skipif(not REAL, reason="no TVM with AutoTVM here")
def test_a_net_is_built_with_it(o, tmp_path):
    import tvm
    from tvm import relay
    from tvm.contrib import cc, graph_executor
    numpy = pytest.importorskip("numpy")
    module, params, data, want = small_net()

    def compute():
        with tvm.transform.PassContext(opt_level=3):
            built = relay.build(module, target=LLVM, params=params)
        built.export_library(str(tmp_path / "net.so"),
                             fcompile=lambda out, objects, **_: cc.create_shared(
                                 out, objects, cc="cc"))
        net = graph_executor.GraphModule(
            tvm.runtime.load_module(str(tmp_path / "net.so"))["default"](tvm.cpu()))
        net.set_input("x", data)
        net.run()
        return net.get_output(0).numpy()

    with optune.tvm.ApplyOptuneBest(o) as best:  # knows nothing: TVM's fallbacks
        numpy.testing.assert_allclose(compute(), want, rtol=1e-3, atol=1e-3)
        untuned = best.untuned
        assert {call.split("(")[0] for call in untuned} == {"conv2d", "dense", "batch_matmul"}
        assert any("no template 'depthwise_conv2d_NCHWc.x86'" in a.reason for a in best.answers)
    templates = ["conv2d_NCHWc.x86", "dense_nopack.x86", "batch_matmul.x86"]
    for call in untuned:
        for template in templates:
            if template.startswith(call.split("(")[0]):
                o.tune(call, impls=[template], trials=4, seconds=60)
    with best:
        numpy.testing.assert_allclose(compute(), want, rtol=1e-3, atol=1e-3)
        answered = {a.template: a for a in best.answers if a.config is not None}
    assert set(templates) <= set(answered)
    for a in answered.values():
        rows = o.trials(impl=a.template, best=True)
        assert rows[0].config == json.loads(json.dumps(a.config.to_json_dict()["entity"]))
    # The same by way of a log, as AutoTVM's users do.
    from tvm import autotvm
    log = tmp_path / "best.log"
    o.export(log, tvm=True, best=True)
    with autotvm.apply_history_best(str(log)) as history:
        numpy.testing.assert_allclose(compute(), want, rtol=1e-3, atol=1e-3)
        assert history.best_by_targetkey or history.best_by_model


@pytest.mark.skipif(not REAL, reason="no TVM with AutoTVM here")
def test_its_indices_are_ours(o, tmp_path):
    pytest.importorskip("numpy")
    import tvm
    if not tvm.get_global_func("target.build.llvm", True):
        pytest.skip("a TVM without LLVM")
    draw = ROOT / "tests" / "data" / "autotvm" / "draw.py"
    drawn = subprocess.run([sys.executable, draw, "--seed", "77", "--tasks", "4"],
                           stdout=subprocess.PIPE, check=True).stdout
    log = tmp_path / "drawn.log"
    log.write_bytes(drawn)
    result = o.import_(log)
    assert result["taken"] > 40 and result["refused"] == 0
    assert result["index_mismatches"] == 0


def gpu_tasks():
    """Names and arguments of both templates of GPUs, with sizes that divide nothing, too."""
    for data, weight, strides, padding, dilation in (
            ((1, 16, 20, 22), (8, 16, 3, 3), (1, 1), (2, 2, 2, 2), (2, 2)),
            ((1, 5, 7, 11), (13, 5, 3, 5), (2, 1), (1, 2, 0, 1), (1, 1))):
        yield "conv2d_nchw.cuda", (("TENSOR", data, "float32"), ("TENSOR", weight, "float32"),
                                   strides, padding, dilation, "float32")
    yield "depthwise_conv2d_nchw.cuda", (
        ("TENSOR", (2, 7, 15, 13), "float32"), ("TENSOR", (7, 1, 5, 5), "float32"), (2, 2),
        (2, 2, 2, 2), (1, 1), "float32")


def is_entity(ours, theirs):
    """TVM writes -1 where the other sizes say it."""
    return len(ours) == len(theirs) and all(
        a[:2] == b[:2] and (a[2] == b[2] or a[1] == "sp" and len(a[2]) == len(b[2]) and all(
            x in (y, -1) or y == -1 for x, y in zip(a[2], b[2]))) for a, b in zip(ours, theirs))


@pytest.mark.skipif(not REAL, reason="no TVM with AutoTVM here")
@pytest.mark.parametrize("target", ["cuda -arch=sm_90", "opencl"])
def test_lines_of_gpus_go_there_and_back(o, tmp_path, target):
    from tvm import autotvm
    import tvm.topi  # noqa: F401, templates
    drawn, back = tmp_path / "drawn.log", tmp_path / "back.log"
    with drawn.open("w") as file:
        for name, arguments in gpu_tasks():
            task = autotvm.task.create(name, args=arguments, target=target)
            for i in range(3):
                config = task.config_space.get(len(task.config_space) * (2 * i + 1) // 7)
                file.write(autotvm.record.encode(
                    autotvm.MeasureInput(task.target, task, config),
                    autotvm.MeasureResult((1e-3,), 0, 0.5, 1.7e9)) + "\n")
    result = o.import_(drawn)
    assert result["taken"] == 9 and result["refused"] == result["index_mismatches"] == 0
    o.export(back, tvm=True)
    lines = list(autotvm.record.load_from_file(str(back)))
    assert len(lines) == 9
    for given, _ in lines:
        assert str(given.target.kind) == target.split()[0]
        task = autotvm.task.create(given.task.name, args=given.task.args, target=given.target)
        theirs = task.config_space.get(given.config.index)
        assert is_entity(given.config.to_json_dict()["entity"], theirs.to_json_dict()["entity"])
        with given.target:
            task.instantiate(given.config)
