/* SPDX-License-Identifier: Apache-2.0 */
/* What rows by warpgroups have knobs for, products and convolutions alike, set by a test. */
#ifndef OPTUNE_TESTS_WGMMA_KNOBS_H
#define OPTUNE_TESTS_WGMMA_KNOBS_H

#include <stdbool.h>
#include <stdint.h>

#include "optune/define_impl.h"

typedef struct wgmma_knobs {
    int64_t bm, bn, kb, stages, consumers, group, cluster, persistent;
    bool thread, pairs;
} wgmma_knobs;

/* The knobs_set of these. */
void wgmma_knobs_set(optune_config *config, const optune_space *space, const void *knobs);

#endif
