/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known and what is chosen: the handle, facts from the store, answers, lists, logs in and
 * out, programs made of what was selected. Never searches.
 */
#ifndef OPTUNE_ANSWER_H
#define OPTUNE_ANSWER_H

#include <jansson.h>
#include <stdatomic.h>

#include "base/base.h"
#include "db/db.h"
#include "optune/optune.h"
#include "strategy/strategy.h"
#include "target/target.h"

/* ---- context.c: the handle --------------------------------------------------------------- */
/* A database that is only read: one of the list, or what came from a hub. */
typedef struct ot_consulted {
    char *dir;
    char *hub;                 /* whose it is; NULL: one of the list */
    atomic_bool hints;         /* nothing of it is selected */
    _Atomic(ot_store *) store; /* NULL: could not be opened */
    _Atomic int64_t absent_ns; /* when there was none; 0: there was one, or nobody has looked */
} ot_consulted;
enum { OT_MOST_CONSULTED = 128 };
/* Stores that were replaced and that somebody may still read. */
typedef struct ot_retired {
    ot_store **store; /* owned */
    int n, capacity;
} ot_retired;
/* The stores of a handle, which a view of it (exchange/asked.h) shares. Changed under its lock. */
typedef struct ot_stores {
    _Atomic(ot_store *) store; /* of `db`; NULL until needed, or there is none */
    int mode;                  /* how it was opened */
    atomic_int n_opened;       /* grows in front of and behind each opening; odd: in between */
    ot_consulted other[OT_MOST_CONSULTED]; /* after `db`, in this order */
    atomic_int n_others;                   /* grows once one is whole */
    bool other_told;                       /* why one could not be opened */
    bool first_told;                       /* that others answer in its place, and why */
    atomic_uint turn;      /* what was retired in one is closed once its readers have left */
    atomic_int reading[2]; /* who entered in even turns, in odd ones */
    ot_retired retired[2]; /* in even turns, in odd ones */
    atomic_int n_retired;
    const atomic_bool *stop; /* the handle's */
} ot_stores;
struct optune {
    char db[4096];
    char target_text[OPTUNE_TEXT_SIZE];
    char device_key[OPTUNE_NAME_SIZE * 2]; /* asked for with --device; empty: this machine */
    optune_target target;                  /* threads settled once the device is known */
    optune_device device;
    const optune_target_row *row;
    struct ot_measure_policy *policy; /* owned */
    atomic_bool have_device;
    atomic_uint described; /* how often target or device were set: answers copy them anew */
    _Atomic int64_t no_tables_ns; /* when it had no folder of dispatch tables; <= 0: may have */
    atomic_bool assumed;          /* `device` is not here, and serves those who only ask */
    ot_stores *stores;            /* owned */
    char **plugins;               /* loaded, NULL-terminated */
    optune_log_level log_level;
    void (*log)(void *arg, optune_log_level level, const char *text);
    void *log_arg;
    char *warned; /* what was warned of once, a line each; under the lock */
    atomic_bool stop;
    void *lock; /* pthread mutex over the lazy parts */
    struct ot_answers *answers;
    int verbose; /* where OPTUNE_VERBOSE wants a line for each selection; 0: nowhere */
};
int ot_context_load(const char *path, optune_err *err); /* rows, once in a process */
int ot_context_plugin(optune *o, const char *path, optune_err *err); /* and tell workers */
/* brought.c: the kernels that are remembered beside the database. */
void ot_context_recall(optune *o);
/* verbose.c */
int ot_verbose_open(void);
void ot_verbose_close(int fd);
int ot_context_device(optune *o, optune_err *err); /* probes, or reads the stored device */
/* The same for who measures nothing: where there is no such device here, a stored one of the
 * architecture that the target names, or what is true of all of these. */
int ot_context_asked(optune *o, optune_err *err);
int ot_context_need_db(const optune *o, optune_err *err); /* EUSAGE: it has no directory */
/* The status; where it is a failure of writing to the database, its text says how to name
 * another. */
int ot_context_refused(int status, const optune_err *why, optune_err *err);
/* A folder within the database, with those around it; a failure is such a one. */
int ot_context_make(const char *folder, optune_err *err);
/* A file in such a folder; likewise. */
int ot_context_write(const char *path, const char *text, optune_err *err);
/* The database's own folder as options name it (NULL: the environment); "": there is none. *others:
 * the list of those that are only read, which begins with ':' or is empty. */
int ot_context_folder(const char *named, char *to, size_t size, const char **others,
                      optune_err *err);
