/* SPDX-License-Identifier: Apache-2.0 */
/* An axis that threads hold without a rest. */
#define OUTER 2
#define AXIS 48
#define INNER 64
#define ALONG 8
#define ACROSS 16
#define V 2
#define HELD 3
#define INDEX u32
#define SCALAR float
#define SCALAR_BITS 32
#define SCALAR_REAL 1
#define OUT_T float
#define IN_OF(x) (x)
#define RESULT_BY(x) (x)
