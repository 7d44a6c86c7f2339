#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gpu_check.sh BUNDLE OUT [TARGET]: all that a machine with a GPU is asked, in one call of under nine
# minutes: the GPU tests, compute-sanitizer over small samples of every template where it is there, and
# the benches. Leaves at most 8 files in OUT. Needs nothing but the bundle, a driver and NVRTC (cc for
# the libraries that compete); changes no setting of the device. TARGET defaults to `cuda`.
set -uo pipefail

bundle=$(cd "${1:?usage: gpu_check.sh BUNDLE OUT [TARGET]}" && pwd)
mkdir -p "${2:?usage: gpu_check.sh BUNDLE OUT [TARGET]}"
out=$(cd "$2" && pwd)
target=${3:-cuda}
started=$(date +%s)
limit=${GPU_CHECK_SECONDS:-510}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME=$work OPTUNE_DB=$work/db OPTUNE_CACHE=$work/cache
export OPTUNE_WORKER=$bundle/lib/optune/optune-worker OPTUNE_TEST_PLUGIN=$bundle/tests/plugin_bad_gpu.so
optune=$bundle/bin/optune
left() { echo $((limit - ($(date +%s) - started))); }

# run FILE SECONDS COMMAND...: at most that long, and never past the whole; how it ended is the last line.
run() {
    local file=$out/$1 seconds=$2 status
    shift 2
    (($(left) < seconds)) && seconds=$(left)
    printf '\n$ %s\n' "$*" >>"$file"
    if ((seconds < 3)); then
        echo "[no time is left]" >>"$file"
        return 1
    fi
    timeout -k 5 "$seconds" "$@" >>"$file" 2>>"$work/progress"
    status=$?
    echo "[exit $status, $(left) s left]" >>"$file"
    return $status
}
tests() {
    local name=$1 seconds=$2
    shift 2
    LD_LIBRARY_PATH=$bundle/lib run tests.txt "$seconds" sh -c '"$@" 2>&1' "$name" \
        "$bundle/tests/$name" "$@"
}

rm -f "$out"/*.txt "$out"/records.log
{ date -u; uname -srm; } >"$out/device.txt"
command -v nvidia-smi >/dev/null && run device.txt 20 nvidia-smi
run device.txt 30 "$optune" devices

# ---- right ---------------------------------------------------------------------------------------
tests tuner_test_gpu 90
OPTUNE_TEST_CONFIGS=1 tests kernels_test_impl 120 "${target%% *}"
if command -v compute-sanitizer >/dev/null; then
    for tool in memcheck racecheck; do
        for case in "dense dense(f32[33,65],f32[17,65])" "dense dense(f64[9,24],f64[20,24],f64[20])" \
            "conv2d conv2d(f32[1,3,17,19],f32[8,3,3,3],padding=[1,1,1,1])" \
            "batch_matmul batch_matmul(f32[2,17,24],f32[2,19,24])"; do
            run sanitizer.txt 25 compute-sanitizer --tool "$tool" --target-processes all --error-exitcode 9 \
                "$optune" --target "$target" run "${case%% *}" "${case#* }" --trials 4 --time 15
        done
    done
else
    echo "no compute-sanitizer on PATH" >"$out/sanitizer.txt"
fi

# ---- fast ----------------------------------------------------------------------------------------
# Libraries are measured as baselines in every run: the column `library` is ours over theirs. Cold: the
# L2 is flushed before every run, as with inputs that rotate through more than it holds.
bench() {
    local file=$1 seconds=$2
    shift 2
    run "$file" $((seconds + 20)) "$optune" --target "$target" --policy cold run "$@" --time "$seconds"
}
bench dense.txt 50 dense 'dense(f32[2048,2048],f32[2048,2048])' 'dense(f32[4096,4096],f32[4096,4096])' --trials 40
bench dense.txt 25 dense --preset bert-base --trials 24
bench conv2d.txt 80 conv2d --preset resnet50 --trials 20
run trials.txt 45 "$optune" --target "$target" run --time 25 conv2d 'conv2d(f32[1,256,14,14],f32[256,256,3,3],padding=[1,1,1,1])' --trials 500
for op in softmax sum add cumsum topk; do
    "$optune" ops "$op" >/dev/null 2>&1 && bench bandwidth.txt 8 "$op" --trials 12
done
run device.txt 20 "$optune" export --output "$out/records.log"
echo "done in $(($(date +%s) - started)) s" | tee -a "$out/device.txt"
for file in tests sanitizer dense conv2d trials; do
    echo "== $file"
    grep -E '^\[exit|FAILED|PASSED|ERROR SUMMARY|geometric|GFLOP|trials' "$out/$file.txt" 2>/dev/null | tail -12
done
