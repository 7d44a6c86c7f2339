/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Giving a hub what was measured here. What is nobody else's stays: operators and implementations
 * of plugins, kernels and programs of one's own, messages of failed trials, which hold paths, and
 * records that came from elsewhere. The pack is there before an index names it, so that whoever
 * reads meanwhile finds all or nothing. What was pushed is kept as if it had been pulled, which is
 * how the next push knows what is new.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer/hub/hub.h"
#include "base/record.h"

enum { PACK_RECORDS = 100000, PACK_RAW = 256 << 20 };

typedef struct pushing {
    ot_hub hub;
    ot_hub_deed *deed;
    ot_store *store; /* the handle's own */
    ot_store *known; /* what the hub's folder has; NULL: nothing yet */
    ot_signer signer;
    char key_file[4096];
    ot_text dir;
    /* The pack that is being made: of one device, as records of one follow one another. */
    char device[2 * OPTUNE_NAME_SIZE];
    FILE *log;
    int64_t raw;
    json_t *ops;
    int64_t in_pack;
    char *call_text; /* the last that was looked at */
    bool call_ours;
    ot_vet *vet; /* of vet_device */
    char vet_device[2 * OPTUNE_NAME_SIZE], unfit_why[OPTUNE_WHY_SIZE];
    int64_t records, packs, bytes, own, elsewhere, unfit, told;
    optune_err *err;
} pushing;

static int describe(pushing *p, const char *device, optune_device *about, optune_err *err)
{
    if (ot_context_stored(p->deed->o, device, about, NULL) >= 0)
        return OPTUNE_OK;
    if (!p->deed->o->have_device || strcmp(p->deed->o->device.key, device) != 0)
        return optune_fail(err, OPTUNE_ENOENT, "the database does not describe the device '%s'",
                           device);
    *about = p->deed->o->device;
    return OPTUNE_OK;
}

/* ---- what may leave ---------------------------------------------------------------------- */

static bool ours(pushing *p, const char *text)
{
    if (p->call_text && !strcmp(p->call_text, text))
        return p->call_ours;
    optune_call *call = ot_alloc(sizeof *call);
    free(p->call_text);
    p->call_text = ot_strdup(text);
    p->call_ours = ot_call_parse(text, call, NULL) >= 0 && ot_op_in_tree(call->op);
    for (int i = 0; p->call_ours && i < call->n_epilogues; i++)
        p->call_ours = ot_op_in_tree(call->epilogue[i].op);
    free(call);
    return p->call_ours;
}

/* Measured by this database's own runs, also where its store was made anew from its logs. */
static bool measured_here(const optune *o, const optune_record *r)
{
    static const char imported[] = "-import.log";
    if (!r->source || !strcmp(r->source, "run"))
        return true;
    const size_t n = strlen(r->source), tail = sizeof imported - 1, db = strlen(o->db);
    return !strncmp(r->source, o->db, db) && !strncmp(r->source + db, "/logs/", 6) &&
           n > tail && strcmp(r->source + n - tail, imported) != 0;
}

/* Would who pulls take it? What he refuses, and so does this database of its own pack, would be
 * new at every push. */
static bool fits(pushing *p, const optune_record *r)
{
    char why[OPTUNE_WHY_SIZE] = "";
    optune_device about;
    if (!p->vet || strcmp(p->vet_device, r->device) != 0) {
        ot_vet_close(p->vet);
        p->vet = NULL;
        if (describe(p, r->device, &about, NULL) < 0)
            return true; /* its pack cannot begin, which is told */
        p->vet = ot_vet_open(p->deed->o, &about);
        snprintf(p->vet_device, sizeof p->vet_device, "%s", r->device);
    }
    if (ot_vet_record(p->vet, r, why))
        return true;
    if (!p->unfit++)
        snprintf(p->unfit_why, sizeof p->unfit_why, "%s", why);
    return false;
}

static bool wanted(pushing *p, const optune_record *r)
{
    const optune *o = p->deed->o;
    const optune_hub_options *options = p->deed->options;
    if (!r->digest || strlen(r->digest) != 32 || !r->impl || !r->call || !r->op)
        return false; /* a hint of another autotuner */
    if (!options->all_devices && strcmp(r->device, o->device.key) != 0)
        return false;
    if (options->finals && !r->final)
        return false;
    bool named = !options->ops || !options->ops[0];
    for (int i = 0; !named && options->ops[i]; i++)
        named = !strcmp(options->ops[i], r->op);
    if (!named)
        return false;
    if (!options->imported && !measured_here(o, r)) {
        p->elsewhere++;
        return false;
    }
    const optune_impl *impl = ot_impl_find(r->impl);
    if (!impl || !ot_impl_in_tree(impl) || !ours(p, r->call)) {
        p->own++;
        return false;
    }
    return (!p->known || !ot_store_knows(p->known, r)) && fits(p, r);
}

/* ---- one pack ---------------------------------------------------------------------------- */

static int cannot(pushing *p)
{
    return optune_fail(p->err, OPTUNE_EIO, "cannot write into '%s': %s", p->dir.s,
                       strerror(errno));
}