/* ---- export_tuners.c: records in the forms of other autotuners ------------------------------- */
bool ot_tuner_format(const char *format); /* "t4", "kernel-tuner" */
/* Adds a record to an object of them, by config. */
void ot_tuner_take(json_t *taken, const optune_record *record);
/* EUSAGE: they are not of one question and implementation; ENOENT: there are none. */
int ot_tuner_write(const json_t *taken, const char *format, ot_text *to, optune_err *err);
/* ---- import_tuners.c: the same on their way in -------------------------------------- */
/* Each config as a record, hints without a digest; or, with a `problem`, why it is none. The
 * record's texts live for the call. Its first negative result ends it. ENOENT: whose they are is
 * not known. */
int ot_tuner_read(optune *o, const char *path,
                  int (*take)(void *arg, int64_t number, const optune_record *record,
                              const char *problem),
                  void *arg, optune_err *err);
/* An entity of that operator's config as these forms have it; new reference. */
json_t *ot_tuner_value(const char *op, const optune_entity *entity);
/* ---- stores.c: its databases ------------------------------------------------------------- */
ot_stores *ot_stores_new(const atomic_bool *stop);
void ot_stores_free(ot_stores *stores); /* nobody reads any more; NULL is fine */
/* stores_told.c: `err` says why the first cannot be read; now also what helps, and what the others
 * have. Gives `status`. */
int ot_stores_told(const optune *o, int status, optune_err *err);
/* Whoever looks into a store enters before he takes it from the handle and leaves when done:
 * what other threads replace meanwhile stays open until then. May be nested, also with o->lock
 * held. Neither waits for anybody. */
unsigned ot_context_enter(optune *o);
void ot_context_leave(optune *o, unsigned turn); /* what entering gave */
/* What was read of its databases need not stay in this process's memory. */
void ot_context_rest(optune *o);
/* Opens; WRITE upgrades. With READ, OPTUNE_OK means that there is one of the list, which need not
 * be its own. */
int ot_context_store(optune *o, int mode, optune_err *err);
int ot_context_open(optune *o, int mode, optune_err *err); /* the same, with o->lock held */
/* For who has entered: its own store, opened to read or to write. ENOENT: `db` itself has none,
 * though others of the list may. *opened (NULL is fine): n_opened when it was given. */
int ot_context_reader(optune *o, ot_store **store, int *opened, optune_err *err);
int ot_context_writer(optune *o, ot_store **store, int *opened, optune_err *err);
/* ot_batch_put and so on, once more whenever the store was replaced meanwhile. */
int ot_context_put_batch(optune *o, ot_batch *batch, int *added, optune_err *err);
int ot_context_put(optune *o, const optune_record *record, int n, int *added, optune_err *err);
int ot_context_put_devices(optune *o, const optune_device *device, int n, optune_err *err);
int ot_context_log_done(optune *o, const char *path, optune_err *err);
/* For who has just failed with `status`: whether that may be because the store was replaced since
 * the handle had opened stores so often (n_opened, as of when the store was taken from it: to open
 * one is not to replace it); *swaps: how often that happened, at first 0: it does not go on for
 * ever. */
bool ot_context_replaced(optune *o, int status, int opened, int *swaps);
/* For who has entered: of those that are open; NULL: no more. */
ot_store *ot_context_nth(optune *o, int i);
/* The same, and which of the others it is; *other NULL: it is `db`'s. */
ot_store *ot_context_nth_of(optune *o, int i, const ot_consulted **other);
/* Adds one to those that are consulted. */
int ot_context_consult(optune *o, const char *dir, size_t n, const char *hub, bool hints,
                       optune_err *err);
/* Adds the hubs of `db` and of those behind it from which something came. */
void ot_context_consult_hubs(optune *o);
/* Whether a status means that there are records nobody can read here. */
bool ot_context_unreadable(int status);
/* For who has entered: grows with every commit to one of them. */
int64_t ot_context_last(optune *o);
/* The same without a lock, where all are open and are what they were; false else. */
bool ot_context_follow(optune *o, int64_t *last);
int64_t ot_context_snapshot(optune *o);
/* A stored device, from the first of the list that knows it. */
int ot_context_stored(optune *o, const char *key, optune_device *device, optune_err *err);
/* A fresh name under DB/logs, which is made: <utc time>-<pid><suffix>.log. */
int ot_context_log_path(const optune *o, const char *suffix, char *path, size_t size,
                        optune_err *err);
/* Where compiled modules are kept. */
void ot_context_cache(const optune *o, char *path, size_t size);
void ot_context_log(const optune *o, optune_log_level level, const char *format, ...)
    OPTUNE_PRINTF(3, 4);
