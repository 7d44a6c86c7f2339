/* SPDX-License-Identifier: Apache-2.0 */
/* tests/data/filter_words.cu of float16, a line in 4 parts. */
#define BITS 32
#define STORED_BITS 16
#define PARTS 4
