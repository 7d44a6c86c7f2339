/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is kept of an answer, in as little memory as it takes: each page that is new to the process
 * costs about what choosing does. Call and config are packed, target and device are shared by all
 * answers of a handle, sentences that follow from these are made when somebody asks. The one idea:
 * a record has room for 32 entities in its config and uses a few; the room behind those holds the
 * rest of the answer.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "answer/answer.h"
#include "base/config_packed.h"
#include "base/record.h"

/* Memory of an answer; freed with it. */
struct ot_held {
    struct ot_held *next;
    _Alignas(16) char data[];
};

typedef struct keeping {
    ot_answer *to;
    char *at, *end; /* room that is left */
    size_t used;    /* bytes of that behind the answer, */
    size_t lacked;  /* and those for which there was none, nor in a record */
} keeping;

enum { UNIT = 16, LEAST = 1024, CACHE_LINE = 64 };

/* ---- shelves ----------------------------------------------------------------------------- */

/* Memory of several answers, got in one piece and all its pages at once: to meet a new page takes
 * as long as half an answer, to get some in one call little more. Answers are cut from it one
 * behind the other; it goes when the last of them has gone, so one that is held keeps a shelf. */
typedef struct shelf {
    atomic_int users;
    int n_cut;
    size_t used;
    _Alignas(16) char data[];
} shelf;

/* In front of each piece. */
typedef struct owner {
    _Alignas(16) shelf *shelf; /* NULL: it is on the heap */
} owner;

enum { SHELF = (16 << 10) - 64, SHELF_OPEN = 1 << 20 };

/* Sanitizers are to see each piece by itself, and when it goes. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MOST_CUT = 0 };
#else
enum { MOST_CUT = 4 << 10 };
#endif

static shelf lent;               /* says that a thread has it at the moment */
static _Atomic(shelf *) current; /* the process's; NULL: none */

static void leave(shelf *s, int users)
{
    if (atomic_fetch_sub(&s->users, users) == users)
        free(s);
}

static void get_pages(char *memory, size_t size)
{
#ifdef MADV_POPULATE_WRITE
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    char *from = memory + (-(uintptr_t)memory & (page - 1));
    char *to = memory + size - ((uintptr_t)(memory + size) & (page - 1));
    if (from < to)
        (void)madvise(from, (size_t)(to - from), MADV_POPULATE_WRITE); /* else one by one */
#else
    (void)memory, (void)size;
#endif
}

/* NULL where there is no memory: it is not to be taken of the reserve. */
static shelf *new_shelf(void)
{
    shelf *s = malloc(SHELF);
    if (!s)
        return NULL;
    get_pages((char *)s, SHELF);
    atomic_init(&s->users, SHELF_OPEN); /* less what is not cut, once it is full */
    s->n_cut = 0;
    s->used = sizeof *s;
    return s;
}

/* Where another thread has the shelf the heap serves. */
static void *get(size_t size)
{
    size = (sizeof(owner) + size + 15) & ~(size_t)15;
    shelf *s = size <= MOST_CUT ? atomic_exchange(&current, &lent) : &lent;
    owner *piece = NULL;
    if (s != &lent) {
        if (s && SHELF - s->used < size) {
            leave(s, SHELF_OPEN - s->n_cut);
            s = NULL;
        }
        s = s ? s : new_shelf();
        if (s) {
            piece = (owner *)(void *)((char *)s + s->used);
            piece->shelf = s;
            s->used += size;
            s->n_cut++;
        }
        atomic_store(&current, s);
    }
    if (!piece) {
        piece = ot_alloc_raw(size);
        piece->shelf = NULL;
    }
    return piece + 1;
}

void ot_kept_close(void)
{
    shelf *s = atomic_load(&current);
    while (s && s != &lent)
        if (atomic_compare_exchange_weak(&current, &s, NULL)) {
            leave(s, SHELF_OPEN - s->n_cut);
            return;
        }
}

