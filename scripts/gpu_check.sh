#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gpu_check.sh BUNDLE OUT [TARGET [PART...]]: all that a machine with a GPU is asked, part by part:
#
#   fresh      bodies that are new               bandwidth  what is bound by memory
#   right      the GPU tests                     nbits      weights of 4 and 8 bits
#   dense      matrix products                   convbf16   ResNet-50, batch 32, bf16
#   conv2d     ResNet-50, batch 1                trials     how many a second
#   attention  prompts and tokens, and cuDNN's   batch      ResNet-50, batch 32
#                                                sanitize   compute-sanitizer, small samples
#
# Without PART all of them in this order, the left column first, in under nine minutes, two of them
# for what is right; where calls are limited, several that name their parts, into the same OUT, have
# so much more time each. A part has its share of the time, and what earlier parts left; what it
# finds is in OUT as soon as it is found, its records, too (records.log, read by the next call), so
# that a call that is cut off loses nothing but the table that was under way. At most 8 files in
# OUT. Needs nothing but the bundle, a driver and NVRTC (cc for the libraries that compete, Python
# with PyTorch for cuDNN's attention); ends at once, with 3, where there is no device; changes no
# setting of it. TARGET defaults to `cuda`; GPU_CHECK_SECONDS (510) is the time for
# everything in one call.
set -uo pipefail

bundle=$(cd "${1:?usage: gpu_check.sh BUNDLE OUT [TARGET [PART...]]}" && pwd)
mkdir -p "${2:?usage: gpu_check.sh BUNDLE OUT [TARGET [PART...]]}"
out=$(cd "$2" && pwd)
target=${3:-cuda}
started=$(date +%s)
limit=${GPU_CHECK_SECONDS:-510}
all=(fresh right dense conv2d attention bandwidth nbits convbf16 trials batch sanitize)
# What each part weighs in a call's time, and what it appends to.
declare -A weight=([fresh]=50 [right]=75 [dense]=80 [conv2d]=45 [attention]=60 [bandwidth]=70
    [nbits]=30 [convbf16]=45 [trials]=20 [batch]=35 [sanitize]=70)
declare -A file_of=([fresh]=tests [right]=tests [sanitize]=sanitizer [dense]=dense
    [attention]=attention [nbits]=dense [conv2d]=conv2d [convbf16]=conv2d
    [trials]=conv2d [bandwidth]=bandwidth [batch]=conv2d)
