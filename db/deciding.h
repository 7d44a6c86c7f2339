/* SPDX-License-Identifier: Apache-2.0 */
/* Which records of a question need to be read for an answer. Nothing outside db/ includes this. */
#ifndef OPTUNE_DB_DECIDING_H
#define OPTUNE_DB_DECIDING_H

#include "db/kv.h"

/* What an entry of the index tells. */
typedef struct ot_brief {
    ot_digest digest;
    bool told; /* it is of a layout that tells; else only `digest` is set */
    bool good, final;
    double time;
    uint64_t tried, basis;
    /* Set by ot_deciding: */
    bool keep;
    int alike; /* how many that are not kept it stands for */
} ot_brief;

/* brief[n] are all entries of one question, cheapest first. */
void ot_deciding(ot_brief *brief, int n);

#endif
