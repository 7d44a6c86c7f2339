#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What leaves the library, and what it brings along: only optune_ symbols are exported, and nothing
# that only tuning or fetching needs is linked. usage: check_symbols.sh LIBRARY
set -eu
bad=0
stray=$(nm -D --defined-only "$1" | awk '$2 != "A" && $3 !~ /^optune_/ { print $3 }' |
    grep -vE '^(__asan|__ubsan|__lsan|__sanitizer|_init$|_fini$|__bss_start|_edata|_end)' || true)
[ -z "$stray" ] || { echo "exported, but not optune_: $stray"; bad=1; }
needed=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
    grep -E 'papi|curl|blas|dnnl|cuda|OpenCL|gomp' || true)
[ -z "$needed" ] || { echo "linked, but only some need it: $needed"; bad=1; }
[ $bad = 1 ] || echo "$(nm -D --defined-only "$1" | grep -c ' optune_') symbols, all optune_"
exit $bad
