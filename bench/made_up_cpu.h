/* SPDX-License-Identifier: Apache-2.0 */
/* A CPU that is only described, for what is arithmetic alone: of benches and of tests. */
#ifndef OPTUNE_BENCH_MADE_UP_CPU_H
#define OPTUNE_BENCH_MADE_UP_CPU_H

#include "optune/define.h"

/* Of 512-bit vectors, with two levels of caches; no third one and no products of narrow numbers. */
static inline optune_device made_up_cpu(int threads)
{
    return (optune_device){.key = "made up",
                           .kind = "cpu",
                           .cores = threads,
                           .threads = threads,
                           .vector_bytes = 64,
                           .vector_registers = 32,
                           .l1 = 48 << 10,
                           .l2 = 2 << 20};
}

#endif
