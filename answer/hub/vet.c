/* SPDX-License-Identifier: Apache-2.0 */
/*
 * May a record that somebody else wrote be believed? That its figures agree with one another was
 * seen when its line was read (db/sound.c). Here its words are asked of this version: there is such
 * a call, such an implementation for it, and, where the implementation is the same one, such a
 * config. Nothing is compiled for that.
 */
#include <stdlib.h>
#include <string.h>

#include "answer/hub/hub.h"
#include "run/run.h"

static const double DAY_S = 86400;

struct ot_vet {
    optune *o;
    double now;
    optune_device device;
    /* Records of one question follow one another: what was found out of the last is kept. */
    char *call_text, *target_text, *impl_name;
    optune_call call;
    optune_target target;
    optune_task task; /* of these: a space looks at it */
    const optune_impl *impl;
    optune_space *space; /* NULL: it is another version of the implementation */
    char digest[33];
};

ot_vet *ot_vet_open(optune *o, const optune_device *device)
{
    ot_vet *vet = ot_alloc(sizeof *vet);
    vet->o = o;
    vet->now = ot_unix_time();
    vet->device = *device;
    return vet;
}

static void forget(ot_vet *vet)
{
    ot_space_close(vet->space);
    vet->space = NULL;
    vet->impl = NULL;
    free(vet->impl_name);
    vet->impl_name = NULL;
}

static void forget_call(ot_vet *vet)
{
    forget(vet);
    free(vet->call_text);
    free(vet->target_text);
    vet->call_text = vet->target_text = NULL;
}

void ot_vet_close(ot_vet *vet)
{
    if (!vet)
        return;
    forget_call(vet);
    free(vet);
}

static bool same(const char *a, const char *b)
{
    return a && b && !strcmp(a, b);
}

/* The texts are canonical, or the record would never be found by who asks. */
static bool settle_call(ot_vet *vet, const optune_record *r, char *why)
{
    if (same(vet->call_text, r->call) && same(vet->target_text, r->target))
        return true;
    optune_err err = {0};
    ot_text call = {0}, target = {0};
    forget_call(vet);
    bool good = ot_call_parse(r->call, &vet->call, &err) >= 0 &&
                ot_target_parse(r->target, &vet->target, &err) >= 0;
    if (!good) {
        optune_refuse(why, "%.300s", err.text);
    } else {
        ot_call_print(&vet->call, &call);
        ot_target_print(&vet->target, true, &target);
        good = !strcmp(call.s, r->call) && !strcmp(target.s, r->target) &&
               same(vet->call.op->name, r->op);
        if (!good)
            optune_refuse(why, "its workload or target is not as this version writes it");
    }
    if (good) {
        vet->call_text = ot_strdup(r->call);
        vet->target_text = ot_strdup(r->target);
        vet->device.threads = vet->target.threads;
    }
    ot_text_release(&call);
    ot_text_release(&target);
    return good;
}

static bool settle_impl(ot_vet *vet, const optune_record *r, char *why)
{
    if (same(vet->impl_name, r->impl) && same(vet->digest, r->digest))
        return true;
    optune_err err = {0};
    forget(vet);
    vet->task = (optune_task){&vet->call, &vet->target, &vet->device};
    vet->impl = ot_impl_find(r->impl);
    if (!vet->impl)
        return optune_refuse(why, "no implementation '%.80s' in this version", r->impl);
    /* What it asks of a call holds for calls of its own operator alone. */
    if (strcmp(vet->impl->op, vet->call.op->name) != 0)
        return optune_refuse(why, "'%s' computes %s, not %s", vet->impl->name, vet->impl->op,
                             vet->call.op->name);
    ot_call_digest(&vet->task, vet->impl, vet->digest);
    if (strcmp(vet->digest, r->digest)) {
        /* Of another version of it: history, whatever its config is. */
        ot_copy(vet->digest, sizeof vet->digest, r->digest);
    } else if (!ot_impl_applies(vet->impl, &vet->task, why)) {
        return false;
    } else if (ot_space_open(&vet->task, vet->impl, &vet->space, &err) < 0) {
        return optune_refuse(why, "%.300s", err.text);
    }
    vet->impl_name = ot_strdup(r->impl);
    return true;
}

bool ot_vet_record(ot_vet *vet, const optune_record *record, char *why)
{
    if (!record->call || !record->op || !record->target || !record->impl || !record->digest ||
        !record->policy || strlen(record->digest) != 32)
        return optune_refuse(why, "it does not say what was measured");
    if (record->time > vet->now + DAY_S)
        return optune_refuse(why, "its time is yet to come");
    if (!same(record->device, vet->device.key))
        return optune_refuse(why, "it is of another device than its pack");
    if (!settle_call(vet, record, why) || !settle_impl(vet, record, why))
        return false;
    if (!vet->space)
        return true;
    optune_config config = record->config;
    optune_err err = {0};
    if (ot_space_index_of(vet->space, &config, &err) < 0)
        return optune_refuse(why, "%.300s", err.text);
    return record->outcome != OPTUNE_OUTCOME_OK || ot_space_valid(vet->space, &config, why);
}
