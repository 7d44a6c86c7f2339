/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entries of the index: in the order of a question's costs, each with what decides between
 * records before they are read.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/record.h"
#include "db/deciding.h"

enum { DIGEST = 16 };

ot_question ot_record_question(const optune_record *record)
{
    return (ot_question){.device = record->device,
                         .target = record->target,
                         .call = record->call,
                         .policy = record->policy ? record->policy : "warm"};
}

/* Sorts as the numbers do; what is no number sorts behind infinity. */
static void sortable(double cost, unsigned char to[8])
{
    uint64_t bits;
    if (isnan(cost))
        cost = INFINITY;
    memcpy(&bits, &cost, sizeof bits);
    bits = bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
    for (int i = 0; i < 8; i++)
        to[i] = (unsigned char)(bits >> (56 - 8 * i));
}

void ot_index_cost(const optune_record *record, unsigned char to[8])
{
    sortable(record->outcome == OPTUNE_OUTCOME_OK ? record->cost : INFINITY, to);
}

/* What a config was measured under: its verdict is the same for all records of it. */
static uint64_t basis_of(const optune_record *record)
{
    const char *const texts[] = {record->impl, record->digest, record->depends};
    const ot_digest digest = ot_digest_texts(texts, OT_COUNT(texts));
    uint64_t basis;
    memcpy(&basis, digest.byte, sizeof basis);
    return basis;
}

void ot_index_entry_make(const optune_record *record, const ot_digest *digest,
                         const char *config, ot_index_entry *entry)
{
    const ot_question question = ot_record_question(record);
    const ot_digest asked = ot_question_digest(&question);
    const bool good = record->outcome == OPTUNE_OUTCOME_OK;
    memcpy(entry->key, asked.byte, DIGEST);
    ot_index_cost(record, entry->key + DIGEST);
    memcpy(entry->key + DIGEST + 8, digest->byte, DIGEST);
    const uint64_t tried = ot_hash64(config, strlen(config)), basis = basis_of(record);
    entry->value[0] = (unsigned char)(good | record->final << 1);
    memcpy(entry->value + 1, &record->time, 8);
    memcpy(entry->value + 9, &tried, 8);
    memcpy(entry->value + 17, &basis, 8);
}

ot_digest ot_hint_digest(const char *call, const char *target)
{
    char kind[OPTUNE_NAME_SIZE];
    size_t n = strcspn(target, " ");
    n = n < sizeof kind ? n : sizeof kind - 1;
    memcpy(kind, target, n);
    kind[n] = '\0';
    const char *const texts[] = {call, kind};
    return ot_digest_texts(texts, OT_COUNT(texts));
}

bool ot_index_hint(const optune_record *record, const ot_digest *digest,
                   unsigned char key[OT_BEST_KEY])
{
    if ((record->digest && *record->digest) || record->outcome != OPTUNE_OUTCOME_OK ||
        !record->call || !record->target)
        return false;
    const ot_digest asked = ot_hint_digest(record->call, record->target);
    memcpy(key, asked.byte, DIGEST);
    ot_index_cost(record, key + DIGEST);
    memcpy(key + DIGEST + 8, digest->byte, DIGEST);
    return true;
}

void ot_index_entry_of(const optune_record *record, const ot_digest *digest,
                       ot_index_entry *entry)
{
    ot_text config = {0};
    ot_config_print(&record->config, &config);
    ot_index_entry_make(record, digest, ot_text_str(&config), entry);
    ot_text_release(&config);
}

/* ---- all that leads to records ----------------------------------------------------------- */

void ot_lead_make(const optune_record *record, const ot_digest *digest, const char *config,
                  ot_lead *lead)
{
    lead->digest = *digest;
    ot_index_entry_make(record, digest, config, &lead->entry);
    lead->hint = ot_index_hint(record, digest, lead->hint_key);
}

static int by_entry(const void *a, const void *b)
{
    const ot_lead *const *x = a, *const *y = b;
    return memcmp((*x)->entry.key, (*y)->entry.key, OT_BEST_KEY);
}

int ot_leads_put(ot_writer *writer, const ot_lead **lead, int n, optune_err *err)
{
    int status = OPTUNE_OK;
    qsort(lead, (size_t)n, sizeof *lead, by_entry);
    for (int i = 0; status >= 0 && i < n; i++)
        status =
            ot_writer_put(writer, OT_TABLE_BEST, (ot_bytes){lead[i]->entry.key, OT_BEST_KEY},
                          (ot_bytes){lead[i]->entry.value, OT_BEST_VALUE}, NULL, err);
    for (int i = 0; status >= 0 && i < n; i++)
        if (i + 1 == n || memcmp(lead[i]->entry.key, lead[i + 1]->entry.key, DIGEST) != 0)
            status = ot_summary_make(writer, ot_index_asked(&lead[i]->entry), err);
    for (int i = 0; status >= 0 && i < n; i++)
        if (lead[i]->hint)
            status =
                ot_writer_put(writer, OT_TABLE_HINT, (ot_bytes){lead[i]->hint_key, OT_BEST_KEY},
                              (ot_bytes){"", 0}, NULL, err);
    return status;
}