static void put_back(void *memory)
{
    owner *piece = (owner *)memory - 1;
    if (piece->shelf)
        leave(piece->shelf, 1);
    else
        free(piece);
}

/* ---- pieces ------------------------------------------------------------------------------ */

static void *hold(keeping *k, size_t size)
{
    struct ot_held *held = get(sizeof *held + size);
    held->next = k->to->held;
    k->to->held = held;
    return held->data;
}

/* Before it is left for other room. */
static void note_used(keeping *k)
{
    const ot_answer *to = k->to;
    if (k->at >= to->room && k->at <= to->room + to->n_room)
        k->used = (size_t)(k->at - to->room);
}

static void *take(keeping *k, size_t size)
{
    size = (size + UNIT - 1) & ~(size_t)(UNIT - 1);
    if ((size_t)(k->end - k->at) < size) {
        note_used(k);
        k->lacked += size;
        const size_t room = size > LEAST ? size : LEAST;
        k->at = hold(k, room);
        k->end = k->at + room;
    }
    k->at += size;
    return k->at - size;
}

static const void *keep(keeping *k, const void *data, size_t n)
{
    return memcpy(take(k, n), data, n);
}

/* Most texts of a record are those of its question. */
static const char *keep_said(keeping *k, const char *text)
{
    const ot_question *q = &k->to->question;
    const char *const known[] = {q->call, q->target, q->device, q->policy};
    for (int i = 0; i < OT_COUNT(known); i++)
        if (*known[i] == *text && !strcmp(known[i], text))
            return known[i];
    return keep(k, text, strlen(text) + 1);
}

static inline const char *keep_text(keeping *k, const char *text)
{
    return !text ? NULL : !*text ? "" : keep_said(k, text);
}

/* Room for what follows, if there is more than there was. */
static void give(keeping *k, char *at, char *end)
{
    at += -(uintptr_t)at & (UNIT - 1);
    if (end - at > k->end - k->at) {
        note_used(k);
        k->at = at;
        k->end = end;
    }
}

/* Most of it says what the older one says, too. */
static const char *keep_like(keeping *k, const char *text, const char *own, const char *kept)
{
    return text == own || (text && own && !strcmp(text, own)) ? kept : keep_text(k, text);
}

static void keep_later(keeping *k, ot_fact *kept, const ot_fact *fact)
{
    const optune_record *own = &fact->record;
    const ot_later *later = &fact->later;
    kept->later = *later;
    kept->later.host = keep_like(k, later->host, own->host, kept->record.host);
    kept->later.tool = keep_like(k, later->tool, own->tool, kept->record.tool);
    kept->later.counters = keep_like(k, later->counters, own->counters, kept->record.counters);
}

static void keep_texts(keeping *k, ot_fact *kept, const ot_fact *fact)
{
    for (int i = 0; i < OT_RECORD_FIELDS; i++)
        if (ot_record_is_text(&ot_record_fields[i]))
            *(const char **)ot_record_to(&kept->record, &ot_record_fields[i]) =
                keep_text(k, ot_record_text(&fact->record, &ot_record_fields[i]));
    if (fact->record.n_samples > 0 && fact->record.sample)
        kept->record.sample =
            keep(k, fact->record.sample,
                 (size_t)fact->record.n_samples * sizeof *fact->record.sample);
}

/* All texts and samples in one piece, where they lie in one; false: they do not. */
static bool keep_block(keeping *k, ot_fact *kept, const ot_fact *fact)
{
    const char *from = fact->block, *to;
    if (!from)
        return false;
    to = keep(k, from, fact->n_block);
    for (int i = 0; i < OT_RECORD_FIELDS; i++)
        if (ot_record_is_text(&ot_record_fields[i])) {
            const char *text = ot_record_text(&fact->record, &ot_record_fields[i]);
            const size_t at = (size_t)(text - from);
            *(const char **)ot_record_to(&kept->record, &ot_record_fields[i]) =
                at < fact->n_block ? to + at : keep_text(k, text);
        }
    if (fact->record.sample)
        kept->record.sample =
            (const double *)(const void *)(to + ((const char *)fact->record.sample - from));
    return true;
}

