/* SPDX-License-Identifier: Apache-2.0 */
/* A thread for a plane; the last block has few. */
#define OUTPUTS 300
#define COUNT 49
#define THREADS 128
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