shift $(($# < 3 ? $# : 3))
parts=("$@")
(($#)) || parts=("${all[@]}")
for part in "${parts[@]}"; do
    if [[ -z ${weight[$part]:-} ]]; then
        echo "gpu_check: there is no part '$part': ${all[*]} are" >&2
        exit 2
    fi
done
work=$(mktemp -d)
trap 'kill "$(cat "$work/holder" 2>/dev/null)" 2>/dev/null; rm -rf "$work"' EXIT
cores=$(nproc)
chmod -R u+rx "$bundle/bin" "$bundle/lib" "$bundle/tests" 2>/dev/null
# Where the sanitizer and nvidia-smi may lie.
PATH=$PATH:/usr/local/cuda/bin:/usr/local/cuda/compute-sanitizer:/usr/local/nvidia/bin
export HOME=$work OPTUNE_DB=$work/db OPTUNE_CACHE=$work/cache TMPDIR=$work
export OPTUNE_WORKER=$bundle/lib/optune/optune-worker
export OPTUNE_TEST_PLUGIN=$bundle/tests/plugin_bad_gpu.so
optune=$bundle/bin/optune
keep=$((limit < 150 ? limit / 10 : 15)) # for the last command's end
left() { echo $((limit - keep - ($(date +%s) - started))); }
part_end=$((started + limit)) part_seconds=$limit part_weight=540
# Seconds until this part must end; and those of a step that is worth so many of the part's weight.
part_left() {
    local own=$((part_end - $(date +%s))) whole
    whole=$(left)
    echo $((own < whole ? own : whole))
}
share() { echo $(($1 * part_seconds / part_weight)); }

# What a command told beside its output: each sentence once, the most frequent first, without
# figures.
told() { # FILE
    tr '\r' '\n' <"$1" | grep -a '^optune: ' | cut -c1-240 | sed 's/[0-9.]*[0-9]/#/g' |
        sort | uniq -c | sort -rn | head -12
}

# run FILE SECONDS COMMAND...: at most that long, and never past the part; how it ended is the last
# line.
run() {
    local file=$out/$1 seconds=$2 status
    shift 2
    (($(part_left) < seconds)) && seconds=$(part_left)
    printf '\n$ %s\n' "$*" >>"$file"
    if ((seconds < 3)); then
        echo "[no time is left]" >>"$file"
        return 1
    fi
    timeout -k 5 "$seconds" "$@" >>"$file" 2>"$work/told"
    status=$?
    told "$work/told" >>"$file"
    echo "[exit $status, $(left) s left]" >>"$file"
    return $status
}
tests() { # NAME WEIGHT ARGUMENT...
    test_for "$1" "$(share "$2")" "${@:3}"
}
test_for() { # NAME SECONDS ARGUMENT...
    local name=$1 seconds=$2
    shift 2
    run tests.txt "$seconds" sh -c '"$@" 2>&1' "$name" "$bundle/tests/$name" "$@"
}

# The same, its samples shared among processes, each with a lock of its own: nothing is timed there.
# What they say goes to the file as they say it, by lines.
tests_shared() { # NAME WEIGHT ARGUMENT...
    local name=$1 seconds part parts=$((cores < 12 ? cores : 12)) own=()
    seconds=$(share "$2")
    shift 2
    (($(part_left) < seconds)) && seconds=$(part_left)
    ((seconds < 3)) && { echo "[$name: no time is left]" >>"$out/tests.txt"; return 1; }
    printf '\n$ %s %s, in %d parts\n' "$name" "$*" $parts >>"$out/tests.txt"
    for ((part = 0; part < parts; part++)); do
        mkdir -p "$work/part$part"
        {
            XDG_RUNTIME_DIR=$work/part$part OPTUNE_TEST_PARTS=$parts OPTUNE_TEST_PART=$part \
                timeout -k 5 "$seconds" "$bundle/tests/$name" "$@" 2>&1
            echo "[exit $?] $name, part $((part + 1)) of $parts"
        } >>"$out/tests.txt" </dev/null &
        own+=($!)
    done
    wait "${own[@]}"
}

(($#)) || rm -f "$out"/*.txt "$out"/records.log
{ date -u; uname -srm; nproc; } >>"$out/device.txt"
if command -v nvidia-smi >/dev/null; then
    run device.txt 10 nvidia-smi
    # A driver forgets the device when its last user ends, and takes seconds to find it again.
    (nvidia-smi --loop=60 >/dev/null 2>&1 & echo $! >"$work/holder")
fi
run device.txt 30 "$optune" devices
none=$(tac "$out/device.txt" | sed '/^\$ /q' | grep "^no ${target%% *} device: ")
if [[ -n $none ]]; then
    echo "gpu_check: $none" >&2
    exit 3
fi
# What is found; reading it from a cold disk is not for a trial to pay.
libraries=("")
if [[ " ${parts[*]} " =~ \ (dense|nbits|conv2d|convbf16|trials|batch)\  ]]; then
    libraries+=(cublas cublaslt cudnn)
fi
for library in "${libraries[@]}"; do
    run device.txt 60 "$OPTUNE_WORKER" --compile cuda --version $library
done
run device.txt 5 bash -c 'type -P cc gcc clang compute-sanitizer || true'

if [[ -s $out/records.log ]]; then
    [[ -z $(tail -c 1 "$out/records.log") ]] || echo >>"$out/records.log" # cut off in a line
    run device.txt 20 "$optune" import "$out/records.log"
fi

# ---- fresh ---------------------------------------------------------------------------------------
# Bodies that changed since a device ran them: each is a process with a deadline, some at once; one
# that does not end is asked again by itself, so that who never ends is named, killed, and left out
# of what follows. A part of their samples, which is all that there is time for: `right` asks all.
fresh='dense_ring.cuda
dense_tile.gpu
dense_skinny.gpu
dense_skinny_ring.cuda
batch_matmul_skinny_ring.cuda
batch_matmul_ring.cuda
batch_matmul_tile.gpu
conv2d_implicit_gemm.gpu
conv2d_winograd.gpu
dense_nbits_tile.gpu
dense_mma.cuda
batch_matmul_mma.cuda
conv2d_implicit_gemm_mma.cuda
dense_nbits_mma.cuda
attention_mma.cuda
attention_wgmma.cuda
attention_tiles.gpu
attention_split.gpu
depthwise_conv2d_mma.cuda
depthwise_conv2d_staged.gpu
depthwise_conv2d_strips.gpu
max_pool2d_grad_tiled.gpu
avg_pool2d_grad_tiled.gpu
max_pool2d_window.gpu
quantized_conv2d_wgmma.cuda
quantized_conv2d_mma.cuda
quantized_conv2d_tile.gpu
quantized_depthwise_conv2d.gpu
quantized_add.gpu
quantized_multiply.gpu'
FRESH_SECONDS=$((limit < 150 ? 5 : 20)) # of one, which takes a few
contract() { # NAME SECONDS ARGUMENT...: what a test says, and how it ended
    local name=$1 seconds=$2 status
    shift 2
    printf '\n$ %s %s, %s\n' "$name" "$*" "${OPTUNE_TEST_IMPL:-all}"
    timeout -k 5 "$seconds" "$bundle/tests/$name" "$@" 2>&1 </dev/null
    status=$?
    echo "[exit $status] $name"
    return $status
}
ask_fresh() { # IMPL: its status is in $work/fresh/IMPL.status
    local own=$work/fresh/$1 seconds=$FRESH_SECONDS status
    (($(part_left) < seconds)) && seconds=$(part_left)
    mkdir -p "$own"
    if ((seconds < 3)); then
        echo none >"$own.status"
        fresh_word "$1" >>"$out/tests.txt"
        return
    fi
    XDG_RUNTIME_DIR=$own OPTUNE_TEST_IMPL=$1 OPTUNE_TEST_CONFIGS=1 OPTUNE_TEST_PARTS=3 \
        OPTUNE_TEST_LIMIT=$((FRESH_SECONDS * 2 / 5)) \
        contract kernels_test_impl "$seconds" "${target%% *}" >"$own.txt"
    status=$?
    # Who skips everything is not right.
    ((status)) || grep -q '^[1-9][0-9]* checked, ' "$own.txt" || status=skipped
    grep -q '^    run timeout: ' "$own.txt" && status=hangs
    echo $status >"$own.status"
    { cat "$own.txt"; fresh_word "$1"; } >>"$out/tests.txt"
}
fresh_word() { # IMPL
    case $(cat "$work/fresh/$1.status" 2>/dev/null) in
        0) echo "fresh: $1 is right" ;;
        hangs) echo "fresh: $1 HANGS, killed" ;;
        124 | 137) echo "fresh: $1 DID NOT END, killed" ;;
        none | '') echo "fresh: $1 was not asked, no time is left" ;;
        skipped) echo "fresh: $1 was not asked, this device has nothing for it" ;;
        *) echo "fresh: $1 FAILED with $(cat "$work/fresh/$1.status")" ;;
    esac
}
# Of whom the last word of `fresh` is this.
of_word() { # PATTERN
    awk -v word="$1" '/^fresh: / { last[$2] = $0 }
        END { for (impl in last) if (last[impl] ~ word) print impl }' "$out/tests.txt" 2>/dev/null
}
endless() { of_word 'HANGS|DID NOT END'; }
unsafe() { of_word 'HANGS|DID NOT END|was not asked'; }
part_fresh() {
    local impl at_once=$((cores < 8 ? 2 : cores / 2))
    mkdir -p "$work/fresh"
    while read -r impl; do
        while (($(jobs -rp | wc -l) >= at_once)); do sleep 0.1; done
        ask_fresh "$impl" &
    done <<<"$fresh"
    wait
    while read -r impl; do
        fresh_word "$impl" | grep -qE 'HANGS|DID NOT END' && (($(part_left) >= 3)) &&
            ask_fresh "$impl"
        fresh_word "$impl"
    done <<<"$fresh"
}

