/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which implementations there are for a call, over what spaces, and which one is chosen. Never
 * asks the store and never measures: it is handed what is known.
 */
#ifndef OPTUNE_STRATEGY_H
#define OPTUNE_STRATEGY_H

#include <jansson.h>

#include "call/call.h"

/* ---- registry.c: rows in tree, then those of plugins ------------------------------------- */
const optune_impl *const *ot_impls(int *n);
const optune_strategy *const *ot_strategies(int *n);
const optune_search *const *ot_searches(int *n);
int ot_impl_get(const char *name, const optune_impl **impl, optune_err *err); /* or ENOENT */
/* The search of that name, or ENOENT with the nearest one. */
int ot_search_get(const char *name, const optune_search **search, optune_err *err);
const optune_impl *ot_impl_find(const char *name);
const optune_search *ot_search_find(const char *name);
/* The strategy of an op for a target's keys, then "generic"; a later plugin's wins over an
 * earlier row of the same key. NULL: none. */
const optune_strategy *ot_strategy_find(const optune_op *op, const optune_target *target);
/* The operator, and the rows that patterns give it. */
int ot_op_add(const optune_op *op, optune_err *err);
int ot_impl_add(const optune_impl *impl, optune_err *err);
/* ENOENT, with the names that are known, when a condition names what is no dim of it; EUSAGE when
 * one holds for no size. */
int ot_strategy_add(const optune_strategy *strategy, optune_err *err);
/* Only that check. `all`: the strategies whose conditions are searched for names to tell. */
int ot_strategy_names(const optune_strategy *strategy, const optune_strategy *const *all,
                      int n_all, optune_err *err);
int ot_row_plevel(
    const optune_strategy_row *row); /* with the default; OPTUNE_PLEVEL_ZERO is 0 */
int ot_search_add(const optune_search *search, optune_err *err);
bool ot_impl_in_tree(const optune_impl *impl); /* no plugin's and nobody's own */
/* The flattened body of an implementation and the digest of all it is made of (row, body,
 * headers); a plugin's source is its body and its digest is of that text and its row's name. */
const char *ot_impl_source(const optune_impl *impl);
const char *ot_impl_digest(const optune_impl *impl);
void ot_sources_digest(char hex[33]); /* of all that this program was built with */
/* False, with a sentence, for a GPU body on a CPU and the reverse. A library's and a plugin's
 * body may be for either. */
bool ot_impl_runs_on(const optune_impl *impl, const optune_device *device, char *why);
/* Whether it can compute this here, whatever a strategy says: its body is for such a device,
 * the device knows the call's types, what varies is taken at run time, and its own `applies`
 * agrees. */
bool ot_impl_applies(const optune_impl *impl, const optune_task *task, char *why);

/* ---- plugin.c ---------------------------------------------------------------------------- */
/* Adds all rows of a plugin, or none. ENOENT: it cannot be loaded; EUNSUPPORTED: it exports no
 * `optune_plugin`; EVERSION: another ABI; ECONFLICT: a name exists. `add_target` is told its
 * targets, because targets are kept elsewhere. Not during queries. */
int ot_plugin_load(const char *path, int (*add_target)(const optune_target_row *, optune_err *),
                   optune_err *err);

/* ---- task_args.c: AutoTVM's task arguments <-> call -------------------------------------- */
/* The positional args of this implementation's task, as AutoTVM writes them. New reference. */
json_t *ot_task_args(const optune_call *call, const optune_impl *impl);
/* The reverse, for logs of others; constness is the op's default. ETYPE with the reason for a
 * wrong arity or a malformed tensor. */
int ot_call_from_args(const optune_impl *impl, const json_t *args, optune_call *call,
                      optune_err *err);

/* ---- condition.c: conjunctive normal form over named dims -------------------------------- */
enum { OT_FALSE = 0, OT_TRUE = 1, OT_UNKNOWN = 2 };
typedef struct ot_condition ot_condition;
typedef bool (*ot_dim_lookup)(const void *arg, const char *name, optune_dim *value);
int ot_condition_parse(const char *text, ot_condition **condition, optune_err *err);
void ot_condition_free(ot_condition *condition);
/* The same of a row's text, read once in a process: NULL as it cannot be read. What is in *own is
 * the caller's to free, and mostly NULL. */
