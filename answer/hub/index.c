/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is where on a hub. Both kinds of index are fetched only when they changed, kept beside the
 * database, and written so that of two who push at once neither's entry is lost: only over the text
 * that was read, and looked at once more where a server does not know such conditions.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer/hub/hub.h"

enum { TRIES = 20 };

void ot_hub_pack_file(const char *name, char *to, size_t size)
{
    snprintf(to, size, "packs/%.2s/%s", name, name);
}

static void index_file(const char *device, char *to, size_t size)
{
    char hex[33];
    ot_digest_hex(ot_digest_of(device, strlen(device)), hex);
    snprintf(to, size, "index/%s.json", hex);
}

/* ---- one file ---------------------------------------------------------------------------- */

static void speak(const ot_hub *hub, ot_hub_deed *deed, ot_http *how)
{
    const char *ca = getenv("OPTUNE_CA_FILE");
    how->ca_file = ca && *ca ? ca : NULL;
    how->plain = hub->plain;
    how->bearer = hub->token;
    how->stop = &deed->o->stop;
    if (*hub->region) {
        how->region = hub->region;
        how->key_id = getenv("AWS_ACCESS_KEY_ID");
        how->secret = getenv("AWS_SECRET_ACCESS_KEY");
        how->session = getenv("AWS_SESSION_TOKEN");
    }
}

int ot_hub_get(const ot_hub *hub, ot_hub_deed *deed, const char *file, const char *path,
               ot_http *how, ot_http_reply *reply, optune_err *err)
{
    ot_text url = {0};
    speak(hub, deed, how);
    ot_text_printf(&url, "%s/%s", hub->url, file);
    const int status = ot_http_get(url.s, path, how, reply, err);
    ot_text_release(&url);
    return status;
}

/* WebDAV wants the folders of a file first; what fails here fails again when it is written. */
static void make_folders(const ot_hub *hub, const char *file, const ot_http *how)
{
    for (const char *end = file; end;) {
        ot_text url = {0};
        ot_text_printf(&url, "%s/%.*s", hub->url, (int)(end - file), file);
        ot_http_make_folder(url.s, how, NULL);
        ot_text_release(&url);
        end = strchr(end, '/');
        end = end ? end + 1 : NULL;
    }
}

int ot_hub_put(const ot_hub *hub, ot_hub_deed *deed, const char *file, const char *path,
               ot_http *how, ot_http_reply *reply, optune_err *err)
{
    ot_text url = {0};
    speak(hub, deed, how);
    ot_text_printf(&url, "%s/%s", hub->url, file);
    int status = ot_http_put(url.s, path, how, reply, err);
    if (status == OPTUNE_ECONFLICT && reply->status == 409) {
        make_folders(hub, file, how);
        status = ot_http_put(url.s, path, how, reply, err);
    }
    ot_text_release(&url);
    return status;
}

/* ---- an index, kept ---------------------------------------------------------------------- */

static void kept_paths(const ot_hub *hub, const char *file, ot_text *path, ot_text *etag)
{
    const char *slash = strrchr(file, '/');
    ot_text_printf(path, "%s/cache/%s", hub->dir, slash ? slash + 1 : file);
    ot_text_printf(etag, "%s.etag", path->s);
}

/* INDEX.json.XXXXXX, as it is fetched, or NAME.etag.PID.N.tmp of an index or a pack. */
static bool is_left_over(const char *name)
{
    const char *behind = strstr(name, ".json.");
    const size_t n = strlen(name);
    behind = behind ? behind + strlen(".json.") : "";
    return (strlen(behind) == 6 && !strpbrk(behind, "._-")) ||
           (strstr(name, ".etag.") && n > 4 && !strcmp(name + n - 4, ".tmp"));
}

void ot_hub_tidy(const ot_hub *hub)
{
    ot_text path = {0};
    ot_text_printf(&path, "%s/cache", hub->dir);
    DIR *all = opendir(path.s);
    const struct dirent *entry;
    while (all && (entry = readdir(all)))
        if (is_left_over(entry->d_name))
            unlinkat(dirfd(all), entry->d_name, 0);
    if (all)
        closedir(all);
    ot_text_release(&path);
}

/* Its text, fetched if it changed, or anyway. ENOENT: there is none. `etag` has room for 128
 * bytes. */
/* By who has no turn at the hub, and so none of its cache. */
static int fetch_apart(const ot_hub *hub, ot_hub_deed *deed, const char *file, ot_text *to,
                       optune_err *err)
{
    char folder[256];
    ot_text path = {0};
    ot_http how = {.max_bytes = OT_HUB_MOST_INDEX};
    ot_http_reply reply = {0};
    OT_RETURN_UNLESS_OK(ot_temp_dir(folder, sizeof folder, err));
    ot_text_printf(&path, "%s/index", folder);
    int status = ot_hub_get(hub, deed, file, path.s, &how, &reply, err);
    if (status >= 0)
        status = ot_read_file(path.s, to, OT_HUB_MOST_INDEX, err);
    ot_remove_tree(folder);
    ot_text_release(&path);
    return status;
}

