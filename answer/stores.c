/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The databases of a handle: the first of its list, which may be written, and those consulted after
 * it. Each is opened when needed, and anew when what was opened is no longer there. What another
 * thread reads stays open: readers count themselves into a turn, and a store that was replaced is
 * closed when all have left who had entered by then.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "answer/hub/hub.h"

ot_stores *ot_stores_new(const atomic_bool *stop)
{
    ot_stores *s = ot_alloc(sizeof *s);
    s->stop = stop;
    return s;
}

/* ---- who reads --------------------------------------------------------------------------- */

/* Whoever finds another turn than he counted himself into may not have been seen in time. */
unsigned ot_context_enter(optune *o)
{
    ot_stores *s = o->stores;
    for (;;) {
        const unsigned turn = atomic_load(&s->turn);
        atomic_fetch_add(&s->reading[turn & 1], 1);
        if (atomic_load(&s->turn) == turn)
            return turn;
        atomic_fetch_sub(&s->reading[turn & 1], 1);
    }
}

static void close_all(ot_stores *s, ot_retired *retired)
{
    atomic_fetch_sub(&s->n_retired, retired->n);
    while (retired->n)
        ot_store_close(retired->store[--retired->n]);
}

/* Of the turn before this one no reader may be left before the next one begins: so who reads what
 * was retired in a turn entered in that turn, or in the one before, which is over. */
static void close_unread(ot_stores *s)
{
    for (int i = 0; i < 2; i++) {
        const unsigned turn = atomic_load(&s->turn), before = (turn + 1) & 1;
        if (atomic_load(&s->reading[before]))
            return;
        close_all(s, &s->retired[before]);
        atomic_store(&s->turn, turn + 1);
    }
}

void ot_context_leave(optune *o, unsigned turn)
{
    ot_stores *s = o->stores;
    const bool last = atomic_fetch_sub(&s->reading[turn & 1], 1) == 1;
    /* Whoever has the lock, and may be the one that leaves, is followed by others. */
    if (last && atomic_load(&s->n_retired) && pthread_mutex_trylock(o->lock) == 0) {
        close_unread(s);
        pthread_mutex_unlock(o->lock);
    }
}

static void retire(optune *o, ot_store *store)
{
    ot_stores *s = o->stores;
    if (!store)
        return;
    ot_retired *to = &s->retired[atomic_load(&s->turn) & 1];
    to->store = ot_room(to->store, to->n, &to->capacity, sizeof *to->store);
    to->store[to->n++] = store;
    atomic_fetch_add(&s->n_retired, 1);
    close_unread(s);
}

void ot_stores_free(ot_stores *s)
{
    if (!s)
        return;
    ot_store_close(s->store);
    for (int i = 0; i < 2; i++) {
        close_all(s, &s->retired[i]);
        free(s->retired[i].store);
    }
    for (int i = 0; i < s->n_others; i++) {
        ot_store_close(s->other[i].store);
        free(s->other[i].dir);
        free(s->other[i].hub);
    }
    free(s);
}

void ot_context_rest(optune *o)
{
    ot_stores *s = o->stores;
    const unsigned turn = ot_context_enter(o);
    ot_store *own = atomic_load(&s->store);
    if (own)
        ot_store_rest(own);
    for (int i = 0; i < s->n_others; i++) {
        ot_store *other = atomic_load(&s->other[i].store);
        if (other)
            ot_store_rest(other);
    }
    ot_context_leave(o, turn);
}

/* ---- opening ----------------------------------------------------------------------------- */

/* What a killed process logged and did not store. */
static void recover(optune *o, ot_store *store)
{
    optune_err err = {0};
    int64_t added = 0;
    if (ot_store_recover(store, false, &added, &err) < 0)
        ot_context_log(o, OPTUNE_LOG_WARNING, "not all that was logged is stored: %s",
                       err.text);
    if (added)
        ot_context_log(o, OPTUNE_LOG_INFO,
                       "%lld records that were logged and not stored are stored now",
                       (long long)added);
}

/* A small store is looked through whole when it is opened: a damaged entry of its index would look
 * like a workload that was never tuned. `optune db check` does that for all. */
