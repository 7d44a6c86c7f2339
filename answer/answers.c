/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers, and the table in which a handle keeps them. An answer is a choice with the facts that
 * it refers to; it never changes once made and is shared by all who hold it. It is found again by
 * the text it was asked with, or by the bytes of the call; two keys of one question lead to one
 * answer by way of its canonical text.
 *
 * The one idea: whoever comes looks at the number of the store's last commit, whichever process
 * made it. An answer is good for the commits of which it is known that they changed nothing of its
 * question, which the store's summary tells at a glance; where that cannot be told, or what was
 * chosen rests on more than records, it is good for one. So an answer is never older than what the
 * store knew when it was asked for.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "answer/answer.h"
#include "call/form.h"
#include "run/run.h"

enum { SLOTS = 4096, MOST_KEYS = SLOTS / 2 }; /* a power of two */

typedef struct key {
    const void *data;
    size_t n;
    uint64_t hash;
} key;

typedef struct slot {
    key key; /* data NULL: empty; the answer's text, else owned */
    ot_answer *answer;
} slot;

/* What an answer follows from beside the question. */
typedef struct state {
    int opened;            /* how often the handle opened a store; 0: there is none */
    int64_t commit;        /* the last of its stores; the table has none */
    int impls, strategies; /* plugins may add some */
} state;

struct ot_answers {
    pthread_mutex_t lock;
    state state;
    ot_setting *place;      /* of the last answer */
    const optune *place_of; /* whose target and device it has, */
    unsigned described;     /* as of then */
    ot_forms *forms;
    _Atomic size_t room;                /* that the last answer should have had */
    _Atomic(struct ot_block *) scratch; /* of an arena that nobody uses at the moment */
    int n;
    slot slot[SLOTS];
};

struct ot_answers *ot_answers_open(void)
{
    struct ot_answers *all = ot_alloc(sizeof *all);
    pthread_mutex_init(&all->lock, NULL);
    all->forms = ot_forms_open();
    return all;
}

static void put(slot *s, const key *k, ot_answer *answer)
{
    const char *own = answer->question.call;
    const bool same = strlen(own) == k->n && memcmp(own, k->data, k->n) == 0;
    void *const copy = same ? NULL : ot_alloc_raw(k->n);
    s->key = (key){same ? own : memcpy(copy, k->data, k->n), k->n, k->hash};
    s->answer = answer;
    atomic_fetch_add(&answer->users, 1);
}

static void empty(slot *s)
{
    if (s->key.data != s->answer->question.call)
        free((void *)s->key.data);
    ot_answer_drop(s->answer);
    s->key.data = NULL;
    s->answer = NULL;
}

static void clear(struct ot_answers *all)
{
    for (int i = 0; i < SLOTS && all->n; i++)
        if (all->slot[i].key.data)
            empty(&all->slot[i]);
    all->n = 0;
}

void ot_answers_close(struct ot_answers *all)
{
    if (!all)
        return;
    clear(all);
    ot_kept_close();
    ot_setting_drop(all->place);
    ot_forms_close(all->forms);
    ot_arena_release(&(ot_arena){atomic_load(&all->scratch)});
    pthread_mutex_destroy(&all->lock);
    free(all);
}

/* ---- the table --------------------------------------------------------------------------- */

/* Of what will be looked up: its slot is not in the caches, as there are so many. */
static key key_of(const struct ot_answers *all, const void *data, size_t n)
{
    const key k = {.data = data, .n = n, .hash = ot_hash64(data, n)};
    __builtin_prefetch(&all->slot[k.hash % SLOTS]);
    return k;
}

/* Its slot, or the empty one where it belongs. */
static slot *find(struct ot_answers *all, const key *k)
{
    for (size_t i = k->hash % SLOTS;; i = (i + 1) % SLOTS) {
        slot *s = &all->slot[i];
        if (!s->key.data || (s->key.hash == k->hash && s->key.n == k->n &&
                             memcmp(s->key.data, k->data, k->n) == 0))
            return s;
    }
}

static bool same_state(const state *a, const state *b)
{
    return a->opened == b->opened && a->impls == b->impls && a->strategies == b->strategies;
}

/* Stamps of all stores, in order, as of commit *commit; how many, 0 where one cannot be told. */
static int stamp_all(optune *o, const ot_question *question, ot_stamp stamp[OT_MOST_STAMPED],
                     int64_t *commit)
{
    int n = 0;
    ot_store *store;
    *commit = 0;
    for (; (store = ot_context_nth(o, n)); n++) {
        int64_t snapshot;
        if (n == OT_MOST_STAMPED || !ot_store_stamp(store, question, &stamp[n], &snapshot))
            return 0;
        *commit += snapshot;
    }
    return n;
}

