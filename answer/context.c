/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handle: a target, a database directory and what was found lazily behind them. Opening it
 * touches nothing; the device is probed and the store opened by the first call that needs them.
 * A handle that answers for a stored device key never probes anything.
 */
#include <errno.h>
#include <pthread.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "answer/answer.h"
#include "bring/bring.h"
#include "run/run.h"

/* Of who runs this, where the environment does not say. */
static bool own_home(char *to, size_t size)
{
    char buffer[4096];
    struct passwd entry, *found = NULL;
    return getpwuid_r(getuid(), &entry, buffer, sizeof buffer, &found) == 0 && found &&
           found->pw_dir && found->pw_dir[0] == '/' && found->pw_dir[1] &&
           ot_copy(to, size, found->pw_dir);
}

int ot_context_need_db(const optune *o, optune_err *err)
{
    return *o->db ? OPTUNE_OK
                  : optune_fail(err, OPTUNE_EUSAGE,
                                "no database directory: set OPTUNE_DB or HOME, or name one "
                                "with --db");
}

static int default_db(char *to, size_t size, optune_err *err)
{
    const char *data = getenv("XDG_DATA_HOME");
    const char *home = getenv("HOME");
    char own[4096];
    int n = 0;
    if (data && *data)
        n = snprintf(to, size, "%s/optune", data);
    else if (home && *home)
        n = snprintf(to, size, "%s/.local/share/optune", home);
    else if (own_home(own, sizeof own))
        n = snprintf(to, size, "%s/.local/share/optune", own);
    else
        n = snprintf(to, size, "%s", ""); /* who needs it is told, see ot_context_need_db */
    if (n < 0 || (size_t)n >= size)
        return optune_fail(err, OPTUNE_ELIMIT, "database path too long");
    return OPTUNE_OK;
}

int ot_context_folder(const char *named, char *to, size_t size, const char **others,
                      optune_err *err)
{
    const char *list = named ? named : getenv("OPTUNE_DB");
    list = list ? list : "";
    const size_t first = strcspn(list, ":");
    *others = list + first;
    if (first >= size)
        return optune_fail(err, OPTUNE_ELIMIT, "database path too long");
    if (!first)
        return default_db(to, size, err);
    snprintf(to, size, "%.*s", (int)first, list);
    return OPTUNE_OK;
}

/* "DIR:DIR...": the first is written, and may be empty: the default; the others are only read. */
static int set_db(optune *o, const char *named, optune_err *err)
{
    int n = 0;
    const char *others;
    OT_RETURN_UNLESS_OK(ot_context_folder(named, o->db, sizeof o->db, &others, err));
    for (const char *at = others; *at;) {
        const size_t length = strcspn(++at, ":");
        if (length) {
            char **more = realloc(o->other, (size_t)(n + 2) * sizeof *more);
            if (!more)
                return optune_fail(err, OPTUNE_ENOMEM, "out of memory for '%s'", others);
            o->other = more;
            o->other[n] = ot_alloc(length + 1);
            memcpy(o->other[n++], at, length);
            o->other[n] = NULL;
        }
        at += length;
    }
    o->other_store = ot_alloc((size_t)(n + 1) * sizeof *o->other_store);
    return OPTUNE_OK;
}

/* Rows are the process's: what one handle has loaded, another of the same process has, too. */
int ot_context_load(const char *path, optune_err *err)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct loaded {
        struct loaded *next;
        char *path;
    } * loaded;
    char *real = realpath(path, NULL);
    int status = OPTUNE_OK;
    pthread_mutex_lock(&lock);
    const struct loaded *l = loaded;
    while (l && (!real || strcmp(l->path, real)))
        l = l->next;
    if (!l)
        status = ot_rows_load(path, ot_target_add, err);
    if (!l && status >= 0 && real) {
        struct loaded *entry = ot_alloc(sizeof *entry);
        *entry = (struct loaded){loaded, real};
        loaded = entry;
        real = NULL;
    }
    pthread_mutex_unlock(&lock);
    free(real);
    return status;
}

