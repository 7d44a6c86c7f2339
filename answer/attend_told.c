/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of the two ways to compute a graph's attention, to people and to programs. It
 * decides nothing. */
#include "answer/graph.h"

void ot_attending_say(const ot_attending *told, ot_text *to)
{
    char called[32], spelled[32];
    if (!told->sites)
        return;
    ot_text_printf(to, "attention: %d of %d as one call", told->fused, told->sites);
    ot_format(called, sizeof called, "%.4g", told->called * 1e6);
    ot_format(spelled, sizeof spelled, "%.4g", told->spelled * 1e6);
    if (told->called > 0)
        ot_text_printf(to, ": %s us so, %s us as products and softmax\n", called, spelled);
    else
        ot_text_add(to, ", not measured both ways\n");
}

json_t *ot_attending_json(const ot_attending *told)
{
    if (!told->sites)
        return json_null();
    return json_pack("{s:i, s:i, s:o, s:o}", "found", told->sites, "as_one", told->fused,
                     "as_one_s", told->called > 0 ? json_real(told->called) : json_null(),
                     "as_products_s",
                     told->called > 0 ? json_real(told->spelled) : json_null());
}
