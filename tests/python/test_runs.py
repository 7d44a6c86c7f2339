# SPDX-License-Identifier: Apache-2.0
"""Tuning: progress, Ctrl-C, interruptions, exceptions; processes that fork."""

import gc
import json
import os
import signal
import subprocess
import sys
import threading

import optune
import numpy
import pytest
from conftest import DENSE, ROOT


def test_tuning(o):
    seen = []
    t = o.tune(DENSE, trials=3, seconds=30, progress=seen.append)
    row = t.workloads[0]
    assert row.winner.cost > 0 and row.default.cost > 0 and row.speedup and not t.interrupted
    assert t.new_trials > 0 and row.winner.impl in t.text
    assert seen[-1].phase == "done" and any(p.trial == 3 for p in seen)
    assert all(p.best is None or p.best > 0 for p in seen)
    record = o.query(DENSE)
    assert record.impl == row.winner.impl and record.samples and record.outcome == "ok"
    assert o.select(DENSE).tier == "tuned"
    assert len(o.records("dense", workload=DENSE)) >= 3
    listed, = o.tuned("dense")
    assert listed["call"] == row.workload and listed["state"] == "tuned"
    assert listed["impl"] == row.winner.impl and listed["cost"] == pytest.approx(
        o.select(DENSE).cost, rel=1e-8)
    assert listed["measured"] == len(o.records("dense")) and o.tuned(policy="cold") == []
    assert row.metrics == {}
    again = o.tune([DENSE], trials=3, seconds=30,
                   metrics={"GFLOP/s": "flops / time / 1e9", "none": "1 / 0"})
    assert again.new_trials == 0
    assert again.workloads[0].metrics == {
        "GFLOP/s": pytest.approx(again.details["workloads"][0]["flops_per_second"] / 1e9),
        "none": None}
    with pytest.raises(optune.Error, match="nothing is called 'foo' here; there are time"):
        o.tune(DENSE, trials=3, metrics={"x": "foo"})


def test_tuning_a_graph_of_ranges(o):
    """Its groups get dispatch tables, by which it is computed from then on."""
    text = "x = var f32[?n,24]\nw = const f32[6,24]\ny = dense(x, w)\noutput y\n"
    with o.graph(text, bind={"n": (1, 12)}) as g:
        g.fill(seed=1)
        before = g(numpy.ones((5, 24), "f4"))
        tuning = o.tune(g, trials=1, seconds=-1)
        assert tuning.workloads == [] and tuning.new_trials >= 2 and "otherwise" in str(tuning)
        table, = tuning.details["tables"]
        assert table["call"] == "dense(f32[?n:1..12,24], const f32[6,24])" == g.workloads[0]
        assert table["rows"] and o.dispatch(g.workloads[0]).select(n=5).impl.startswith("dense")
        group, = g.select()["groups"]
        assert group["dispatch"]["rows"] == table["rows"]
        g.compile()
        after = g(numpy.ones((5, 24), "f4"))
        assert numpy.allclose(before, after) and g(numpy.ones((12, 24), "f4")).shape == (12, 6)
    with o.graph(text) as g:
        with pytest.raises(optune.WorkloadTypeError, match="values or ranges with --bind .[?]n."):
            o.tune(g)


