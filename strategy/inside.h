/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of this room share among themselves and nobody else may see: how a space keeps
 * its knobs, and the few functions that cross a file boundary here.
 */
#ifndef OPTUNE_STRATEGY_INSIDE_H
#define OPTUNE_STRATEGY_INSIDE_H

#include <stdatomic.h>
#include <string.h>

#include "strategy/strategy.h"

enum { OT_MAX_ENTITIES = 1 << 20 }; /* of one knob */

/* All entities of one knob, in AutoTVM's order. */
typedef struct ot_knob {
    char name[OPTUNE_KNOB_NAME_SIZE];
    uint8_t kind, scalar;
    int parts; /* values of one entity; 1 for scalars */
    bool
        ascending; /* a split from sorted factors: entities ascend by (last size, ..., second) */
    /* Of a split: whether all entities are there that policy (optune_split_policy) and the largest
     * factor admit, 0: any; its axis. */
    bool listed;
    uint8_t policy;
    int64_t most, extent;
    int64_t n, capacity;            /* entities; how many there is memory for */
    int64_t *value;                 /* n x parts; NULL for words */
    char (*word)[OPTUNE_WORD_SIZE]; /* n, with zeros behind each; NULL otherwise */
    /* A digit, the first of its value or word: where one is looked for first. */
    atomic_int at;
} ot_knob;

struct optune_space {
    const optune_task *task; /* NULL for a blank space, like impl */
    const optune_impl *impl;
    int n_knobs;
    int64_t size;
    ot_knob knob[OPTUNE_MAX_KNOBS];
    optune_err problem; /* the first misuse; status 0: none */
    ot_where *where;    /* what is valid, as far as constraints say; NULL: they say nothing */
    struct ot_widened *wide; /* owned: the task that the row is asked about, or NULL */
    bool team;               /* its last knob is that of team.c */
    /* Only whether this config is in it is asked: of splits that are made of factors no more than
     * the config's entity is listed, if it is one of theirs. NULL: all are. */
    const optune_config *sought;
    /* Room for what a fallback was found to be, in the space and valid, with its index; n < 0: that
     * was not asked yet. NULL: nobody lends it. */
    optune_config *found;
    atomic_int next; /* the knob at which a name is looked for first: most come in order */
    bool spills;     /* some of what knobs have lies on the heap */
    int n_known;     /* knobs of the time that it was open before, as they were */
    size_t used;     /* of the room in which values and words of knobs lie as far as it goes */
    _Alignas(int64_t) char room[2048];
};

/* plugin_try.c: the deed in a process of its own; EUSAGE: that did not survive it, or it takes more
 * than half a minute. Where such a process cannot be had, or not safely, nothing is tried. */
int ot_plugin_try(int (*deed)(void *arg), void *arg, optune_err *err);

/* space.c: one without knobs, in memory of the caller's, of which is known what there was, or
 * nothing (forget); and what of it is not in that. */
void ot_space_forget(optune_space *space);
void ot_space_begin(optune_space *space);
void ot_space_end(optune_space *space);
/* space_kept.c: memory for a space, `own` where there is no other; and what becomes of it once that
 * has ended. */
optune_space *ot_space_lend(const optune_impl *impl, optune_space *own);
void ot_space_take_back(const optune_impl *impl, optune_space *space, const optune_space *own);
/* space.c: in its room, else on the heap; uninitialised. What is so taken, or NULL. */
void *ot_space_take(optune_space *space, size_t size);
void ot_space_give_back(optune_space *space, void *memory);
/* Whether two names, or words, are the same to the last byte of their room, as those that a space
 * made are where they are equal. */
static inline bool ot_same_room(const char a[OPTUNE_KNOB_NAME_SIZE],
                                const char b[OPTUNE_KNOB_NAME_SIZE])
{
    for (int i = 0; i < OPTUNE_KNOB_NAME_SIZE; i += 8) {
        uint64_t x, y;
        memcpy(&x, a + i, sizeof x);
        memcpy(&y, b + i, sizeof y);
        if (x != y)
            return false; /* mostly the first */
    }
    return true;
}
/* Whether the config is written knob by knob as the space writes it, as most are; *index: its own,
 * NULL: nobody asks. */
