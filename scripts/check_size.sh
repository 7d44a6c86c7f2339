#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A file is as long as its one subject; more than 500 lines is a warning, to ask whether it has two. A
# line of more than 100 columns is a failure.
set -eu
cd "$(dirname "$0")/.."
find answer base bench bring call cli db graph include kernels onnx run scripts strategy target tests tuner \
    \( -name '*.[ch]' -o -name '*.cu' \) -type f -exec awk '
        FNR == 1 { files++ }
        length($0) > 100 { printf "%s:%d: %d columns, more than 100\n", FILENAME, FNR, length($0)
                           failed = 1 }
        FNR == 501 { printf "%s: more than 500 lines (warning)\n", FILENAME }
        END { printf "%d files checked\n", files; exit failed }' {} +
