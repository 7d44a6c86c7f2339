/* SPDX-License-Identifier: Apache-2.0 */
/* tests/data/filter_words.cu of 32 bits, a line in 1 part. */
#define BITS 32
#define PARTS 1
