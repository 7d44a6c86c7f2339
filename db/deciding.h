/* SPDX-License-Identifier: Apache-2.0 */
/* Which records of a question need to be read for an answer. Nothing outside db/ includes this. */
#ifndef OPTUNE_DB_DECIDING_H
#define OPTUNE_DB_DECIDING_H

#include "db/kv.h"

/* What an entry of the index tells. */
typedef struct ot_brief {
    ot_digest digest;
    unsigned char cost[8]; /* as ot_index_cost has it */
    bool told;             /* it is of a layout that tells; else only the two above are set */
    bool good, final;
    double time;
    uint64_t tried, basis;
    /* Set by ot_deciding: */
    bool keep;
    bool tells; /* it was overtaken and is told of, or is what overtook such a one */
    bool spare; /* it is kept to be told of alone, and decides nothing */
    int alike;  /* how many that are not kept it stands for */
    bool lost;  /* records.c: it leads to no whole record of the question */
} ot_brief;

typedef struct ot_briefs {
    ot_brief *at; /* on the heap */
    int n, capacity;
} ot_briefs;

/* brief[n] are all entries of one question, cheapest first. */
void ot_deciding(ot_brief *brief, int n);

/* ---- summary.c --------------------------------------------------------------------------- */
/* All entries of a question, in place of what is there. */
int ot_briefs_read(ot_snapshot *reader, const ot_digest *asked, ot_briefs *all,
                   optune_err *err);
/* One more, of the bytes of the index. */
void ot_briefs_add(ot_briefs *all, const ot_bytes *key, const ot_bytes *value);
/* Those that decide, `keep` and `alike` set, which may be none; 1: there is no list of them that
 * can be believed. */
int ot_summary_read(ot_snapshot *reader, const ot_digest *asked, ot_briefs *all);
/* Of a question whose entries this transaction has changed. */
int ot_summary_make(ot_writer *writer, const ot_digest *asked, optune_err *err);
/* The same; *bytes counts what was read and written for it. */
int ot_summary_make_counted(ot_writer *writer, const ot_digest *asked, int64_t *bytes,
                            optune_err *err);
/* summed.c: its bytes. Serial, number of entries that are listed, those, a checksum; 0 listed: all
 * have to be looked at. */
enum {
    OT_SUMMARY_HEAD = 8 + 4,
    OT_SUMMARY_FEW =
        16, /* entries that decide are listed whenever there are others beside them */
    /* What ot_deciding says, in the number of those that it stands for. Of good records alone,
     * where nobody reads that; versions before this one set neither, and all listed are read. */
    OT_SUMMARY_TELLS = 1 << 30,
    OT_SUMMARY_ALIKE = OT_SUMMARY_TELLS - 1,
};
#define OT_SUMMARY_SPARE ((uint32_t)1 << 31)
uint32_t ot_briefs_kept(const ot_briefs *all);
/* What stands in front of one that is whole. */
void ot_summary_head(const ot_bytes *value, uint64_t *serial, uint32_t *kept);
bool ot_summary_whole(const ot_digest *asked, const ot_bytes *value, uint64_t *serial,
                      uint32_t *kept);
/* `kept`: those that decide, which are listed; 0: none is. */
void ot_summary_print_of(const ot_digest *asked, uint64_t serial, const ot_briefs *all,
                         uint32_t kept, ot_text *to);
/* What it is of entries that ot_deciding has looked at, changed by transaction `serial`. */
void ot_summary_print(const ot_digest *asked, uint64_t serial, const ot_briefs *all,
                      ot_text *to);
/* Whether all questions have one, of a snapshot whose summaries are believed; and what says so,
 * which is put by whoever knows it. */
bool ot_summary_has_all(ot_snapshot *reader);
extern const ot_bytes ot_summary_all_key;
void ot_summary_all(uint64_t serial, ot_text *to);
/* summing.c: makes some of those that are missing; in a transaction that has changed something. */
int ot_summing_go_on(ot_writer *writer, optune_err *err);
bool ot_summary_is_all(const ot_bytes *value);
/* In a store that is made of another, whose transactions are counted anew: by the first of them,
 * with which no later change is confused. */
enum { OT_SUMMARY_MADE = 1 };
/* The same of an entry of the table; what is damaged stays so. */
void ot_summary_moved(const ot_bytes *key, const ot_bytes *value, ot_text *to);
/* 1: it is not what its entries come to. */
int ot_summary_check(ot_snapshot *reader, const ot_bytes *key, const ot_bytes *value,
                     optune_err *err);

#endif