def test_a_report_is_data_and_a_page(o, tmp_path, monkeypatch):
    with pytest.raises(optune.NotFoundError, match="no record of"):
        o.report(DENSE)
    o.tune(DENSE, trials=3, seconds=30)
    graph = o.graph("x = var f32[16,32]\nw = const f32[8,32]\ny = dense(x, w)\noutput y\n")
    for what in (DENSE, [DENSE], "dense", graph):
        report = o.report(what, title="seen & shown")
        rows = report.rows()
        assert report.details["title"] == "seen & shown" and "dense" in str(report)
        assert len(rows) == len(report.details["workloads"][0]["trials"]) >= 3
        assert rows[-1]["best"] == min(row["cost"] for row in rows if row["cost"] is not None)
        assert any(name.startswith("knob.") for name in rows[0])
    log = tmp_path / "one.log"
    o.export(log, "dense", best=True)
    *head, line = log.read_text().splitlines()
    for m in range(1, 261):
        record = json.loads(line)
        record["input"][2][0][1] = [m, 32]
        record["optune"]["call"] = f"dense(f32[{m},32], const f32[8,32])"
        record["result"][3] -= m
        head.append(json.dumps(record))
    log.write_text("\n".join(head) + "\n")
    with optune.open(db=tmp_path / "many", target="cpu -threads=1") as many:
        assert many.import_(log)["new"] == 260
        last = many.report("dense")
        given = [workload["call"] for workload in last.details["workloads"]]
        assert len(given) == 250 and last.details["others"] == 10
        assert given[0] == "dense(f32[1,32], const f32[8,32])"
        assert "dense(f32[251,32], const f32[8,32])" not in given and "10 more" in str(last)
    chart = tmp_path / "chart.js"
    chart.write_text("/* Chart.js v3.9.1 */")
    monkeypatch.setenv("OPTUNE_CHART_JS", str(chart))
    page = tmp_path / "report.html"
    assert report.save(page) == page.stat().st_size
    assert chart.read_text() in page.read_text() and "seen \\u0026 shown" in page.read_text()
    shown = report._repr_html_()
    assert shown.startswith("<iframe") and "&lt;!DOCTYPE html" in shown and "<script" not in shown
    page.unlink()
    page.symlink_to("/dev/full")
    with pytest.raises(optune.InputOutputError, match="No space left"):
        report.save(page)
    chart.write_text("another one's")
    with pytest.raises(optune.UnsupportedError, match="is not Chart.js 3 or 4"):
        report.save(page)
    assert "is not Chart.js 3 or 4" in report._repr_html_()


def test_verifying(o):
    with pytest.raises(optune.NotFoundError, match="there is no database"):
        o.verify(DENSE)
    o.tune(DENSE, trials=2, seconds=30)
    before, seen = o.select(DENSE), []
    for what in (None, "dense", [DENSE]):
        told = o.verify(what, sample=1, seconds=20, progress=seen.append)
        winners = told["winners"]
        assert winners[0]["status"] in ("holds", "moved") and winners[0]["impl"] == before.impl
        assert winners[0]["then"]["cost"] > 0 and winners[0]["now"]["cost"] > 0
        assert (winners[0]["reason"] is None) == (winners[0]["status"] == "holds")
        before = o.select(DENSE)
    assert seen[-1].phase == "done"
    with pytest.raises(optune.NotFoundError, match="nothing to verify"):
        o.verify(max_age=1)
    with pytest.raises(optune.NotFoundError, match="no operator 'nosuch'"):
        o.verify("nosuch")


def test_what_a_callback_raises_comes_out(o):
    class Enough(Exception):
        pass

    def progress(p):
        if p.trial:
            raise Enough

    with pytest.raises(Enough):
        o.tune(DENSE, trials=500, seconds=60, progress=progress)
    assert o.records("dense")  # nothing was lost
    assert o.tune(DENSE, trials=2, seconds=30).workloads  # nor is the next run interrupted


def test_no_run_begins_in_its_own_progress(o):
    told = []

    def progress(p):
        if p.trial:
            with pytest.raises(optune.UsageError, match="its own progress"):
                o.tune(DENSE, trials=1)
            told.append(o.select(DENSE).impl)

    assert o.tune(DENSE, trials=2, seconds=30, progress=progress).workloads and told
    assert o.tune(DENSE, trials=2, seconds=30).workloads


def test_the_collector_may_run_while_a_handle_is_taken(o, monkeypatch):
    """What it ends gives up its use of the handle, in the thread that takes one."""
    counted = o._counted
    refuse = type(counted).refuse

    def collected(self):
        refuse(self)
        gc.collect()

    def work():
        cycle = [o.function("relu(f32[7])")]
        cycle.append(cycle)
        del cycle
        monkeypatch.setattr(type(counted), "refuse", collected)
        done.append(o.select(DENSE))

    done = []
    thread = threading.Thread(target=work, daemon=True)
    gc.disable()
    try:
        thread.start()
        thread.join(120)
    finally:
        monkeypatch.undo()
        gc.enable()
    assert done