static const ot_fact *keep_fact(keeping *k, const ot_fact *fact)
{
    ot_fact *kept = hold(k, sizeof *kept);
    ot_record_copy(&kept->record, &fact->record);
    kept->currency = fact->currency;
    kept->alike = fact->alike;
    kept->overtaken = fact->overtaken;
    kept->remeasured = fact->remeasured;
    kept->outdated = fact->outdated;
    kept->impl = fact->impl;
    kept->block = NULL;
    memcpy(kept->why, fact->why, strlen(fact->why) + 1);
    /* How many there are is asked of what is in the caches. */
    optune_entity *entity = kept->record.config.entity;
    give(k, (char *)&entity[fact->record.config.n],
         (char *)entity + sizeof kept->record.config.entity);
    if (!keep_block(k, kept, fact))
        keep_texts(k, kept, fact);
    if (fact->remeasured)
        keep_later(k, kept, fact);
    return kept;
}

static void keep_config(keeping *k, const optune_config *config)
{
    char packed[sizeof *config];
    k->to->config_packed = keep(k, packed, ot_config_pack(config, packed));
}

/* Whether nothing was found out of it, so that its texts are nobody's and its facts none. */
static bool says_nothing(const ot_choice_row *row)
{
    return !row->fact && !row->stale && !row->hint && !row->failed && !*row->hint_why &&
           !*row->unfit_why && !*row->fallback_why;
}

static void keep_untold(keeping *k, const ot_untold *untold)
{
    k->to->untold = (ot_untold){
        .dir = keep(k, untold->dir, strlen(untold->dir) + 1),
        .from = keep_text(k, untold->from),
        .digest = keep(k, untold->digest, (size_t)untold->n * sizeof *untold->digest),
        .n = untold->n};
}

/* Of all that is known only what the choice refers to outlives the question. */
size_t ot_answer_settle(ot_answer *to, const optune_call *call, const ot_choice *choice,
                        int n_facts, const ot_untold *untold)
{
    keeping k = {.to = to, .at = to->room, .end = to->room + to->n_room};
    char packed[sizeof *call];
    const size_t size = ot_call_pack(call, packed);
    ot_choice_row *const row = choice->row, *const winner = &row[choice->winner];
    const bool records = winner->fact && choice->config == &winner->fact->record.config;
    to->n_facts = n_facts;
    to->op = call->op;
    atomic_init(&to->flops, -1);
    for (int i = 0; i < choice->n; i++) {
        if (says_nothing(&row[i])) {
            row[i].hint_why = row[i].unfit_why = row[i].fallback_why = "";
            continue;
        }
        if (row[i].fact)
            row[i].fact = keep_fact(&k, row[i].fact);
        if (row[i].stale)
            row[i].stale = keep_fact(&k, row[i].stale);
        if (row[i].hint)
            row[i].hint = keep_fact(&k, row[i].hint);
        if (row[i].failed)
            row[i].failed = keep_fact(&k, row[i].failed);
        row[i].hint_why = keep_text(&k, row[i].hint_why);
        row[i].unfit_why = keep_text(&k, row[i].unfit_why);
        row[i].fallback_why = keep_text(&k, row[i].fallback_why);
    }
    to->choice = *choice;
    to->choice.texts = (ot_arena){0};
    to->choice.config = records ? &winner->fact->record.config : NULL;
    if (!records)
        keep_config(&k, choice->config);
    to->choice.unread_why = keep_text(&k, choice->unread_why);
    to->choice.row = take(&k, (size_t)choice->n * sizeof *row);
    memcpy(to->choice.row, row, (size_t)choice->n * sizeof *row);
    to->call = keep(&k, packed, size);
    if (untold->n)
        keep_untold(&k, untold);
    note_used(&k);
    return k.used + k.lacked;
}

