/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking what a hub has of this device, or of others: the index, then the packs that are new, each
 * checked as a whole before its records are looked at one by one. A pack's records become a log
 * beside the hub, whole or not at all, and then part of that folder's store; a process that is
 * killed in between leaves a log that the next pull stores.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer/hub/hub.h"
#include "base/record.h"

/* ---- the records of one pack ------------------------------------------------------------- */

typedef struct taking {
    ot_hub *hub;
    ot_hub_deed *deed;
    const ot_pack *pack;
    ot_vet *vet;
    /* Lines that are good, in a file: a pack may unfold to a lot; NULL: none is kept. */
    FILE *good;
    int64_t lines;
    json_t *ops;
    ot_hub_taken *taken;
    optune_err *err;
} taking;

static int refuse(taking *t, const char *why)
{
    if (!t->taken->refused++)
        snprintf(t->taken->why, sizeof t->taken->why, "%s", why);
    return OPTUNE_OK;
}

static int write_line(taking *t, const ot_text *line)
{
    return !t->good || fwrite(line->s, 1, line->n, t->good) == line->n
               ? OPTUNE_OK
               : optune_fail(t->err, OPTUNE_EIO, "cannot write what hub '%s' has: %s",
                             t->hub->name, strerror(errno));
}

static int take_device(taking *t, const optune_device *device)
{
    if (t->vet || strcmp(device->key, t->pack->device) != 0)
        return refuse(t, "it describes a device twice, or another one");
    optune *o = t->deed->o;
    /* Of this machine's own device its own word is better. */
    const bool own = o->have_device && !strcmp(o->device.key, device->key);
    t->vet = ot_vet_open(o, own ? &o->device : device);
    ot_text text = {0};
    ot_device_line(device, &text);
    const int status = write_line(t, &text);
    ot_text_release(&text);
    return status;
}

static int on_line(void *arg, const ot_log_line *line)
{
    taking *t = arg;
    char why[OPTUNE_WHY_SIZE] = "";
    if (line->forgotten)
        return OPTUNE_OK; /* others do not decide that */
    if (line->device)
        return take_device(t, line->device);
    if (++t->lines > t->pack->records)
        return optune_fail(t->err, OPTUNE_EDAMAGED,
                           "pack %.12s of hub '%s' holds more records than it says",
                           t->pack->name, t->hub->name);
    if (line->problem || !line->ours)
        return refuse(t, line->problem ? line->problem : "it is no record of optune");
    const optune_record *r = &line->record;
    if (!t->vet)
        return refuse(t, "its device is not described");
    if (!ot_vet_record(t->vet, r, why))
        return refuse(t, why);
    json_t *seen = json_object_get(t->ops, r->op);
    json_object_set_new(t->ops, r->op, json_integer(json_integer_value(seen) + 1));
    ot_text text = {0};
    ot_record_line(r, &text);
    const int status = write_line(t, &text);
    ot_text_release(&text);
    t->taken->records++;
    return status;
}

/* A large pack leaves another store. */
static int open_store(const taking *t, ot_store **store)
{
    if (*store && !ot_store_gone(*store))
        return OPTUNE_OK;
    ot_store_close(*store);
    OT_RETURN_UNLESS_OK(ot_store_open(t->hub->dir, OT_STORE_WRITE, store, t->err));
    ot_store_stop(*store, &t->deed->o->stop);
    return OPTUNE_OK;
}

/* The log that is kept, and its records into the store of the hub. */
static int keep(taking *t, const char *good)
{
    ot_text path = {0}, folder = {0};
    ot_store *store = NULL;
    ot_text_printf(&folder, "%s/logs", t->hub->dir);
    ot_text_printf(&path, "%s/%s.log", folder.s, t->pack->name);
    int status = ot_make_shared_dirs(folder.s, t->err);
    const bool whole = fflush(t->good) == 0 && fsync(fileno(t->good)) == 0;
    if (status >= 0 && (!whole || rename(good, path.s) < 0))
        status =
            optune_fail(t->err, OPTUNE_EIO, "cannot write '%s': %s", path.s, strerror(errno));
    if (status >= 0) {
        ot_made_at(path.s);
        ot_sync_path(folder.s); /* before anybody counts it as taken */
    }
    if (status >= 0)
        status = open_store(t, &store);
    if (status >= 0)
        status = ot_store_read_log(store, path.s, false, &t->taken->added, NULL, t->err);
    if (status >= 0)
        status = open_store(t, &store);
    if (status >= 0)
        status = ot_store_log_done(store, path.s, t->err);
    if (status >= 0)
        status = ot_hub_took(t->hub, t->pack, t->err);
    ot_store_close(store);
    ot_text_release(&path);
    ot_text_release(&folder);
    return status;
}