static int fetch(const ot_hub *hub, ot_hub_deed *deed, const char *file, bool anyway,
                 ot_text *to, char *etag, optune_err *err)
{
    ot_text path = {0}, tag = {0}, known = {0};
    ot_http_reply reply = {0};
    etag[0] = 0;
    if (hub->lock < 0)
        return fetch_apart(hub, deed, file, to, err);
    kept_paths(hub, file, &path, &tag);
    ot_http how = {.max_bytes = OT_HUB_MOST_INDEX};
    if (!anyway && access(path.s, R_OK) == 0 && ot_read_file(tag.s, &known, 127, NULL) >= 0 &&
        known.n)
        how.etag = known.s;
    ot_text folder = {0};
    ot_text_printf(&folder, "%s/cache", hub->dir);
    int status = ot_make_shared_dirs(folder.s, err);
    if (status >= 0)
        status = ot_hub_get(hub, deed, file, path.s, &how, &reply, err);
    if (status >= 0) {
        const bool same = reply.status == 304;
        snprintf(etag, 128, "%s", same && !*reply.etag ? known.s : reply.etag);
        if (!same)
            unlink(tag.s);
        if (*etag)
            ot_write_shared(tag.s, etag, strlen(etag), NULL);
    }
    if (status >= 0)
        status = ot_read_file(path.s, to, OT_HUB_MOST_INDEX, err);
    ot_text_release(&folder);
    ot_text_release(&path);
    ot_text_release(&tag);
    ot_text_release(&known);
    return status;
}

static bool good_device(const json_t *device)
{
    const char *text = json_string_value(device);
    return text && strlen(text) == json_string_length(device) &&
           strlen(text) < 2 * OPTUNE_NAME_SIZE && *text && ot_text_is_plain(text);
}

static bool good_pack(const json_t *pack)
{
    const json_t *ops = json_object_get(pack, "ops");
    const json_int_t bytes = json_integer_value(json_object_get(pack, "bytes"));
    return ot_is_hex(json_string_value(json_object_get(pack, "pack")), OT_HEX_SHA256 - 1) &&
           json_is_object(ops) && bytes > 0 && bytes <= OT_PACK_MOST_BYTES + (1 << 20) &&
           json_is_integer(json_object_get(pack, "records")) &&
           json_is_number(json_object_get(pack, "time"));
}

typedef struct kind {
    const char *version, *list; /* the fields of both */
    size_t most;
    bool (*good)(const json_t *item);
} kind;
static const kind all_devices = {"optune_hub", "devices", OT_HUB_MOST_DEVICES, good_device};
static const kind device_packs = {"optune_hub_index", "packs", OT_HUB_MOST_PACKS, good_pack};

static int damaged(const ot_hub *hub, const char *file, const char *what, optune_err *err)
{
    return optune_fail(err, OPTUNE_EDAMAGED, "'%s' of hub '%s' %s", file, hub->name, what);
}

/* Before it becomes values: `[[],[],...` of some bytes is many times as much memory. */
static bool is_small(const ot_text *text)
{
    int64_t values = 1;
    bool quoted = false;
    for (size_t i = 0; i < text->n; i++) {
        const char c = text->s[i];
        if (quoted && c == '\\')
            i++;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == ',' || c == '[' || c == '{'))
            values++;
    }
    return values <= OT_HUB_MOST_VALUES;
}

static int read_list(const ot_hub *hub, ot_hub_deed *deed, const kind *k, const char *file,
                     const char *device, bool anyway, json_t **list, char *etag,
                     optune_err *err)
{
    ot_text text = {0};
    *list = NULL;
    int status = fetch(hub, deed, file, anyway, &text, etag, err);
    if (status >= 0 && !is_small(&text))
        status = damaged(hub, file, "has more values than an index has", err);
    json_t *json = status >= 0 ? json_loadb(ot_text_str(&text), text.n, 0, NULL) : NULL;
    json_t *found = json_object_get(json, k->list), *item;
    const json_t *version = json_object_get(json, k->version);
    if (status >= 0 && json_is_integer(version) && json_integer_value(version) > 1)
        status = optune_fail(err, OPTUNE_EVERSION,
                             "'%s' of hub '%s' is of version %lld, which a later optune reads",
                             file, hub->name, (long long)json_integer_value(version));
    else if (status >= 0 && (json_integer_value(version) != 1 || !json_is_array(found) ||
                             json_array_size(found) > k->most))
        status = damaged(hub, file, "is no index of a hub", err);
    const char *of = json_string_value(json_object_get(json, "device"));
    if (status >= 0 && device && (!of || strcmp(of, device) != 0))
        status = damaged(hub, file, "is the index of another device", err);
    size_t i;
    json_array_foreach(found, i, item) if (status >= 0 && !k->good(item)) status =
        damaged(hub, file, "has an entry that is none", err);
    if (status >= 0)
        *list = json_incref(found);
    json_decref(json);
    ot_text_release(&text);
    return status;
}