static void path_of(const pushing *p, const char *name, ot_text *path)
{
    ot_text_clear(path);
    ot_text_printf(path, "%s/%s", p->dir.s, name);
}

static int begin_pack(pushing *p, const char *device)
{
    ot_text path = {0}, line = {0};
    optune_device about;
    OT_RETURN_UNLESS_OK(describe(p, device, &about, p->err));
    ot_device_line(&about, &line);
    path_of(p, "log", &path);
    const int fd = ot_open_file(path.s, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, p->err);
    p->log = fd < 0 ? NULL : fdopen(fd, "w");
    int status = fd < 0 ? fd : OPTUNE_OK;
    if (fd >= 0 && !p->log)
        close(fd);
    if (fd >= 0 && (!p->log || fwrite(line.s, 1, line.n, p->log) != line.n))
        status = cannot(p);
    snprintf(p->device, sizeof p->device, "%s", device);
    p->raw = (int64_t)line.n;
    p->in_pack = 0;
    p->ops = json_object();
    ot_text_release(&line);
    ot_text_release(&path);
    return status;
}

static int send(pushing *p, const char *path, ot_pack *pack)
{
    char file[128];
    ot_http how = {.only_new = true};
    ot_http_reply reply = {0};
    ot_hub_pack_file(pack->name, file, sizeof file);
    int status = ot_hub_put(&p->hub, p->deed, file, path, &how, &reply, p->err);
    if (status < 0 && reply.status == 412)
        status = OPTUNE_OK; /* these very bytes are there */
    json_t *entries = json_pack("[o]", ot_hub_entry(pack));
    if (status >= 0)
        status = ot_hub_gave(&p->hub, pack->device, json_array_get(entries, 0), p->err);
    if (status >= 0)
        status = ot_hub_publish(&p->hub, p->deed, pack->device, entries, p->err);
    json_decref(entries);
    return status;
}

/* A server that knows no conditions may have let another writer's index overtake ours after we saw
 * that it was there, in this push or an earlier one. */
static int name_again(pushing *p)
{
    json_t *given = ot_hub_given(&p->hub), *entries;
    const char *device;
    int status = OPTUNE_OK;
    if (p->packs && strncmp(p->hub.url, "file:", 5) != 0)
        usleep(200000 + (useconds_t)(ot_now_ns() % 300000));
    json_object_foreach(given, device, entries) if (status >= 0) status =
        ot_hub_publish(&p->hub, p->deed, device, entries, p->err);
    json_decref(given);
    return status;
}

static int end_pack(pushing *p)
{
    if (!p->log)
        return OPTUNE_OK;
    ot_text log = {0}, path = {0};
    path_of(p, "log", &log);
    path_of(p, "pack", &path);
    int status = fclose(p->log) == 0 ? OPTUNE_OK : cannot(p);
    p->log = NULL;
    ot_pack pack = {.records = p->in_pack, .ops = p->ops, .time = ot_unix_time()};
    snprintf(pack.device, sizeof pack.device, "%s", p->device);
    snprintf(pack.tool, sizeof pack.tool, "%s", optune_version());
    p->ops = NULL;
    if (status >= 0)
        status = ot_pack_write(log.s, path.s, &p->signer, &pack, p->err);
    if (status >= 0)
        status = send(p, path.s, &pack);
    ot_hub_taken taken;
    if (status >= 0) {
        p->packs++;
        p->records += pack.records;
        p->bytes += pack.bytes;
        status = ot_hub_take(&p->hub, p->deed, path.s, &pack, false, &taken, p->err);
    }
    unlink(log.s);
    unlink(path.s);
    ot_pack_release(&pack);
    ot_text_release(&log);
    ot_text_release(&path);
    return status;
}

static int add_record(void *arg, const optune_record *record)
{
    pushing *p = arg;
    if (ot_context_stopped(p->deed->o))
        return optune_fail(p->err, OPTUNE_EINTERRUPTED, "interrupted");
    if (!wanted(p, record))
        return 0;
    const bool full = p->in_pack == PACK_RECORDS || p->raw > PACK_RAW;
    int status = OPTUNE_OK;
    if (p->log && (full || strcmp(p->device, record->device) != 0))
        status = end_pack(p);
    if (status >= 0 && !p->log)
        status = begin_pack(p, record->device);
    if (status < 0)
        return status;
    optune_record out;
    ot_record_copy(&out, record);
    out.message = NULL;
    ot_text line = {0};
    ot_record_line(&out, &line);
    if (fwrite(line.s, 1, line.n, p->log) != line.n)
        status = cannot(p);
    p->raw += (int64_t)line.n;
    p->in_pack++;
    ot_text_release(&line);
    json_t *seen = json_object_get(p->ops, record->op);
    json_object_set_new(p->ops, record->op, json_integer(json_integer_value(seen) + 1));
    return status < 0 ? status : 0;
}

/* ---- all --------------------------------------------------------------------------------- */

