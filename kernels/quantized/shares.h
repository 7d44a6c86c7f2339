/* SPDX-License-Identifier: Apache-2.0 */
/* How threads share a quantised convolution by products of tiles and panels. Host code only. */
#ifndef OPTUNE_KERNELS_QUANTIZED_SHARES_H
#define OPTUNE_KERNELS_QUANTIZED_SHARES_H

#include "kernels/host/host.h"

/* Times are in products of a tile by a panel. */
typedef struct qconv_work {
    int64_t apart;         /* groups, and images where these are apart */
    int64_t tiles, panels; /* of each; of pixels that follow one another, of the weight */
    int64_t panel_bytes;
    double gather; /* to read or to copy a tile's pixels */
    double beside; /* tiles that a block reads beside its own */
    double weight; /* to read a panel's weight for the first time */
} qconv_work;

/* A loop over what is apart, in it parts of the panels, in them blocks of the tiles. */
typedef struct qconv_shares {
    int64_t parts, blocks;
} qconv_shares;

/* Blocks of at most `most` tiles. */
qconv_shares qconv_shares_of(const optune_task *task, const qconv_work *work, int64_t most);

/* The knob `blocks` of both rows: `most` of the line above, 1 to 128. */
void qconv_blocks_knob(optune_space *space);
/* Refuses what shares as a smaller value of it does. */
bool qconv_blocks_differ(const optune_task *task, const qconv_work *work, int64_t blocks,
                         char *why);
/* Chooses the largest value up to `most`, or the least that shares as it does. */
void qconv_blocks_choose(const optune_task *task, const qconv_work *work, int64_t most,
                         const optune_space *space, optune_config *config);

#endif