# ---- right ---------------------------------------------------------------------------------------
# Every body on its first sample, then all of them; beside it the tiles that are emulated elsewhere.
part_right() {
    local test seconds
    tests tuner_test_gpu 60 & # it waits more than it works
    seconds=$(share 60)
    (($(part_left) < seconds)) && seconds=$(part_left)
    for test in product_tiles wgmma_tile conv2d_wgmma attention_wgmma; do
        mkdir -p "$work/$test"
        XDG_RUNTIME_DIR=$work/$test OPTUNE_TEST_EMULATED=${target%% *} \
            contract kernels_test_$test "$((seconds < 3 ? 3 : seconds))" >>"$out/tests.txt" &
    done
    OPTUNE_TEST_WITHOUT=$(unsafe | sort | paste -sd ' ')
    export OPTUNE_TEST_WITHOUT OPTUNE_TEST_LIMIT=10
    OPTUNE_TEST_CONFIGS=0 OPTUNE_TEST_THIN=30 tests_shared kernels_test_impl 25 "${target%% *}"
    OPTUNE_TEST_CONFIGS=1 tests_shared kernels_test_impl 40 "${target%% *}"
    OPTUNE_TEST_CONFIGS=0 tests_shared kernels_test_symbolic 20 "${target%% *}"
    wait
}

