/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a question's summary (summary.c). Each has a checksum: what it leaves out would be
 * missed by nobody.
 */
#include <string.h>

#include "db/deciding.h"

/* An entry: digest, cost, how many it stands for and its part in what is told of; in the machine's
 * order, as LMDB's own. */
enum {
    DIGEST = 16,
    COST = 8,
    ALIKE = 4, /* with OT_SUMMARY_SPARE and OT_SUMMARY_TELLS */
    ENTRY = DIGEST + COST + ALIKE,
    HEAD = 8 + 4,
    SUM = 8,
    FEW =
        OT_SUMMARY_FEW, /* entries that decide are listed whenever there are others beside them */
    MOST = 1 << 16      /* that are listed */
};

static uint64_t sum_of(const ot_digest *asked, const void *data, size_t n)
{
    return ot_hash64(data, n) * 0x9e3779b97f4a7c15u + ot_hash64(asked->byte, DIGEST);
}

/* Of no question. */
static const ot_digest nobody;

const ot_bytes ot_summary_all_key = {nobody.byte, DIGEST};

void ot_summary_all(uint64_t serial, ot_text *to)
{
    const ot_briefs none = {0};
    ot_summary_print(&nobody, serial, &none, to);
}

bool ot_summary_is_all(const ot_bytes *value)
{
    uint64_t serial;
    uint32_t kept;
    return ot_summary_whole(&nobody, value, &serial, &kept);
}

/* ---- writing ----------------------------------------------------------------------------- */

uint32_t ot_briefs_kept(const ot_briefs *all)
{
    uint32_t kept = 0;
    for (int i = 0; i < all->n; i++)
        kept += all->at[i].keep;
    return kept;
}

/* Many are not worth their room where they are most of all. */
static bool is_listed(uint32_t kept, int all)
{
    return kept <= MOST &&
           (kept <= FEW ? (uint32_t)all > kept : (uint32_t)all >= 2 * kept + FEW);
}

/* `kept`: those that decide, which are listed; 0: none is. */
void ot_summary_print_of(const ot_digest *asked, uint64_t serial, const ot_briefs *all,
                         uint32_t kept, ot_text *to)
{
    ot_text_clear(to);
    ot_text_add_n(to, (const char *)&serial, sizeof serial);
    ot_text_add_n(to, (const char *)&kept, sizeof kept);
    for (int i = 0; i < all->n && kept; i++) {
        const ot_brief *b = &all->at[i];
        const uint32_t alike = (uint32_t)b->alike | (b->spare ? OT_SUMMARY_SPARE : 0) |
                               (b->tells ? OT_SUMMARY_TELLS : 0);
        if (!b->keep)
            continue;
        ot_text_add_n(to, (const char *)b->digest.byte, DIGEST);
        ot_text_add_n(to, (const char *)b->cost, COST);
        ot_text_add_n(to, (const char *)&alike, ALIKE);
    }
    const uint64_t sum = sum_of(asked, to->s, to->n);
    ot_text_add_n(to, (const char *)&sum, sizeof sum);
}

void ot_summary_print(const ot_digest *asked, uint64_t serial, const ot_briefs *all,
                      ot_text *to)
{
    const uint32_t kept = ot_briefs_kept(all);
    ot_summary_print_of(asked, serial, all, is_listed(kept, all->n) ? kept : 0, to);
}

/* ---- reading ----------------------------------------------------------------------------- */

void ot_summary_head(const ot_bytes *value, uint64_t *serial, uint32_t *kept)
{
    memcpy(serial, value->data, sizeof *serial);
    memcpy(kept, (const char *)value->data + sizeof *serial, sizeof *kept);
}

/* Whether it is whole; *kept: how many follow the head. */
bool ot_summary_whole(const ot_digest *asked, const ot_bytes *value, uint64_t *serial,
                      uint32_t *kept)
{
    uint64_t sum;
    if (value->n < HEAD + SUM)
        return false;
    ot_summary_head(value, serial, kept);
    memcpy(&sum, (const char *)value->data + value->n - SUM, sizeof sum);
    return *kept <= MOST && value->n == HEAD + SUM + (size_t)*kept * ENTRY &&
           sum == sum_of(asked, value->data, value->n - SUM);
}

void ot_summary_moved(const ot_bytes *key, const ot_bytes *value, ot_text *to)
{
    const uint64_t made = OT_SUMMARY_MADE;
    ot_digest asked;
    uint64_t serial;
    uint32_t kept;
    ot_text_clear(to);
    ot_text_add_n(to, value->data, value->n);
    if (key->n != DIGEST)
        return;
    memcpy(asked.byte, key->data, DIGEST);
    if (!ot_summary_whole(&asked, value, &serial, &kept))
        return;
    memcpy(to->s, &made, sizeof made);
    const uint64_t sum = sum_of(&asked, to->s, to->n - SUM);
    memcpy(to->s + to->n - SUM, &sum, sizeof sum);
}