int ot_context_plugin(optune *o, const char *path, optune_err *err)
{
    const int status = ot_context_load(path, err);
    if (status < 0)
        return status;
    int n = 0;
    for (; o->plugins && o->plugins[n]; n++)
        if (strcmp(o->plugins[n], path) == 0)
            return OPTUNE_OK;
    char **list = realloc(o->plugins, (size_t)(n + 2) * sizeof *list);
    if (!list)
        return optune_fail(err, OPTUNE_ENOMEM, "out of memory for plugin '%s'", path);
    list[n] = ot_strdup(path);
    list[n + 1] = NULL;
    o->plugins = list;
    return OPTUNE_OK;
}

static int load_plugins(optune *o, const char *const *paths, optune_err *err)
{
    for (int i = 0; paths && paths[i]; i++) {
        const int status = ot_context_plugin(o, paths[i], err);
        if (status < 0)
            return status;
    }
    const char *all = paths ? NULL : getenv("OPTUNE_PLUGINS");
    while (all && *all) {
        const size_t n = strcspn(all, ":");
        char path[4096];
        if (n >= sizeof path)
            return optune_fail(err, OPTUNE_ELIMIT, "plugin path too long in OPTUNE_PLUGINS");
        memcpy(path, all, n);
        path[n] = 0;
        if (n) {
            const int status = ot_context_plugin(o, path, err);
            if (status < 0)
                return status;
        }
        all += n + (all[n] == ':');
    }
    return OPTUNE_OK;
}

/* A word in -libs that no implementation knows does nothing: likely a slip. */
static void check_libs(optune *o)
{
    int n;
    const optune_impl *const *impl = ot_impls(&n);
    for (int k = 0; k < o->target.n_libs; k++) {
        bool known = false;
        for (int i = 0; i < n && !known; i++)
            known = impl[i]->library && !strcmp(impl[i]->library, o->target.lib[k]);
        if (!known)
            ot_context_log(o, OPTUNE_LOG_WARNING,
                           "no implementation calls a library '%s': -libs=%s changes nothing",
                           o->target.lib[k], o->target.lib[k]);
    }
}

int optune_open(const optune_options *options, optune **handle, optune_err *err)
{
    OT_RETURN_UNLESS_OK(OT_GIVEN(err, {"handle", handle}));
    *handle = NULL;
    static const optune_options defaults = {.size = sizeof defaults};
    if (!options)
        options = &defaults;
    optune_options own;
    OT_RETURN_UNLESS_OK(OT_SIZED_TAKE(err, optune_options, options, &own));
    options = &own;
    optune *o = ot_alloc(sizeof *o);
    o->log_level = options->log_level;
    o->log = options->log;
    o->log_arg = options->log_arg;
    o->lock = ot_alloc(sizeof(pthread_mutex_t));
    pthread_mutex_init(o->lock, NULL);
    o->answers = ot_answers_open();
    o->verbose = ot_verbose_open();
    int status = set_db(o, options->db, err);
    if (status >= 0)
        status = load_plugins(o, options->plugins, err);
    if (status < 0)
        goto out;
    ot_context_recall(o);
    const char *target = options->target ? options->target : "cpu";
    if (!ot_copy(o->target_text, sizeof o->target_text, target)) {
        status = optune_fail(err, OPTUNE_ELIMIT, "target text too long");
        goto out;
    }
    status = ot_target_parse(target, &o->target, err);
    if (status < 0)
        goto out;
    o->row = ot_target_find(o->target.kind);
    check_libs(o);
    const char *policy = options->policy ? options->policy : "warm";
    o->policy = ot_alloc(sizeof *o->policy);
    status = ot_policy_find(policy, o->policy, err);
    if (status < 0)
        goto out;
    if (o->policy->cold && !o->row->worker.flush) {
        status = optune_fail(err, OPTUNE_EUNSUPPORTED, "'%s' cannot flush its caches",
                             o->target.kind);
        goto out;
    }
    if (options->device && !ot_copy(o->device_key, sizeof o->device_key, options->device))
        status = optune_fail(err, OPTUNE_ELIMIT, "device key too long");
out:
    if (status < 0) {
        optune_close(o);
        return status;
    }
    *handle = o;
    return OPTUNE_OK;
}

void optune_close(optune *o)
{
    if (!o)
        return;
    ot_answers_close(o->answers);
    ot_verbose_close(o->verbose);
    ot_store_close(o->store);
    free(o->policy);
    for (int i = 0; i < o->n_retired; i++)
        ot_store_close(o->retired[i]);
    for (int i = 0; o->other && o->other[i]; i++) {
        ot_store_close(o->other_store[i]);
        free(o->other[i]);
    }
    free(o->other);
    free(o->other_store);
    for (int i = 0; o->plugins && o->plugins[i]; i++)
        free(o->plugins[i]);
    free(o->plugins);
    pthread_mutex_destroy(o->lock);
    free(o->lock);
    free(o);
}