# Several at once, each with a lock, a database and a log of its own: nothing is timed here. Every
# implementation of the op gets at least one trial, but for libraries, whose kernels are not ours
# and slow to load there.
ours() { # OP
    "$optune" impls "$1" |
        awk '/^[^ ]/ { name = $1 } /^ .*gpu, plevel/ && !/; calls / { print "--impl", name }'
}
sanitize() { # NUMBER SECONDS TOOL OP WORKLOAD [IMPLEMENTATIONS]
    # Each needs its own ports, one for every process that opens a device.
    local own=$work/san$1 seconds=$2 ports=$((49152 + $1 % 160 * 100)) options=() impls
    impls=${6:-$(ours "$4")}
    [[ $3 == racecheck ]] && options=(--racecheck-num-workers 2)
    mkdir -p "$own"
    {
        printf '\n$ %s: %s, %d s\n' "$3" "$5" "$seconds"
        XDG_RUNTIME_DIR=$own OPTUNE_DB=$own/db timeout -k 2 "$seconds" \
            compute-sanitizer --tool "$3" "${options[@]}" --target-processes all --port "$ports" \
            --max-connections 100 --error-exitcode 9 --log-file "$own/log" \
            "$optune" --target "$target" --log-level info run "$4" "$5" $impls --trials 10 \
            --time $((seconds > 12 ? seconds - 6 : seconds / 2)) --log "$own/records" 2>"$own/told"
        echo "[exit $?]"
        told "$own/told"
        head -n 40 "$own/log" 2>/dev/null
        grep -a 'ERROR SUMMARY' "$own/log" 2>/dev/null | tail -n 1
        # What ran under it, and how that ended.
        sed -n 's/.*"impl":"\([^"]*\)".*"outcome":"\([^"]*\)".*/\1 \2/p' "$own/records" \
            2>/dev/null | sort | uniq -c
    } >"$own.txt"
    cat "$own.txt" >>"$out/sanitizer.txt"
    sed -n "s/.*\"impl\":\"\([^\"]*\)\".*\"outcome\":\"ok\".*/$3 \1/p" "$own/records" \
        >"$own.ran" 2>/dev/null
    sed "s/--impl/$3/" <<<"$impls" >"$own.asked"
}
# Which implementations the tools saw run, and which of those that were asked for they did not.
sanitized() {
    local tool
    for tool in memcheck racecheck; do
        cat "$work"/san*.ran | sed -n "s/^$tool //p" | sort -u >"$work/ran"
        cat "$work"/san*.asked | sed -n "s/^$tool //p" | sort -u |
            comm -23 - "$work/ran" >"$work/missed"
        printf '\n%s saw %d implementations run: %s\n' "$tool" "$(wc -l <"$work/ran")" \
            "$(paste -sd ' ' "$work/ran")"
        [[ -s $work/missed ]] && echo "$tool saw none of: $(paste -sd ' ' "$work/missed")"
    done
}
cases='dense|dense(f32[33,68],f32[20,68])
dense|dense(f32[4,65],f32[17,65],f32[17])
dense|dense(bf16[64,64],bf16[64,64])
dense_nbits|dense_nbits(bf16[20,200],const u8[56,100],const f32[56,7],bits=4,group=32)
attention|attention(bf16[1,4,33,64],bf16[1,2,65,64],bf16[1,2,65,64],causal=true)
batch_matmul|batch_matmul(f32[2,17,24],f32[2,19,24])
conv2d|conv2d(f32[1,4,17,19],f32[8,4,3,3],padding=[1,1,1,1])
conv2d|conv2d(f32[1,8,9,9],f32[8,1,3,3],groups=8)
conv2d|conv2d(bf16[1,64,9,9],bf16[64,64,3,3],padding=[1,1,1,1])
conv2d|conv2d(f16[2,1,9,9,64],f16[72,64,3,3],data_layout=NCHW64c,out_layout=NCHW72c)
softmax|softmax(f32[5,129])
sum|sum(f32[33,70],axis=[1])
cumsum|cumsum(f32[3,9001],axis=1)
cumsum|cumsum(f32[700,33],axis=0)
topk|topk(f32[3,5017],k=5)
sort|sort(f32[3,301])
transpose|transpose(f32[33,65])'
# The contract's samples of one implementation under a tool.
sanitize_contract() { # NUMBER SECONDS TOOL IMPL
    local own=$work/san$1 options=()
    [[ $3 == racecheck ]] && options=(--racecheck-num-workers 2)
    mkdir -p "$own"
    {
        printf '\n$ %s: %s, %d s\n' "$3" "$4" "$2"
        XDG_RUNTIME_DIR=$own OPTUNE_DB=$own/db OPTUNE_CACHE=$own/cache OPTUNE_TEST_IMPL=$4 \
            OPTUNE_TEST_CONFIGS=0 OPTUNE_TEST_THIN=3 \
            timeout -k 2 "$2" compute-sanitizer --tool "$3" "${options[@]}" \
            --target-processes all --port $((49152 + $1 % 160 * 100)) --max-connections 100 \
            --error-exitcode 9 --log-file "$own/log" "$bundle/tests/kernels_test_impl" \
            "${target%% *}" >"$own/said" 2>&1
        echo "[exit $?]"
        tail -n 3 "$own/said"
        head -n 40 "$own/log" 2>/dev/null
    } >"$own.txt"
    cat "$own.txt" >>"$out/sanitizer.txt"
}
part_sanitize() {
    if ! command -v compute-sanitizer >/dev/null; then
        echo "no compute-sanitizer on PATH" >>"$out/sanitizer.txt"
        return
    fi
    # One tool after the other, so that a call that is cut off has gone through all cases with one.
    local number=0 at_once=$((cores < 8 ? 4 : cores - 2)) all op workload tool rounds rest seconds
    local impl
    all=$((2 * $(wc -l <<<"$cases")))
    for tool in memcheck racecheck; do
        while IFS='|' read -r op workload; do
            while (($(jobs -rp | wc -l) >= at_once)); do sleep 0.2; done
            rounds=$(((all - number + at_once - 1) / at_once)) rest=$(($(part_left) - 3))
            seconds=$((rest / rounds < 10 && rest > 10 ? 10 : rest / rounds))
            ((seconds >= 8)) || break 2
            number=$((number + 1))
            sanitize $number "$seconds" $tool "$op" "$workload" </dev/null &
        done <<<"$cases"
    done
    wait
    {
        echo "$number of $all runs were begun"
        sanitized
    } >>"$out/sanitizer.txt" 2>/dev/null
    # What is left is for the contracts of what changed.
    for tool in memcheck racecheck; do
        while read -r impl; do
            while (($(jobs -rp | wc -l) >= at_once)); do sleep 0.2; done
            number=$((number + 1)) rest=$(($(part_left) - 3))
            ((rest >= 8)) || break 2
            unsafe | grep -qxF "$impl" && continue
            sanitize_contract $number $((rest < 40 ? rest : 40)) $tool "$impl" </dev/null &
        done <<<"$fresh"
    done
    wait
}