static void look_through(optune *o, const char *dir, ot_store *store)
{
    enum { SMALL = 256 << 10 };
    ot_care care;
    if (ot_store_bytes_used(store) > SMALL || ot_store_check(store, &care, NULL) < 0)
        return;
    if (ot_care_faults(&care))
        ot_context_log(o, OPTUNE_LOG_WARNING,
                       "the database '%s' has %lld faults: `optune db check --mend`", dir,
                       (long long)ot_care_faults(&care));
}

/* Opened, and what was logged is there. That may have left another store, which is whole. */
static int open_fresh(optune *o, const char *dir, int mode, ot_store **fresh, optune_err *err)
{
    enum { MOST = 8 };
    for (int i = 0;; i++) {
        OT_RETURN_UNLESS_OK(ot_store_open(dir, mode, fresh, err));
        ot_store_stop(*fresh, o->stores->stop);
        if (i == 0)
            look_through(o, dir, *fresh);
        if (mode == OT_STORE_WRITE)
            recover(o, *fresh);
        if (i == MOST || !ot_store_gone(*fresh))
            return OPTUNE_OK;
        ot_store_close(*fresh);
        *fresh = NULL;
    }
}

/* One of the list; what it was before is kept as long as it is still that store. */
static int open_one(optune *o, const char *dir, int mode, _Atomic(ot_store *) *store,
                    optune_err *err)
{
    ot_stores *s = o->stores;
    ot_store *fresh = NULL, *const old = *store;
    if (old && !ot_store_gone(old) && (store != &s->store || s->mode >= mode))
        return OPTUNE_OK;
    const int status = open_fresh(o, dir, mode, &fresh, err);
    const bool gone = old && ot_store_gone(old);
    if (status < 0 && !gone)
        return status;
    s->n_opened++;
    *store = fresh;
    s->n_opened++;
    if (store == &s->store)
        s->mode = fresh ? mode : 0;
    retire(o, old);
    return status;
}

/* One that somebody pulls into, and nobody measures for, has no store of its own. */
static bool has_hubs(const ot_stores *s, const char *dir)
{
    const size_t n = strlen(dir);
    for (int i = 0; i < s->n_others; i++)
        if (s->other[i].hub && !strncmp(s->other[i].dir, dir, n) &&
            !strncmp(s->other[i].dir + n, "/hubs/", 6))
            return true;
    return false;
}

static int open_others(optune *o)
{
    ot_stores *s = o->stores;
    int n = 0;
    for (int i = 0; i < s->n_others; i++) {
        optune_err err = {0};
        ot_consulted *other = &s->other[i];
        const int64_t now = ot_now_ns();
        const int status = open_one(o, other->dir, OT_STORE_READ, &other->store, &err);
        atomic_store(&other->absent_ns, status == OPTUNE_ENOENT ? now : 0);
        if (status < 0 && !s->other_told &&
            !(status == OPTUNE_ENOENT && (other->hub || has_hubs(s, other->dir))))
            ot_context_log(o, OPTUNE_LOG_WARNING, "not consulted: %s", err.text);
        n += status >= 0;
    }
    s->other_told = true;
    return n;
}

int ot_context_open(optune *o, int mode, optune_err *err)
{
    optune_err why = {0};
    OT_RETURN_UNLESS_OK(ot_context_need_db(o, err));
    const int status = open_one(o, o->db, mode, &o->stores->store, &why);
    const int others = mode == OT_STORE_READ ? open_others(o) : 0;
    bool *const told = &o->stores->first_told;
    *told = *told && status < 0;
    if (status >= 0 || !others)
        return status < 0 ? optune_fail(err, status, "%s", why.text) : status;
    if (!*told && status != OPTUNE_ENOENT) { /* others make up for it: nobody would notice */
        ot_context_log(o, OPTUNE_LOG_WARNING, "not consulted: %s", why.text);
        *told = true;
    }
    return OPTUNE_OK;
}

int ot_context_store(optune *o, int mode, optune_err *err)
{
    pthread_mutex_lock(o->lock);
    const int status = ot_context_open(o, mode, err);
    pthread_mutex_unlock(o->lock);
    return status;
}

/* Whatever there is of others: that does not make up for it. */
static int own(optune *o, int mode, ot_store **store, int *opened, optune_err *err)
{
    *store = NULL;
    OT_RETURN_UNLESS_OK(ot_context_need_db(o, err));
    pthread_mutex_lock(o->lock);
    int status = open_one(o, o->db, mode, &o->stores->store, err);
    if (status < 0 && mode == OT_STORE_READ)
        status = ot_stores_told(o, status, err);
    if (status >= 0)
        *store = o->stores->store;
    if (status >= 0 && opened)
        *opened = o->stores->n_opened;
    pthread_mutex_unlock(o->lock);
    return status;
}