/* Else all that is kept would be looked at with each question, until somebody writes. */
static void catch_up(optune *o)
{
    ot_store *store;
    for (int i = 0; (store = ot_context_nth(o, i)); i++)
        ot_store_catch_up(store);
}

/* Whether nothing of the question has changed since it was made. A commit can be seen in the file
 * a little before it can be read: what is said then is said of the one before. */
static bool holds(optune *o, ot_answer *answer, int64_t commit)
{
    ot_stamp stamp[OT_MOST_STAMPED];
    int64_t looked_at;
    if (atomic_load(&answer->commit) == commit)
        return true;
    if (!answer->n_stamps ||
        stamp_all(o, &answer->question, stamp, &looked_at) != answer->n_stamps)
        return false;
    if (looked_at < commit)
        catch_up(o);
    if (memcmp(stamp, answer->stamp, (size_t)answer->n_stamps * sizeof *stamp) != 0)
        return false;
    atomic_store(&answer->commit, looked_at);
    return true;
}

/* Whether the handle still has the stores of this state: others may count their commits alike. */
static bool is_current(const optune *o, const state *now)
{
    return !now->opened || o->stores->n_opened == now->opened;
}

static ot_answer *look_up(optune *o, const state *now, const key *k)
{
    struct ot_answers *all = o->answers;
    pthread_mutex_lock(&all->lock);
    ot_answer *answer = same_state(&all->state, now) ? find(all, k)->answer : NULL;
    if (answer)
        atomic_fetch_add(&answer->users, 1);
    pthread_mutex_unlock(&all->lock);
    if (answer && !(holds(o, answer, now->commit) && is_current(o, now))) {
        ot_answer_drop(answer);
        return NULL;
    }
    return answer;
}

/* An answer made in a later state than the table's begins a new table; one made in an earlier
 * state is given and not kept. */
static void keep(optune *o, const state *made, const key *k, ot_answer *answer)
{
    struct ot_answers *all = o->answers;
    if (!is_current(o, made))
        return;
    pthread_mutex_lock(&all->lock);
    const bool later = made->opened != all->state.opened || made->impls > all->state.impls ||
                       made->strategies > all->state.strategies;
    if (later || all->n >= MOST_KEYS) {
        clear(all);
        all->state = *made;
    }
    slot *s = find(all, k);
    const bool fits = same_state(&all->state, made);
    if (fits && !s->key.data) {
        put(s, k, answer);
        all->n++;
    } else if (fits && s->answer != answer &&
               atomic_load(&s->answer->commit) <= atomic_load(&answer->commit)) {
        empty(s);
        put(s, k, answer);
    }
    pthread_mutex_unlock(&all->lock);
}

/* ---- making one -------------------------------------------------------------------------- */

/* What decided is no more than records of its question: no hint of another device, no table of
 * sizes, nothing that could not be read. */
static bool from_records(const ot_choice *choice)
{
    return ot_choice_measured(choice) && !choice->unread && !*choice->unread_why;
}

static ot_setting *place_of(optune *o)
{
    struct ot_answers *all = o->answers;
    pthread_mutex_lock(&all->lock);
    const unsigned described = atomic_load(&o->described);
    ot_setting *place = all->place;
    if (place && all->place_of == o && all->described == described)
        atomic_fetch_add(&place->users, 1); /* both are long to compare */
    else
        place = ot_setting_of(&all->place, &o->target, &o->device);
    all->place_of = o;
    all->described = described;
    pthread_mutex_unlock(&all->lock);
    return place;
}

/* What was needed for one answer is mostly what the next one needs. */
static void give_back(struct ot_answers *all, ot_arena *scratch)
{
    struct ot_block *none = NULL;
    ot_arena_reset(scratch);
    if (!atomic_compare_exchange_strong(&all->scratch, &none, scratch->block))
        ot_arena_release(scratch);
}

/* Whether nobody has answered the question, as of commit *commit of the stores. */
static bool is_absent(optune *o, const ot_question *question, int64_t *commit)
{
    ot_store *store;
    int64_t snapshot;
    int n = 0;
    *commit = 0;
    for (; (store = ot_context_nth(o, n)); n++) {
        if (!ot_store_lacks(store, &question->digest, &snapshot))
            return false;
        *commit += snapshot;
    }
    return n > 0;
}

enum { MOST_HELD = 4 };

/* One snapshot of each store, and now->commit is of that. */
static int hold(optune *o, state *now, ot_store *store[MOST_HELD])
{
    int n = 0;
    while (n < MOST_HELD && (store[n] = ot_context_nth(o, n)))
        ot_store_hold(store[n++]);
    now->commit = ot_context_snapshot(o);
    return n;
}