# ---- fast ----------------------------------------------------------------------------------------
# Who never ends would take a run's time again, in each workload: --impl of the others then.
ending() { # OP
    local never
    never=$(endless)
    [[ -z $never ]] || "$optune" impls "$1" |
        awk '/^[^ ]/ { name = $1 } /^ .*gpu, plevel/ { print "--impl=" name }' |
        grep -vxF -e "$(sed 's/^/--impl=/' <<<"$never")"
}

# A run measures every implementation that the strategy names, libraries included: the column
# `library` is theirs over ours, `peak` the share of the rate measured first (float32; bytes: of a
# copy). Cold: the L2 is flushed before every run, as with inputs that rotate through more than it
# holds. Bandwidth is measured warm, as the copy is: its data is several times the L2.
bench() { # FILE SECONDS OP [WORKLOAD...] [OPTION...]
    local file=$1 seconds those
    seconds=$(share "$2")
    # It ends by itself and says how it went.
    (($(part_left) < seconds + 10)) && seconds=$(($(part_left) - 10))
    mapfile -t those < <(ending "$3")
    shift 2
    ((seconds > 0)) || seconds=1
    run "$file" $((seconds + 20)) "$optune" --target "$target" --policy "${policy:-cold}" \
        --log-level info run "$@" "${those[@]}" --log "$out/records.log" --time "$seconds"
}
explain() { # FILE WORKLOAD: the best of every implementation
    run "$1" 15 "$optune" --target "$target" --policy cold select --explain "$2"
}
square() { echo "dense($1[$2,$2],$1[$2,$2])"; }
part_dense() {
    local workload
    # Each by itself: what one of them finds is there before the next begins.
    bench dense.txt 12 dense "$(square f32 4096)" --trials 60
    bench dense.txt 10 dense "$(square bf16 4096)" --trials 60
    bench dense.txt 16 dense "$(square bf16 8192)" --trials 30 # its reference takes the time
    bench dense.txt 10 dense "$(square f32 2048)" "$(square bf16 2048)" --trials 60
    bench dense.txt 8 dense --preset bert-base --trials 30
    for workload in "$(square f32 4096)" "$(square bf16 4096)"; do
        explain dense.txt "$workload"
    done
}
part_attention() {
    local preset
    bench attention.txt 12 attention --preset bf16 --trials 30
    # Beside all that PyTorch has, cuDNN's among it, in one process's time.
    if python3 -c 'import importlib.util, sys; sys.exit(not importlib.util.find_spec("torch"))' \
        2>/dev/null; then
        run attention.txt "$(share 40)" python3 -u "$bundle/torch_peers" --optune "$optune" \
            --target "$target" --policy cold --time 2 --total "$(share 25)" --preset attention:bf16
    else
        echo "no python3 with PyTorch: nobody says how long cuDNN's attention takes" \
            >>"$out/attention.txt"
    fi
    for preset in llama-prefill llama-decode bert-base; do
        bench attention.txt 7 attention --preset $preset --trials 30
    done
}
part_nbits() {
    bench dense.txt 12 dense_nbits --preset llama-decode --trials 30
    bench dense.txt 12 dense_nbits --preset llama-prefill --trials 30
}
point='conv2d(f32[1,256,14,14], f32[256,256,3,3], padding=[1,1,1,1])'
part_conv2d() {
    bench conv2d.txt 50 conv2d --preset resnet50 --trials 40
    explain conv2d.txt "$point"
}
part_trials() {
    run conv2d.txt "$(share 30)" "$optune" --target "$target" --log-level info run \
        --log "$out/records.log" --time "$(share 20)" conv2d "$point" --trials 2000
    sed -n 's/^\([0-9]*\) new trials, .* failed, \([0-9.]*\) s on.*/\1 \2/p' "$out/conv2d.txt" |
        tail -n 1 | while read -r trials seconds; do
        awk "BEGIN { printf \"%.1f verified trials per second\n\", $trials / $seconds }"
    done >>"$out/conv2d.txt"
}
# An operator a line: the seconds that it is worth, and its workloads.
part_bandwidth() {
    local seconds op line workloads
    while IFS='|' read -r seconds op line; do
        IFS='|' read -ra workloads <<<"$line"
        policy=warm bench bandwidth.txt "$seconds" "$op" "${workloads[@]}" --trials 8 </dev/null
    done <<END
6|cumsum|cumsum(f32[33554432])|cumsum(f32[4096,8192],axis=1)|cumsum(f32[8192,4096],axis=0)\
|cumsum(bf16[4096,8192],axis=1)
6|topk|topk(f32[2048,50257],k=50)|topk(f32[32,50257],k=50)|topk(bf16[2048,50257],k=50)
6|softmax|softmax(f32[8192,8192])|softmax(f32[256,256,512],axis=1)|softmax(f32[1024,50257])\
|softmax(f16[524288,127])
4|sum|sum(f32[8192,8192],axis=[1])|sum(f32[8192,8192],axis=[0])|sum(f32[1048576,49],axis=[1])
3|add|add(f32[33554432],f32[33554432])|add(f32[8192,8192],f32[8192])
2|relu|relu(f32[67108864])
4|take|take(f32[50257,768],i32[65536])|take(f32[100000,33],i64[262144],axis=0)
4|gather|gather(f32[4096,8192],i32[4096,2048],axis=1)|gather(f32[8192,4096],i32[4096,4096],axis=0)
3|scatter_add|scatter_add(f32[50257,768],i64[8192,768],f32[8192,768],axis=0)
3|pad|pad(f32[32,64,112,112],before=[0,0,1,1],after=[0,0,1,1])
3|concatenate|concatenate(bf16[262144,65],bf16[262144,63],axis=1)
4|transpose|transpose(f32[8192,4096])|transpose(i8[8192,8192])
3|layout_transform|layout_transform(f32[32,64,112,112],src_layout=NCHW,dst_layout=NCHW16c)
4|max_pool2d|max_pool2d(f32[64,64,112,112],pool_size=[3,3],strides=[2,2],padding=[1,1,1,1])\
|max_pool2d(f32[16,64,112,112],pool_size=[5,5],padding=[2,2])
3|max_pool2d_grad|max_pool2d_grad(f32[32,64,56,56],f32[32,64,112,112],\
pool_size=[3,3],strides=[2,2],padding=[1,1])
5|conv2d|conv2d(f32[32,144,56,56],f32[144,1,3,3],padding=[1,1],groups=144)\
|conv2d(bf16[32,384,56,56],bf16[384,1,7,7],padding=[3,3],groups=384)
END
}
resnet_32() { # DTYPE: ResNet-50's at batch 32, a line each
    "$optune" ops conv2d |
        sed -n '/resnet50 (default)/,/vgg16/s/^ *conv2d(f32\[1,\(.*)\)  .*/conv2d(f32[32,\1/p' |
        sed "s/f32\[/$1[/g"
}
part_batch() {
    local batch32
    mapfile -t batch32 < <(resnet_32 f32)
    bench conv2d.txt 50 conv2d "${batch32[@]}" --trials 40
}
# By tensor cores beside cuDNN, and what warpgroups take where channels are innermost already.
last='conv2d(bf16[32,1,28,28,256], bf16[256,256,3,3], padding=[1,1,1,1], data_layout=NCHW256c)'
part_convbf16() {
    local batch32
    mapfile -t batch32 < <(resnet_32 bf16)
    bench conv2d.txt 30 conv2d "${batch32[@]}" --trials 30
    bench conv2d.txt 8 conv2d "$last" 'conv2d(bf16[32,256,28,28], bf16[256,256,3,3], padding=[1])' \
        --trials 40
    explain conv2d.txt "$last"
}

