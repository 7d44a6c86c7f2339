#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A file is as long as its one subject; more than 500 lines is a warning, to ask whether it has two; so
# is a folder of more than 40 files. A line of more than 100 columns is a failure. Headers of kernels/ that the host reads declare, and the
# .c beside them does: more than 2500 lines of code in them, blank lines and comments aside, is a
# warning.
set -eu
cd "$(dirname "$0")/.."
find answer base bench bring call cli db graph include kernels onnx run scripts strategy target tests tuner \
    \( -name '*.[ch]' -o -name '*.cu' \) -type f -exec awk '
        FNR == 1 { files++ }
        length($0) > 100 { printf "%s:%d: %d columns, more than 100\n", FILENAME, FNR, length($0)
                           failed = 1 }
        FNR == 501 { printf "%s: more than 500 lines (warning)\n", FILENAME }
        END { printf "%d files checked\n", files; exit failed }' {} +
find answer base bench bring call cli db graph include kernels onnx run strategy target tuner -type f |
    sed 's:/[^/]*$::' | sort | uniq -c | awk '$1 > 40 { print $2 ": " $1 " files (warning)" }'
find kernels -name '*.h' ! -name '*.kernel.h' ! -name '*.shared.h' -type f -exec cat {} + | awk '
    { while (match($0, /\/\*([^*]|\*+[^*\/])*\*+\//)) $0 = substr($0, 1, RSTART - 1) substr($0, RSTART + RLENGTH) }
    inside && /\*\// { sub(/.*\*\//, ""); inside = 0 }
    inside { next }
    /\/\*/ { sub(/\/\*.*/, ""); inside = 1 }
    /[^[:space:]]/ { n++ }
    END { printf "%d lines of code in the headers of kernels/%s\n", n,
                 (n > 2500 ? ", more than 2500 (warning)" : "") }'
