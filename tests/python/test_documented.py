# SPDX-License-Identifier: Apache-2.0
"""Commands as README.md and docs/*.md write them: there is such a command, it has these options, and
what measures nothing and needs no file but those of the tree runs as it is written. The walkthrough has
a test of its own, which also measures."""

import os
import pathlib
import re
import shlex
import subprocess

import pytest

from conftest import ROOT

OPTUNE = pathlib.Path(os.environ.get("OPTUNE_LIBRARY", ROOT / "build" / "-")).parent / "optune"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# The others write files, measure, or ask the network; adding.md adds what it asks about, in its own test.
QUICK = {"ops", "impls", "targets", "devices", "searches", "select", "graph", "help", "completion"}
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```", re.S | re.M)


def commands():
    """(page, command): lines of blocks that are no code, and words between backticks."""
    found = {}
    for page in PAGES:
        text = page.read_text()
        lines = [line for kind, block in FENCE.findall(text) if kind in ("", "sh", "bash")
                 for line in block.splitlines()]
        spans = re.findall(r"`([^`\n]+)`", FENCE.sub("", text).replace(r"\|", "|"))
        for line in lines + spans:
            line = re.sub(r"^\$ |\s+#.*$", "", line.strip())
            for part in re.split(r" && |; ", line):
                part = re.sub(r"^([A-Z_]+=\S+ )+", "", part)
                if part.startswith("optune "):
                    # A table of commands has what they do behind two blanks.
                    found.setdefault(re.split(r"\s{2,}", part)[0], page.name)
    return sorted(found.items())


def words(command):
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def run(*argv):
    return subprocess.run([str(OPTUNE), *argv], capture_output=True, text=True, timeout=120, cwd=ROOT,
                          stdin=subprocess.DEVNULL, check=False)


@pytest.fixture(scope="module")
def helps():
    if not OPTUNE.exists():
        pytest.skip("the program is not built")
    known = {}

    def of(name):
        if name not in known:
            made = run("help", name)
            known[name] = made.stdout if made.returncode == 0 else None
        return known[name]
    return of


def test_there_are_such_commands_and_options(helps):
    wrong, n = [], 0
    for command, page in commands():
        argv = words(command)
        names = re.findall(r"[a-z]+", argv[1]) if re.fullmatch(r"[a-z|]+", argv[1]) else []
        if not names:
            continue
        if "--" in argv:
            argv = argv[:argv.index("--")]  # a program's own words stand behind it
        for name in names:
            n += 1
            text = helps(name)
            if text is None:
                wrong.append(f"{page}: `{command}`: no command '{name}'")
                continue
            for word in argv[2:]:
                for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", word.split("=")[0]):
                    if not re.search(rf"(?<![\w-]){option}(?![\w-])", text):
                        wrong.append(f"{page}: `{command}`: {name} has no {option}")
    assert n > 60
    assert not wrong, "\n".join(wrong)


def test_what_asks_runs_as_it_is_written(helps):
    wrong, n = [], 0
    for command, page in commands():
        argv = words(command)
        rest = " ".join(argv[1:])
        if page == "adding.md" or argv[1] not in QUICK or re.search(r"\b[A-Z]{2,}\b|\.onnx|\.so\b|…|\.\.\.|\||<", rest):
            continue  # a name that stands for another, or a file that is yours
        if "--batch" in argv or (argv[1] in ("select", "graph") and not re.search("[(/]", rest)):
            continue  # the name of a kind of command
        n += 1
        made = run(*argv[1:])
        if made.returncode != 0:
            wrong.append(f"{page}: `{command}`: {made.returncode}: {made.stderr.strip()[-300:]}")
    assert n > 20
    assert not wrong, "\n".join(wrong)
