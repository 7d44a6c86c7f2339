/* SPDX-License-Identifier: Apache-2.0 */
/* tests/data/lookback_words.cu for elements in shared memory, and lines of four sections. */
#define STAGE