/* A warning that this handle has not given yet. */
void ot_context_warn_once(optune *o, const char *format, ...) OPTUNE_PRINTF(2, 3);
/* Says who was passed over because it refuses its own fallback config. */
void ot_context_warn(const optune *o, const ot_choice *choice);
bool ot_context_stopped(const optune *o);
/* The calling process's view of what generated code, libraries and, measured cold, times depend on;
 * "name=value" lines in the arena; NULL when it cannot be told here (another device's key).
 * `policy` NULL: the handle's. */
const char *ot_context_depends(optune *o, const optune_impl *impl, const char *policy,
                               ot_arena *arena);
/* Everything the store knows of a task, judged for currency. */
int ot_context_facts(optune *o, const optune_task *task, ot_arena *arena, ot_fact **fact,
                     int *n, optune_err *err);
/* The same as measured under another policy; NULL: the handle's. */
int ot_context_facts_at(optune *o, const optune_task *task, const char *policy, ot_arena *arena,
                        ot_fact **fact, int *n, optune_err *err);
/* What is best, from those facts: the one answer that select, query, the table of a run and
 * export give. Hints lie behind the facts, for the choice to point at, and are not counted. */
int ot_context_choose(optune *o, const optune_task *task, const char *policy, ot_arena *arena,
                      ot_fact **fact, int *n, ot_choice *choice, optune_err *err);
/* hints.c: behind the facts that are there, of devices more like this one first, then the cheapest.
 * What is said of a call holds with anything fused behind it, as TVM has it, but what is said of
 * just this goes first. `asked`: the task's question, or NULL. */
int ot_context_hints(optune *o, const optune_task *task, const ot_question *asked,
                     ot_arena *arena, ot_fact **fact, int *n, optune_err *err);
/* What was measured again later, and what counts instead: told of where somebody asks for the
 * reasons of an answer, all else of which may be used. */
typedef struct ot_untold {
    const char *dir, *from; /* the database; the source of its records, NULL: their own */
    const ot_digest *digest;
    int n;
} ot_untold;
/* The same choice from the facts that decide it, which is much less reading where many configs were
 * tried; *n_known: how many of these there are. `question`: the task's, and then the choice lies in
 * the arena, too; NULL: it is made here. *untold, which is zero before: what was not read as it
 * decides nothing, and would be told of; NULL: that is read, too. Between ot_context_enter and
 * ot_context_leave. */
int ot_context_decide(optune *o, const optune_task *task, const ot_question *question,
                      const char *policy, ot_arena *arena, int *n_known, ot_untold *untold,
                      ot_choice *choice, optune_err *err);
/* overtaken.c: of the facts of one question, what was refuted, or measured again later, becomes
 * stale. */
void ot_facts_refute(ot_fact *fact, int n);
void ot_facts_supersede(ot_fact *fact, int n);
bool ot_same_trial(const optune_record *a, const optune_record *b); /* of one config */
/* One that is to be judged; `from`: its source, NULL: as the record has it. */
void ot_fact_of(ot_fact *fact, const optune_record *record, const char *from);
/* Those that are outdated and could be used are stale, behind all else that could be said of them:
 * who reads less has not met what is damaged and decides nothing. */
void ot_facts_outdate(ot_fact *fact, int n);
const char *ot_damaged_told(ot_arena *arena, int passed); /* that so many records were */
/* Seconds, as measured, of what is chosen so; infinite: it was not measured. */
double ot_context_cost(optune *o, const optune_call *call, const char *policy);
/* dispatch_hint.c: what a dispatch table of the database uses at the sizes of a call of
 * constants, as a hint; false: there is none. */
bool ot_dispatch_hint(optune *o, const optune_task *task, ot_arena *arena, ot_fact *fact);
/* context.c: the store's key of a task; texts in the arena. */
int ot_context_question(optune *o, const optune_task *task, ot_question *question,
                        ot_arena *arena);
/* Settles what a stored device leaves open in the target. */
void ot_context_settle(optune *o);
/* export_tvm.c: whether AutoTVM would take this record for what it is; whether TVM can then be
 * expected to compile it, or in `why` why not; and its `input` with a target that TVM knows, in the
 * arena or the record's own. */
