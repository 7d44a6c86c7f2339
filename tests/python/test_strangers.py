# SPDX-License-Identifier: Apache-2.0
"""The package among other things of Python: star imports, type checkers, asyncio, notebooks, and
arguments that are none."""

import os
import subprocess
import sys

import optune
import pytest
from conftest import DENSE, ROOT

ENV = {**os.environ, "PYTHONPATH": str(ROOT / "python")}


def test_a_star_import_leaves_python_alone():
    import builtins
    names = {}
    exec("from optune import *", names)
    del names["__builtins__"]
    assert {"tune", "select", "Optune"} <= set(names)
    assert not [name for name in names if hasattr(builtins, name)]
    assert not [name for name in names if name.startswith("_") and name != "__version__"]
    for name in names:
        assert names[name] is getattr(optune, name)


@pytest.mark.parametrize("given", [5, "x", [], 0])
def test_callbacks_that_cannot_be_called(o, given):
    for begin in (o.tune, o.verify):
        with pytest.raises(optune.UsageError, match=r"progress is a function .* cannot be called"):
            begin(DENSE, progress=given)
    with pytest.raises(optune.UsageError, match=r"log is a function .* cannot be called"):
        optune.open(log=given)
    with pytest.raises(LookupError):
        o.records()  # nothing began


@pytest.mark.parametrize("name, value", [
    ("trials", -1), ("trials", 1 << 40), ("seed", -1), ("seed", 1 << 70),
    ("seconds", float("nan"))])
def test_numbers_that_cannot_be(o, name, value):
    with pytest.raises(optune.UsageError, match=f"{name} cannot be"):
        o.tune(DENSE, **{name: value})


def test_numbers_of_another_type_are_named(o):
    for name, value in (("trials", "3"), ("trials", 2.5), ("seconds", "long")):
        with pytest.raises(TypeError, match=f"^{name}: "):
            o.tune(DENSE, **{name: value})
    with pytest.raises(optune.UsageError, match="sample cannot be -2"):
        o.verify(DENSE, sample=-2)


def test_out_gets_no_advice_to_copy(o, dense):
    """A copy would be filled, and dropped."""
    numpy = pytest.importorskip("numpy")
    x, w, want = dense
    f = o.function(DENSE, [w])
    raw = numpy.empty(want.nbytes + 1, "u1")
    for out, why in ((raw[1:].view("f4").reshape(want.shape), "not aligned"),
                     (numpy.empty((16, 16), "f4")[:, ::2], "not contiguous"),
                     (memoryview(bytearray(2 * want.nbytes)).cast("f")[::2], "not contiguous")):
        with pytest.raises(optune.UsageError, match=f"out is {why}.*: hand over another array"):
            f(x, out=out)
    with pytest.raises(optune.UsageError, match="ascontiguousarray"):
        f(numpy.asfortranarray(x))


def test_what_is_closed_is_not_entered(tmp_path):
    o = optune.open(db=tmp_path)
    f = o.function("relu(f32[4])")
    f.close()
    for again in (f, o):
        o.close()
        with pytest.raises(optune.UsageError, match="is closed"):
            with again:
                raise AssertionError
    with pytest.raises(optune.UsageError, match="is closed"):
        f.bind(memoryview(bytearray(16)).cast("f"))


PROGRAM = '''
from typing import Any, Dict, List, Optional
import optune
from optune import Progress, Record, Selection, Tuning


def told(p: Progress) -> None:
    best: Optional[float] = p.best
    print(p.phase, best)


def main(w: object) -> int:
    with optune.open(db="results", target="cpu -threads=2") as o:
        t: Tuning = o.tune("dense(f32[16,32], f32[8,32])", trials=2, progress=told)
        s: Selection = o.select("dense(f32[16,32], f32[8,32])")
        r: Record = o.query("dense(f32[16,32], f32[8,32])")
        rows: List[Dict[str, Any]] = o.records("dense")
        f = o.function("dense(f32[16,32], f32[8,32])", constants=[w])
        step = f.bind(w, out=f(w))
        step()
        g = o.graph("mlp.graph", bind={"batch": (1, 64)}).fill(seed=1)
        g["w"] = w
        with o.dispatch("dense(f32[?m:1..256,768], const f32[768,768])") as table:
            print(table.select(m=17).impl, s.knobs, r.cost, rows, g(w))
        results, env = o.tune_kernel("f", "f.c", ["x: f32[N]"], {"U": [1, 2]}, sizes={"N": 4})
        print(results, env)
        try:
            o.tune("conv2d", preset="resnet50")
        except (optune.Interrupted, optune.PartialError) as end:
            print(end.result)
        return t.new_trials
'''


