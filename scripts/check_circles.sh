#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No circles: which file calls which, out of the objects of a build (its first argument), has no way
# back to where it began. Tables of rows call back through pointers; such a call is none here. Prints
# the calls between files that stand in a circle, and fails.
set -eu
objects=$1/CMakeFiles/ot_core.dir
cd "$objects"
find . -name '*.c.o' ! -path '*/gen/*' | xargs nm -A -P | awk '
{ sub(/^\.\//, "", $1); sub(/\.o:$/, "", $1) }
$3 !~ /^[TDBRVWU]$/ { next }
$3 != "U" { if (!($2 in home)) home[$2] = $1; next }
{ uses[++n] = $1 SUBSEP $2 }
END {
    for (i = 1; i <= n; i++) {
        split(uses[i], u, SUBSEP)
        to = home[u[2]]
        if (to == "" || to == u[1])
            continue
        key = u[1] " -> " to
        if (!(key in names)) {
            from[++edges] = u[1]
            end[edges] = to
        }
        names[key] = names[key] " " u[2]
    }
    # A file that calls nobody, or that nobody calls, stands in no circle; nor does one that only
    # such files are left for.
    do {
        gone = 0
        split("", calls)
        split("", called)
        for (e = 1; e <= edges; e++)
            if (!cut[e]) {
                calls[from[e]] = 1
                called[end[e]] = 1
            }
        for (e = 1; e <= edges; e++)
            if (!cut[e] && (!calls[end[e]] || !called[from[e]])) {
                cut[e] = 1
                gone++
            }
    } while (gone)
    for (e = 1; e <= edges; e++)
        if (!cut[e]) {
            print from[e] " -> " end[e] ":" names[from[e] " -> " end[e]]
            left++
        }
    printf "%d calls between files, %d of them in circles\n", edges, left
    exit left > 0 || edges < 100
}'
