/* SPDX-License-Identifier: Apache-2.0 */
/* tests/data/lookback_words.cu for neighbouring lines. */
#define ACROSS
