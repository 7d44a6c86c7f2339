/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The databases of a handle: the first of its list, which may be written, and those consulted after
 * it. Each is opened when needed, and anew when what was opened is no longer there; what another
 * thread may still read from stays open for a while.
 */
#include <pthread.h>
#include <string.h>

#include "answer/hub/hub.h"

/* Another thread may still be reading from it: it stays for a while. */
static void retire(optune *o, ot_store *store)
{
    if (!store)
        return;
    if (o->n_retired == OT_COUNT(o->retired)) {
        ot_store_close(o->retired[0]);
        memmove(o->retired, o->retired + 1, sizeof o->retired - sizeof *o->retired);
        o->n_retired--;
    }
    o->retired[o->n_retired++] = store;
}

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

/* One of the list; what it was before is kept as long as it is still that store. */
static int open_one(optune *o, const char *dir, int mode, _Atomic(ot_store *) *store,
                    optune_err *err)
{
    ot_store *fresh = NULL, *const old = *store;
    if (old && !ot_store_gone(old) && (store != &o->store || o->store_mode >= mode))
        return OPTUNE_OK;
    const int status = ot_store_open(dir, mode, &fresh, err);
    if (status >= 0) {
        ot_store_stop(fresh, &o->stop);
        look_through(o, dir, fresh);
    }
    if (status >= 0 && mode == OT_STORE_WRITE)
        recover(o, fresh);
    const bool gone = old && ot_store_gone(old);
    if (status < 0 && !gone)
        return status;
    o->n_opened++;
    *store = fresh;
    o->n_opened++;
    if (store == &o->store)
        o->store_mode = fresh ? mode : 0;
    retire(o, old);
    return status;
}

static int open_others(optune *o)
{
    int n = 0;
    for (int i = 0; i < o->n_others; i++) {
        optune_err err = {0};
        ot_consulted *other = &o->other[i];
        const int status = open_one(o, other->dir, OT_STORE_READ, &other->store, &err);
        if (status < 0 && !o->other_told && !(other->hub && status == OPTUNE_ENOENT))
            ot_context_log(o, OPTUNE_LOG_WARNING, "not consulted: %s", err.text);
        n += status >= 0;
    }
    o->other_told = true;
    return n;
}

int ot_context_open(optune *o, int mode, optune_err *err)
{
    OT_RETURN_UNLESS_OK(ot_context_need_db(o, err));
    const int status = open_one(o, o->db, mode, &o->store, err);
    const int others = mode == OT_STORE_READ ? open_others(o) : 0;
    return status < 0 && others ? OPTUNE_OK : status;
}

int ot_context_store(optune *o, int mode, optune_err *err)
{
    pthread_mutex_lock(o->lock);
    const int status = ot_context_open(o, mode, err);
    pthread_mutex_unlock(o->lock);
    return status;
}

int ot_context_writer(optune *o, ot_store **store, optune_err *err)
{
    pthread_mutex_lock(o->lock);
    const int status = ot_context_open(o, OT_STORE_WRITE, err);
    *store = status < 0 ? NULL : o->store;
    pthread_mutex_unlock(o->lock);
    return status;
}

/* Another thread of the handle may have opened the new one already. */
bool ot_context_replaced(const optune *o, int status, int opened, int *swaps)
{
    enum { MOST_SWAPS = 100 };
    ot_store *store = o->store;
    return status == OPTUNE_ESTORE && store && ++*swaps < MOST_SWAPS &&
           (o->n_opened != opened || ot_store_gone(store));
}

typedef int put_fn(ot_store *store, const void *what, int n, int *added, optune_err *err);

static int put(optune *o, put_fn *fn, const void *what, int n, int *added, optune_err *err)
{
    int status, opened, swaps = 0;
    do {
        ot_store *store;
        opened = o->n_opened;
        status = ot_context_writer(o, &store, err);
        if (status >= 0)
            status = fn(store, what, n, added, err);
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

int ot_context_own(const optune *o, optune_err *err)
{
    return o->store ? OPTUNE_OK
                    : optune_fail(err, OPTUNE_ENOENT, "there is no database in '%s'", o->db);
}

ot_store *ot_context_nth(optune *o, int i)
{
    ot_store *store = o->store;
    if (store && i-- == 0)
        return store;
    for (int k = 0; k < o->n_others; k++) {
        store = o->other[k].store;
        if (store && i-- == 0)
            return store;
    }
    return NULL;
}

const ot_consulted *ot_context_consulted(const optune *o, const ot_store *store)
{
    for (int k = 0; k < o->n_others; k++)
        if (o->other[k].store == store)
            return &o->other[k];
    return NULL;
}

int ot_context_consult(optune *o, const char *dir, size_t n, const char *hub, bool hints,
                       optune_err *err)
{
    if (o->n_others == OT_COUNT(o->other))
        return optune_fail(err, OPTUNE_ELIMIT, "more than %d databases are consulted",
                           OT_COUNT(o->other));
    ot_consulted *other = &o->other[o->n_others];
    *other = (ot_consulted){.hints = hints};
    other->dir = ot_alloc(n + 1);
    memcpy(other->dir, dir, n);
    other->hub = hub ? ot_strdup(hub) : NULL;
    o->n_others++;
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

void ot_context_consult_hubs(optune *o)
{
    ot_arena arena = {0};
    pthread_mutex_lock(o->lock);
    /* What was removed is not asked any more. */
    for (int k = 0; k < o->n_others; k++)
        if (o->other[k].hub && !ot_exists(o->other[k].dir)) {
            ot_store *const old = o->other[k].store;
            o->n_opened++;
            o->other[k].store = NULL;
            o->n_opened++;
            retire(o, old);
        }
    char **name = ot_hub_names(o, &arena);
    for (int i = 0; name[i]; i++) {
        ot_text dir = {0}, store = {0};
        ot_text_printf(&dir, "%s/hubs/%s", o->db, name[i]);
        ot_text_printf(&store, "%s/store", dir.s);
        bool known = !ot_exists(store.s);
        for (int k = 0; k < o->n_others && !known; k++)
            if (!strcmp(o->other[k].dir, dir.s)) {
                const bool hints = gives_hints(dir.s);
                known = true;
                o->n_opened += 2 * (o->other[k].hints != hints); /* no kept answer knows of it */
                o->other[k].hints = hints;
            }
        if (!known)
            ot_context_consult(o, dir.s, dir.n, name[i], gives_hints(dir.s), NULL);
        ot_text_release(&dir);
        ot_text_release(&store);
    }
    pthread_mutex_unlock(o->lock);
    ot_arena_release(&arena);
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

bool ot_context_follow(optune *o, int64_t *last)
{
    ot_store *store = o->store;
    *last = store ? ot_store_last(store) : 0;
    bool here = store && ot_store_here(store);
    for (int k = 0; k < o->n_others && here; k++) {
        store = o->other[k].store;
        here = store && ot_store_here(store);
        *last += here ? ot_store_last(store) : 0;
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
    for (int i = 0; status == OPTUNE_ENOENT && (store = ot_context_nth(o, i)); i++)
        status = ot_store_device(store, key, device, err);
    return status;
}
