/* SPDX-License-Identifier: Apache-2.0 */
/* tests/data/filter_words.cu of 32 bits, a line in 4 parts. */
#define BITS 32
#define PARTS 4
