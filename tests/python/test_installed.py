# SPDX-License-Identifier: Apache-2.0
"""The installed package, as a compiler's author meets it: examples/compiler_query.c by pkg-config and
by CMake, against a prefix, with nothing of this tree in sight."""

import os
import pathlib
import shutil
import subprocess

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