int ot_hub_devices(const ot_hub *hub, ot_hub_deed *deed, json_t **devices, char *etag,
                   optune_err *err)
{
    return read_list(hub, deed, &all_devices, "hub.json", NULL, false, devices, etag, err);
}

int ot_hub_packs(const ot_hub *hub, ot_hub_deed *deed, const char *device, json_t **packs,
                 char *etag, optune_err *err)
{
    char file[64];
    index_file(device, file, sizeof file);
    return read_list(hub, deed, &device_packs, file, device, false, packs, etag, err);
}

json_t *ot_hub_entry(const ot_pack *pack)
{
    return json_pack("{s:s, s:I, s:I, s:O, s:f}", "pack", pack->name, "bytes",
                     (json_int_t)pack->bytes, "records", (json_int_t)pack->records, "ops",
                     pack->ops, "time", pack->time);
}

/* ---- writing ----------------------------------------------------------------------------- */

static const char *name_of(const json_t *item)
{
    const char *text = json_string_value(item);
    return text ? text : json_string_value(json_object_get(item, "pack"));
}

/* How many of `wanted` were not in the list, and are now. */
static int merge(json_t *list, const json_t *wanted)
{
    json_t *known = json_object(), *item;
    size_t i;
    int added = 0;
    json_array_foreach(list, i, item) json_object_set_new(known, name_of(item), json_true());
    json_array_foreach(wanted, i, item) if (!json_object_get(known, name_of(item)))
    {
        json_array_append(list, item);
        added++;
    }
    json_decref(known);
    return added;
}

static int write_list(const ot_hub *hub, ot_hub_deed *deed, const kind *k, const char *file,
                      const char *device, json_t *list, const char *etag, bool absent,
                      optune_err *err)
{
    ot_http how = {.etag = *etag ? etag : NULL, .only_new = absent};
    ot_http_reply reply = {0};
    ot_text path = {0};
    json_t *json = json_pack("{s:i, s:O}", k->version, 1, k->list, list);
    if (device)
        json_object_set_new(json, "device", json_string(device));
    char *text = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    ot_text_printf(&path, "%s/cache/sending", hub->dir);
    int status = text ? ot_write_file(path.s, text, strlen(text), err)
                      : optune_fail(err, OPTUNE_ENOMEM, "out of memory");
    free(text);
    if (status >= 0)
        status = ot_hub_put(hub, deed, file, path.s, &how, &reply, err);
    unlink(path.s);
    ot_text_release(&path);
    return status < 0 && (reply.status == 412 || reply.status == 409) ? 1 : status;
}

/* Reads, merges and writes until what is wanted is there. Nothing that was kept is believed: a
 * server whose tags are made of seconds and bytes has one for the lists of two writers. */
static int bring_in(const ot_hub *hub, ot_hub_deed *deed, const kind *k, const char *file,
                    const char *device, const json_t *wanted, optune_err *err)
{
    char etag[128];
    for (int try = 0; try < TRIES; try++) {
        json_t *list = NULL;
        int status = read_list(hub, deed, k, file, device, true, &list, etag, err);
        const bool absent = status == OPTUNE_ENOENT;
        if (absent) {
            list = json_array();
            etag[0] = 0;
            status = OPTUNE_OK;
        }
        const bool there = status >= 0 && merge(list, wanted) == 0;
        /* Of a file that changed within the second a server may be unsure, and a tag that is weak
         * is equal to none. One that stays weak is no condition. */
        const bool weak = etag[0] == 'W';
        if (weak && try < 3 && status >= 0 && !there) {
            json_decref(list);
            usleep(1100000);
            continue;
        }
        if (weak)
            etag[0] = 0;
        if (status >= 0 && !there)
            status = write_list(hub, deed, k, file, device, list, etag, absent, err);
        json_decref(list);
        if (status < 0 || there)
            return status;
        /* Written or overtaken: looked at once more, as not every server keeps to conditions. */
        if (status > 0)
            usleep(20000u * (unsigned)(1 + try));
        if (ot_context_stopped(deed->o))
            return optune_fail(err, OPTUNE_EINTERRUPTED, "interrupted");
    }
    return optune_fail(err, OPTUNE_ENET,
                       "'%s' of hub '%s' was changed by others %d times while it was written: "
                       "push again",
                       file, hub->name, TRIES);
}

int ot_hub_publish(const ot_hub *hub, ot_hub_deed *deed, const char *device, json_t *packs,
                   optune_err *err)
{
    char file[64];
    index_file(device, file, sizeof file);
    OT_RETURN_UNLESS_OK(bring_in(hub, deed, &device_packs, file, device, packs, err));
    json_t *devices = json_pack("[s]", device);
    const int status = bring_in(hub, deed, &all_devices, "hub.json", NULL, devices, err);
    json_decref(devices);
    return status;
}