# What is left is shared by what is to come, by weight: a part that ends early leaves more.
to_come=0
for part in "${parts[@]}"; do to_come=$((to_come + weight[$part])); done
for part in "${parts[@]}"; do
    part_weight=${weight[$part]}
    part_seconds=$(($(left) * part_weight / to_come))
    to_come=$((to_come - part_weight))
    part_started=$(date +%s)
    part_end=$((part_started + part_seconds))
    file=$out/${file_of[$part]}.txt
    printf '\n==== %s, %s\n' "$part" "$(date -u)" >>"$file"
    "part_$part"
    printf '%s: %d s of %d\n' "$part" $(($(date +%s) - part_started)) "$part_seconds" |
        tee -a "$out/device.txt"
done
echo "done in $(($(date +%s) - started)) s" | tee -a "$out/device.txt"
for file in $(for part in "${parts[@]}"; do echo "${file_of[$part]}"; done | awk '!seen[$0]++'); do
    echo "== $file"
    telling='^\[exit|FAILED|PASSED|ERROR SUMMARY| saw |were begun|geometric|GFLOP|per second'
    lines=$([[ $file == tests ]] && echo 45 || echo 16)
    grep -E "$telling|new trials| checked, " "$out/$file.txt" 2>/dev/null | tail -n "$lines"
done
