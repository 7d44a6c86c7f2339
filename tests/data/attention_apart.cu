/* SPDX-License-Identifier: Apache-2.0 */
/* The same, whose mask keeps keys and is one for all rows, with gaps between keys; scores change
 * their sign. */
#define MASKED 1
#define MASK_KEEPS 1
#define MASK_T unsigned char
#define MASK_OF(m) (m)
#define MASK_B 0
#define MASK_H 0
#define MASK_Q 0
#define MASK_K 3
#define SCALE (-0.25f)