static bool was_given(const ot_hub *hub, const char *name)
{
    json_t *given = ot_hub_given(hub), *entries, *entry;
    const char *device;
    size_t i;
    bool found = false;
    json_object_foreach(given, device, entries) json_array_foreach(entries, i, entry)
    {
        const char *pack = json_string_value(json_object_get(entry, "pack"));
        found = found || (pack && !strcmp(pack, name));
    }
    json_decref(given);
    return found;
}

/* A push that was killed behind its pack's sending has not kept what was in it, which would be
 * pushed once more. What its key signed, if that was withdrawn since, is to be signed anew. */
static int finish_killed(pushing *p)
{
    ot_text path = {0};
    ot_pack pack = {.name = ""};
    ot_hub_taken taken;
    int status = OPTUNE_OK;
    path_of(p, "pack", &path);
    if (ot_exists(path.s) && ot_pack_read(path.s, &pack, NULL) >= 0 &&
        !json_object_get(p->hub.taken, pack.name) &&
        !ot_hub_has_key(p->hub.withdrawn, pack.key) && was_given(&p->hub, pack.name))
        status = ot_hub_take(&p->hub, p->deed, path.s, &pack, false, &taken, p->err);
    ot_pack_release(&pack);
    ot_text_release(&path);
    return status;
}

static int prepare(pushing *p)
{
    optune *o = p->deed->o;
    const char *const *word = p->deed->options->words;
    if (!word || !word[0] || word[1])
        return optune_fail(p->err, OPTUNE_EUSAGE, "push needs the name of one hub");
    OT_RETURN_UNLESS_OK(ot_hub_open(o, word[0], &p->hub, p->err));
    OT_RETURN_UNLESS_OK(
        ot_hub_key_file(p->deed->options->key_file, p->key_file, sizeof p->key_file, p->err));
    OT_RETURN_UNLESS_OK(ot_signer_open(p->key_file, &p->signer, p->err));
    if (ot_hub_has_key(p->hub.withdrawn, p->signer.key))
        return optune_fail(p->err, OPTUNE_EUSAGE,
                           "the key in '%s' was withdrawn from hub '%s': move that file away, "
                           "and `optune hub key` makes another",
                           p->key_file, p->hub.name);
    OT_RETURN_UNLESS_OK(ot_context_device(o, p->err));
    OT_RETURN_UNLESS_OK(ot_context_reader(o, &p->store, NULL, p->err));
    ot_text_printf(&p->dir, "%s/sending", p->hub.dir);
    OT_RETURN_UNLESS_OK(finish_killed(p));
    ot_remove_tree(p->dir.s);
    OT_RETURN_UNLESS_OK(ot_make_shared_dirs(p->dir.s, p->err));
    const int status = ot_store_open(p->hub.dir, OT_STORE_READ, &p->known, p->err);
    return status == OPTUNE_ENOENT ? OPTUNE_OK : status;
}

static void tell(pushing *p)
{
    ot_text *text = &p->deed->text;
    if (p->records)
        ot_text_printf(text, "%s: %lld records pushed in %lld packs (%lld KB), signed by %s\n",
                       p->hub.name, (long long)p->records, (long long)p->packs,
                       (long long)(p->bytes + 1023) / 1024, p->signer.key);
    else
        ot_text_printf(text, "%s: nothing new to push\n", p->hub.name);
    if (p->own)
        ot_text_printf(
            text,
            "  %lld records of plugins, or of kernels and programs of your own, stay "
            "here\n",
            (long long)p->own);
    if (p->elsewhere)
        ot_text_printf(text, "  %lld records came from elsewhere and stay here (--imported)\n",
                       (long long)p->elsewhere);
    if (p->unfit)
        ot_text_printf(text, "  %lld records that nobody would take stay here: %s\n",
                       (long long)p->unfit, p->unfit_why);
    json_array_append_new(p->deed->json,
                          json_pack("{s:s, s:I, s:I, s:I, s:s, s:I, s:I, s:I}", "hub",
                                    p->hub.name, "records", (json_int_t)p->records, "packs",
                                    (json_int_t)p->packs, "bytes", (json_int_t)p->bytes, "key",
                                    p->signer.key, "own", (json_int_t)p->own, "elsewhere",
                                    (json_int_t)p->elsewhere, "unfit", (json_int_t)p->unfit));
}

int ot_hub_push(ot_hub_deed *deed)
{
    pushing *p = ot_alloc(sizeof *p);
    p->hub.lock = -1;
    p->deed = deed;
    p->err = deed->err;
    const unsigned turn = ot_context_enter(deed->o);
    int status = prepare(p);
    if (status >= 0)
        status = ot_store_walk(p->store, add_record, p, p->err);
    ot_context_leave(deed->o, turn);
    if (status >= 0)
        status = end_pack(p);
    if (status >= 0)
        status = name_again(p);
    if (status >= 0 || p->packs)
        tell(p);
    if (p->log)
        fclose(p->log);
    json_decref(p->ops);
    ot_store_close(p->known);
    ot_vet_close(p->vet);
    ot_signer_forget(&p->signer);
    if (p->dir.n)
        ot_remove_tree(p->dir.s);
    ot_text_release(&p->dir);
    free(p->call_text);
    ot_hub_close(&p->hub);
    free(p);
    return status;
}
