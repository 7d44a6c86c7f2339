/* SPDX-License-Identifier: Apache-2.0 */
/* An axis that is read three times. */
#define OUTER 2
#define AXIS 37
#define INNER 23
#define ALONG 8
#define ACROSS 16
#define V 1
#define HELD 0
#define INDEX u32
#define SCALAR float
#define SCALAR_BITS 32
#define SCALAR_REAL 1
#define OUT_T float
#define IN_OF(x) (x)
#define RESULT_BY(x) (x)