void optune_interrupt(optune *o)
{
    if (!o)
        return;
    atomic_store(&o->stop, true);
}

bool ot_context_stopped(const optune *o)
{
    return atomic_load(&o->stop);
}

int ot_context_log_path(const optune *o, const char *suffix, char *path, size_t size,
                        optune_err *err)
{
    char dir[sizeof o->db + 8], stamp[32];
    const time_t now = time(NULL);
    struct tm utc;
    OT_RETURN_UNLESS_OK(ot_context_need_db(o, err));
    snprintf(dir, sizeof dir, "%s/logs", o->db);
    strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", gmtime_r(&now, &utc));
    const int n = snprintf(path, size, "%s/%s-%d%s.log", dir, stamp, (int)getpid(), suffix);
    if (n < 0 || (size_t)n >= size)
        return optune_fail(err, OPTUNE_ELIMIT, "database path too long");
    return ot_make_dirs(dir, err);
}

void ot_context_cache(const optune *o, char *path, size_t size)
{
    const char *cache = getenv("OPTUNE_CACHE"), *home = getenv("HOME");
    const char *cache_home = getenv("XDG_CACHE_HOME");
    if (cache)
        snprintf(path, size, "%.4096s", cache);
    else if (cache_home && *cache_home)
        snprintf(path, size, "%.4096s/optune", cache_home);
    else if (home && *home)
        snprintf(path, size, "%.4096s/.cache/optune", home);
    else
        snprintf(path, size, "%s/cache", o->db);
}

void ot_context_log(const optune *o, optune_log_level level, const char *format, ...)
{
    if (!o->log || level > o->log_level)
        return;
    char text[2 * OPTUNE_ERR_SIZE];
    va_list args;
    va_start(args, format);
    ot_format_list(text, sizeof text, format, args);
    va_end(args);
    o->log(o->log_arg, level, text);
}

void ot_context_warn(const optune *o, const ot_choice *choice)
{
    ot_text text = {0};
    ot_choice_warnings(choice, &text);
    for (const char *line = ot_text_str(&text); *line; line += strcspn(line, "\n") + 1)
        ot_context_log(o, OPTUNE_LOG_WARNING, "%.*s", (int)strcspn(line, "\n"), line);
    ot_text_release(&text);
}

void ot_context_settle(optune *o)
{
    if (!o->target.threads)
        o->target.threads = o->device.threads ? o->device.threads : o->device.cores;
    o->device.threads = o->target.threads;
}

int ot_context_device(optune *o, optune_err *err)
{
    int status = OPTUNE_OK;
    pthread_mutex_lock(o->lock);
    if (!o->have_device && *o->device_key) {
        status = ot_context_open(o, OT_STORE_READ, err);
        if (status == OPTUNE_ENOENT)
            status =
                optune_fail(err, OPTUNE_ENODEV, "no device '%s': the database '%s' is empty",
                            o->device_key, o->db);
        else if (status >= 0)
            status = ot_context_stored(o, o->device_key, &o->device, err);
        if (status == OPTUNE_ENOENT)
            status = OPTUNE_ENODEV;
        if (err && status < 0)
            err->status = status;
        if (status >= 0)
            ot_context_settle(o);
    } else if (!o->have_device) {
        status = ot_target_probe(&o->target, &o->device, err);
    }
    if (status >= 0)
        o->have_device = true;
    pthread_mutex_unlock(o->lock);
    return status;
}

const char *ot_context_depends(optune *o, const optune_impl *impl, ot_arena *arena)
{
    if (*o->device_key || !o->row->dependencies)
        return NULL;
    char text[2048];
    optune_err err;
    const int status = o->row->dependencies(&o->target, impl, text, sizeof text, &err);
    if (status < 0) {
        ot_context_log(o, OPTUNE_LOG_DEBUG, "%s", err.text);
        /* A library that is not here is no unknown one: what it did is history. */
        return status == OPTUNE_ENODEV && impl && impl->library ? "library=nothing\n" : NULL;
    }
    return ot_arena_copy(arena, text);
}
