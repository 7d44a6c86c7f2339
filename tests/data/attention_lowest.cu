/* SPDX-License-Identifier: Apache-2.0 */
/* Attention of 16 rows over two tiles of 16 keys, whose mask is added. */
#define MASKED 1
#define MASK_KEEPS 0
#define MASK_T float
#define MASK_OF(m) (m)
#define MASK_B 0
#define MASK_H 0
#define MASK_Q 32
#define MASK_K 1
#define SCALE 0.25f
