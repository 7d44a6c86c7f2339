#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Files stay small enough to be read: more than 500 lines is a warning, more than 800 a failure.
set -eu
cd "$(dirname "$0")/.."
find base bench cli db graph include kernels scripts strategy target tests tuner \
    -name '*.[ch]' -type f -exec wc -l {} + |
    awk '$2 == "total" { next }
         { files++ }
         $1 > 800 { printf "%s: %d lines, more than 800: split it\n", $2, $1; failed = 1; next }
         $1 > 500 { printf "%s: %d lines, more than 500 (warning)\n", $2, $1 }
         END { printf "%d files checked\n", files; exit failed }'
