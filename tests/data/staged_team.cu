/* SPDX-License-Identifier: Apache-2.0 */
/* Teams, and blocks whose runs begin within a vector. */
#define OUTPUTS 45
#define COUNT 49
#define THREADS 64
#define ROW_TEAM 32
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