const ot_condition *ot_condition_kept(const char *text, ot_condition **own, optune_err *err);
/* Every name, and every number with a NULL name, that occurs in it. */
void ot_condition_visit(const ot_condition *condition,
                        void (*seen)(void *arg, const char *name, int64_t number), void *arg);
/* The same of its nth comparison alone; false: it has no more. */
bool ot_condition_visit_nth(const ot_condition *condition, int nth,
                            void (*seen)(void *arg, const char *name, int64_t number),
                            void *arg);
/* Three-valued: constants fold, ranges decide where they can. `clause` receives the text of the
 * first clause that is false (or unknown), at most size bytes. */
int ot_condition_test(const ot_condition *condition, ot_dim_lookup lookup, const void *arg,
                      char *clause, size_t size);

/* ---- space.c, space_knobs.c -------------------------------------------------------------- */
/* The config as the space writes it, with its index, if it is one of the space and valid; for much
 * less than opening it where the config has an index, which is believed. That is the config itself,
 * or in `room`, which may be the config. NULL: it is none. */
const optune_config *ot_space_has(const optune_task *task, const optune_impl *impl,
                                  const optune_config *config, optune_config *room);
/* Never fails but with a limit exceeded or an empty knob. The task must outlive the space. */
int ot_space_open(const optune_task *task, const optune_impl *impl, optune_space **space,
                  optune_err *err);
/* For tests and for codecs without an implementation: knobs are added with optune_space_*. */
optune_space *ot_space_blank(void);
int ot_space_check(const optune_space *space, optune_err *err); /* the first misuse, if any */
void ot_space_close(optune_space *space);
const char *ot_space_knob_name(const optune_space *space, int knob);
void ot_space_entity(const optune_space *space, int knob, int64_t digit, optune_entity *entity);
void ot_space_nth(const optune_space *space, int64_t index, optune_config *config);
/* By entities, knob by name, a leading -1 resolved; sets config->index. ENOENT naming the knob
 * that does not fit. */
int ot_space_index_of(const optune_space *space, optune_config *config, optune_err *err);
/* The index, maybe an invalid one, whose knobs are nearest to those of a config of another space
 * of the implementation: sizes and counts by their ratio, words equal. -1: a knob is missing, or
 * has no such word. */
int64_t ot_space_like(const optune_space *space, const optune_config *config);
/* Whole-config validity, by arithmetic. */
bool ot_space_valid(const optune_space *space, const optune_config *config, char *why);
/* The implementation's estimate of a valid config; NAN where it has none. */
double ot_space_estimate(const optune_space *space, const optune_config *config);
/* What the implementation uses untuned. False, with a sentence: its own `valid` refuses that,
 * so it must not be used; every implementation in tree is tested never to do so. */
bool ot_space_fallback(const optune_space *space, optune_config *config, char *why);
/* The same of a space that nobody needs otherwise; false, too, where it has none. */
bool ot_task_fallback(const optune_task *task, const optune_impl *impl, optune_config *config,
                      char *why);
/* Constraints over the knobs that were declared, in their order; the space's from then on.
 * `valid` has to say the same of them, and may say more. */
typedef struct ot_where ot_where; /* base/where.h */
void ot_space_where(optune_space *space, ot_where *where);
/* How many configs satisfy them; -1: there are none of these, or it cannot be told. */
int64_t ot_space_counted(const optune_space *space);
/* The k-th of these as an index. */
int64_t ot_space_valid_nth(const optune_space *space, int64_t k);
/* One that satisfies them, found step by step, not uniform; -1: none was found. */
int64_t ot_space_valid_some(const optune_space *space, uint64_t *rng);
int64_t ot_space_random(const optune_space *space,
                        uint64_t *rng); /* any index, maybe invalid */
int64_t ot_space_mutate(const optune_space *space, int64_t index, double rate, uint64_t *rng);
int64_t ot_space_cross(const optune_space *space, int64_t a, int64_t b, uint64_t *rng);

