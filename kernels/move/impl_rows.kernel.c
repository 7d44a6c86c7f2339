/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `move` does every piece by HOW, row by row with BLOCK elements at a time unless the body that
 * includes this says otherwise, then orders what went past the caches.
 */
#include "kernels/move/rows_body.kernel.h"

#ifndef HOW
#define HOW move_rows
#endif

#if MANY
static __attribute__((noinline)) void by_how(const i64 *const p, void *const *arg)
{
    HOW(p, arg);
}
#else
#define by_how HOW
#endif

void move(void *const *arg)
{
    TIMES(PIECES, DO)
#if STREAM
    stream_end();
#endif
}
