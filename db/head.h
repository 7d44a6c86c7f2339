/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heads: what many trials of a log have in common (workload, target, device, implementation, the
 * names of its knobs ...), said once, under a name that is the hash of its text. Short lines lean
 * on them (line_short.c). Whoever appends says the heads of their own lines, in front of these, so
 * what others append or how logs are put together changes nothing. Nothing outside db/ includes
 * this.
 */
#ifndef OPTUNE_DB_HEAD_H
#define OPTUNE_DB_HEAD_H

#include "base/record.h"
#include "db/line.h"

#define OT_HEAD_PREFIX "# optune head "
enum {
    OT_HEAD_VERSION = 1,
    OT_HEAD_USES = 1024,     /* lines after which a writer says a head again */
    OT_HEAD_REACH = 8 << 20, /* bytes of other heads, likewise */
    OT_HEADS_KEPT =
        4 * OT_HEAD_REACH, /* what a reader remembers at least, in bytes as they take */
};

typedef struct ot_knob_head {
    char name[OPTUNE_KNOB_NAME_SIZE];
    uint8_t kind;
    const char *before; /* `["tile_x","sp",`, as ot_config_print begins it */
    size_t n_before;
} ot_knob_head;

typedef struct ot_head {
    uint64_t name;
    const char
        *text; /* its JSON; NULL: two texts have this name, and nothing leans on either */
    size_t n_text;
    const char *field[OT_RECORD_FIELDS]; /* the texts among them */
    uint64_t bits[OT_RECORD_FIELDS];     /* and the bits */
    int n_knobs;
    ot_knob_head *knob;
} ot_head;

/* Whether a field is the same for many: what the asker says in words, and the inputs' seed. */
static inline bool ot_head_has(const ot_record_field *f)
{
    return f->log != OT_LOG_NONE && f->kind != OT_RECORD_CONFIG &&
           (f->kind == OT_RECORD_BITS ||
            (f->who == OT_RECORD_ASKER && f->kind >= OT_RECORD_WORD));
}

/* ---- what a reader has seen ---- */
/* Of one log; memory is bounded: the oldest are forgotten. */
ot_heads *ot_heads_new(void);
void ot_heads_free(ot_heads *heads); /* NULL is fine */
/* A declaration, behind its prefix: NULL, or the problem, with which it is not known. */
const char *ot_heads_take(ot_heads *heads, const char *text, size_t n, ot_arena *arena);
/* NULL: it was not declared. Valid until the next declaration. */
const ot_head *ot_heads_find(const ot_heads *heads, uint64_t name);
/* The texts and bits of a head into a record. */
void ot_head_fill(const ot_head *head, optune_record *record);

/* ---- what a writer says ---- */
typedef struct ot_heading { /* of a record that is to be written */
    uint64_t name;
    const char *text;
    size_t n_text;
} ot_heading;
typedef struct ot_headings ot_headings; /* lately made; zeroed by ot_headings_new */
ot_headings *ot_headings_new(void);
void ot_headings_free(ot_headings *headings);
/* Valid until the next one is asked for. */
ot_heading ot_heading_of(ot_headings *headings, const optune_record *record);
typedef struct ot_said ot_said;
/* Which of them one writer's log has. All zero to start. */
struct ot_said {
    struct ot_said_one {
        uint64_t name, at;
        int uses;
        bool used;
    } * one;
    int n, capacity;
    uint64_t bytes;
};
/* Adds the declaration in front of a line that leans on it, where it is due. */
void ot_said_say(ot_said *said, const ot_heading *heading, ot_text *to);
/* What was said may not be there, or this begins anew. */
void ot_said_forget(ot_said *said);
void ot_said_release(ot_said *said);

/* Of 16 hexadecimal digits. */
bool ot_head_name(const char *hex, uint64_t *name);

/* line_short.c; ot_line_short: NULL, or the problem; `line` is filled as by ot_line_own. */
bool ot_line_is_short(const char *text, size_t n);
const char *ot_line_short(const char *text, size_t n, ot_heads *heads, ot_arena *arena,
                          ot_log_line *line);
void ot_line_add_short(const optune_record *record, uint64_t head,
                       ot_text *to); /* its newline */

#endif