def test_a_program_that_mypy_reads(tmp_path):
    """Strictly, against the package as it is installed."""
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"

    def checked(text):
        program.write_text(text)
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir=/dev/null",
                               "--follow-imports=silent", program],
                              stdout=subprocess.PIPE, universal_newlines=True, cwd=str(tmp_path),
                              env={**ENV, "MYPYPATH": str(ROOT / "python")})
        return done.stdout

    assert "Success" in checked(PROGRAM)
    wrong = checked(PROGRAM + "optune.open(databse=1)\noptune.select(3)\n")
    assert '"databse"' in wrong and 'expected "str"' in wrong


ASYNC = """
import asyncio, os, signal, sys, optune

async def tuned(o, what, **options):
    try:
        return await asyncio.to_thread(o.tune, what, **options)
    except asyncio.CancelledError:
        o.interrupt()
        raise

sent = []
def progress(p):
    if p.trial == 2 and not sent:
        sent.append(os.kill(os.getpid(), signal.SIGINT))

async def main(o, **options):
    beside = asyncio.create_task(asyncio.sleep(0, "beside"))
    made = await tuned(o, %r, **options)
    print(await beside, made.new_trials, flush=True)

o = optune.open(db=sys.argv[1], target="cpu -threads=1")
asyncio.run(main(o, trials=1, seconds=60))
try:
    asyncio.run(main(o, trials=2000, seconds=600, again=True, progress=progress))
except KeyboardInterrupt:
    print("ended", len(o.records()), flush=True)
""" % DENSE


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Ctrl-C cancels tasks since Python 3.11")
def test_asyncio(tmp_path):
    """The loop goes on beside a run, and Ctrl-C ends the run as it ends the loop."""
    done = subprocess.run([sys.executable, "-c", ASYNC, str(tmp_path / "db")], env=ENV,
                          stdout=subprocess.PIPE, universal_newlines=True, timeout=300)
    said = [line.split() for line in done.stdout.splitlines()]
    assert done.returncode == 0 and said[0][0] == "beside" and int(said[0][1]) >= 1
    assert said[1][0] == "ended" and int(said[1][1]) > int(said[0][1])


def test_a_notebook(tmp_path):
    """What cells show: lines of progress as they come, the table of a tuning, a report's page."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    cells = [
        f"import optune\no = optune.open(db={str(tmp_path / 'db')!r}, "
        "target='cpu -threads=1')",
        f"t = o.tune({DENSE!r}, trials=2, seconds=60, "
        "progress=lambda p: print(p.phase, p.trial))\nt",
        f"o.select({DENSE!r})", f"o.report({DENSE!r})"]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    old = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = ENV["PYTHONPATH"]
    try:
        nbclient.NotebookClient(book, timeout=240, kernel_name="python3").execute()
    finally:
        os.environ.pop("PYTHONPATH")
        if old is not None:
            os.environ["PYTHONPATH"] = old
    outputs = [cell["outputs"] for cell in book.cells]
    told = "".join(out["text"] for out in outputs[1] if out["output_type"] == "stream")
    assert "searching 1" in told and "done" in told
    shown = [out["data"] for cell in outputs for out in cell
             if out["output_type"] == "execute_result"]
    table = shown[0]["text/plain"].lstrip()
    assert table.startswith("workload ") and "dense" in table
    assert "tuned" in shown[1]["text/plain"] and "Selection(" not in shown[1]["text/plain"]
    assert shown[2]["text/html"].startswith("<iframe")
