/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores that go past the caches, for outputs that are too large to be found there again: the
 * line is not read first, and nothing useful is thrown out for it. One cache line at a time,
 * aligned to it. stream_end() orders them before what follows; call it before a body returns.
 */
#ifndef OPTUNE_KERNELS_COMMON_STREAM_H
#define OPTUNE_KERNELS_COMMON_STREAM_H

#include "kernels/common/cpu.kernel.h"

enum { LINE = 64 };

#if defined(__AVX512F__)
typedef long long line_part __attribute__((vector_size(64), may_alias));
#define LINE_STORE(to, v) __builtin_ia32_movntdq512(to, v)
#elif defined(__AVX__)
typedef long long line_part __attribute__((vector_size(32), may_alias));
#define LINE_STORE(to, v) __builtin_ia32_movntdq256(to, v)
#elif defined(__SSE2__)
typedef long long line_part __attribute__((vector_size(16), may_alias));
#define LINE_STORE(to, v) __builtin_ia32_movntdq(to, v)
#else
typedef long long line_part __attribute__((vector_size(16), may_alias));
#define LINE_STORE(to, v) (*(to) = (v))
#endif
typedef line_part line_partu __attribute__((aligned(1), may_alias));

/* Writes one line from anywhere to an aligned place. */
INLINE void stream_line(void *to, const void *from)
{
    UNROLL(4)
    for (int i = 0; i < LINE / (int)sizeof(line_part); i++)
        LINE_STORE((line_part *)to + i, ((const line_partu *)from)[i]);
}

INLINE void stream_end(void)
{
#if defined(__SSE2__)
    __builtin_ia32_sfence();
#endif
}

#endif