/* `text`: of the call, canonical. */
static int make(optune *o, state *now, const optune_call *call, const char *text,
                const char *policy, ot_answer **answer, optune_err *err)
{
    enum { MOST_ROOM = 4 << 10 };
    ot_answer *a =
        ot_answer_begin(place_of(o), text, policy ? policy : o->policy->name,
                        atomic_load_explicit(&o->answers->room, memory_order_relaxed));
    const optune_task task = {call, &a->place->target, &a->place->device};
    ot_arena facts = {atomic_exchange(&o->answers->scratch, NULL)};
    ot_choice choice = {0};
    ot_untold untold = {.n = 0};
    ot_store *held[MOST_HELD];
    int64_t commit;
    int n = 0, n_held = 0;
    a->question.absent = now->opened && is_absent(o, &a->question, &commit);
    if (a->question.absent)
        now->commit = commit;
    else if (now->opened)
        n_held = hold(o, now, held);
    atomic_init(&a->commit, now->commit);
    /* In front of what is read: what comes in between changes it. */
    const int n_stamps =
        now->opened && !a->question.absent ? stamp_all(o, &a->question, a->stamp, &commit) : 0;
    int status =
        ot_context_decide(o, &task, &a->question, policy, &facts, &n, &untold, &choice, err);
    if (status >= 0) {
        a->n_stamps = from_records(&choice) ? n_stamps : 0;
        const size_t room = ot_answer_settle(a, call, &choice, n, &untold);
        /* In no order with others: that would wait for all that was written of the answer. */
        atomic_store_explicit(&o->answers->room, room < MOST_ROOM ? room : MOST_ROOM,
                              memory_order_relaxed);
    }
    a->question.absent = false; /* it was then */
    while (n_held)
        ot_store_let_go(held[--n_held]);
    give_back(o->answers, &facts);
    ot_choice_release(&choice);
    status = ot_memory_end(status, err); /* nothing of the reserve is kept */
    if (status < 0) {
        ot_answer_drop(a);
        return status;
    }
    *answer = a;
    return OPTUNE_OK;
}

/* ---- asking ------------------------------------------------------------------------------ */

/* Before anything is looked up or read: the state that the answer will be good for. */
static int begin(optune *o, state *now, optune_err *err)
{
    ot_memory_begin();
    int status = ot_context_asked(o, err);
    *now = (state){0};
    const int opened = o->stores->n_opened;
    if (status >= 0 && !(opened & 1) && ot_context_follow(o, &now->commit) &&
        o->stores->n_opened == opened) {
        now->opened = opened; /* nothing has changed but, maybe, records */
        goto rows;
    }
    if (status >= 0)
        status = ot_context_store(o, OT_STORE_READ, err);
    if (status >= 0)
        do
            *now = (state){.opened = o->stores->n_opened, .commit = ot_context_last(o)};
        while (now->opened & 1 || !is_current(o, now));
    else if (status == OPTUNE_ENOENT || ot_context_unreadable(status))
        status = OPTUNE_OK; /* nothing was ever stored here; or the choice will say why */
rows:
    ot_impls(&now->impls);
    ot_strategies(&now->strategies);
    return status;
}

/* What is to be said of an answer is said once, to the first who uses it. */
static int end(optune *o, int status, bool says_why, ot_answer **found, optune_err *err)
{
    const bool silent = says_why && status >= 0 && (*found)->choice.unread;
    if (status >= 0 && !silent && !atomic_load(&(*found)->told) &&
        !atomic_exchange(&(*found)->told, true))
        ot_context_warn(o, &(*found)->choice);
    status = ot_memory_end(status, err);
    if (status < 0) {
        ot_answer_drop(*found);
        *found = NULL;
    }
    return status;
}

/* Whether the store was replaced meanwhile, so that it is to be looked for again. */
static bool again(optune *o, int status, int opened, int *swaps, ot_answer **found)
{
    const int why = status < 0 || !*found ? status : (*found)->choice.unread;
    if (!ot_context_replaced(o, why, opened, swaps))
        return false;
    ot_answer_drop(*found);
    *found = NULL;
    return true;
}

/* `text`: canonical; empty: what was asked is. */
static int by_canonical_text(optune *o, state *now, const key *asked, const optune_call *call,
                             const ot_text *text, ot_answer **answer, optune_err *err)
{
    int status = OPTUNE_OK;
    const bool same =
        !text->n || (asked->n == text->n && !memcmp(asked->data, text->s, text->n));
    const key canonical = same ? *asked : key_of(o->answers, text->s, text->n);
    *answer = same ? NULL : look_up(o, now, &canonical);
    if (!*answer) {
        status = make(o, now, call, canonical.data, NULL, answer, err);
        if (status >= 0)
            keep(o, now, &canonical, *answer);
    }
    if (status >= 0 && !same)
        keep(o, now, asked, *answer);
    return status;
}