/* ---- plan.c: what a config becomes ------------------------------------------------------- */
/* Where they are in the plan's text: see ot_plan_text. */
typedef struct ot_define {
    uint16_t name, value;
} ot_define;
enum { OT_PLAN_TEXT = 48 << 10, OT_DEFINE_SIZE = 256 };
typedef struct ot_module {
    int n_defines, n_flags;
    ot_define define[OPTUNE_MAX_DEFINES];
    char flag[8][OPTUNE_WORD_SIZE];
    bool fused;      /* it computes what is fused behind the call */
    bool closing;    /* and is nothing but that: kernels/common/epilogue.kernel.c, .cu */
    bool widens;     /* nothing but kernels/common/widen.kernel.c */
    int first_extra; /* first extra input of its stages' arguments; generic closing: whose */
} ot_module;
typedef struct ot_scratch {
    char name[OPTUNE_WORD_SIZE];
    int64_t bytes;
    bool constant;
} ot_scratch;
/* What optune_plan_repeat asked for: timed stages become one, which calls their functions. */
typedef struct ot_repeat {
    bool asked;
    int input;
    uint64_t along;
    int n; /* of functions; 0: it is not made yet */
    const char *function[OPTUNE_MAX_STAGES];
    int first_arg[OPTUNE_MAX_STAGES], n_args[OPTUNE_MAX_STAGES];
    int64_t step[OPTUNE_MAX_ARGS]; /* bytes that an argument goes on by */
} ot_repeat;
/* One that optune_plan_dims added: its dims are the plan's dim[first .. first + n). */
typedef struct ot_dim_list {
    int first, n;
} ot_dim_list;
/* As many as an operator and those fused behind it can have. */
enum { OT_PLAN_DIMS = (1 + OPTUNE_MAX_EPILOGUES) * OPTUNE_MAX_INPUTS * OPTUNE_MAX_RANK };
struct optune_plan {
    const optune_impl *impl;
    int n_modules, n_scratch, n_stages, n_maps, n_lists, n_dims, n_text;
    int threads; /* of a CPU that its modules use; 0: the device's */
    bool fused;  /* its modules compute what is fused behind the call */
    bool wide;   /* stages between its modules and a call of 16-bit floats convert it: widen.c */
    bool in_place; /* an operand of that may lie in the output's memory: optune_plan_in_place */
    ot_scratch scratch[OPTUNE_MAX_SCRATCH];
    optune_stage stage[OPTUNE_MAX_STAGES];
    optune_tensor_map map[OPTUNE_MAX_TENSOR_MAPS];
    ot_dim_list list[OPTUNE_MAX_DIM_LISTS];
    int dim[OT_PLAN_DIMS]; /* as OPTUNE_ARG_DIM's index has it: see ot_plan_dim */
    ot_repeat repeat;
    optune_err problem; /* the first misuse; status 0: none */
    ot_module module[OPTUNE_MAX_MODULES];
    char text[OT_PLAN_TEXT]; /* names and values of all macros, each with its end */
};
static inline const char *ot_plan_text(const optune_plan *plan, uint16_t at)
{
    return plan->text + at;
}
/* Dim `k` of a list, as the argument that it would be. */
static inline optune_arg ot_plan_dim(const optune_plan *plan, const optune_arg *dims, int k)
{
    return optune_dim_arg(0, plan->dim[plan->list[dims->index].first + k]);
}
/* Fills `plan`. EUSAGE when the implementation refuses the config, or misused the builder (bad
 * index, too many, a TIMED stage missing, PREPACK reading a var input, an output nobody
 * writes). */
int ot_plan_make(const optune_task *task, const optune_impl *impl, const optune_config *config,
                 optune_plan *plan, optune_err *err);
/* plan_copy.c: into a plan that is 0, what is used of another, few pages of it; not the sizes of
 * dims, which are written where it is bound, maybe at this moment. */
void ot_plan_copy(optune_plan *to, const optune_plan *from);
/* The complete source of one module: defines of the target and the plan, then the body. */
void ot_plan_source(const optune_task *task, const optune_plan *plan, int module, ot_text *to);
/* The same, to be loaded by a target of this process: on CPUs its loops run that one's team. */
void ot_plan_module_source(const optune_task *task, const optune_plan *plan, int module,
                           ot_text *to);

/* idle.c: the knobs, bits by their numbers, that decide nothing of what the configs of a space
 * become, as far as some dozens of them tell. */
uint32_t ot_space_idle(const optune_task *task, const optune_space *space);
/* The same where the row is a plugin's; of others, which tests see to, none. */
uint32_t ot_space_idle_of_plugin(const optune_task *task, const optune_space *space);

/* ---- epilogue.c: what is fused behind a call --------------------------------------------- */
/* Whether it can be computed here at all, whatever the implementation; else a sentence in
 * `why`. */
