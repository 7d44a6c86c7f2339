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
case "\$*" in
    export*) echo "a record" >"\$3" ;;
    import*) echo "read \$2" >>"$work/imports" ;;
    *"run dense_nbits"*) ;;
    *"run dense"*) exec sleep 1000 ;;
esac
END
printf '#!/bin/sh\n' >"$work/bundle/lib/optune/optune-worker"
for test in tuner_test_gpu kernels_test_impl kernels_test_symbolic; do
    printf '#!/bin/sh\necho "[  PASSED  ] %s"\n' $test >"$work/bundle/tests/$test"
done
chmod -R +x "$work/bundle"
check() {
    GPU_CHECK_SECONDS=$1 bash "$root/scripts/gpu_check.sh" "$work/bundle" "$work/out" cuda $2 \
        >"$work/said" 2>&1
}

status=0
check 30 "right fast" || status=$?
test $status = 2 || fail "a part that there is not ends with $status"
grep -q "there is no part 'fast': right sanitize dense" "$work/said" || fail "$(cat "$work/said")"

check 30 "dense bandwidth" || fail "$(cat "$work/said")"
grep -q '^dense: ' "$work/out/device.txt" || fail "dense did not end"
grep -q 'exit 124' "$work/out/dense.txt" || fail "what does not end was not cut off"
grep -q 'run topk' "$work/out/bandwidth.txt" || fail "the part behind it did not run"
test "$(cat "$work/out/records.log")" = "a record" || fail "no records were kept"
test ! -e "$work/imports" || fail "records of nobody were read"

check 30 "right nbits" || fail "$(cat "$work/said")"
test -e "$work/imports" || fail "the records of the first call were not read"
grep -q 'PASSED.*kernels_test_impl' "$work/out/tests.txt" || fail "the tests did not run"
grep -q '==== dense,' "$work/out/dense.txt" || fail "what the first call found is gone"
grep -q '==== nbits,' "$work/out/dense.txt" || fail "what the second call found is not there"
test "$(ls "$work/out" | wc -l)" -le 8 || fail "more than 8 files: $(ls "$work/out")"
echo "parts of gpu_check.sh are kept apart"
