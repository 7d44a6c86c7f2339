/* SPDX-License-Identifier: Apache-2.0 */
/* Where the values of an emitted graph are. */
#include "answer/emit_graph.h"

ot_emitted_spot ot_emitted_place(const ot_emission *e, ot_value value)
{
    const ot_located at = ot_places_at(&e->partition->places, value);
    if (at.home < 0)
        return (ot_emitted_spot){.kind = OT_AT_NONE};
    ot_emitted_spot spot = e->home[at.home];
    if (spot.kind == OT_AT_INPUT || spot.kind == OT_AT_OUTPUT)
        spot.offset = at.offset;
    else
        spot.at += at.offset;
    return spot;
}

bool ot_emitted_runs(const ot_emission *e, int group)
{
    return e->partition->places.idle[group] == OT_RUNS;
}
