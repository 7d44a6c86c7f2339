#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes the examples of docs/adding.md into a copy of the tree, builds it, and runs them: the page
# and the law of the tables stay true together. Each of them is new files only: an operator, an
# implementation, a search, a target, a command edit none that is there. usage: check_adding.sh
# SOURCE_DIR BUILD_DIR
set -eu
source=$1
build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
(cd "$source" && tar cf - CMakeLists.txt include base call target kernels strategy bring graph onnx db run answer tuner cli scripts python/native \
    tests/kernels tests/CMakeLists.txt tests/support bench) | (cd "$work" && tar xf -)
awk -v root="$work/" '
    /^```c file=/ { name = root substr($0, index($0, "=") + 1); dir = name; sub("/[^/]*$", "", dir)
                    if (!system("test -e " name)) { print name " is there already"; failed = 1 }
                    system("mkdir -p " dir); printf "" > name; on = 1; next }
    /^```/        { if (on) { close(name); files++ } on = 0; next }
    on            { print > name }
    END           { if (files < 5) { print "examples not found"; exit 1 } exit failed }
' "$source/docs/adding.md"
for kind in kernels/scale/op kernels/scale/strategy kernels/scale/impl tuner/search target/target cli/cmd; do
    ls "$work/$kind"_*.c >/dev/null
done
told() { sed -n "s/^$1:[^=]*=//p" "$build/CMakeCache.txt"; }
# Not optimized: it is built three times and runs for seconds.
cmake -S "$work" -B "$work/build" -G 'Unix Makefiles' -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE=-O0 \
    -DCMAKE_C_COMPILER="$(told CMAKE_C_COMPILER)" -DCMAKE_C_FLAGS="$(told CMAKE_C_FLAGS)" \
    -DOPTUNE_TESTS=OFF -DOPTUNE_BENCH=OFF >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
# What the build has compiled of the same files is taken, as make goes by their times: not what a
# build writes, nor what knows its folder, nor what holds asserts, which hold here alone; and nothing
# where a file of the tree is newer than what was built.
if [ -z "$(cd "$source" && find CMakeLists.txt include base call target kernels strategy bring graph onnx db run answer tuner cli \
    -type f -newer "$build/liboptune.so" -newer "$build/optune")" ]; then
    (cd "$work" && grep -rlE --include='*.c' 'assert\(|OT_WORKER_DIR' . | sed 's/^\.//; s/$/.o/') >"$work/apart"
    (cd "$build/CMakeFiles" && find ot_core.dir optune-cli.dir -name '*.c.o' ! -path '*/gen/*' |
        grep -vFf "$work/apart" | tar cf - -T -) | (cd "$work/build/CMakeFiles" && tar xmf -)
fi
rebuild() {
    cmake --build "$work/build" --parallel 2 --target optune-cli optune-worker >"$work/log" 2>&1 ||
        { tail -40 "$work/log"; exit 1; }
}
rebuild
export OPTUNE_CACHE="$work/cache"
"$work/build/optune" --db "$work/db" run scale --search ends --trials 4 --time 60 --json >"$work/out"
grep -q '"new_trials": 4' "$work/out" || { cat "$work/out"; exit 1; }
ask() { "$work/build/optune" --db "$work/db" "$@" >"$work/out" 2>&1; }
expect() { grep -q "$1" "$work/out" || { echo "not said: $1"; cat "$work/out"; exit 1; }; }
ask select 'scale(f32[65536])' && expect 'scale.cpu'
# The specialization: few elements take the loop, a clause refuses it for many.
ask select 'scale(f32[7])' && expect 'scale_loop.cpu'
ask select --explain 'scale(f32[65536])' && expect "clause 'last <= 16' is false"
ask select --explain 'scale(f32[8])' && expect "is false (last=8)"
# The target that is like cpu.
ask run scale 'scale(f32[7])' --target frugal --impl scale_loop.cpu --time 30 --json
expect '"new_trials": 1'
ask query 'scale(f32[7])' --target frugal && expect 'frugal -threads'

# A row for a family, one for a pattern and one for an operator of it, on one target.
ask select --explain 'cumprod(f32[64,512], axis=1)' --target frugal
expect "cumprod_loop.cpu  by plevel" && expect "strategy of family scan for 'frugal', in tree"
ask select --explain 'max(f32[64,512], axis=[1])' --target frugal
expect "max_inner.cpu  by plevel" && expect "strategy of pattern reduction for 'frugal', in tree"
ask select --explain 'sum(f32[64,512], axis=[1])' --target frugal
expect "sum_inner.cpu  by plevel" && expect "strategy of sum for 'frugal', in tree"
ask select --explain 'sum(f32[64,512], axis=[1])' && expect "strategy of pattern reduction for 'cpu', in tree"

# Ops of a pattern: a declaration each, and templates, strategies and references of the pattern.
ask impls hypot && expect 'hypot_vector.cpu'
ask run hypot 'hypot(f32[64,70], f32[70])' --trials 2 --time 60 --json && expect '"new_trials": 2'
ask run norm 'norm(f32[64,70], axis=[1])' --trials 2 --time 60 --json && expect '"new_trials": 2'
ask query 'norm(f32[64,70], axis=[1])' && expect 'norm_inner.cpu'

# Two operators of one file.
ask run cube 'cube(f32[64,70])' --trials 2 --time 60 --json && expect '"new_trials": 2'
ask select 'square(f32[64,70])' && expect 'square_vector.cpu'

# One compute under two schedules: both are tried and verified, and neither is wrong.
ask run min_pool2d 'min_pool2d(f32[1,8,30,45], pool_size=[3,3], padding=[1,1])' --trials 6 --time 60 --json
expect '"impl": "min_pool2d_rows.cpu"' && expect '"failures": {}'

# The command.
ask canonical 'scale( f32[7] )' && expect '^scale(f32\[7\], factor=2)$'

# What an implementation is made of decides whether its records are current, and nothing else.
query() { "$work/build/optune" --db "$work/db" query 'scale(f32[65536])' >"$work/out" 2>&1; }
query || { cat "$work/out"; exit 1; }
echo '/* an edit elsewhere */' >>"$work/kernels/convolution/conv2d.h"
rebuild
query || { echo "an unrelated header made a record stale"; cat "$work/out"; exit 1; }
echo '/* an edit of the body */' >>"$work/kernels/scale/impl_vector.kernel.c"
rebuild
status=0
query || status=$?
[ $status = 3 ] && grep -q "'scale.cpu' has changed" "$work/out" ||
    { echo "an edited body: query gave $status"; cat "$work/out"; exit 1; }
# So does what an op of a pattern declares, and only its own.
sed -i 's/s_sqrt(x0 \* x0 + x1 \* x1)/s_sqrt(x0 * x0 + x1 * x1 + 0)/' "$work/kernels/hypot/op_hypot.c"
rebuild
ask query 'norm(f32[64,70], axis=[1])' || { echo "an expression of another op made a record stale"; exit 1; }
status=0
ask query 'hypot(f32[64,70], f32[70])' || status=$?
[ $status = 3 ] && expect "'hypot_vector.cpu' has changed"
# And so does host code that its row calls: the .c beside a header.
echo '/* an edit of what rows share */' >>"$work/kernels/reduce/reduce.c"
rebuild
status=0
ask query 'norm(f32[64,70], axis=[1])' || status=$?
[ $status = 3 ] && expect "'norm_inner.cpu' has changed"
echo "examples of docs/adding.md: built, tuned, selected; an edited body is noticed"
