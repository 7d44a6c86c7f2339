#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# scripts/check_gpu_parts.sh ROOT: whether scripts/gpu_check.sh keeps its parts apart: over a bundle
# of programs that only say what they were asked, a part that never ends is cut off by its own time
# and the next one runs, a second call adds to what the first one found and reads its records, and
# a name that is no part's is refused.
set -eu

root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bundle/bin" "$work/bundle/lib/optune" "$work/bundle/tests"
fail() {
    echo "check_gpu_parts: $*" >&2
    cat "$work"/out/*.txt >&2 2>/dev/null || true
    exit 1
}
cat >"$work/bundle/bin/optune" <<END
#!/bin/sh
echo "optune \$*"
mkdir -p "\$OPTUNE_DB"
case "\$*" in
    devices) test -z "\$NO_DEVICE" || echo "no cuda device: it is switched off" ;;
    import*) echo "read \$2" >>"$work/imports" ;;
    impls*) printf '%s_one.gpu\n  gpu, plevel 10\n%s_two.gpu\n  gpu, plevel 9\n' \$2 \$2 ;;
    *" --log "*)
        log=\${*##* --log } log=\${log%% *}
        echo '{"impl":"softmax_one.gpu","outcome":"ok"}' >>"\$log"
        test -z "\$SANITIZED" || exit 0
        case "\$*" in
            *"run dense_nbits"*) ;;
            *"run dense"*) exec sleep 1000 ;;
        esac ;;
esac
END
printf '#!/bin/sh\n' >"$work/bundle/lib/optune/optune-worker"
mkdir "$work/tools"
cat >"$work/tools/compute-sanitizer" <<'END'
#!/bin/sh
# Every option has a value.
while test "${1#--}" != "$1"; do
    test "$1" != --log-file || echo '========= ERROR SUMMARY: 0 errors' >"$2"
    shift 2
done
SANITIZED=1 exec "$@"
END
chmod +x "$work/tools/compute-sanitizer"
PATH=$work/tools:$PATH
for test in tuner_test_gpu kernels_test_impl kernels_test_symbolic kernels_test_product_tiles \
    kernels_test_wgmma_tile kernels_test_conv2d_wgmma kernels_test_attention_wgmma; do
    printf '#!/bin/sh\necho "[  PASSED  ] %s ${OPTUNE_TEST_PART:-whole}"\n' $test \
        >"$work/bundle/tests/$test"
done
cat >>"$work/bundle/tests/kernels_test_impl" <<'END'
case "$OPTUNE_TEST_IMPL" in
    dense_mma.cuda) exec sleep 1000 ;;
    dense_ring.cuda) exit 1 ;;
    attention_mma.cuda) echo "    run timeout: ended after 8 s" && exit 1 ;;
    dense_skinny.gpu) exit 0 ;;
esac
echo "3 checked, 0 skipped (no library), 0 failed on cuda"
echo "without: $OPTUNE_TEST_WITHOUT"
END
chmod -R +x "$work/bundle"
check() {
    GPU_CHECK_SECONDS=$1 bash "$root/scripts/gpu_check.sh" "$work/bundle" "$work/out" cuda $2 \
        >"$work/said" 2>&1
}

status=0
check 30 "right fast" || status=$?
test $status = 2 || fail "a part that there is not ends with $status"
grep -q "there is no part 'fast': fresh right dense conv2d" "$work/said" ||
    fail "$(cat "$work/said")"

# Without a device nothing is asked.
status=0
NO_DEVICE=1 check 30 right || status=$?
test $status = 3 || fail "without a device it ends with $status"
grep -q 'no cuda device: it is switched off' "$work/said" || fail "$(cat "$work/said")"
test ! -e "$work/out/tests.txt" || fail "what needs a device is asked without one"

# What never ran before is asked one by one; what hangs is named and asked no more.
check 120 "fresh right" || fail "$(cat "$work/said")"
for line in 'dense_ring.cuda FAILED with 1' 'dense_tile.gpu is right' \
    'dense_mma.cuda DID NOT END, killed' 'attention_mma.cuda HANGS, killed' \
    'dense_skinny.gpu was not asked, this device has nothing for it' \
    'avg_pool2d_grad_tiled.gpu is right'; do
    grep -qxF "fresh: $line" "$work/out/tests.txt" || fail "the first part has no '$line'"
done
test "$(grep -c 'fresh: dense_mma' "$work/out/tests.txt")" = 2 ||
    fail "what did not end beside others is not asked by itself"
grep -qx 'without: attention_mma.cuda dense_mma.cuda dense_skinny.gpu' "$work/out/tests.txt" ||
    fail "what hangs is asked again"
# What was mended since is asked again.
echo 'fresh: dense_mma.cuda is right' >>"$work/out/tests.txt"
check 60 right || fail "$(cat "$work/said")"
tac "$work/out/tests.txt" | awk '/fresh: dense_mma.cuda is right/ { exit } { print }' >"$work/since"
grep -qx 'without: attention_mma.cuda dense_skinny.gpu' "$work/since" ||
    fail "what was mended is left out"
rm -r "$work/out"

check 30 "dense bandwidth" || fail "$(cat "$work/said")"
grep -q '^dense: ' "$work/out/device.txt" || fail "dense did not end"
grep -q 'exit 124' "$work/out/dense.txt" || fail "what does not end was not cut off"
grep -q 'run topk' "$work/out/bandwidth.txt" || fail "the part behind it did not run"
grep -q softmax_one "$work/out/records.log" || fail "records were not kept as they came"
printf '{"cut o' >>"$work/out/records.log"
test ! -e "$work/imports" || fail "records of nobody were read"

echo 'fresh: dense_nbits_one.gpu HANGS, killed' >>"$work/out/tests.txt"
check 30 "right nbits" || fail "$(cat "$work/said")"
grep -q 'run dense_nbits .*--impl=dense_nbits_two.gpu' "$work/out/dense.txt" ||
    fail "nobody is asked beside who hangs"
! grep 'run dense_nbits .*dense_nbits_one.gpu' "$work/out/dense.txt" || fail "who hangs is asked"
test -e "$work/imports" || fail "the records of the first call were not read"
grep -qxF '{"cut o' "$work/out/records.log" || fail "a record stands behind a piece of one"
for test in kernels_test_impl kernels_test_symbolic; do
    grep -q "PASSED.*$test 0" "$work/out/tests.txt" || fail "$test was not shared among processes"
done
grep -q 'PASSED.*tuner_test_gpu whole' "$work/out/tests.txt" || fail "the tests did not run"
grep -q '==== dense,' "$work/out/dense.txt" || fail "what the first call found is gone"
grep -q '==== nbits,' "$work/out/dense.txt" || fail "what the second call found is not there"
test "$(ls "$work/out" | wc -l)" -le 8 || fail "more than 8 files: $(ls "$work/out")"

# Tools are told apart, and what ran under them from what did not.
check 90 sanitize || fail "$(cat "$work/said")"
grep -q '^memcheck saw 1 implementations run: softmax_one.gpu$' "$work/out/sanitizer.txt" ||
    fail "nothing tells what ran under the sanitizer"
grep -q '^racecheck saw none of: .*softmax_two.gpu' "$work/out/sanitizer.txt" ||
    fail "nothing tells what did not run under the sanitizer"
grep -q '^34 of 34 runs were begun$' "$work/out/sanitizer.txt" ||
    fail "the sanitizer was not asked of every case with both tools"
ends=$(($(sed -n "/^fresh='/,/'\$/p" "$root/scripts/gpu_check.sh" | wc -l)))
asked=$(grep -cE '^\$ (mem|race)check: [a-z0-9_]+\.(gpu|cuda), ' "$work/out/sanitizer.txt")
test "$asked" = $((2 * ends)) ||
    fail "the sanitizer was not asked of what is new"

# The page: the last table of a workload counts, bytes are shares of what was copied, a library may
# be left out, and what a person wrote stays.
mkdir "$work/told"
cat >"$work/told/dense.txt" <<'END'
$ /b/bin/optune --target cuda --policy cold --log-level info run dense a --trials 2
workload    winner         time us +-% GFLOP/s peak default library trials failed
[8,8] [8,8] dense_tile.gpu   20.00 0.5   100.0  10%   1.10x   0.90x      2 0
$ /b/bin/optune --target cuda --policy cold --log-level info run dense a --trials 9
workload    winner         time us +-% GFLOP/s peak default library trials failed
[8,8] [8,8] ring.cuda        10.00 0.5   200.0  20%   1.20x   0.90x      9 1 runtime
measured peak: 1000 GFLOP/s in float32, 8000 in bfloat16 on tensor cores, 200.0 GB/s copied
END
cat >"$work/told/bandwidth.txt" <<'END'
$ /b/bin/optune --target cuda --policy warm --log-level info run relu b --trials 2
workload winner        time us +-%  GB/s   peak default library trials failed
[8]      relu_grid.gpu    5.00 0.5 210.0 caches   1.00x       -      2 0
measured peak: 1000 GFLOP/s in float32, 200.0 GB/s copied
END
cat >"$work/told/attention.txt" <<'END'
$ python3 -u /b/torch_peers --optune /b/bin/optune --preset attention:bf16
device an H200, torch 2
attention(bf16[1,2])
  cudnn attention           80.50 us +- 0.4 %          error 1.0e-02, second half +0.1 %
  flash                     91.00 us +-10.4 %          error 1.0e-02, second half +0.1 %
  optune: mma.cuda          40.25 us +- 0.5 %   2.000x
geomean 2.000 of 1: the fastest way's time over ours
END
{
    printf '87 checked, 0 skipped (no library), 1 failed on cuda\n[exit 124]\n'
    printf 'fresh: a.gpu HANGS, killed\nfresh: b.gpu FAILED with 1\nfresh: a.gpu is right\n'
} >"$work/told/tests.txt"
record() { # IMPL COST LIBRARY
    printf '{"optune": {"op": "dense", "policy": "cold", "call": "c", "outcome": "ok", '
    printf '"final": true, "impl": "%s", "cost": %s, "depends": {"library": "%s"}}}\n' "$@"
}
{
    record ring.cuda 1e-5 ""
    record dense_b.cuda 2e-5 "cublas 13"
    record dense_d.cuda 1e-6 cudnn
    printf '{"optune": {"op": "den'
} >"$work/told/records.log"
table() { python3 "$root/scripts/gpu_table" "$@" || fail "gpu_table fails"; }
page=$work/page.md
table --without cudnn "$work/told" "$page"
sed -i 's/^<!-- end of notes/a note\n&/' "$page"
table --without cudnn "$work/told" "$page"
for line in 'a note' '| bfloat16 on tensor cores | 8 TFLOP/s |' \
    '| [8,8] [8,8] | ring.cuda | 10.00 | 0.5 | 200.0 | 20 % | 1.20 | 2.00 (cublas 13) | 9, 1 |' \
    '| relu [8] | relu_grid.gpu | 5.00 | 0.5 | 210.0 | 105 % | 1.00 | - | 2, 0 |' \
    '| attention(bf16[1,2]) | mma.cuda | 40.25 | 0.5 | cudnn attention | 80.50 | 0.4 | 2.000 |' \
    'scripts/gpu_table --without cudnn OUT docs/results/h200.md' \
    'Bodies that changed: 1 of 2 are right, asked one by one.' '* b.gpu FAILED with 1' \
    'Contracts: 87 checked, 1 failed, programs cut off by their time: 1. No test failed.'; do
    test "$(grep -cxF "$line" "$page")" = 1 || { cat "$page" >&2; fail "the page has no '$line'"; }
done
mkdir "$work/nothing"
! python3 "$root/scripts/gpu_table" "$work/nothing" 2>"$work/said" || fail "a page of nothing"
grep -q 'holds no table' "$work/said" || fail "$(cat "$work/said")"
cp "$work/told/tests.txt" "$work/nothing/"
! python3 "$root/scripts/gpu_table" "$work/nothing" "$page" >"$work/said" 2>&1 ||
    fail "a page of tests alone"
grep -qxF '* b.gpu FAILED with 1' "$work/said" || fail "what tests said: $(cat "$work/said")"
grep -qx 'a note' "$page" || fail "a page is written over by tests alone"
echo "parts of gpu_check.sh are kept apart, and the page of what they told is right"