int ot_hub_take(ot_hub *hub, ot_hub_deed *deed, const char *path, const ot_pack *pack, bool dry,
                ot_hub_taken *taken, optune_err *err)
{
    taking *t = ot_alloc(sizeof *t);
    *t = (taking){.hub = hub, .deed = deed, .pack = pack, .taken = taken, .err = err};
    t->ops = json_object();
    *taken = (ot_hub_taken){0};
    ot_text log = {0}, good = {0};
    ot_text_printf(&log, "%s.log", path);
    ot_text_printf(&good, "%s.good", path);
    int status = ot_pack_unpack(path, pack, log.s, err);
    const int fd = status < 0 || dry
                       ? status
                       : ot_open_file(good.s, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, err);
    if (fd < 0)
        status = fd;
    else if (!dry && !(t->good = fdopen(fd, "w")))
        status = optune_fail(err, OPTUNE_EIO, "cannot write '%s': %s", good.s, strerror(errno));
    const ot_log_source source = {.path = log.s, .stop = &deed->o->stop};
    if (status >= 0)
        status = ot_log_read_from(&source, on_line, t, err);
    if (status >= 0 && !taken->refused && !json_equal(t->ops, pack->ops))
        status = optune_fail(err, OPTUNE_EDAMAGED,
                             "pack %.12s of hub '%s' holds other records than it says",
                             pack->name, hub->name);
    if (status >= 0 && !dry && taken->records)
        status = keep(t, good.s);
    else if (status >= 0 && !dry)
        status = ot_hub_took(hub, pack, err); /* nothing of it serves here */
    if (t->good)
        fclose(t->good);
    unlink(log.s);
    unlink(good.s);
    ot_text_release(&log);
    ot_text_release(&good);
    ot_vet_close(t->vet);
    json_decref(t->ops);
    free(t);
    return status;
}

/* ---- the packs of one hub ---------------------------------------------------------------- */

typedef struct pulling {
    ot_hub *hub;
    ot_hub_deed *deed;
    bool dry;
    ot_text dir; /* for what is fetched; parts of it stay there */
    int64_t packs, known, bytes, records, added, lines_refused, packs_refused, withdrawn,
        others;
    json_t *problems;
    char first[OPTUNE_ERR_SIZE];
} pulling;

static bool wanted_op(const ot_hub_deed *deed, const json_t *ops)
{
    const char *const *op = deed->options->ops;
    for (int i = 0; op && op[i]; i++)
        if (json_object_get(ops, op[i]))
            return true;
    return !op || !op[0];
}

static void refuse_pack(pulling *p, const char *pack, const char *why)
{
    if (!p->packs_refused++)
        snprintf(p->first, sizeof p->first, "%s", why);
    if (p->packs_refused <= 1000)
        json_array_append_new(p->problems,
                              json_pack("{s:s, s:s}", "pack", pack, "problem", why));
}

static bool withdrawn(const pulling *p, const ot_pack *pack)
{
    return *pack->key && ot_hub_has_key(p->hub->withdrawn, pack->key);
}

/* Of whom it is, and that it is what the index said. */
static int check_pack(pulling *p, const ot_pack *pack, const char *name, const char *device,
                      optune_err *err)
{
    if (strcmp(pack->name, name) != 0)
        return optune_fail(err, OPTUNE_EDAMAGED, "pack %.12s is not what its name says", name);
    if (strcmp(pack->device, device) != 0)
        return optune_fail(err, OPTUNE_EDAMAGED, "pack %.12s is of another device", name);
    if (withdrawn(p, pack) || p->hub->anybody ||
        (*pack->key && ot_hub_has_key(p->hub->keys, pack->key)))
        return OPTUNE_OK;
    return *pack->key
               ? optune_fail(err, OPTUNE_EUSAGE,
                             "pack %.12s is signed by %.64s, which is no key of the hub: "
                             "`optune hub add %s --key` takes that one's packs, if you know "
                             "whose it is",
                             name, pack->key, p->hub->name)
               : optune_fail(err, OPTUNE_EUSAGE, "pack %.12s is not signed", name);
}

