/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a handle is asked in passing: its folders and files, the plugins of its process, messages,
 * whether it was stopped. Opening it is open.c's, its device device.c's, its stores stores.c's.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "answer/answer.h"
#include "base/home.h"
#include "bring/bring.h"
#include "run/run.h"

int ot_context_need_db(const optune *o, optune_err *err)
{
    return *o->db ? OPTUNE_OK
                  : optune_fail(err, OPTUNE_EUSAGE,
                                "no database directory: set OPTUNE_DB or HOME, or name one "
                                "with --db");
}

int ot_context_refused(int status, const optune_err *why, optune_err *err)
{
    return status >= 0
               ? status
               : optune_fail(err, status, "%s; --db DIR, or OPTUNE_DB, names another database",
                             why->text);
}

int ot_context_make(const char *folder, optune_err *err)
{
    optune_err why = {0};
    return ot_context_refused(ot_make_shared_dirs(folder, &why), &why, err);
}

int ot_context_write(const char *path, const char *text, optune_err *err)
{
    optune_err why = {0};
    return ot_context_refused(ot_write_shared(path, text, strlen(text), &why), &why, err);
}

static int default_db(char *to, size_t size, optune_err *err)
{
    const char *data = getenv("XDG_DATA_HOME");
    char own[4096];
    int n = 0;
    if (data && *data)
        n = snprintf(to, size, "%s/optune", data);
    else if (ot_home_folder(".local/share/optune", true, own, sizeof own))
        n = snprintf(to, size, "%s", own);
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
    ot_text path = {0};
    *others = list + first;
    if (first >= size)
        return optune_fail(err, OPTUNE_ELIMIT, "database path too long");
    if (first)
        snprintf(to, size, "%.*s", (int)first, list);
    else
        OT_RETURN_UNLESS_OK(default_db(to, size, err));
    ot_path_from_root(to, strlen(to), size - 1, &path); /* the process may go elsewhere */
    ot_copy(to, size, ot_text_str(&path));
    ot_text_release(&path);
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

/* What the worker is told is where the file is, whichever way it was named and wherever the process
 * goes; a name that is no file's here is left to the loader. */
int ot_context_plugin(optune *o, const char *path, optune_err *err)
{
    const int status = ot_context_load(path, err);
    if (status < 0)
        return status;
    char *real = realpath(path, NULL);
    const char *place = real ? real : path;
    int n = 0;
    bool known = false;
    for (; o->plugins && o->plugins[n]; n++)
        known = known || strcmp(o->plugins[n], place) == 0;
    char **list = known ? NULL : realloc(o->plugins, (size_t)(n + 2) * sizeof *list);
    if (list) {
        list[n] = ot_strdup(place);
        list[n + 1] = NULL;
        o->plugins = list;
    }
    free(real);
    return known || list
               ? OPTUNE_OK
               : optune_fail(err, OPTUNE_ENOMEM, "out of memory for plugin '%s'", path);
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
    return ot_context_make(dir, err);
}

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value && *value;
}

/* A HOME in which nothing can be made is as none: containers have '/' or '/nonexistent' there. What
 * was named is believed. */
void ot_context_cache(const optune *o, char *path, size_t size)
{
    const bool named = is_set("OPTUNE_CACHE") || is_set("XDG_CACHE_HOME");
    const bool known = ot_cache_home(path, size);
    if (*o->db &&
        (!known || (!named && (ot_make_dirs(path, NULL) < 0 || access(path, W_OK | X_OK) < 0))))
        snprintf(path, size, "%s/cache", o->db);
    else if (!known)
        *path = '\0';
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

void ot_context_warn_once(optune *o, const char *format, ...)
{
    char text[2 * OPTUNE_ERR_SIZE];
    ot_text line = {0}, all = {0};
    va_list args;
    va_start(args, format);
    ot_format_list(text, sizeof text, format, args);
    va_end(args);
    ot_text_printf(&line, "\n%s\n", text);
    pthread_mutex_lock(o->lock);
    const bool there = o->warned && strstr(o->warned, line.s);
    if (!there) {
        ot_text_printf(&all, "%s%s", o->warned ? o->warned : "", line.s);
        free(o->warned);
        o->warned = all.s;
    }
    pthread_mutex_unlock(o->lock);
    ot_text_release(&line);
    if (!there)
        ot_context_log(o, OPTUNE_LOG_WARNING, "%s", text);
}

void ot_context_warn(const optune *o, const ot_choice *choice)
{
    ot_text text = {0};
    ot_choice_warnings(choice, &text);
    for (const char *line = ot_text_str(&text); *line; line += strcspn(line, "\n") + 1)
        ot_context_log(o, OPTUNE_LOG_WARNING, "%.*s", (int)strcspn(line, "\n"), line);
    ot_text_release(&text);
}

/* "cold"; "warm m=128" of a dispatch: the first word says how. */
static bool is_cold(const optune *o, const char *policy)
{
    ot_measure_policy how;
    char word[OPTUNE_NAME_SIZE];
    if (!policy || !strcmp(policy, o->policy->name))
        return o->policy->cold;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(policy, " "), policy);
    return ot_policy_find(word, &how, NULL) >= 0 && how.cold;
}

const char *ot_context_depends(optune *o, const optune_impl *impl, const char *policy,
                               ot_arena *arena)
{
    if (*o->device_key || o->assumed || !o->row->dependencies)
        return NULL;
    char text[2048];
    optune_err err;
    const int status = o->row->dependencies(&o->target, impl, text, sizeof text, &err);
    if (status < 0) {
        ot_context_log(o, OPTUNE_LOG_DEBUG, "%s", err.text);
        /* A library that is not here is no unknown one: what it did is history. */
        return status == OPTUNE_ENODEV && impl && impl->library ? "library=nothing\n" : NULL;
    }
    /* Times behind another kind of flush are no times of this one. */
    const char *by = is_cold(o, policy) ? o->row->worker.flush_by : NULL;
    return by ? ot_arena_printf(arena, "%sflush=%s\n", text, by) : ot_arena_copy(arena, text);
}

int ot_context_question(optune *o, const optune_task *task, ot_question *question,
                        ot_arena *arena)
{
    ot_text target = {0}, call = {0};
    ot_target_print(task->target, true, &target);
    ot_call_print(task->call, &call);
    *question = (ot_question){
        .device = ot_arena_copy(arena, o->device.key),
        .target = ot_arena_copy(arena, ot_text_str(&target)),
        .call = ot_arena_copy(arena, ot_text_str(&call)),
        .policy = o->policy->name,
    };
    ot_text_release(&target);
    ot_text_release(&call);
    return OPTUNE_OK;
}
