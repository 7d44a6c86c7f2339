/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan would define for tests/kernels/test_filter.c: the 9 largest of 5117 floats, and
 * little room. */
#ifndef STORED_BITS
#define STORED_BITS BITS
#endif
#define HALF (STORED_BITS == 16)
#define INDEX i32
#define FLOATING 1
#define DESCEND 1
#define VALUES 1
#define INDICES 1
#define OUTER 1
#define N 5117
#define INNER 1
#define K 9
#define THREADS 64
#define EACH 16
#define V (STORED_BITS == 16 ? 8 : 4)
#define ROOM 128
#define LEAD_PARAMETERS