void ot_setting_drop(ot_setting *place)
{
    if (!place || atomic_fetch_sub(&place->users, 1) > 1)
        return;
    free(place->target_text);
    free(place);
}

static bool same_place(const ot_setting *place, const optune_target *target,
                       const optune_device *device)
{
    return place && !memcmp(&place->target, target, sizeof *target) &&
           !memcmp(&place->device, device, sizeof *device);
}

ot_setting *ot_setting_of(ot_setting **last, const optune_target *target,
                          const optune_device *device)
{
    if (!same_place(*last, target, device)) {
        ot_text text = {0};
        ot_target_print(target, true, &text);
        ot_setting_drop(*last);
        *last = ot_alloc(sizeof **last);
        atomic_init(&(*last)->users, 1);
        memcpy(&(*last)->target, target, sizeof *target);
        memcpy(&(*last)->device, device, sizeof *device);
        (*last)->target_text = ot_strdup(ot_text_str(&text));
        ot_text_release(&text);
    }
    atomic_fetch_add(&(*last)->users, 1);
    return *last;
}

optune_task ot_answer_task(const ot_answer *answer, optune_call *call)
{
    ot_call_unpack(answer->call, call);
    return (optune_task){call, &answer->place->target, &answer->place->device};
}

ot_choice ot_answer_choice(const ot_answer *answer, optune_config *config)
{
    ot_choice choice = answer->choice;
    if (!choice.config) {
        ot_config_unpack(answer->config_packed, config);
        choice.config = config;
    }
    return choice;
}

double ot_answer_flops(const ot_answer *answer)
{
    ot_answer *a = (ot_answer *)answer;
    double flops = atomic_load(&a->flops);
    if (flops < 0) {
        optune_call call;
        ot_call_unpack(a->call, &call);
        flops = ot_call_static(&call) ? ot_call_flops(&call) : 0;
        atomic_store(&a->flops, flops);
    }
    return flops;
}

const char *ot_answer_config(const ot_answer *answer)
{
    _Atomic(char *) *config = (_Atomic(char *) *)&answer->config;
    char *there = atomic_load(config);
    if (there)
        return there;
    ot_text text = {0};
    optune_config room;
    ot_config_print(ot_answer_choice(answer, &room).config, &text);
    if (atomic_compare_exchange_strong(config, &there, text.s))
        return text.s;
    ot_text_release(&text); /* another thread was first */
    return there;
}

ot_answer *ot_answer_begin(ot_setting *place, const char *call, const char *policy, size_t room)
{
    const size_t n = strlen(call) + 1, n_policy = strlen(policy) + 1;
    const size_t head = (sizeof(ot_answer) + n + n_policy + UNIT - 1) & ~(size_t)(UNIT - 1);
    ot_answer *a = get(head + room);
    char *text = (char *)(a + 1);
    /* It is written when all is decided, and then nobody waits for it. */
    for (size_t at = 0; at < head + room; at += CACHE_LINE)
        __builtin_prefetch((char *)a + at, 1);
    ot_question question = {.device = place->device.key,
                            .target = place->target_text,
                            .call = call,
                            .policy = policy};
    ot_question_know(&question);
    question.call = memcpy(text, call, n);
    question.policy = memcpy(text + n, policy, n_policy);
    *a = (ot_answer){
        .place = place, .room = (char *)a + head, .n_room = room, .question = question};
    atomic_init(&a->users, 1);
    return a;
}

void ot_answer_drop(const ot_answer *answer)
{
    ot_answer *a = (ot_answer *)answer;
    if (!a || atomic_fetch_sub(&a->users, 1) > 1)
        return;
    for (struct ot_held *held = a->held, *next; held; held = next) {
        next = held->next;
        put_back(held);
    }
    free(atomic_load(&a->config));
    ot_setting_drop(a->place);
    put_back(a);
}
