# SPDX-License-Identifier: Apache-2.0
"""bench/torch_peers over a stand-in for PyTorch (torch_stand_in.py): which ways are measured and
which are left out, what their times hold, and the ratios to what an `optune` says. No time decides
here but the stand-in's own, which counts work."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

import torch_stand_in

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench" / "torch_peers"
OURS = """#!/bin/sh
echo "$*" >>"$(dirname "$0")/asked"
case "$*" in
"ops conv2d") echo "conv2d: what it is"; echo "  presets:"
    echo "    other (default): all others"
    echo "      conv2d(f32[1,2,3,3], f32[2,2,1,1])  1 FLOP, 2 B"
    echo "    two: two of them"; echo "      conv2d(f32[1,2,4,4], f32[2,2,1,1])  1 FLOP, 2 B"
    echo "      conv2d(f32[1,2,5,5], f32[2,2,3,3], padding=[1,1,1,1])  1 FLOP, 2 B"
    echo "  samples:"; echo "    conv2d(f32[1,2,6,6], f32[2,2,1,1])" ;;
*softmax*) echo "optune: softmax: it cannot" >&2; exit 1 ;;
*) one='"config": [], "low": 1e-6, "high": 3e-6, "samples": 9, "final": true'
    echo "{\\"workloads\\": [{\\"winner\\": {\\"impl\\": \\"a\\", \\"cost\\": 2e-6, $one},"
    echo "\\"library\\": {\\"impl\\": \\"b\\", \\"cost\\": 0.5e-6, $one}}]}" ;;
esac
"""


@pytest.fixture
def bench(tmp_path):
    torch_stand_in.write(tmp_path)
    program = tmp_path / "optune"
    program.write_text(OURS)
    program.chmod(0o755)

    def run(*words, torch="yes", how=""):
        environment = dict(os.environ, TORCH_STAND_IN=how, PYTHONPATH=str(tmp_path))
        if torch != "yes":
            environment["PYTHONPATH"] = str(tmp_path / "nothing")
        return subprocess.run(
            [sys.executable, "-S" if torch != "yes" else "-s", str(BENCH), "--seconds", "0.01",
             *words], env=environment, capture_output=True, text=True)
    run.folder, run.optune = tmp_path, ("--optune", str(program))
    return run


def rows(ended):
    assert ended.returncode == 0, ended.stderr
    first, *others = map(json.loads, ended.stdout.splitlines())
    assert first["device"] == "stand-in"
    return others


def costs(row):
    return {way["name"]: round(way["cost"] * 1e6, 6) for way in row["ways"]}


def test_warm_and_cold(bench):
    call = "dense(f32[8,16], const f32[4,16])"
    warm, = rows(bench("--no-ours", "--json", call))
    cold, = rows(bench("--no-ours", "--json", "--policy", "cold", call))
    assert costs(warm) == {"cublas": 1, "cublaslt": 2}
    assert costs(cold) == {"cublas": 2, "cublaslt": 3}  # flushed before each run
    assert warm["call"] == call and warm["winner"] is None and warm["over_winner"] is None
    for way in warm["ways"] + cold["ways"]:
        assert way["low"] == way["cost"] == way["high"] and way["samples"] >= 12
        assert 0 <= way["error"] < 1e-6 and way["drift"] == 0


def test_ways(bench):
    ended = bench("--no-ours", "--json",
                  "conv2d(f32[1,4,7,7], f32[3,4,3,3], padding=[1,1,1,1], strides=[2,2])",
                  "attention(f16[1,4,5,16], f16[1,2,9,16], f16[1,2,9,16], causal=true)",
                  "attention(f32[2,4,9,16], f32[2,4,9,16], f32[2,4,9,16], bool[2,1,1,9], "
                  "causal=true)", "softmax(f32[8,9], axis=-1)", "sum(f32[8,9], axis=[1])")
    conv, decode, masked, softmax, total = rows(ended)
    assert costs(conv) == {"cudnn NCHW": 1, "cudnn NHWC": 3}
    assert costs(decode) == {"cudnn": 1, "efficient": 1, "fused, causal bias": 1, "plain": 6,
                             "cudnn, keys repeated": 1, "efficient, keys repeated": 1}
    assert costs(masked) == {"efficient": 1, "plain": 6}
    assert costs(softmax) == costs(total) == {"torch": 1}
    assert "flash left out: No available kernel" in ended.stderr


def test_rounding_is_left_out(bench):
    ended = bench("--no-ours", "--json", "dense(f32[8,64], f32[8,64])", how="tf32")
    assert rows(ended) == []
    assert "cublas left out: its largest error is" in ended.stderr
    allowed, = rows(bench("--no-ours", "--json", "dense(f32[8,64], f32[8,64], math=tf32)",
                          how="tf32"))
    assert set(costs(allowed)) == {"cublas", "cublaslt"}


def test_beside_ours(bench):
    ended = bench(*bench.optune, "--json", "--policy", "cold", "--db", "here", "--trials", "7",
                  "relu(f32[64])", "softmax(f32[8,9], axis=-1)")
    relu, softmax = rows(ended)
    assert relu["winner"]["impl"] == "a" and relu["library"]["impl"] == "b"
    assert relu["over_winner"] == pytest.approx(1) and relu["over_library"] == pytest.approx(4)
    assert softmax["winner"] is None and costs(softmax) == {"torch": 2}
    assert "softmax: it cannot" in ended.stderr
    asked = (bench.folder / "asked").read_text().splitlines()
    assert asked[0] == ("--target cuda --policy cold run --trials 7 --time 30 --json --db here "
                        "relu(f32[64])")
    table = bench(*bench.optune, "relu(f32[64])").stdout.splitlines()
    assert table[0].startswith("device stand-in, torch stand-in")
    assert table[1] == "relu(f32[64])"
    assert [line.split()[:3] for line in table[2:5]] == [
        ["torch", "1.00", "us"], ["optune:", "a", "2.00"], ["optune:", "b", "0.50"]]
    assert "0.500x" in table[3] and "2.000x" in table[4]
    assert table[5].startswith("geomean 0.500 of 1")


def test_preset(bench):
    two = rows(bench(*bench.optune, "--no-ours", "--json", "--preset", "conv2d:two"))
    assert [row["call"] for row in two] == [
        "conv2d(f32[1,2,4,4], f32[2,2,1,1])",
        "conv2d(f32[1,2,5,5], f32[2,2,3,3], padding=[1,1,1,1])"]
    default, = rows(bench(*bench.optune, "--no-ours", "--json", "--preset", "conv2d"))
    assert default["call"] == "conv2d(f32[1,2,3,3], f32[2,2,1,1])"


@pytest.mark.parametrize("words, told", [
    ([], "name a workload"),
    (["pool(f32[1])"], "'pool' is not known here"),
    (["relu f32[1]"], "is no workload of one operator"),
    (["relu(x)"], "'x' in 'relu(x)' is neither a tensor nor name=value"),
    (["relu(f3[4])"], "has none of the types"),
    (["--optune", "/no/such", "--preset", "conv2d:two"], "No such file"),
])
def test_mistakes(bench, words, told):
    ended = bench("--no-ours", *words)
    assert ended.returncode == 2 and told in ended.stderr


def test_without_torch(bench):
    ended = bench("--no-ours", "relu(f32[1])", torch="no")
    assert ended.returncode == 77 and "no PyTorch" in ended.stderr
