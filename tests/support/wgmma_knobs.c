/* SPDX-License-Identifier: Apache-2.0 */
#include "support/wgmma_knobs.h"

#include "support/check.h"

void wgmma_knobs_set(optune_config *config, const optune_space *space, const void *knobs)
{
    static const char *const names[] = {"block_m",   "block_n", "block_k_bytes", "stages",
                                        "consumers", "group_m", "cluster",       "persistent"};
    const wgmma_knobs *k = knobs;
    const int64_t value[] = {k->bm,        k->bn,    k->kb,      k->stages,
                             k->consumers, k->group, k->cluster, k->persistent};
    for (int i = 0; i < OT_COUNT(names); i++)
        optune_config_choose_int(config, space, names[i], value[i]);
    optune_config_choose_word(config, space, "copies", k->thread ? "thread" : "warpgroup");
    optune_config_choose_word(config, space, "stores", k->pairs ? "pairs" : "boxes");
}