bool ot_record_for_tvm(const optune_record *record);
bool ot_tvm_compiles(const optune_record *record, char *why);
const char *ot_task_for_tvm(ot_store *store, const optune_record *record, ot_arena *arena);
/* answers.c: what would be used for a call, kept while nothing that it follows from changes. */
/* What all answers of a handle have in common; shared by them, as they may outlive it. */
typedef struct ot_setting {
    atomic_int users;
    optune_target target;
    optune_device device;
    char *target_text; /* as a question has it */
} ot_setting;
enum { OT_MOST_STAMPED = 4 };
typedef struct ot_answer {
    atomic_int users;
    _Atomic int64_t commit; /* the last one that is known to have changed nothing */
    ot_question question;
    ot_stamp stamp[OT_MOST_STAMPED]; /* of each store */
    int n_stamps;                    /* 0: it holds until the next commit */
    ot_setting *place;
    char *room; /* behind it, of n_room bytes */
    size_t n_room;
    struct ot_held *held; /* memory of what follows, where that is too little */
    const void *call;     /* packed */
    int n_facts;          /* there were */
    ot_untold untold;
    ot_choice
        choice; /* owns nothing; its config has memory for its entities alone, or is NULL: */
    const void *config_packed; /* it is packed */
    const optune_op *op;       /* the call's */
    _Atomic double flops;      /* of the call; below 0: nobody has asked */
    atomic_bool told;          /* what is to be warned of */
    _Atomic(char *) config;    /* the winner's, canonical, once somebody asked; owned */
} ot_answer;
/* kept.c: what is kept of one. */
/* Those of *last, where target and device are the same; else *last becomes these. The caller owns
 * one use of what is returned, and one of *last. */
ot_setting *ot_setting_of(ot_setting **last, const optune_target *target,
                          const optune_device *device);
void ot_setting_drop(ot_setting *place);
/* Takes the caller's use of the place; `call` is canonical. With room for so many bytes of what it
 * will need. */
ot_answer *ot_answer_begin(ot_setting *place, const char *call, const char *policy,
                           size_t room);
/* Takes what it needs of a choice, the rows of which are changed, and the facts it refers to.
 * Returns how much room it should have had. */
size_t ot_answer_settle(ot_answer *to, const optune_call *call, const ot_choice *choice,
                        int n_facts, const ot_untold *untold);
/* What was asked, in *call. */
optune_task ot_answer_task(const ot_answer *answer, optune_call *call);
/* The choice with its config, which lies in the answer or in *config. */
ot_choice ot_answer_choice(const ot_answer *answer, optune_config *config);
/* overtaken.c: the same with what was measured again later, which is read now, into the arena, if
 * its database can be. */
ot_choice ot_answer_explained(const ot_answer *answer, ot_arena *arena, optune_config *config);
const char *ot_answer_config(const ot_answer *answer);
double ot_answer_flops(const ot_answer *answer); /* of its call; 0: they depend on its ranges */
void ot_verbose_say(const optune *o, const ot_answer *answer, double seconds);
struct ot_answers *ot_answers_open(void);
void ot_answers_close(struct ot_answers *answers);
/* Thread-safe. The caller owns one use of *answer and ends it with ot_answer_drop. */
int ot_answer_text(optune *o, const char *workload, const ot_answer **answer, optune_err *err);
/* The same for who says himself why no records could be read, where that is so: no warning. */
int ot_answer_record(optune *o, const char *workload, const ot_answer **answer,
                     optune_err *err);
int ot_answer_call(optune *o, const optune_call *call, const ot_answer **answer,
                   optune_err *err);
/* As measured under the first of these policies (NULL-terminated) with anything usable; where there
 * is none, or no list, as ot_answer_call. */
int ot_answer_call_at(optune *o, const optune_call *call, const char *const *policies,
                      const ot_answer **answer, optune_err *err);
int ot_selection_of(optune *o, const optune_call *call, const char *const *policies,
                    optune_selection **selection, optune_err *err);
void ot_answer_drop(const ot_answer *answer);           /* NULL is fine */
/* Memory that is at hand for the next answers of the process goes with its last answer. */
void ot_kept_close(void);
optune_result *ot_result_new(char *text, json_t *json); /* result.c; takes both */
/* More text, and more members of its document (taken; those of the same name are replaced). */
void ot_result_extend(optune_result *result, const char *text, json_t *more);
/* Rows that end with the result, which `drop` then frees, and by which they are known again; NULL:
 * it has none of these. */
void ot_result_keep(optune_result *result, void *rows, void (*drop)(void *rows));
/* Its text becomes this one, from malloc or NULL; its document stays. */
void ot_result_retell(optune_result *result, char *text);
const void *ot_result_rows(const optune_result *result, void (*drop)(void *rows));

#endif
