/* SPDX-License-Identifier: Apache-2.0 */
/* tests/data/filter_words.cu of 64 bits, a line in 1 part. */
#define BITS 64
#define PARTS 1
