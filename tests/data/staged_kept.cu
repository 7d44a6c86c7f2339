/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that begin anywhere in a vector, exponentials in their place. */
#define OUTER 5
#define AXIS 1003
#define INNER 1
#define THREADS 128
#define STAGED_T OUT_T
#define STAGED_V 4
#define KEEP 1
#define RESIDENT 1
#define INDEX u32
#define SCALAR float
#define SCALAR_BITS 32
#define SCALAR_REAL 1
#define OUT_T float
#define IN_OF(x) (x)
#define RESULT_BY(x) (x)