static int by_text(optune *o, const char *workload, ot_answer **found, optune_err *err)
{
    state now;
    const key asked = key_of(o->answers, workload, strlen(workload));
    int status = begin(o, &now, err);
    *found = NULL;
    if (status >= 0 && !(*found = look_up(o, &now, &asked))) {
        optune_call call;
        ot_text text = {0};
        status = ot_form_parse(o->answers->forms, workload, asked.n, &call, &text, err);
        if (status >= 0)
            status = by_canonical_text(o, &now, &asked, &call, &text, found, err);
        ot_text_release(&text);
    }
    return status;
}

/* `says_why`: the caller says why no records could be read, and needs no warning of it. */
static int ask(optune *o, const char *workload, bool says_why, const ot_answer **answer,
               optune_err *err)
{
    ot_answer *found = NULL;
    const double start = o->verbose ? ot_now() : 0;
    const unsigned turn = ot_context_enter(o);
    int status, opened, swaps = 0;
    do {
        opened = o->stores->n_opened;
        status = by_text(o, workload, &found, err);
    } while (again(o, status, opened, &swaps, &found));
    ot_context_leave(o, turn);
    status = end(o, status, says_why, &found, err);
    *answer = found;
    if (found && o->verbose)
        ot_verbose_say(o, found, ot_now() - start);
    return status;
}

int ot_answer_text(optune *o, const char *workload, const ot_answer **answer, optune_err *err)
{
    return ask(o, workload, false, answer, err);
}

int ot_answer_record(optune *o, const char *workload, const ot_answer **answer, optune_err *err)
{
    return ask(o, workload, true, answer, err);
}

/* Calls that are equal but for bytes that mean nothing are found by their text. */
int ot_answer_call(optune *o, const optune_call *call, const ot_answer **answer,
                   optune_err *err)
{
    state now;
    ot_answer *found = NULL;
    ot_text text = {0};
    const double start = o->verbose ? ot_now() : 0;
    const unsigned turn = ot_context_enter(o);
    char packed[sizeof *call];
    const key asked = key_of(o->answers, packed, ot_call_pack(call, packed));
    int status, opened, swaps = 0;
    do {
        opened = o->stores->n_opened;
        status = begin(o, &now, err);
        if (status >= 0 && !(found = look_up(o, &now, &asked))) {
            ot_text_clear(&text);
            ot_call_print(call, &text);
            status = by_canonical_text(o, &now, &asked, call, &text, &found, err);
        }
    } while (again(o, status, opened, &swaps, &found));
    ot_text_release(&text);
    ot_context_leave(o, turn);
    status = end(o, status, false, &found, err);
    *answer = found;
    if (found && o->verbose)
        ot_verbose_say(o, found, ot_now() - start);
    return status;
}

/* Kept under policy and text, which no workload's text is like; a miss is kept, too. */
static int under(optune *o, state *now, const optune_call *call, const char *policy,
                 ot_answer **found, optune_err *err)
{
    ot_text text = {0};
    int status = OPTUNE_OK;
    ot_text_printf(&text, "%s\n", policy);
    ot_call_print(call, &text);
    const key asked = key_of(o->answers, ot_text_str(&text), text.n);
    if (!(*found = look_up(o, now, &asked))) {
        status =
            make(o, now, call, ot_text_str(&text) + strlen(policy) + 1, policy, found, err);
        if (status >= 0)
            keep(o, now, &asked, *found);
    }
    ot_text_release(&text);
    return status;
}

int ot_answer_call_at(optune *o, const optune_call *call, const char *const *policies,
                      const ot_answer **answer, optune_err *err)
{
    state now;
    ot_answer *found = NULL;
    const double start = o->verbose ? ot_now() : 0;
    const unsigned turn = ot_context_enter(o);
    int status = begin(o, &now, err);
    for (; status >= 0 && !found && policies && *policies; policies++) {
        int opened, swaps = 0;
        if (!strcmp(*policies, o->policy->name))
            break;
        do {
            opened = o->stores->n_opened;
            status = swaps ? begin(o, &now, err) : OPTUNE_OK;
            status = status < 0 ? status : under(o, &now, call, *policies, &found, err);
        } while (again(o, status, opened, &swaps, &found));
        if (status >= 0 && !ot_choice_measured(&found->choice)) {
            ot_answer_drop(found);
            found = NULL;
        }
    }
    ot_context_leave(o, turn);
    if (status >= 0 && !found)
        return ot_answer_call(o, call, answer, err);
    status = end(o, status, false, &found, err);
    *answer = found;
    if (found && o->verbose)
        ot_verbose_say(o, found, ot_now() - start);
    return status;
}
