# SPDX-License-Identifier: Apache-2.0
"""What programs that were built before rely on: exported symbols and where fields of public structs lie,
against the list tests/data/abi.txt. A function or a field that is added is added to the list:
python3 tests/python/test_abi.py > tests/data/abi.txt; what is gone or has moved breaks them."""

import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIST = ROOT / "tests" / "data" / "abi.txt"
HEADERS = ("types.h", "define.h", "optune.h", "graph.h")


def fields_of(body):
    """Names of what is declared at the outermost level of a struct's body."""
    for declared in re.split(r";(?![^{]*\})", re.sub(r"\b(enum)\s*\w*\s*\{[^{}]*\}", r"\1", body)):
        declared = declared.strip()
        if not declared:
            continue
        function = re.search(r"\(\s*\*\s*(\w+)\s*\)\s*\(", declared)
        if function:
            yield function.group(1)
            continue
        declared = re.sub(r"\{.*\}", "", declared, flags=re.S)
        for one in re.sub(r"\[[^\]]*\]|:\s*\d+", "", declared).split(","):
            name = re.search(r"(\w+)\s*$", one)
            if name and name.group(1) not in ("union", "struct"):
                yield name.group(1)


def layouts():
    """"struct NAME SIZE" and "field NAME.FIELD OFFSET", by the compiler."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "layout.c")
        includes = "".join(f"#include <optune/{name}>\n" for name in HEADERS)
        source.write_text(includes)
        text = subprocess.run(["cc", "-E", "-P", f"-I{ROOT / 'include'}", source], check=True,
                              stdout=subprocess.PIPE, universal_newlines=True).stdout
        lines = []
        for name, body in re.findall(
                r"typedef struct (optune_\w+)\s*\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}\s*\1\s*;",
                text):
            lines.append(f'printf("struct {name} %zu\\n", sizeof({name}));')
            lines += [f'printf("field {name}.{field} %zu\\n", offsetof({name}, {field}));'
                      for field in fields_of(body) if field]
        source.write_text(includes + "#include <stddef.h>\n#include <stdio.h>\nint main(void)\n{\n"
                          + "\n".join(lines) + "\nreturn 0;\n}\n")
        program = pathlib.Path(folder, "layout")
        subprocess.run(["cc", f"-I{ROOT / 'include'}", source, "-o", program], check=True)
        return subprocess.run([program], check=True, stdout=subprocess.PIPE,
                              universal_newlines=True).stdout.splitlines()


def symbols(library):
    told = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions", library],
                          check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout
    return sorted("symbol " + line.split()[-1] for line in told.splitlines()
                  if line.split()[-1].startswith("optune_"))


def library_path():
    return os.environ.get("OPTUNE_LIBRARY") or str(ROOT / "build" / "liboptune.so.0")


def test_what_programs_rely_on_is_there():
    import pytest
    if platform.machine() != "x86_64" or not shutil.which("nm") or not shutil.which("cc"):
        pytest.skip("the list is of x86-64, read by nm and cc")
    want = set(LIST.read_text().splitlines())
    have = set(symbols(library_path()) + layouts())
    assert not want - have, "gone or moved: programs built before break"
    assert not have - want, "new: add them to tests/data/abi.txt, see this file's head"


if __name__ == "__main__":
    sys.stdout.write("\n".join(symbols(library_path()) + layouts()) + "\n")