static void show(void *arg, int64_t done, int64_t total)
{
    const pulling *p = arg;
    const optune_hub_options *options = p->deed->options;
    if (options->progress)
        options->progress(options->progress_arg, p->hub->name, done, total);
}

/* EINTERRUPTED and what the disk or the store refuses end the pull; what is wrong with a pack does
 * not. */
static bool ends(int status)
{
    return status == OPTUNE_EINTERRUPTED || status == OPTUNE_EIO || status == OPTUNE_ESTORE ||
           status == OPTUNE_ENOMEM || status == OPTUNE_ETOOL || status == OPTUNE_ENET ||
           status == OPTUNE_ETIMEOUT;
}

/* A pack whose bytes are those of its name is what it is for good. */
static void remember(pulling *p, const char *path, const char *name, const ot_pack *pack,
                     const char *why)
{
    char found[OT_HEX_SHA256];
    if (!p->dry && ot_sha256_file(path, 0, found, NULL, NULL) >= 0 && !strcmp(found, name))
        ot_hub_refuse(p->hub, name, ot_hub_has_key(p->hub->keys, pack->key) ? NULL : pack->key,
                      why);
}

static int pull_pack(pulling *p, const char *device, const json_t *entry, optune_err *err)
{
    const char *name = json_string_value(json_object_get(entry, "pack"));
    char file[128];
    ot_text path = {0};
    ot_pack pack = {.name = ""};
    ot_hub_taken taken = {0};
    ot_http_reply reply = {0};
    ot_http how = {.max_bytes = OT_PACK_MOST_BYTES + (1 << 20),
                   .resume = true,
                   .progress = show,
                   .arg = p};
    ot_hub_pack_file(name, file, sizeof file);
    ot_text_printf(&path, "%s/%s", p->dir.s, name);
    int status = ot_hub_get(p->hub, p->deed, file, path.s, &how, &reply, err);
    if (status >= 0)
        status = ot_pack_read(path.s, &pack, err);
    if (status >= 0)
        status = check_pack(p, &pack, name, device, err);
    const bool passed = status >= 0 && withdrawn(p, &pack);
    if (status >= 0 && !passed)
        status = ot_hub_take(p->hub, p->deed, path.s, &pack, p->dry, &taken, err);
    p->bytes += reply.bytes;
    if (passed) {
        p->withdrawn++;
        remember(p, path.s, name, &pack, "its key was withdrawn");
    } else if (status >= 0) {
        p->packs++;
        p->records += taken.records;
        p->added += taken.added;
        p->lines_refused += taken.refused;
        if (taken.refused && p->lines_refused == taken.refused && !*p->first)
            snprintf(p->first, sizeof p->first, "%s", taken.why);
    } else if (reply.at_fault || !ends(status)) {
        refuse_pack(p, name, err->text);
        if (!reply.at_fault)
            remember(p, path.s, name, &pack, err->text);
        status = OPTUNE_OK;
    }
    unlink(path.s);
    ot_pack_release(&pack);
    ot_text_release(&path);
    return status;
}

static int pull_device(pulling *p, const char *device, optune_err *err)
{
    json_t *packs = NULL, *entry;
    char etag[128];
    int status = ot_hub_packs(p->hub, p->deed, device, &packs, etag, err);
    if (status == OPTUNE_ENOENT)
        return OPTUNE_OK;
    size_t i;
    json_array_foreach(packs, i, entry)
    {
        const char *name = json_string_value(json_object_get(entry, "pack"));
        if (status < 0 || !wanted_op(p->deed, json_object_get(entry, "ops")))
            continue;
        const char *refused = p->dry ? NULL : ot_hub_refused(p->hub, name);
        if (!p->dry && json_object_get(p->hub->taken, name))
            p->known++;
        else if (!p->dry && ot_hub_passes_over(p->hub, name))
            p->withdrawn++;
        else if (refused)
            refuse_pack(p, name, refused);
        else
            status = pull_pack(p, device, entry, err);
    }
    json_decref(packs);
    return status;
}

