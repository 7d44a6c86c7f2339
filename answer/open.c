/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a handle: its folders, plugins, target and policy. It touches nothing: the device is
 * probed and the store opened by the first call that needs them.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "answer/answer.h"
#include "base/fenv.h"
#include "run/run.h"

/* "DIR:DIR...": the first is written, and may be empty: the default; the others are only read. */
static int set_db(optune *o, const char *named, optune_err *err)
{
    const char *others;
    OT_RETURN_UNLESS_OK(ot_context_folder(named, o->db, sizeof o->db, &others, err));
    for (const char *at = others; *at;) {
        const size_t length = strcspn(++at, ":");
        if (length)
            OT_RETURN_UNLESS_OK(ot_context_consult(o, at, length, NULL, false, err));
        at += length;
    }
    ot_context_consult_hubs(o);
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
    OT_ENTER(err, {"handle", handle});
    *handle = NULL;
    static const optune_options defaults = {.size = sizeof defaults};
    if (!options)
        options = &defaults;
    optune_options own;
    OT_RETURN_UNLESS_OK(OT_SIZED_TAKE(err, optune_options, options, &own));
    options = &own;
    ot_memory_begin();
    optune *o = ot_alloc(sizeof *o);
    o->log_level = options->log_level;
    o->log = options->log;
    o->log_arg = options->log_arg;
    o->stores = ot_stores_new(&o->stop);
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
    status = ot_memory_end(status, err);
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
    ot_stores_free(o->stores);
    free(o->policy);
    for (int i = 0; o->plugins && o->plugins[i]; i++)
        free(o->plugins[i]);
    free(o->plugins);
    free(o->warned);
    pthread_mutex_destroy(o->lock);
    free(o->lock);
    free(o);
}
