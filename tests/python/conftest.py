# SPDX-License-Identifier: Apache-2.0
"""Every test has a database and a cache of its own, and asks the library of this build."""

import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
DENSE = "dense(f32[16,32], f32[8,32])"


@pytest.fixture(scope="session", autouse=True)
def places(tmp_path_factory):
    here = tmp_path_factory.mktemp("optune")
    os.environ["OPTUNE_DB"] = str(here / "db")
    os.environ["OPTUNE_CACHE"] = str(here / "cache")
    return here


@pytest.fixture
def o(tmp_path):
    import optune
    with optune.open(db=tmp_path / "db", target="cpu -threads=1") as handle:
        yield handle


@pytest.fixture
def dense():
    numpy = pytest.importorskip("numpy")
    random = numpy.random.default_rng(1)
    x = random.standard_normal((16, 32), numpy.float32)
    w = random.standard_normal((8, 32), numpy.float32)
    return x, w, x @ w.T
