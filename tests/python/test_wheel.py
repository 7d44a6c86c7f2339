# SPDX-License-Identifier: Apache-2.0
"""The wheel, as a stranger meets it: a fresh environment without numpy, another working directory,
nothing of this tree in sight."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import venv
import zipfile

import optune
import pytest
from conftest import ROOT

STRANGER = """
import array, os, pathlib, optune
assert "_native" in optune.library_path, optune.library_path
assert pathlib.Path(optune.get_include(), "optune", "optune.h").exists()
W = "dense(f32[16,32], f32[8,32])"
assert optune.select(W).tier == "plevel"
t = optune.tune(W, trials=2, seconds=30)
assert t.workloads[0].winner and optune.select(W).tier == "tuned"
w = memoryview(array.array("f", [1] * 8 * 32)).cast("B").cast("f", (8, 32))
x = memoryview(array.array("f", range(16 * 32))).cast("B").cast("f", (16, 32))
with optune.function(W, [w]) as f:
    y = f(x)
for row in range(16):
    assert y[row, 3] == sum(range(32 * row, 32 * row + 32))
print("fine", f"{t.seconds:.0f} s")
"""


def build_dir():
    library = os.environ.get("OPTUNE_LIBRARY")
    return pathlib.Path(library).parent if library else ROOT / "build"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    out = tmp_path_factory.mktemp("wheel")
    done = subprocess.run([ROOT / "scripts" / "wheel", out, build_dir()], text=True,
                          capture_output=True)
    if done.returncode and "no Python package 'wheel'" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return pathlib.Path(done.stdout.strip().splitlines()[-1])


def test_what_is_inside(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    for name in ("optune/py.typed", "optune/_native/lib/liboptune.so.0",
                 "optune/_native/lib/optune/optune-worker", "optune/_native/bin/optune",
                 "optune/_native/include/optune/graph.h"):
        assert name in names
    for path in names:  # whoever wrote what is inside is named
        name = path.rpartition("/")[2]
        if path.startswith("optune/_native/lib/") and (".so" in name or name == "chart.min.js") \
                and not name.startswith(("liboptune", "_call.")) and shutil.which("dpkg-query"):
            assert f"optune-{optune.__version__}.dist-info/licenses/{name}.copyright" in names
    assert not any("__pycache__" in name or "libz.so" in name for name in names)
    assert wheel.stat().st_size < 30e6


def test_a_fresh_environment(wheel, tmp_path):
    try:
        venv.create(tmp_path / "env", with_pip=True)
    except subprocess.CalledProcessError:
        pytest.skip("no virtual environments here: apt-get install python3-venv")
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("OPTUNE_", "PYTHON"))}
    env["HOME"] = str(tmp_path)
    python = tmp_path / "env" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "-q", "install", "--no-index", "--no-deps", wheel],
                   check=True, env=env)
    done = subprocess.run([python, "-c", STRANGER], cwd=tmp_path, env=env, text=True,
                          capture_output=True)
    assert done.returncode == 0 and done.stdout.startswith("fine"), done.stderr
    done = subprocess.run([tmp_path / "env" / "bin" / "optune", "query",
                           "dense(f32[16,32], f32[8,32])"], cwd="/", env=env, text=True,
                          capture_output=True)
    assert done.returncode == 0 and "us" in done.stdout, done.stderr


def pythons():
    """Every Python of this machine that can take the wheel, one of a version."""
    found = {}
    places = [os.path.dirname(sys.executable), *os.environ.get("PATH", "").split(os.pathsep),
              *map(str, sorted(pathlib.Path("~/.pyenv/versions").expanduser().glob("3.*/bin")))]
    for place in places:
        for program in sorted(pathlib.Path(place).glob("python3.*")):
            if program.name[8:].replace("t", "").isdigit() and os.access(program, os.X_OK):
                told = subprocess.run(
                    [program, "-c", "import sys; print(sys.version_info >= (3, 8), "
                     "*sys.version_info[:3], *sys.abiflags)"],
                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, universal_newlines=True)
                if told.returncode == 0 and told.stdout.startswith("True "):
                    found.setdefault(told.stdout, str(program))
    return list(found.values())


EVERY = """
import array, json, sys, optune
from optune import _caller
W = "dense(f32[16,32], f32[8,32])"
with optune.open(target="cpu -threads=1") as o:
    w = memoryview(array.array("f", [1] * 8 * 32)).cast("B").cast("f", (8, 32))
    x = memoryview(array.array("f", range(16 * 32))).cast("B").cast("f", (16, 32))
    with o.function(W, [w]) as f:
        y = f(x)
        step = f.bind(x, out=y)
        assert step() is y
assert all(y[row, 3] == sum(range(32 * row, 32 * row + 32)) for row in range(16))
free = bool(getattr(sys, "_is_gil_enabled", None) and not sys._is_gil_enabled())
print(json.dumps([list(sys.version_info[:2]), free, _caller.usable()]))
"""


def test_every_python_here(wheel, tmp_path):
    """One wheel for all: imported, computed with, and its part in C loaded by each of CPython."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "wheel")
    for name in ("optune-worker", "optune"):
        for program in (tmp_path / "wheel").rglob(name):
            if program.is_file():
                program.chmod(0o755)
    in_c = (tmp_path / "wheel/optune/_native/lib/optune/_call.abi3.so").exists()
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("OPTUNE_", "PYTHON"))}
    env.update(HOME=str(tmp_path), PYTHONPATH=str(tmp_path / "wheel"), PYTHONDONTWRITEBYTECODE="1")
    told = []
    for python in pythons():
        done = subprocess.run([python, "-c", EVERY], cwd=str(tmp_path), env=env, text=True,
                              capture_output=True)
        assert done.returncode == 0, (python, done.stderr)
        version, free, usable = json.loads(done.stdout)
        assert usable == (in_c and not free), (python, done.stdout)
        told.append(version)
    assert list(sys.version_info[:2]) in told


def test_a_first_result_is_timed(wheel):
    done = subprocess.run(
        [sys.executable, ROOT / "bench" / "first_result", "--wheel", wheel, "--workload",
         "dense(f32[16,32], f32[8,32])", "--trials", "1", "--json"], text=True, capture_output=True)
    if done.returncode and "environment ends" in done.stderr:
        pytest.skip("no virtual environments here: apt-get install python3-venv")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    turn, = told["turns"]
    assert told["bytes"] == wheel.stat().st_size and turn["trials"] >= 1 and turn["cost"] > 0
    assert 0 < turn["first"] < turn["steps"]["tune"][0]
    for k in (0, 1):
        assert turn["steps"]["all but the environment"][k] == pytest.approx(
            sum(turn["steps"][name][k] for name in ("pip install", "first import", "tune")))