bool ot_epilogue_applies(const optune_task *task, char *why);
/* Macros for kernels/common/epilogue.kernel.h and epilogue.kernel.cu; `first` of a stage's
 * arguments is the first extra input. */
void ot_epilogue_defines(const optune_task *task, int first, ot_text *to);
/* The body of the closing stage. */
const char *ot_epilogue_source(const optune_task *task);
/* Adds a stage for what the plan's own modules do not compute. */
void ot_epilogue_close(const optune_task *task, optune_plan *plan);
/* Digest of an implementation with all that this call has it compute here: its own when nothing
 * is fused. */
void ot_call_digest(const optune_task *task, const optune_impl *impl, char hex[33]);

/* ---- candidates.c, select.c -------------------------------------------------------------- */
typedef enum ot_refusal {
    OT_VALID = 0,
    OT_REFUSED_WHEN,      /* a clause of its specialization is false, or symbolic */
    OT_REFUSED_CONDITION, /* its strategy's C condition */
    OT_REFUSED_APPLIES,   /* the implementation itself */
    OT_REFUSED_FUSED,     /* what is fused behind the call cannot be computed here */
    OT_REFUSED_MATH,      /* not right for the call's numerics class */
    OT_REFUSED_LIBRARY,   /* its library is not named in -libs: measured as a baseline only */
    OT_UNASKED,           /* of a choice: nothing hung on it, see ot_choice_refusal */
} ot_refusal;
typedef struct ot_candidate {
    const optune_impl *impl;
    int plevel, order;
    ot_refusal refusal;
    char why[OPTUNE_WHY_SIZE];
} ot_candidate;
enum { OT_MAX_CANDIDATES = 64 };
/* One without the sentence, which is made when somebody wants to hear it. */
typedef struct ot_considered {
    const optune_impl *impl;
    int plevel, order;
    ot_refusal refusal;
} ot_considered;
/* Every implementation that the strategy names, in order, with its refusal. ENOENT: the op has
 * no strategy for this target. */
int ot_candidates(const optune_task *task, ot_candidate *candidate, int *n, optune_err *err);
/* The same without sentences; *strategy is whose rows they are, in their order. */
int ot_consider(const optune_task *task, const optune_strategy **strategy,
                ot_considered *considered, int *n, optune_err *err);
/* Whether one of them that is no last resort is valid. */
bool ot_is_computed(const optune_task *task);
/* Why the i-th of them is refused; empty: it is valid. */
void ot_considered_why(const optune_task *task, const optune_strategy *strategy,
                       const ot_considered *considered, int i, char *why);

/* What the store knows of one record, judged against the present. */
typedef enum ot_currency {
    OT_CURRENT,
    OT_STALE,
    OT_UNVERIFIABLE,
    OT_HINT, /* of a log of others: its cost is another machine's, its config may serve */
} ot_currency;
/* Of a measurement that counts instead of an older one of its config, what is told of the two. */
typedef struct ot_later {
    double cost, low, high;            /* seconds, as in its record */
    const char *host, *counters, *tool; /* as long-lived as the fact; NULL: not said */
} ot_later;
typedef struct ot_fact {
    optune_record record;
    ot_currency currency;
    /* What changed, when STALE; what cannot be told, when UNVERIFIABLE. Read it by ot_fact_why. */
    char why[OPTUNE_WHY_SIZE];
    bool overtaken;  /* STALE only as another measurement counts instead */
    bool remeasured; /* of its own config: `later`, from which the sentence is made */
    bool outdated;   /* by a measurement that cannot be read */
    ot_later later;
    /* The record's, of this version; NULL: nobody looked for it, and it is known by its name. */
    const optune_impl *impl;
    const void *block; /* in which the record's texts and samples lie, so many bytes; NULL: */
    size_t n_block;    /* anywhere */
    int alike;      /* further ones of its implementation that ended like it and decide nothing */
} ot_fact;
typedef enum ot_tier {
    OT_TIER_TUNED,
    OT_TIER_UNVERIFIED,
    OT_TIER_HINTED, /* nothing was measured: a config that a log of others recommends */
    OT_TIER_PLEVEL,
} ot_tier;
/* The fact's sentence: its own, or made in why[OPTUNE_WHY_SIZE]. Empty: there is nothing to say. */
const char *ot_fact_why(const ot_fact *fact, char *why);
/* By which factor a config's cost moved from one good measurement to a later one; 1: the two agree,
 * as their intervals overlap or their medians are as good as equal. */
