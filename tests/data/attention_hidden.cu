/* SPDX-License-Identifier: Apache-2.0 */
/* The same, whose mask keeps keys, with a scale for which the largest float over the factor of
 * exponents, times that factor, is infinite. */
#define MASKED 1
#define MASK_KEEPS 1
#define MASK_T unsigned char
#define MASK_OF(m) (m)
#define MASK_B 0
#define MASK_H 0
#define MASK_Q 32
#define MASK_K 1
#define SCALE 0.88f
