/* SPDX-License-Identifier: Apache-2.0 */
/* What the search that learns holds from one question to the next. */
#ifndef OPTUNE_SEARCH_FOREST_H
#define OPTUNE_SEARCH_FOREST_H

#include "tuner/learner.h"

typedef struct ot_forest_search {
    ot_learner *taught; /* is told everything; the only one where nothing is known elsewhere */
    ot_learner *untaught; /* is told what it asked for itself; NULL: not needed so far */
    int n_out;            /* of the untaught one's, not told yet */
    int64_t out[OT_LEARNER_OUT];
    int known;  /* trials that were there before the first ask */
    bool stuck; /* the taught one has found nothing better for long */
    int turn;
} ot_forest_search;

#endif
