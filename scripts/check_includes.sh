#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Who may include whom: what the picture at the top of docs/architecture.md says, "room -> rooms", by
# however many steps. kernels see optune/define.h and kernels/ only, cli sees public headers only,
# and each foreign library has one door. In kernels/ the name says which compiler reads a file:
# `.kernel.` is for the compilers of bodies, `.shared.h` for both, anything else for the host; none
# includes what is not for it. Prints every breach as file:line and fails.
set -eu
cd "${1:-$(dirname "$0")/..}"
find answer base bench bring call cli db graph include kernels onnx run strategy target tuner \
    \( -name '*.[ch]' -o -name '*.cu' \) -type f | sort |
    xargs grep -Hn '^[[:space:]]*#[[:space:]]*include' |
    awk -v picture=docs/architecture.md '
# Which compilers read a file of kernels/, by its name.
function readers(name) {
    return name ~ /\.kernel\./ ? "bodies" : name ~ /\.shared\.h$/ ? "both" : "the host"
}
function breach(why) {
    printf "%s:%s: includes %s: %s\n", file, line, name, why
    failed = 1
}
BEGIN {
    public = "^optune/(types|define(_(op|impl|search|target))?|optune|graph)\\.h$"
    plain = "^optune/(types|define)\\.h$"
    while (fences < 2 && (getline text < picture) > 0) {
        fences += text ~ /^```/
        if (text ~ /^[a-z]+ +-> [a-z]/) {
            room = text
            sub(/ .*/, "", room)
            sub(/^[^>]*> /, "", text)
            sub(/  .*/, "", text) # what the room is for
            arrows[room] = text
        }
    }
    if (!("answer" in arrows)) {
        print picture ": no picture of the rooms"
        failed = 1
        exit
    }
    for (room in arrows) {
        reach = " " room " "
        todo = arrows[room]
        while (match(todo, /[a-z]+/)) {
            next_room = substr(todo, RSTART, RLENGTH)
            todo = substr(todo, RSTART + RLENGTH)
            if (index(reach, " " next_room " "))
                continue
            reach = reach next_room " "
            todo = todo " " arrows[next_room]
        }
        gsub(/^ | $/, "", reach)
        gsub(/ /, "|", reach)
        allowed[room] = "^(" reach ")/"
    }
    allowed["base"] = "^base/"
    allowed["run"] = allowed["run"] "|" public
    allowed["answer"] = allowed["answer"] "|" public
    sub(/\(/, "(bench|", allowed["tuner"])
    allowed["bench"] = allowed["tuner"] "|" public
    sub(/bench\|/, "", allowed["tuner"])
    allowed["tuner"] = allowed["tuner"] "|" public
    allowed["cli"] = "^cli/|^optune/(types|optune|graph)\\.h$"
    allowed["kernels"] = "^kernels/|^optune/define\\.h$"
    allowed["include"] = public
    for (room in allowed)
        if (room ~ /^(base|target|call|strategy|bring|db)$/)
            allowed[room] = allowed[room] "|" plain
    allowed["graph"] = allowed["graph"] "|^optune/(types|define|graph)\\.h$"

    door["pb-c\\.h$|^protobuf-c"] = "^onnx/schema\\.h$"
    door["^lmdb\\.h$"] = "^db/env\\.h$"
    door["^curl/"] = "^db/http_curl\\.h$"
    door["^papi\\.h$|^sde_"] = "^target/cpu_counters\\.c$"
    door["^hwloc"] = "^target/cpu_topology\\.c$"
    door["^zlib\\.h$"] = "^db/gzip\\.c$"
    door["^sodium"] = "^db/sign\\.c$"
    door["^xxhash\\.h$"] = "^base/hash\\.c$"
    door["^jansson\\.h$"] = "^(base|target|call|strategy|graph|db|bring|run|answer|tuner|bench)/"
    door["^(cuda|nvrtc|cudnn|cublas)"] = "^target/cuda_api\\.[ch]$"
    door["^CL/"] = "^target/opencl_api\\.[ch]$"
    door["^(cblas|dnnl|oneapi/)"] = "^bench/"
}
{
    file = $0; sub(/:.*/, "", file)
    line = $0; sub(/^[^:]*:/, "", line); sub(/:.*/, "", line)
    if (!match($0, /["<][^">]*[">]/)) { name = "something"; breach("not a plain include"); next }
    quote = substr($0, RSTART, 1)
    name = substr($0, RSTART + 1, RLENGTH - 2)
    room = file; sub(/\/.*/, "", room)
    seen_room = name
    sub(/\/.*/, "", seen_room)
    used[room, seen_room] = 1
    if (quote == "\"" && name !~ allowed[room])
        breach("not allowed in " room "/")
    if (room == "kernels" && quote == "<" && readers(file) != "the host")
        breach("a kernel body includes no system headers")
    if (room == "kernels" && quote == "\"" && readers(name) != "both" &&
        readers(name) != readers(file))
        breach("it is for " readers(name) ", the file for " readers(file))
    for (header in door)
        if (name ~ header && file !~ door[header])
            breach("its one door is " door[header])
    n++
}
END {
    for (room in arrows) {
        n_rooms = split(arrows[room], to, ", ")
        for (i = 1; i <= n_rooms; i++)
            if (!used[room, to[i]]) {
                printf "%s: %s includes nothing of %s\n", picture, room, to[i]
                failed = 1
            }
    }
    printf "%d includes checked\n", n
    exit failed
}'
