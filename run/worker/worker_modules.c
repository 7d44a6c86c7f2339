/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules as they were built, in the keeper's hands: each is read once, before any candidate of the
 * request runs, into a file without a name that nobody can write to any more. Runners get that
 * file, so that one which writes into the cache changes nothing that another one loads.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "run/cache.h"
#include "run/worker/worker_contest.h"

static const int SEALS = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

/* -1: this machine has no such files. */
static int sealed_file(const ot_text *bytes)
{
    const int fd = memfd_create("optune-module", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    size_t at = 0;
    while (fd >= 0 && at < bytes->n) {
        const ssize_t n = write(fd, bytes->s + at, bytes->n - at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        at += (size_t)n;
    }
    if (fd >= 0 && (at < bytes->n || fcntl(fd, F_ADD_SEALS, SEALS) < 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

static ot_held *find(ot_keeper *k, const char *path)
{
    for (int i = 0; i < OT_HELD; i++)
        if (k->held[i].path && strcmp(k->held[i].path, path) == 0)
            return &k->held[i];
    return NULL;
}

static void drop(ot_held *held)
{
    if (held->path && held->fd >= 0)
        close(held->fd);
    free(held->path);
    *held = (ot_held){.fd = -1};
}

static void hold(ot_keeper *k, const char *path)
{
    ot_held *held = find(k, path);
    ot_text bytes = {0};
    if (!held && ot_cache_read(path, &bytes)) {
        held = &k->held[0];
        for (int i = 1; i < OT_HELD && held->path; i++)
            if (!k->held[i].path || k->held[i].used < held->used)
                held = &k->held[i];
        drop(held);
        *held = (ot_held){.path = ot_strdup(path), .fd = sealed_file(&bytes)};
    }
    if (held)
        held->used = ++k->uses;
    ot_text_release(&bytes);
}

void ot_modules_hold(ot_keeper *k, const json_t *candidate)
{
    const json_t *modules = json_object_get(candidate, "modules");
    for (size_t i = 0; i < json_array_size(modules); i++)
        hold(k, json_string_value(json_array_get(modules, i)));
}

bool ot_modules_files(ot_keeper *k, const json_t *candidate, int *file, int *n, char *why,
                      size_t size)
{
    const json_t *modules = json_object_get(candidate, "modules");
    bool whole = true;
    *n = 0;
    for (size_t i = 0; i < json_array_size(modules) && i < OPTUNE_MAX_MODULES; i++) {
        const char *path = json_string_value(json_array_get(modules, i));
        const ot_held *held = find(k, path);
        if (!held) {
            ot_format(why, size, "cannot load module: '%s' is not as it was built", path);
            return false;
        }
        whole = whole && held->fd >= 0;
        file[i] = held->fd;
        *n = (int)i + 1;
    }
    if (!whole)
        *n = 0;
    return true;
}

int ot_modules_same(ot_keeper *k, int *file)
{
    ot_text bytes = {0};
    if (!ot_same_wanted(k->row, &k->device, &k->inputs.call))
        return 0;
    if (!k->same_tried)
        k->same =
            ot_same_build(&k->target, &k->device, &bytes, NULL) < 0 ? -1 : sealed_file(&bytes);
    k->same_tried = true;
    ot_text_release(&bytes);
    *file = k->same;
    return k->same >= 0;
}

void ot_modules_close(ot_keeper *k)
{
    if (k->same_tried && k->same >= 0)
        close(k->same);
    for (int i = 0; i < OT_HELD; i++)
        drop(&k->held[i]);
}