int ot_context_reader(optune *o, ot_store **store, int *opened, optune_err *err)
{
    return own(o, OT_STORE_READ, store, opened, err);
}

int ot_context_writer(optune *o, ot_store **store, int *opened, optune_err *err)
{
    return own(o, OT_STORE_WRITE, store, opened, err);
}

/* Another thread of the handle may have opened the new one already. */
bool ot_context_replaced(optune *o, int status, int opened, int *swaps)
{
    enum { MOST_SWAPS = 100 };
    if (status != OPTUNE_ESTORE)
        return false;
    const unsigned turn = ot_context_enter(o);
    ot_store *store = o->stores->store;
    const bool replaced = store && ++*swaps < MOST_SWAPS &&
                          (o->stores->n_opened != opened || ot_store_gone(store));
    ot_context_leave(o, turn);
    return replaced;
}

/* ---- writing ----------------------------------------------------------------------------- */

typedef int put_fn(ot_store *store, const void *what, int n, int *added, optune_err *err);

static int put(optune *o, put_fn *fn, const void *what, int n, int *added, optune_err *err)
{
    int status, opened, swaps = 0;
    do {
        ot_store *store;
        const unsigned turn = ot_context_enter(o);
        opened = o->stores->n_opened;
        status = ot_context_writer(o, &store, &opened, err);
        if (status >= 0)
            status = fn(store, what, n, added, err);
        ot_context_leave(o, turn);
    } while (ot_context_replaced(o, status, opened, &swaps));
    return status;
}

static int put_batch(ot_store *store, const void *what, int n, int *added, optune_err *err)
{
    (void)n;
    return ot_batch_put(*(ot_batch *const *)what, store, added, err);
}

static int put_records(ot_store *store, const void *what, int n, int *added, optune_err *err)
{
    return ot_store_put(store, what, n, added, err);
}

static int put_devices(ot_store *store, const void *what, int n, int *added, optune_err *err)
{
    (void)added;
    return ot_store_put_devices(store, what, n, err);
}

static int log_done(ot_store *store, const void *what, int n, int *added, optune_err *err)
{
    (void)n;
    (void)added;
    return ot_store_log_done(store, what, err);
}

int ot_context_put_batch(optune *o, ot_batch *batch, int *added, optune_err *err)
{
    return put(o, put_batch, &batch, 1, added, err);
}

int ot_context_put(optune *o, const optune_record *record, int n, int *added, optune_err *err)
{
    return put(o, put_records, record, n, added, err);
}

int ot_context_put_devices(optune *o, const optune_device *device, int n, optune_err *err)
{
    return put(o, put_devices, device, n, NULL, err);
}

int ot_context_log_done(optune *o, const char *path, optune_err *err)
{
    return put(o, log_done, path, 1, NULL, err);
}

/* ---- reading ----------------------------------------------------------------------------- */

ot_store *ot_context_nth_of(optune *o, int i, const ot_consulted **other)
{
    ot_stores *s = o->stores;
    ot_store *store = s->store;
    *other = NULL;
    if (store && i-- == 0)
        return store;
    for (int k = 0; k < s->n_others; k++) {
        store = s->other[k].store;
        *other = &s->other[k];
        if (store && i-- == 0)
            return store;
    }
    return NULL;
}

ot_store *ot_context_nth(optune *o, int i)
{
    const ot_consulted *other;
    return ot_context_nth_of(o, i, &other);
}

int ot_context_consult(optune *o, const char *dir, size_t n, const char *hub, bool hints,
                       optune_err *err)
{
    ot_stores *s = o->stores;
    if (s->n_others == OT_COUNT(s->other))
        return optune_fail(err, OPTUNE_ELIMIT, "more than %d databases are consulted",
                           OT_COUNT(s->other));
    ot_consulted *other = &s->other[s->n_others];
    ot_text path = {0};
    *other = (ot_consulted){.hints = hints};
    ot_path_from_root(dir, n, sizeof o->db - 1, &path); /* the process may go elsewhere */
    other->dir = ot_strdup(ot_text_str(&path));
    ot_text_release(&path);
    other->hub = hub ? ot_strdup(hub) : NULL;
    s->n_others++;
    return OPTUNE_OK;
}

