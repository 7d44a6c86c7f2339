# SPDX-License-Identifier: Apache-2.0
"""Questions, records, failures: what the library says arrives as values and exceptions."""

import json
import shutil
import threading
import xml.etree.ElementTree

import optune
import pytest
from conftest import DENSE, ROOT


def test_untuned_selection(o):
    s = o.select(DENSE)
    assert s.impl.startswith("dense") and s.tier == "plevel" and s.cost is None
    assert s.details is None and s.impl in s.why and s.knobs.keys() <= {k[0] for k in s.config}
    told = o.select(DENSE, explain=True)
    assert told.details["impl"] == s.impl and len(told.why) > len(s.why)


def test_each_failure_is_a_class(o, tmp_path):
    with pytest.raises(optune.WorkloadSyntaxError, match="dense"):
        o.select("dense(f32[16")
    with pytest.raises(optune.WorkloadTypeError):
        o.select("dense(f32[16,32], f32[8,31])")
    with pytest.raises(optune.NotFoundError, match="no current record"):
        o.query(DENSE)
    with pytest.raises(LookupError):
        o.records()
    with pytest.raises(optune.NotFoundError, match="there is no dispatch table"):
        o.dispatch("dense(f32[?m:1..4,32], f32[8,32])")
    with pytest.raises(optune.UsageError, match="no measuring policy 'hot'"):
        optune.open(policy="hot")
    with pytest.raises(optune.Error, match="no target .toaster"):
        optune.open(target="toaster")
    with pytest.raises(optune.UsageError, match="log level"):
        optune.open(log_level="loud")
    with pytest.raises(TypeError):
        o.select(7)
    with pytest.raises(ValueError, match="zero byte"):
        o.select("a\0b")
    with pytest.raises(optune.UsageError, match="no workloads"):
        o.tune([])
    assert issubclass(optune.Interrupted, KeyboardInterrupt)


def test_closed_handle(tmp_path):
    o = optune.open(db=tmp_path)
    o.close()
    o.close()
    assert o.closed
    with pytest.raises(optune.UsageError, match="closed"):
        o.select(DENSE)
    o.interrupt()


def test_types():
    t = optune.workload_type("dense(f16[?m:1..8,16],f16[4,16]) -> relu()")
    assert t.op == "dense" and t.inputs[1].const and t.inputs[1].shape == (4, 16)
    assert t.inputs[0].shape == (None, 16) and t.outputs[0].itemsize == 2
    assert str(t.inputs[1]) == "const f16[4,16]"


def test_lists(o):
    assert any(op["name"] == "dense" for op in o.list("ops")["ops"])
    with pytest.raises(optune.UsageError):
        o.list("everything")


def test_threads_ask_at_once(o):
    want = o.select(DENSE).impl
    wrong = []

    def ask():
        for n in range(1, 40):
            if o.select(DENSE).impl != want:
                wrong.append(n)
            o.select(f"relu(f32[{n}])")

    threads = [threading.Thread(target=ask) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong


def test_a_log_callback_that_fails_harms_nothing(tmp_path):
    said = []

    def log(level, text):
        said.append((level, text))
        raise RuntimeError("no")

    with optune.open(db=tmp_path, log=log, log_level="debug") as o:
        o.select(DENSE)
    assert said


def test_dispatch_table(o, tmp_path):
    w = "dense(f32[?m:1..4,16], f32[8,16])"
    told = o.tune_dispatch(w, trials=2, points=2, regret=-1, seconds=20)
    assert told["dims"] == ["m"]
    with o.dispatch(w) as table:
        assert table.dims == ("m",) and table.rows
        assert table.select(3) == table.select(m=3) in table.rows
        with pytest.raises(optune.WorkloadTypeError, match="m=9 is outside"):
            table.select(9)
        with pytest.raises(optune.UsageError):
            table.select(n=1)
    with pytest.raises(optune.UsageError, match="closed"):
        table.select(1)


def test_simulate(o):
    with pytest.raises(optune.Error):
        o.simulate(ROOT / "LICENSE", repeats=1)
    with pytest.raises(optune.NotFoundError):
        o.simulate("/nonexistent/cache.json")
    with pytest.raises(optune.NotFoundError, match="there is no database"):
        o.simulate(workload="dense(f32[7,2], f32[3,2])")
    with pytest.raises(optune.NotFoundError, match="nonexistent.log"):
        o.simulate(log="/nonexistent.log")


@pytest.mark.skipif(not shutil.which("gnuplot"), reason="gnuplot draws")
def test_a_chart_of_replays(o, tmp_path):
    cache = {f"{x},{y}": {"x": x, "y": y, "time": 3 + (x - 5) ** 2 + (y - 3) ** 2 / 10,
                          "compile_time": 900} for x in range(16) for y in range(9)}
    names = ["a.json", "a'b & <c>.json"]
    for name in names:
        (tmp_path / name).write_text(json.dumps({
            "tune_params_keys": ["x", "y"],
            "tune_params": {"x": list(range(16)), "y": list(range(9))}, "cache": cache}))
    svg = tmp_path / "chart.svg"
    told = o.simulate([tmp_path / name for name in names], searches=["random", "grid", "anneal"],
                      repeats=3, plot=svg)
    assert len(told["spaces"][1]["searches"][2]["curve"]["mean"]) == 101
    texts = ["".join(text.itertext()).strip() for text in
             xml.etree.ElementTree.parse(svg).iter("{http://www.w3.org/2000/svg}text")]
    for name in "random", "grid", "anneal":
        assert texts.count(name) == 2, texts
    assert [text for text in texts if "b & <c>" in text]


def test_a_log_travels(o, tmp_path):
    o.tune("relu(f32[64])", trials=1, seconds=20)
    rows = o.records("relu")
    assert rows and json.dumps(rows) and all(row["op"] == "relu" for row in rows)
    assert o.records("dense") == []
    assert o.export(tmp_path / "x.log", "relu")["records"] == len(rows)
    with optune.open(db=tmp_path / "other", target="cpu -threads=1") as other:
        assert other.import_(tmp_path / "x.log")["new"] == len(rows)
        assert other.query("relu(f32[64])") == o.query("relu(f32[64])")
        bad = tmp_path / "bad.log"
        bad.write_text("no log\n{")
        with pytest.raises(optune.PartialError, match="no line was taken, 2 were") as told:
            other.import_(bad)
        assert told.value.result["refused"] == 2 and not told.value.result["taken"]
        bad.write_text("no log\n" + (tmp_path / "x.log").read_text())
        assert other.import_(bad)["refused"] == 1
        bad.write_text("")
        assert not other.import_(bad)["taken"]
    assert o.emit("relu(f32[64])", tmp_path / "c")["files"]
