# SPDX-License-Identifier: Apache-2.0
"""The package and the library fit each other: structs, versions, places."""

import ctypes
import os
import pathlib
import shutil
import subprocess
import sys

import optune
import pytest
from conftest import ROOT
from optune import _errors, _library


def compiler():
    found = shutil.which("cc")
    if not found:
        pytest.skip("no C compiler")
    return found


def test_structs_are_those_of_the_headers(tmp_path):
    lines = []
    for name, struct in _library.STRUCTS.items():
        lines.append(f'check("{name}", sizeof({name}), {ctypes.sizeof(struct)});')
        lines += [f'check("{name}.{field[0]}", offsetof({name}, {field[0]}), '
                  f'{getattr(struct, field[0]).offset});' for field in struct._fields_]
    lines += [f'check("OPTUNE status {kind.__name__}", -OPTUNE_OK - ({status}), {-status});'
              for status, kind in _errors._BY_STATUS.items()]
    source = tmp_path / "structs.c"
    source.write_text("""#include <optune/graph.h>
#include <optune/optune.h>
#include <stdio.h>
static int bad;
static void check(const char *what, long is, long want)
{
    if (is != want)
        bad = !!printf("%s is %ld, the package has %ld\\n", what, is, want);
}
int main(void)
{
#define COUNT(name, value, sentence) count++;
    int count = 0;
    OPTUNE_STATUS_MAP(COUNT)
    check("number of failures", count - 1, """ + str(len(_errors._BY_STATUS)) + ");\n    "
                      + "\n    ".join(lines) + "\n    return bad;\n}\n")
    program = tmp_path / "structs"
    subprocess.run([compiler(), f"-I{optune.get_include()}", "-o", program, source], check=True)
    done = subprocess.run([program], text=True, capture_output=True)
    assert done.returncode == 0, done.stdout


def run(code, **env):
    return subprocess.run([sys.executable, "-c", code], text=True, capture_output=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "python"), **env})


def test_libraries_that_are_none(tmp_path):
    (tmp_path / "text.so").write_text("no library")
    done = run("import optune", OPTUNE_LIBRARY=str(tmp_path / "text.so"))
    assert "OPTUNE_LIBRARY names" in done.stderr and "InputOutputError" in done.stderr
    for code, why in (("int nothing;", "is no liboptune"),
                      ('const char *optune_version(void) { return "9.1.0"; }',
                       "is optune 9.1.0, this package is"),
                      (f'const char *optune_version(void) {{ return "{optune.__version__}"; }}',
                       "has no function 'optune_open'")):
        source, library = tmp_path / "fake.c", tmp_path / "fake.so"
        source.write_text(code)
        subprocess.run([compiler(), "-shared", "-o", library, source], check=True)
        done = run("import optune", OPTUNE_LIBRARY=str(library))
        assert why in done.stderr and "VersionError" in done.stderr, done.stderr


@pytest.mark.parametrize("program, language, standards", [
    ("cc", "c", ("c99", "c11", "c17")), ("c++", "c++", ("c++11", "c++20"))])
def test_headers_are_strict(program, language, standards):
    if not shutil.which(program):
        pytest.skip(f"no {program}")
    for standard in standards:
        for header in ("types", "define", "optune", "graph"):
            done = subprocess.run(
                [program, "-x", language, f"-std={standard}", "-pedantic", "-Wall", "-Wextra",
                 "-Werror", f"-I{optune.get_include()}", "-fsyntax-only", "-"], text=True,
                input=f"#include <optune/{header}.h>\n", capture_output=True)
            assert done.returncode == 0, f"{header}.h in {standard}: {done.stderr}"


def test_annotated_and_documented():
    assert (pathlib.Path(optune.__file__).parent / "py.typed").exists()
    for name in optune.__all__:
        thing = getattr(optune, name)
        if callable(thing) and getattr(thing, "__module__", "").startswith("optune"):
            assert thing.__doc__, f"{name} has no docstring"
    for name, method in vars(optune.Optune).items():
        if callable(method) and not name.startswith("_") and name != "close":
            assert method.__doc__ and "return" in method.__annotations__, name


def test_mypy():
    pytest.importorskip("mypy")
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir=/dev/null",
                           "--exclude=(torch\\w*|tvm).py$", str(ROOT / "python" / "optune")],
                          text=True, capture_output=True)
    assert done.returncode == 0, done.stdout


def test_the_program_is_found():
    done = subprocess.run([sys.executable, "-m", "optune", "ops", "dense"], text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
                          capture_output=True)
    assert done.returncode == 0 and "dense" in done.stdout, done.stderr
