# SPDX-License-Identifier: Apache-2.0
"""The installed package, as a compiler's author meets it: examples/compiler_query.c by pkg-config and
by CMake, against a prefix, with nothing of this tree in sight; and as the author of a plugin does:
examples/plugin_outside, in a folder whose name has a blank."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT

CALL = "dense(f32[16,32], f32[8,32])"
LISTS = """cmake_minimum_required(VERSION 3.16)
project(compiler C)
find_package(optune REQUIRED)
add_executable(compiler_query compiler_query.c)
target_link_libraries(compiler_query optune::optune)
"""


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    library = os.environ.get("OPTUNE_LIBRARY")
    build = pathlib.Path(library).parent if library else ROOT / "build"
    if not shutil.which("cmake") or not (build / "cmake_install.cmake").exists():
        pytest.skip("no cmake, or no build to install from")
    where = tmp_path_factory.mktemp("installed")
    done = subprocess.run(["cmake", "--install", build, "--prefix", where / "prefix"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          universal_newlines=True)
    assert done.returncode == 0, done.stdout
    return where / "prefix"


def told(program, prefix, db):
    libraries = next(prefix.glob("lib*/**/liboptune.so.0")).parent
    env = {**os.environ, "OPTUNE_DB": str(db), "LD_LIBRARY_PATH": str(libraries)}
    env.pop("OPTUNE_LIBRARY", None)
    done = subprocess.run([program, CALL, "dense(f32["], env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True)
    assert done.returncode == 1 and "dense(f32[" in done.stderr  # the second has no end
    return done.stdout


def asked(program, prefix, tmp_path):
    import optune
    db = tmp_path / "compiler-db"
    assert "not measured here: dense" in told(program, prefix, db)
    with optune.open(db=db) as o:
        o.tune(CALL, trials=2, seconds=30)
        assert f"measured: {o.query(CALL).impl}, " in told(program, prefix, db)


def test_by_pkg_config(prefix, tmp_path):
    if not shutil.which("pkg-config"):
        pytest.skip("no pkg-config")
    folder = next(prefix.glob("lib*/**/optune.pc")).parent
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "optune"], check=True,
                           env={**os.environ, "PKG_CONFIG_LIBDIR": str(folder)},
                           stdout=subprocess.PIPE, universal_newlines=True).stdout.split()
    program = tmp_path / "compiler_query"
    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", ROOT / "examples" / "compiler_query.c",
                    *flags, "-o", program], check=True)
    asked(program, prefix, tmp_path)


def test_by_cmake(prefix, tmp_path):
    shutil.copy(ROOT / "examples" / "compiler_query.c", tmp_path)
    (tmp_path / "CMakeLists.txt").write_text(LISTS)
    made = tmp_path / "made"
    for command in (["cmake", "-S", tmp_path, "-B", made, f"-DCMAKE_PREFIX_PATH={prefix}"],
                    ["cmake", "--build", made]):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              universal_newlines=True)
        assert done.returncode == 0, done.stdout
    asked(made / "compiler_query", prefix, tmp_path)


# ---- a plugin far from the tree -----------------------------------------------------------------

CALL_OF_PLUGIN = "unit_rows(f32[6,67]) -> multiply(f32[67]) -> relu()"
PLUGIN_LISTS = """cmake_minimum_required(VERSION 3.16)
project(outside C)
find_package(optune REQUIRED)
add_library(outside MODULE outside.c)
target_include_directories(outside PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(outside PRIVATE optune::plugin)
set_target_properties(outside PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_SOURCE_DIR})
"""


@pytest.fixture(scope="module")
def outside(prefix, tmp_path_factory):
    if not shutil.which("pkg-config"):
        pytest.skip("no pkg-config")
    far = tmp_path_factory.mktemp("far") / "far away"
    shutil.copytree(ROOT / "examples" / "plugin_outside", far)
    folder = next(prefix.glob("lib*/**/optune-plugin.pc")).parent
    env = {**os.environ, "PKG_CONFIG_LIBDIR": str(folder)}
    flags = [subprocess.run(["pkg-config", word, "optune-plugin"], check=True, env=env,
                            stdout=subprocess.PIPE, universal_newlines=True).stdout.split()
             for word in ("--cflags", "--libs")]
    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", *flags[0], "-I", ".",
                    "-o", "outside.so", "outside.c", *flags[1]], cwd=far, check=True)
    return far


def program(prefix, outside, db, *words):
    env = {**os.environ, "OPTUNE_DB": str(db)}
    env.pop("OPTUNE_LIBRARY", None)
    env.pop("OPTUNE_WORKER", None)
    done = subprocess.run([prefix / "bin" / "optune", *words, "--plugin", "./outside.so"],
                          cwd=outside, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_plugin_is_built_and_tuned(prefix, outside, tmp_path):
    db = tmp_path / "db"
    said = json.loads(program(prefix, outside, db, "run", "unit_rows", CALL_OF_PLUGIN, "--trials", "2",
                              "--time", "30", "--threads", "1", "--json"))
    assert said["new_trials"] > 0 and not said["failures"]
    assert "unit_rows.cpu" in program(prefix, outside, db, "query", CALL_OF_PLUGIN, "--threads", "1")
    said = program(prefix, outside, db, "select", "avg_pool2d(f32[1,8,30,45], pool_size=[3,3])",
                   "--explain")
    assert "avg_pool2d_narrow.cpu  by plevel" in said
    assert "strategy of family pool for 'cpu', plugin 'outside'" in said
    said = program(prefix, outside, db, "select", "unit_rows(f16[?n:1..5,33])")
    assert "unit_rows.cpu" in said  # in float32, between two that convert
    said = program(prefix, outside, db, "select", "unit_rows(f16[5,?n:1..33])")
    assert "unit_rows_loops.generic" in said


def test_what_it_emits_needs_nothing_of_ours(prefix, outside, tmp_path):
    out = tmp_path / "emitted"
    program(prefix, outside, tmp_path / "db", "emit", CALL_OF_PLUGIN, "-o", str(out))
    sources = list(out.glob("*.c"))
    assert sources and not any('"kernels/' in source.read_text() for source in sources)
    subprocess.run(["cc", "-O1", "-fopenmp", "-c", *sources], cwd=out, check=True)


def test_a_plugin_by_cmake_from_python(prefix, tmp_path):
    numpy = pytest.importorskip("numpy")
    here = tmp_path / "a b"
    shutil.copytree(ROOT / "examples" / "plugin_outside", here)
    (here / "CMakeLists.txt").write_text(PLUGIN_LISTS)
    for command in (["cmake", "-S", here, "-B", here / "made", f"-DCMAKE_PREFIX_PATH={prefix}"],
                    ["cmake", "--build", here / "made"]):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              universal_newlines=True)
        assert done.returncode == 0, done.stdout
    asks = here / "asks.py"
    asks.write_text(PYTHON)
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python"),
           "OPTUNE_LIBRARY": str(next(prefix.glob("lib*/**/liboptune.so.0")))}
    env.pop("OPTUNE_WORKER", None)
    done = subprocess.run([sys.executable, asks, CALL_OF_PLUGIN, tmp_path / "db"], cwd=here, env=env,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    assert done.returncode == 0, done.stdout
    assert numpy and "unit_rows.cpu" in done.stdout


PYTHON = """
import sys
import numpy
import optune
call, db = sys.argv[1:]
with optune.open(db=db, target="cpu -threads=1", plugins=["outside.so"]) as o:
    o.tune(call, trials=2, seconds=30)
    print(o.query(call).impl)
    random = numpy.random.default_rng(1)
    x = random.standard_normal((6, 67), numpy.float32)
    by = random.standard_normal(67, numpy.float32)
    right = numpy.maximum(x / abs(x).sum(1, keepdims=True) * by, 0)
    assert abs(o.function(call)(x, by) - right).max() < 1e-6
"""
