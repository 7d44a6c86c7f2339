#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Power cuts. Commands that write to a database run with journal.c preloaded, which notes what they ask
of the disk. Of every moment of that, a state is made that the disk may be in when the power fails
there: what was waited for is there; of the rest, bytes are there, or not, or in part, whatever the order,
and so is every name that was made, moved or taken away since its folder was waited for, in the order
of the deeds. Then the database is opened again as anybody would, and must

  - be sound (`db check`),
  - have every record that a command had reported as stored, and have it once more when it is rebuilt from
    its logs,
  - have no record that was never given to it.

    power_cut.py --optune build/optune --shim build/tests/libot_power.so [--cuts N] [--seed S]

The last line is `N cuts, 0 failed`."""

import argparse
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

HEAD = struct.Struct("=cIIIQ")
VOLATILE = ("lock.mdb", "write.lock")  # mean nothing behind a restart


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--optune", required=True)
    p.add_argument("--shim", required=True)
    p.add_argument("--cuts", type=int, default=40, help="states that are looked at; default: 40")
    p.add_argument("--seed", type=int, default=int(os.environ.get("OPTUNE_TEST_SEED", "1")))
    p.add_argument("--large", type=int, default=0,
                   help="records of an import in front of all and of one behind; "
                        "from 16384 on they are stored together")
    p.add_argument("--keep", help="a folder for what failed")
    return p.parse_args()


# ---- what is written ------------------------------------------------------------------------

def line(i):
    """A record as optune logs it: a made-up product on a made-up device."""
    cost = 1e-6 * (1 + i)
    ours = {"v": 1, "call": f"dense(f32[{1 + i % 3},64], const f32[32,64])", "op": "dense",
            "target": "cpu -threads=1", "device": "cpu-made-up", "policy": "warm", "impl": "dense_pack.x86",
            "digest": "00112233445566778899aabbccddeeff", "depends": {"compiler": f"gcc {i % 4}"},
            "outcome": "ok", "cost": cost, "low": cost, "high": cost, "inner": 1000, "error": 0.125,
            "seed": "0", "final": False, "tool": "optune 0"}
    record = {"input": ["llvm", "dense_pack.x86", [], {}],
              "config": {"index": i, "code_hash": None, "entity": [["k", "ot", i]]},
              "result": [[cost], 0, 0.5, 1.7e9 + i], "version": 0.2, "tvm_version": "optune 0", "optune": ours}
    return json.dumps(record, separators=(",", ":"))


def key(text):
    """What tells a record from all others here."""
    return json.loads(text)["config"]["entity"][0][2]


class Work:
    """Runs commands under the shim; knows what each had reported as stored, and when."""

    def __init__(self, a, folder):
        self.a, self.folder = a, folder
        self.root, self.journal = folder / "disk", folder / "journal"
        self.root.mkdir()
        self.acks = []  # (length of the journal, records that are stored by then)
        self.stored, self.given, self.next = set(), set(), 0
        self.env = dict(os.environ, XDG_CACHE_HOME=str(folder / "cache"))
        self.env.pop("OPTUNE_DB", None)

    def run(self, *words, db=None, shim=False, expect=0):
        env = dict(self.env, OPTUNE_DB=str(db or self.root / "db"))
        if shim:
            env |= {"LD_PRELOAD": self.a.shim, "OPTUNE_POWER_ROOT": str(self.root),
                    "OPTUNE_POWER_JOURNAL": str(self.journal)}
        done = subprocess.run([self.a.optune, *words], env=env, capture_output=True, text=True, timeout=120)
        if expect is not None and done.returncode != expect:
            raise RuntimeError(f"optune {' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def import_some(self, n):
        log = self.folder / f"in{self.next}.log"
        new = range(self.next, self.next + n)
        self.next += n
        log.write_text("".join(line(i) + "\n" for i in new))
        self.given |= set(new)
        self.run("import", str(log), shim=True)
        self.stored |= set(new)
        self.ack()

    def ack(self):
        self.acks.append((self.journal.stat().st_size, frozenset(self.stored)))

    def all(self):
        if self.a.large:
            self.import_some(self.a.large)
        self.import_some(3)
        self.import_some(40)
        self.run("db", "compact", shim=True)
        self.import_some(5)
        self.run("db", "rebuild", shim=True)
        self.import_some(7)
        self.run("db", "prune", "--history", "1", shim=True)
        self.import_some(2)
        if self.a.large:
            self.import_some(self.a.large)


# ---- what a disk makes of it ------------------------------------------------------------------

class File:
    def __init__(self):
        self.safe, self.waiting = bytearray(), []  # waiting: (offset, bytes), or (length, None)

    def wait(self):
        for change in self.waiting:
            apply(self.safe, change, None)
        self.waiting = []

    def after_cut(self, rng):
        left = bytearray(self.safe)
        luck = rng.choice((0.0, 0.5, 1.0))
        for change in self.waiting:
            if rng.random() < luck:
                apply(left, change, rng)
        return bytes(left)


def apply(to, change, rng):
    at, data = change
    if data is None:
        to[:] = to[:at] + bytes(max(0, at - len(to)))
        return
    if rng and rng.random() < 0.2:  # torn
        data = data[:rng.randrange(0, len(data) + 1, 512) if len(data) > 512 else len(data)]
    if len(to) < at:
        to.extend(bytes(at - len(to)))
    to[at:at + len(data)] = data


class Disk:
    """Names as they are, what each means, and what a cut may still undo."""

    def __init__(self):
        self.names = {"": None}  # path -> File, or None: a folder
        self.safe = {"": None}
        self.deeds = []  # that are not safe: (folders, function on names)

    def do(self, folders, deed):
        deed(self.names)
        self.deeds.append((set(folders), deed))

    def wait_for_folder(self, path):
        left = []
        for folders, deed in self.deeds:
            if path in folders:  # of two folders it is one deed
                deed_safely(self.safe, deed)
            else:
                left.append((folders, deed))
        self.deeds = left

    def play(self, kind, path, other, offset, data):
        if os.path.basename(path) in VOLATILE:
            return
        folder = os.path.dirname(path)
        if kind == "c":
            made = File()
            self.do([folder], lambda names: names.__setitem__(path, made))
        elif kind == "m":
            self.do([folder], lambda names: names.__setitem__(path, None))
        elif kind == "u":
            self.do([folder], lambda names: take_away(names, path))
        elif kind in "rxl":
            self.do([folder, os.path.dirname(other)], lambda names: move(names, kind, path, other))
        elif kind == "d":
            self.wait_for_folder(path)
        elif self.names.get(path) is not None:
            file = self.names[path]
            if kind == "w":
                file.waiting.append((offset, data))
            elif kind == "t":
                file.waiting.append((offset, None))
            elif kind == "s":
                file.wait()

    def after_cut(self, rng):
        names = dict(self.safe)
        for _, deed in self.deeds[:rng.randrange(len(self.deeds) + 1)]:
            deed_safely(names, deed)
        return {path: file and file.after_cut(rng) for path, file in names.items()}


def deed_safely(names, deed):
    try:
        deed(names)
    except KeyError:
        pass  # of a name that was never safe


def take_away(names, path):
    del names[path]


def move(names, kind, path, other):
    def under(top):
        return {p: f for p, f in names.items() if p == top or p.startswith(top + "/")}
    one, two = under(path), under(other)
    if not one:
        raise KeyError(path)
    if kind == "l":
        names[other] = names[path]
        return
    for p in list(one) + list(two):
        del names[p]
    names.update({other + p[len(path):]: f for p, f in one.items()})
    if kind == "x":
        names.update({path + p[len(other):]: f for p, f in two.items()})


def deeds_of(journal):
    at = 0
    while at < len(journal):
        kind, n, m, size, offset = HEAD.unpack_from(journal, at)
        at += HEAD.size
        path, other = journal[at:at + n].decode(), journal[at + n:at + n + m].decode()
        at += n + m
        data = journal[at:at + size]
        at += size
        yield at, (kind.decode(), path, other, offset, data)


# ---- looking ----------------------------------------------------------------------------------

def lay_out(state, folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for path in sorted(state):
        to = folder / path
        if not to.parent.is_dir():
            continue  # its folder was lost
        if state[path] is None:
            to.mkdir(exist_ok=True)
        else:
            to.write_bytes(state[path])


def difference(work, folder, stored, extra):
    db, out = folder / "db", folder / "out.log"
    check = work.run("db", "check", db=db, expect=None)
    if check.returncode:
        return f"is not sound: {check.stdout}{check.stderr}"
    work.run("export", "-o", str(out), db=db)
    there = {key(text) for text in out.read_text().splitlines() if text and not text.startswith("#")}
    out.unlink()
    if stored - there:
        return f"lost {sorted(stored - there)}"
    if there - work.given - {extra}:
        return f"was never given {sorted(there - work.given - {extra})}"
    return None


def complaint(work, folder, stored):
    db, extra, number = folder / "db", folder / "extra.log", 10**6
    extra.write_text(line(number) + "\n")
    first = work.run("import", str(extra), db=db, expect=None)
    if first.returncode:
        return f"it cannot be written to: {first.stderr.strip()}"
    what = difference(work, folder, stored, number)
    if what:
        return f"the store {what}"
    work.run("db", "rebuild", db=db)
    what = difference(work, folder, stored, number)
    return what and f"the logs: rebuilt, the store {what}"


def main():
    a = parse()
    rng = random.Random(a.seed)
    folder = Path(tempfile.mkdtemp(prefix="optune-power-")).resolve()
    failed = 0
    try:
        work = Work(a, folder)
        work.all()
        journal = work.journal.read_bytes()
        moments = [at for at, _ in deeds_of(journal)]
        cuts = sorted(rng.choices(range(len(moments)), k=a.cuts))
        print(f"seed {a.seed}: {len(moments)} deeds, {len(journal)} bytes, {len(work.given)} records")
        disk = Disk()
        for i, (at, deed) in enumerate(deeds_of(journal)):
            disk.play(*deed)
            while cuts and cuts[0] == i:
                cuts.pop(0)
                stored = next((s for size, s in reversed(work.acks) if size <= at), frozenset())
                lay_out(disk.after_cut(rng), folder / "cut")
                what = complaint(work, folder / "cut", stored)
                if what:
                    failed += 1
                    print(f"cut behind deed {i} ({deed[0]} {deed[1]}): {what}", file=sys.stderr)
                    if a.keep:
                        shutil.copytree(folder / "cut", Path(a.keep) / f"cut{i}", dirs_exist_ok=True)
        print(f"{a.cuts} cuts, {failed} failed")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if failed else 0)


main()
