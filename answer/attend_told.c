/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of the two ways to compute a graph's sites, to people and to programs. It decides
 * nothing. */
#include "answer/graph.h"

/* By kind: what they are, and what they are when they are no calls; the latter in JSON, too. */
static const char *const what[] = {"attention", "1x1 and depthwise convolutions"};
static const char *const parts[] = {"as products and softmax", "as two"};
static const char *const parts_key[] = {"as_products_s", "as_two_s"};

static void say(const ot_attending *told, ot_site_kind kind, ot_text *to)
{
    char called[32], spelled[32];
    if (!told->sites)
        return;
    ot_text_printf(to, "%s: %d of %d as one call", what[kind], told->fused, told->sites);
    ot_format(called, sizeof called, "%.4g", told->called * 1e6);
    ot_format(spelled, sizeof spelled, "%.4g", told->spelled * 1e6);
    if (told->called > 0)
        ot_text_printf(to, ": %s us so, %s us %s", called, spelled, parts[kind]);
    else
        ot_text_add(to, ", not measured both ways");
    ot_text_add(to, told->turned ? "; turns of the whole decided\n" : "\n");
}

void ot_attending_say(const optune_partition *p, ot_text *to)
{
    say(&p->attending, OT_SITE_ATTENTION, to);
    say(&p->chaining, OT_SITE_CHAIN, to);
}

json_t *ot_attending_json(const ot_attending *told, ot_site_kind kind)
{
    if (!told->sites)
        return json_null();
    return json_pack("{s:i, s:i, s:b, s:o, s:o}", "found", told->sites, "as_one", told->fused,
                     "by_turns", (int)told->turned, "as_one_s",
                     told->called > 0 ? json_real(told->called) : json_null(), parts_key[kind],
                     told->called > 0 ? json_real(told->spelled) : json_null());
}
