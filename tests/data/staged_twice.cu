/* SPDX-License-Identifier: Apache-2.0 */
/* The same in bfloat16, exponentials computed twice. */
#define OUTER 5
#define AXIS 1003
#define INNER 1
#define THREADS 128
#define STAGED_T OUT_T
#define STAGED_V 8
#define KEEP 0
#define RESIDENT 1
#define INDEX u32
#define SCALAR float
#define SCALAR_BITS 32
#define SCALAR_REAL 1
#define OUT_T u16
#define IN_OF float_of_bfloat
#define RESULT_BY bfloat_of_float