def test_interrupt_from_another_thread(o):
    o.interrupt()  # meets no run
    ended = []

    def progress(p):
        if p.trial == 1 and not ended:
            ended.append(True)
            threading.Thread(target=o.interrupt).start()

    with pytest.raises(optune.Interrupted) as info:
        o.tune(DENSE, trials=500, seconds=60, progress=progress)
    assert info.value.result.interrupted and o.records("dense")


CTRL_C = """
import os, sys, optune
o = optune.open(db=sys.argv[1], target="cpu -threads=1")
try:
    o.tune(%r, trials=1000, seconds=120,
           progress=lambda p: p.trial == 2 and (print("now", flush=True)))
except KeyboardInterrupt as end:
    print("ended", type(end).__name__, end.result.interrupted, len(o.records()), flush=True)
""" % DENSE


def test_ctrl_c_loses_nothing(tmp_path):
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    child = subprocess.Popen([sys.executable, "-c", CTRL_C, str(tmp_path / "db")], env=env,
                             stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert child.stdout.readline().strip() == "now"
    os.killpg(child.pid, signal.SIGINT)  # as a terminal does: the compilers get it, too
    said = [line.split() for line in child.communicate(timeout=120)[0].splitlines()
            if line.startswith("ended")]
    assert said and said[0][1:3] == ["Interrupted", "True"] and int(said[0][3]) >= 2


def test_no_compiler(tmp_path):
    code = ("import optune\n"
            "o = optune.open(db='db')\n"
            "try: o.function('relu(f32[7])')\n"
            "except optune.ToolError as error: print(error)")
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "PATH": str(tmp_path),
           "OPTUNE_CACHE": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", code], env=env, cwd=tmp_path, text=True,
                          capture_output=True)
    assert "no C compiler" in done.stdout, done.stdout + done.stderr


def in_child(work):
    """What `work` returns in a forked child; fails when it does not end."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            os.write(writer, repr(work()).encode())
        except BaseException as error:
            os.write(writer, f"{type(error).__name__}: {error}".encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


@pytest.mark.parametrize("threads", [1, 2])
def test_fork(tmp_path, threads):
    numpy = pytest.importorskip("numpy")
    target = f"cpu -threads={threads}"
    o = optune.open(db=tmp_path, target=target)
    f = o.function("relu(f32[100000])")
    x = numpy.linspace(-1, 1, 100000, dtype="f4")
    assert (f(x) == numpy.maximum(x, 0)).all()
    want = o.select(DENSE).impl
    assert "UsageError" in in_child(lambda: o.select(DENSE))
    assert "before the process was forked" in in_child(lambda: f(x))
    assert in_child(lambda: optune.open(db=tmp_path, target=target).select(DENSE).impl) \
        == repr(want)

    layer = "dense(f32[64,128], f32[128,128])"  # its constant is packed by threads, too
    w = numpy.eye(128, dtype="f4")
    o.function(layer, [w])

    def packed():
        z = numpy.ones((64, 128), "f4")
        return bool((optune.open(db=tmp_path, target=target).function(layer, [w])(z) == z).all())
    assert in_child(packed) == "True"

    def anew():
        g = optune.open(db=tmp_path, target=target).function("relu(f32[100000])")
        return bool((g(x) == numpy.maximum(x, 0)).all())
    assert in_child(anew) == "True"
    assert in_child(lambda: (f.close(), o.close())) == "(None, None)"
    assert (f(x) == numpy.maximum(x, 0)).all()


def test_module_functions(places):
    assert optune.select(DENSE).impl
    assert os.path.exists(os.path.join(optune.get_include(), "optune", "optune.h"))
    assert optune.tune("relu(f32[32])", trials=1, seconds=20).workloads
    assert optune.query("relu(f32[32])").op == "relu"
