/* SPDX-License-Identifier: Apache-2.0 */
/* An axis that threads hold, with vectors and elements that lie outside. */
#define OUTER 2
#define AXIS 37
#define INNER 40
#define ALONG 8
#define ACROSS 16
#define V 4
#define HELD 3
#define INDEX u32
#define SCALAR float
#define SCALAR_BITS 32
#define SCALAR_REAL 1
#define OUT_T float
#define IN_OF(x) (x)
#define RESULT_BY(x) (x)
