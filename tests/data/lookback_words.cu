/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan would define for tests/kernels/test_lookback.c: two lines of 10245 floats in 41 tiles
 * each, or of 325 among 37 neighbours, where a block looks back over 32 of them at most. */
#define IN float
#define DTYPE float
#define DTYPE_WORDS 1
#define IN_OF
#define IN_ONE 1
#define OUT_T float
#define RESULT_BY (float)
#define OUTER 2
#define THREADS 64
#define EACH 4
#ifdef STAGE
#define TILES 101
#else
#define TILES 41
#endif
#define LOOK 32
#define PRODUCT 0
#define EXCLUSIVE 0
#define LEAD_PARAMETERS
#ifdef ACROSS
#define N 325
#define INNER 37
#define WIDTH 32
#define TOLD TILES
#define POOL_BYTES (16 + 4 * (THREADS + LOOK * WIDTH))
#else
#define INNER 1
#define TEAM 64
#define TOLD (TILES + (TILES + 31) / 32)
#ifdef STAGE
#define N 25604
#define V 4
#define STAGED 1024
#define POOL_BYTES (16 + 4 * (THREADS / 32 + 34) + STAGED)
#else
#define N 10245
#define V 1
#define STAGED 0
#define POOL_BYTES (16 + 4 * (THREADS / 32 + 33))
#endif
#endif