bool ot_space_writes(const optune_space *space, const optune_config *config, int64_t *index);
/* The knob of that name, or -1. */
int ot_space_knob(const optune_space *space, const char *name);
/* The digit of the entity with these values, or -1; value[0] of a split may be -1. */
int64_t ot_knob_find(const ot_knob *knob, const int64_t *value);
/* space_order.c: the union of the first `n_divisors` numbers and of those behind them, all above 0,
 * in the order in which AutoTVM meets it; in place. Returns how many there are. */
int ot_factors_as_set(int64_t *factor, int n, int n_divisors);

/* team.c: behind all of an implementation's own knobs, for small calls on CPUs, whether it runs a
 * team of threads; and what it does untuned: whether it decided so. */
void ot_team_space(optune_space *space);
bool ot_team_fallback(const optune_space *space, optune_config *config);
/* team_source.c: whether a body runs a team: uses the word, not only includes the header that
 * defines it. */
bool ot_team_runs(const char *source);
/* C in front of a module of this source, by which it runs the team of who loads it; "": it asks
 * OpenMP for more. */
const char *ot_team_calls(const char *source);
/* Whether the target loads modules as the target cpu does. */
bool ot_loads_as_cpu(const optune_target *target);
/* Whether a config of the space has it computed by one thread. */
bool ot_team_alone(const optune_space *space, const optune_config *config);

/* ranking.c: the candidates of an op on a target, none of them asked, and their places in the order
 * in which plevel has them asked. ENOENT: the op has no strategy for the target. */
enum { OT_GENERIC_PLEVEL = -1000 }; /* below whatever a row says */
typedef struct ot_ranking {
    const optune_strategy *strategy;
    int n;
    ot_considered row[OT_MAX_CANDIDATES];
    unsigned char by_level[OT_MAX_CANDIDATES];
} ot_ranking;
int ot_ranking_get(const optune_op *op, const optune_target *target, const ot_ranking **ranking,
                   optune_err *err);
/* registry.c: how often rows were added, or went. */
unsigned ot_registry_changes(void);

/* candidates.c: as ot_consider, but none is asked; and asking the i-th, where nobody has: to know
 * of an op's generic implementation is to know of all before it. `constant`: what ot_call_static
 * says of the call. */
int ot_consider_rows(const optune_task *task, const ot_ranking **ranking,
                     ot_considered *considered, int *n, optune_err *err);
ot_refusal ot_considered_ask(const optune_task *task, const optune_strategy *strategy,
                             ot_considered *considered, int i, bool constant);

/* refuse.c: ENOENT: of these candidates nobody computes the call, and why not. */
int ot_nothing_valid(const optune_task *task, const ot_candidate *candidate, int n,
                     optune_err *err);

/* body_files.c: of a row with a `source`. ENOENT, with the name: it includes a file of kernels/
 * that bodies cannot include. The text with such files in place, which is kept; NULL: it has none.
 * On which devices what it includes is for, as OT_FOR_CPUS and OT_FOR_GPUS; both where it says
 * nothing. */
int ot_body_check(const optune_impl *impl, optune_err *err);
const char *ot_body_text(const optune_impl *row);
int ot_body_serves(const optune_impl *row);

/* epilogue.c: whether its output is of 16-bit floats, on a CPU. */
bool ot_epilogue_is_half(const optune_task *task);
/* epilogue_generic.c: what is fused behind a generic implementation is computed by the generic ones
 * of its own operators, a stage each, in place: any dtype, dims known at run time. */
bool ot_generic_epilogue_applies(const optune_task *task, char *why);
void ot_generic_epilogue_close(const optune_task *task, optune_plan *plan);
/* Dim d of output 0 as it is at run time: that of an input of the same name, where there is one. */
optune_arg ot_output_dim_arg(const optune_call *call, int d);

/* pattern.c: rows of patterns become rows of ops. What is made lives until it is gone back behind
 * it: all that was made since a mark is released. */
