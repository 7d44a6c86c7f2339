#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What clang-format does not hold. A type has one meaning: no name of ot_ or optune_ is defined
# twice. Our own codes are called status; rc is what somebody else's library or the system answers, in
# db/ and target/. sizeof has parentheses around types only. kernels/ is left out: there every letter
# is part of a digest. Prints every breach as file:line and fails.
set -eu
cd "${1:-$(dirname "$0")/..}"
files=$(find answer base bring call cli db graph include onnx run strategy target tests tuner \
    -name '*.[ch]' -type f ! -path 'tests/data/*' ! -path 'tests/races/*' | sort)
awk '
function breach(why) {
    printf "%s:%d: %s\n", FILENAME, FNR, why
    failed = 1
}
# The name that a line ends a typedef with; empty: none.
function defined(line) {
    if (line ~ /^}.* \**[a-z_0-9]+;/ || line ~ /^typedef [^(){]* \**[a-z_0-9]+;/) {
        sub(/;.*/, "", line)
        sub(/.*[ *}]/, "", line)
        return line
    }
    if (match(line, /^typedef .*\(\*[a-z_0-9]+\)\(/)) {
        sub(/^[^*]*\(\*/, "", line)
        sub(/\).*/, "", line)
        return line
    }
    return ""
}
# Of a file that is named twice the first time tells the types, the second time is judged.
FNR == 1 { judged = FILENAME in met; met[FILENAME] }
!judged {
    name = defined($0)
    if (name == "")
        next
    if (name ~ /^(ot|optune)_/ && name in type && $0 !~ /^typedef struct [a-z_]+ [a-z_]+;/)
        breach(name " is defined in " type[name] ", too")
    if (!(name in type))
        type[name] = FILENAME
    next
}
{
    n++
    if ($0 ~ /(^|[^a-z_A-Z0-9"])rc([^a-z_A-Z0-9"]|$)/ && FILENAME !~ /^(db|target)\//)
        breach("rc: our own codes are called status")
    rest = $0
    while (rest !~ /^ *"/ && $0 !~ /^#|\\$/ && match(rest, /sizeof\(\**[a-zA-Z_][a-zA-Z_0-9]*[^()]*\)/)) {
        word = substr(rest, RSTART + 7, RLENGTH - 8)
        rest = substr(rest, RSTART + RLENGTH)
        sub(/^\**/, "", word)
        plain = word !~ /[^a-zA-Z_0-9.>\[\]-]/ && rest !~ /^(->|\.|\[)/
        sub(/[^a-zA-Z_0-9].*/, "", word)
        if (plain && !(word in type) && word !~ /_t$|^[A-Z_0-9]+$|^(char|short|int|long|unsigned|signed|float|double|bool|void|vec)$/)
            breach("sizeof(" word "): parentheses are for types")
    }
}
END {
    printf "%d lines checked\n", n
    exit failed
}' $files $files
