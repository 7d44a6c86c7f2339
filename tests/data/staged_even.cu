/* SPDX-License-Identifier: Apache-2.0 */
/* The same, of an even size, which threads begin apart. */
#define OUTPUTS 150
#define COUNT 50
#define THREADS 64
#define ROW_TEAM 1
#define STAGED_V 4
#define INDEX u32
#define SCALAR float
#define SCALAR_BITS 32
#define SCALAR_REAL 1
#define IN_T float
#define STAGED_T IN_T
#define OUT_T float
#define IN_OF(x) (x)
#define RESULT_BY(x) (x)
