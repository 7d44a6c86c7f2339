/* SPDX-License-Identifier: Apache-2.0 */
/* How a file of reference outputs begins: reference.c writes it, reference_file.c maps it. */
#ifndef OPTUNE_RUN_REFERENCE_H
#define OPTUNE_RUN_REFERENCE_H

#include "run/worker.h"

#define OT_REFERENCE_MAGIC UINT64_C(0x6f70745265663034)

typedef struct ot_reference_head {
    struct {
        uint64_t magic;
        int64_t n_blocks, whole, nan, left[OPTUNE_MAX_OUTPUTS];
    } header;
    ot_block block[OT_REFERENCE_BLOCKS];
} ot_reference_head;

#endif