enum { OT_MAX_PATTERN_ROWS = 64 };
bool ot_pattern_serves(optune_pattern pattern, const optune_op *op);
/* The same of a row of a family, or where that is NULL of a pattern. */
bool ot_row_serves(const char *family, optune_pattern pattern, const optune_op *op);
/* "cumsum_loop.cpu" of `loop.cpu`, "cumsum.cpu" of `.cpu`; the caller frees it. */
char *ot_pattern_name(const char *op, const char *name);
const optune_impl *ot_pattern_impl(const optune_impl *row, const optune_op *op);
/* For one of the row's keys. Of an op's own row with several keys: its copy for this one. */
const optune_strategy *ot_pattern_strategy(const optune_strategy *row, const optune_op *op,
                                           const char *key);
/* The row that a strategy was made from; itself when it is a row. */
const optune_strategy *ot_strategy_row(const optune_strategy *strategy);
/* Of two for one op and key the higher goes first, of equal ones the later: a pattern's, a
 * family's, the op's own. */
int ot_strategy_rank(const optune_strategy *strategy);
/* The key of a row: `key`, then `keys`; NULL behind the last. */
const char *ot_strategy_key(const optune_strategy *row, int i);
typedef struct ot_pattern_mark {
    const void *impl, *strategy; /* the newest there were */
} ot_pattern_mark;
ot_pattern_mark ot_pattern_now(void);
void ot_pattern_rewind(ot_pattern_mark mark);
/* The pattern's row behind an implementation; itself when it is not made from one. */
const optune_impl *ot_pattern_row(const optune_impl *impl);
/* Everything the op of a made implementation declares, as text. */
void ot_pattern_declaration(const optune_impl *impl, ot_text *to);

/* registry.c: whose rows these are: "family scan for 'cpu', in tree", "... plugin 'mine'". */
void ot_strategy_origin(const optune_strategy *strategy, ot_text *to);
/* What is added from now on is of this plugin; NULL: of nobody. */
void ot_registry_of_plugin(const char *name);
/* registry.c: the generic implementation of an op; NULL: it has none. */
const optune_impl *ot_generic_of(const optune_op *op);
/* What its body has, which is kilobytes of text: looked for once. */
typedef enum ot_body_fact {
    OT_BODY_TEAM,        /* it runs a team of threads */
    OT_BODY_STORES,      /* tensors by the words of kernels/common/stored.kernel.h */
    OT_BODY_STORES_SOME, /* so that some of them may be of 16 bits and others not */
    OT_BODY_BRAIN        /* it knows expressions of 16-bit floats in its registers */
} ot_body_fact;
bool ot_impl_has(const optune_impl *impl, ot_body_fact fact);
/* How much there is, and going back to it, so that a plugin is added whole or not
 * at all. */
typedef struct ot_registry_mark {
    int op, strategy, impl, generic, search, pattern_impl, pattern_strategy;
    ot_pattern_mark made;
} ot_registry_mark;
ot_registry_mark ot_registry_now(void);
void ot_registry_rewind(ot_registry_mark mark);
/* ENOENT: of what was added since, an operator is of a family or a pattern whose strategy names an
 * implementation that there is not. */
int ot_registry_whole(ot_registry_mark mark, optune_err *err);

/* ---- widen.c: 16-bit floats on CPUs by what computes in float32 --------------------------- */
typedef struct ot_widened {
    optune_task task;
    optune_call call;
} ot_widened;
/* The same call with float32 for each 16-bit float, and numbers of its attributes as these have
 * them. `to` must stay where it is. */
void ot_widen(const optune_task *task, ot_widened *to);
/* Whether it has 16-bit floats, and all of them can be widened here: asked before the row is. */
bool ot_may_widen(const optune_task *task);
/* Whether the row refuses the call and takes it so; then `to` is that. */
bool ot_widens(const optune_impl *impl, const optune_task *task, ot_widened *to);
/* Of a plan made for the widened call: whether its modules read and write 16 bits themselves, which
 * they then get told; else it needs the stages below. */
bool ot_stored_close(const optune_task *task, optune_plan *plan);
/* Of a plan made for the widened call, or its stages from `from` on: they get scratch for tensors
 * of 16-bit floats, and stages around them convert. `task` is the call's own. */
void ot_widen_close(const optune_task *task, optune_plan *plan, int from);

/* ---- repeat.c: a plan of one image for a batch that is known at run time ------------------ */
void ot_repeat_close(const optune_task *task, optune_plan *plan);
/* The function of the stage that it made, behind the module's body. */
void ot_repeat_source(const optune_plan *plan, int module, ot_text *to);

#endif