static int pull_devices(pulling *p, optune_err *err)
{
    optune *o = p->deed->o;
    if (!p->deed->options->all_devices)
        OT_RETURN_UNLESS_OK(ot_context_device(o, err));
    json_t *devices = NULL, *device;
    char etag[128];
    int status = ot_hub_devices(p->hub, p->deed, &devices, etag, err);
    if (status == OPTUNE_ENOENT)
        return optune_fail(err, OPTUNE_ENOENT,
                           "there is no hub at '%s' yet: what is pushed first makes it",
                           p->hub->url);
    size_t i;
    json_array_foreach(devices, i, device)
    {
        const char *key = json_string_value(device);
        if (status < 0)
            break;
        if (p->deed->options->all_devices || !strcmp(key, o->device.key))
            status = pull_device(p, key, err);
        else
            p->others++;
    }
    json_decref(devices);
    return status;
}

static void tell(pulling *p)
{
    ot_text *text = &p->deed->text;
    ot_text_printf(text, "%s: %lld packs %s (%lld KB), %lld records", p->hub->name,
                   (long long)p->packs, p->dry ? "checked" : "taken",
                   (long long)(p->bytes + 1023) / 1024, (long long)p->records);
    if (!p->dry)
        ot_text_printf(text, ", %lld new; %lld packs were known", (long long)p->added,
                       (long long)p->known);
    ot_text_add(text, "\n");
    if (p->packs_refused || p->lines_refused)
        ot_text_printf(text, "  %lld packs and %lld records refused: %s\n",
                       (long long)p->packs_refused, (long long)p->lines_refused, p->first);
    if (p->withdrawn)
        ot_text_printf(text, "  %lld packs are signed by keys that were withdrawn\n",
                       (long long)p->withdrawn);
    if (p->others)
        ot_text_printf(text, "  %lld other devices have packs there (--all-devices)\n",
                       (long long)p->others);
    json_array_append_new(
        p->deed->json,
        json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:O}", "hub",
                  p->hub->name, "packs", (json_int_t)p->packs, "known", (json_int_t)p->known,
                  "bytes", (json_int_t)p->bytes, "records", (json_int_t)p->records, "new",
                  (json_int_t)p->added, "records_refused", (json_int_t)p->lines_refused,
                  "packs_refused", (json_int_t)p->packs_refused, "packs_withdrawn",
                  (json_int_t)p->withdrawn, "other_devices", (json_int_t)p->others, "problems",
                  p->problems));
    p->deed->failed += p->packs_refused > 0;
}

static int pull_from(ot_hub_deed *deed, const char *name, optune_err *err)
{
    ot_hub hub;
    OT_RETURN_UNLESS_OK(ot_hub_open(deed->o, name, &hub, err));
    pulling *p = ot_alloc(sizeof *p);
    *p = (pulling){.hub = &hub, .deed = deed, .problems = json_array()};
    p->dry = !strcmp(deed->options->what, "verify");
    ot_text_printf(&p->dir, "%s/cache", hub.dir);
    int status = ot_make_shared_dirs(p->dir.s, err);
    if (status >= 0)
        status = pull_devices(p, err);
    /* However it ended: what was taken is taken. */
    if (status >= 0 || p->packs)
        tell(p);
    json_decref(p->problems);
    ot_text_release(&p->dir);
    free(p);
    ot_hub_close(&hub);
    return status;
}

int ot_hub_pull(ot_hub_deed *deed)
{
    const char *const *word = deed->options->words;
    if (word && word[0])
        return word[1] ? optune_fail(deed->err, OPTUNE_EUSAGE, "%s takes one hub",
                                     deed->options->what)
                       : pull_from(deed, word[0], deed->err);
    OT_RETURN_UNLESS_OK(ot_context_need_db(deed->o, deed->err));
    ot_arena arena = {0};
    char **names = ot_hub_names(deed->o->db, &arena);
    int status = names[0] ? OPTUNE_OK
                          : optune_fail(deed->err, OPTUNE_ENOENT,
                                        "no hubs: `optune hub add NAME URL --key K` adds one");
    for (int i = 0; names[i] && status != OPTUNE_EINTERRUPTED; i++) {
        optune_err err = {0};
        status = pull_from(deed, names[i], &err);
        if (status < 0) {
            deed->failed++;
            ot_text_printf(&deed->text, "%s: %s\n", names[i], err.text);
            json_array_append_new(
                deed->json, json_pack("{s:s, s:s}", "hub", names[i], "problem", err.text));
        }
    }
    if (status == OPTUNE_EINTERRUPTED)
        status = optune_fail(deed->err, status, "interrupted");
    else if (names[0])
        status = OPTUNE_OK;
    ot_arena_release(&arena);
    return status;
}