double ot_record_moved(const optune_record *then, const optune_record *now);
/* What the two say of the machine that differs, for people. */
void ot_record_apart(const optune_record *then, const optune_record *now, ot_text *to);
const char *ot_tier_name(ot_tier tier); /* "tuned", "unverified", "hinted", "plevel" */
typedef struct ot_choice_row {
    ot_considered candidate;
    const ot_fact *fact;   /* its best usable fact; NULL: never measured, or only stale ones */
    const ot_fact *stale;  /* its best stale fact; NULL: none */
    const ot_fact *failed; /* its latest failed trial, when there is no usable fact */
    const ot_fact
        *hint; /* the first hint of it whose config fits; else the first; NULL: none */
    int n_failed;
    /* Texts of the choice, empty for most. */
    const char *hint_why;  /* why the config of `hint` does not fit; empty: it fits */
    const char *unfit_why; /* why the config of `stale` does not fit; empty: the fact says why */
    /* Why its fallback config cannot be used, where that was asked: it would have been chosen
     * untuned but for this. Empty otherwise. */
    const char *fallback_why;
    bool tied; /* in the tied set of the fastest */
    bool winner;
} ot_choice_row;
typedef struct ot_choice {
    ot_tier tier;
    int winner;           /* index into row[] */
    int default_row; /* what plevel alone would choose; -1: nothing hung on it, see
                      * ot_choice_default */
    const optune_config *config; /* the winner's: tuned, hinted, or its fallback */
    int n;
    ot_choice_row *row; /* owned, unless lent: n of them */
    bool lent;          /* they lie in somebody's arena, with the config */
    const optune_strategy *strategy; /* whose rows they are */
    ot_arena texts;     /* what they say, owned */
    bool strict;        /* a config did not fit the present space: all facts were looked at */
    int unread;         /* the status with which records could not be read; 0: they were */
    const char *unread_why; /* also of what was passed over; empty: all is well */
} ot_choice;
/* What made the row's `stale` stale: a text of the choice's, or made in why[OPTUNE_WHY_SIZE]. Empty
 * where there is none. */
const char *ot_choice_stale_why(const ot_choice_row *row, char *why);
/* Whether it rests on a measurement that holds here. */
static inline bool ot_choice_measured(const ot_choice *choice)
{
    return choice->tier < OT_TIER_HINTED;
}
/* Whether its i-th row is refused, asked now where nobody has; of rows with a record it is
 * known. */
ot_refusal ot_choice_refusal(const optune_task *task, const ot_choice *choice, int i);
/* The row that plevel alone would choose, asked now where nobody has. */
int ot_choice_default(const optune_task *task, const ot_choice *choice);
/* Why its i-th row is refused; empty: it is not. */
void ot_choice_why(const optune_task *task, const ot_choice *choice, int i, char *why);
void ot_choice_release(ot_choice *choice); /* zeroed ones, too */
void ot_choice_free(ot_choice *choice);    /* one from ot_alloc; NULL is fine */
/* Relay's policy with its holes closed, see docs/architecture.md. `fact` must outlive the choice;
 * hints stand in it in the order in which they recommend themselves.
 * Whatever is returned, the choice, which is overwritten, is to be released.
 * ENOENT: no valid implementation, with every refusal in the message. */
int ot_select(const optune_task *task, const ot_fact *fact, int n_facts, ot_choice *choice,
              optune_err *err);
/* The same with the rows in an arena that outlives the choice; NULL: in memory of its own. */
int ot_select_in(ot_arena *arena, const optune_task *task, const ot_fact *fact, int n_facts,
                 ot_choice *choice, optune_err *err);
/* A line for each row that was passed over because its fallback config cannot be used: that is
 * a mistake in the implementation, and somebody should hear of it; and one when no record could
 * be read. */
void ot_choice_warnings(const ot_choice *choice, ot_text *to);
json_t *ot_choice_json(const optune_task *task, const ot_choice *choice); /* new reference */
void ot_choice_text(const optune_task *task, const ot_choice *choice, bool explain,
                    ot_text *to);
/* TVM's log sentences, one a line: the cost of every measured implementation, and the choice. */
void ot_choice_log(const optune_task *task, const ot_choice *choice, ot_text *to);

#endif