/* Whether nothing of a hub is selected: also where that cannot be read. */
static bool gives_hints(const char *dir)
{
    enum { MOST = 1 << 20 };
    ot_text path = {0}, text = {0};
    ot_text_printf(&path, "%s/hub.json", dir);
    json_t *json = ot_read_file(path.s, &text, MOST, NULL) >= 0
                       ? json_loads(ot_text_str(&text), 0, NULL)
                       : NULL;
    const bool hints = !json_is_false(json_object_get(json, "hints"));
    json_decref(json);
    ot_text_release(&path);
    ot_text_release(&text);
    return hints;
}

/* Of the database `db`, those from which something came. */
static void consult_hubs_of(optune *o, const char *db)
{
    ot_arena arena = {0};
    ot_stores *s = o->stores;
    char **name = ot_hub_names(db, &arena);
    for (int i = 0; name[i]; i++) {
        ot_text dir = {0}, store = {0};
        ot_text_printf(&dir, "%s/hubs/%s", db, name[i]);
        ot_text_printf(&store, "%s/store", dir.s);
        bool known = !ot_exists(store.s);
        for (int k = 0; k < s->n_others && !known; k++)
            if (!strcmp(s->other[k].dir, dir.s)) {
                const bool hints = gives_hints(dir.s);
                known = true;
                s->n_opened +=
                    2 * (s->other[k].hints != hints); /* no kept answer knows of it */
                s->other[k].hints = hints;
            }
        if (!known)
            ot_context_consult(o, dir.s, dir.n, name[i], gives_hints(dir.s), NULL);
        ot_text_release(&dir);
        ot_text_release(&store);
    }
    ot_arena_release(&arena);
}

void ot_context_consult_hubs(optune *o)
{
    ot_stores *s = o->stores;
    pthread_mutex_lock(o->lock);
    /* What was removed is not asked any more. */
    for (int k = 0; k < s->n_others; k++)
        if (s->other[k].hub && !ot_exists(s->other[k].dir)) {
            ot_store *const old = s->other[k].store;
            s->n_opened++;
            s->other[k].store = NULL;
            s->n_opened++;
            retire(o, old);
        }
    consult_hubs_of(o, o->db);
    const int listed = s->n_others;
    for (int k = 0; k < listed; k++)
        if (!s->other[k].hub)
            consult_hubs_of(o, s->other[k].dir);
    pthread_mutex_unlock(o->lock);
}

bool ot_context_unreadable(int status)
{
    return status == OPTUNE_ESTORE || status == OPTUNE_EDAMAGED || status == OPTUNE_EVERSION;
}

int64_t ot_context_last(optune *o)
{
    int64_t sum = 0;
    ot_store *store;
    for (int i = 0; (store = ot_context_nth(o, i)); i++)
        sum += ot_store_last(store);
    return sum;
}

/* A store that is there is looked at as often (db/sight.c). */
static bool lately_absent(const ot_consulted *other)
{
    const int64_t looked = atomic_load(&other->absent_ns);
    const int64_t ago = looked ? ot_now_ns() - looked : -1;
    return ago >= 0 && ago < (int64_t)OT_LOOK_MS * 1000000;
}

bool ot_context_follow(optune *o, int64_t *last)
{
    ot_stores *s = o->stores;
    ot_store *store = s->store;
    *last = store ? ot_store_last(store) : 0;
    bool here = store && ot_store_here(store);
    for (int k = 0; k < s->n_others && here; k++) {
        store = s->other[k].store;
        *last += store ? ot_store_last(store) : 0;
        here =
            store ? ot_store_here(store) : lately_absent(&s->other[k]); /* behind that look */
    }
    return here;
}

int64_t ot_context_snapshot(optune *o)
{
    int64_t sum = 0;
    ot_store *store;
    for (int i = 0; (store = ot_context_nth(o, i)); i++)
        sum += ot_store_snapshot(store);
    return sum;
}

int ot_context_stored(optune *o, const char *key, optune_device *device, optune_err *err)
{
    int status = OPTUNE_ENOENT;
    ot_store *store;
    const unsigned turn = ot_context_enter(o);
    for (int i = 0; status == OPTUNE_ENOENT && (store = ot_context_nth(o, i)); i++)
        status = ot_store_device(store, key, device, err);
    ot_context_leave(o, turn);
    return status;
}
