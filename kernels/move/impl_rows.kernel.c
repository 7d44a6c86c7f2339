/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `move` does every piece by HOW, row by row with BLOCK elements at a time unless the body that
 * includes this says otherwise, then orders what went past the caches.
 */
#include "kernels/move/rows_body.kernel.h"

#ifndef HOW
#define HOW move_rows
#endif

void move(void *const *arg)
{
#if PIECES > 0
    DO(0);
#endif
#if PIECES > 1
    DO(1);
#endif
#if PIECES > 2
    DO(2);
#endif
#if PIECES > 3
    DO(3);
#endif
#if PIECES > 4
    DO(4);
#endif
#if PIECES > 5
    DO(5);
#endif
#if PIECES > 6
    DO(6);
#endif
#if PIECES > 7
    DO(7);
#endif
#if PIECES > 8
    DO(8);
#endif
#if PIECES > 9
    DO(9);
#endif
#if PIECES > 10
    DO(10);
#endif
#if PIECES > 11
    DO(11);
#endif
#if PIECES > 12
    DO(12);
#endif
#if PIECES > 13
    DO(13);
#endif
#if PIECES > 14
    DO(14);
#endif
#if PIECES > 15
    DO(15);
#endif
#if PIECES > 16
    DO(16);
#endif
#if PIECES > 17
    DO(17);
#endif
#if PIECES > 18
    DO(18);
#endif
#if PIECES > 19
    DO(19);
#endif
#if PIECES > 20
    DO(20);
#endif
#if PIECES > 21
    DO(21);
#endif
#if PIECES > 22
    DO(22);
#endif
#if PIECES > 23
    DO(23);
#endif
#if STREAM
    stream_end();
#endif
}
