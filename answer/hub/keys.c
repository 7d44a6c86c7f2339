/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose packs a hub's are: keys whose word counts, keys that were withdrawn, and which packs were
 * taken, of whom. A line of DB/hubs/NAME/packs-VERSION is a pack's name and the key that signed
 * it, or '-'.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer/hub/hub.h"

enum { MOST_TAKEN = 256 << 20, NAME = OT_HEX_SHA256 - 1 };

static const char list_name[] = "packs-";

/* ---- what is kept of a hub --------------------------------------------------------------- */

int ot_hub_write_config(const ot_hub *hub, optune_err *err)
{
    json_t *json =
        json_pack("{s:s, s:O, s:O, s:b, s:b, s:b, s:s}", "url", hub->url, "keys", hub->keys,
                  "withdrawn", hub->withdrawn, "hints", hub->hints, "unsigned", hub->anybody,
                  "plain_http", hub->plain, "s3_region", hub->region);
    char *text = json ? json_dumps(json, JSON_INDENT(2)) : NULL;
    json_decref(json);
    if (!text)
        return optune_fail(err, OPTUNE_EUSAGE, "the address is no UTF-8 text");
    ot_text path = {0};
    ot_text_printf(&path, "%s/hub.json", hub->dir);
    int status = ot_make_shared_dirs(hub->dir, err);
    if (status >= 0)
        status = ot_write_shared(path.s, text, strlen(text), err);
    ot_text_release(&path);
    free(text);
    return status;
}

int ot_hub_append(const ot_text *path, const ot_text *line, optune_err *err)
{
    const int fd = ot_open_file(path->s, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, err);
    if (fd < 0)
        return fd;
    ot_made(fd, path->s);
    const bool good = write(fd, line->s, line->n) == (ssize_t)line->n;
    const int why = errno;
    close(fd);
    return good ? OPTUNE_OK
                : optune_fail(err, OPTUNE_EIO, "cannot write '%s': %s", path->s, strerror(why));
}

/* ---- keys -------------------------------------------------------------------------------- */

bool ot_hub_has_key(const json_t *keys, const char *key)
{
    size_t i;
    json_t *known;
    json_array_foreach(keys, i, known)
    {
        const char *text = json_string_value(known);
        if (text && !strcmp(text, key))
            return true;
    }
    return false;
}

int ot_hub_take_keys(const char *const *key, json_t *keys, optune_err *err)
{
    for (int i = 0; key && key[i]; i++) {
        if (!ot_is_hex(key[i], OT_HEX_KEY - 1))
            return optune_fail(err, OPTUNE_EUSAGE,
                               "'%.80s' is no key: it is 64 hexadecimal digits, as `optune hub "
                               "key` prints on the machine that pushes",
                               key[i]);
        if (ot_hub_has_key(keys, key[i]))
            continue;
        if (json_array_size(keys) == OT_HUB_KEYS)
            return optune_fail(err, OPTUNE_ELIMIT, "more than %d keys", OT_HUB_KEYS);
        json_array_append_new(keys, json_string(key[i]));
    }
    return OPTUNE_OK;
}

/* New reference. */
static json_t *without(const json_t *keys, const json_t *gone)
{
    json_t *rest = json_array(), *key;
    size_t i;
    json_array_foreach(keys, i, key) if (!ot_hub_has_key(gone, json_string_value(key)))
        json_array_append(rest, key);
    return rest;
}

int ot_hub_allow(ot_hub *hub, const json_t *keys, optune_err *err)
{
    json_t *key, *withdrawn = without(hub->withdrawn, keys);
    size_t i;
    json_array_foreach(keys, i, key) if (!ot_hub_has_key(hub->keys, json_string_value(key)))
        json_array_append(hub->keys, key);
    json_decref(hub->withdrawn);
    hub->withdrawn = withdrawn;
    if (json_array_size(hub->keys) > OT_HUB_KEYS)
        return optune_fail(err, OPTUNE_ELIMIT,
                           "hub '%s' would have more than %d keys: `optune hub remove %s --key "
                           "K` withdraws one",
                           hub->name, OT_HUB_KEYS, hub->name);
    return ot_hub_write_config(hub, err);
}

/* ---- packs that were taken --------------------------------------------------------------- */

static void list_path(const ot_hub *hub, ot_text *path)
{
    ot_text_printf(path, "%s/%s%s", hub->dir, list_name, optune_version());
}

/* A version that knows more operators takes all packs once more: what it knew is found again. */
void ot_hub_read_taken(ot_hub *hub)
{
    ot_text path = {0}, text = {0};
    char *save = NULL;
    hub->taken = json_object();
    list_path(hub, &path);
    if (ot_read_file(path.s, &text, MOST_TAKEN, NULL) < 0)
        ot_text_clear(&text);
    for (char *line = text.n ? strtok_r(text.s, "\n", &save) : NULL; line;
         line = strtok_r(NULL, "\n", &save)) {
        char *key = strchr(line, ' ');
        if (key)
            *key++ = 0;
        if (ot_is_hex(line, NAME)) /* a list of before names no keys */
            json_object_set_new(hub->taken, line, key ? json_string(key) : json_null());
    }
    ot_text_release(&text);
    ot_text_release(&path);
}

static void print_taken(const char *pack, const char *key, ot_text *line)
{
    ot_text_printf(line, "%s %s\n", pack, key && *key ? key : "-");
}

int ot_hub_took(ot_hub *hub, const ot_pack *pack, optune_err *err)
{
    ot_text path = {0}, line = {0};
    list_path(hub, &path);
    print_taken(pack->name, pack->key, &line);
    const int status = ot_hub_append(&path, &line, err);
    json_object_set_new(hub->taken, pack->name, json_string(*pack->key ? pack->key : "-"));
    ot_text_release(&path);
    ot_text_release(&line);
    return status;
}

/* ---- withdrawing ------------------------------------------------------------------------- */

/* Removes what `goes` says of a folder: files, no folders. */
static void sweep(const char *folder, bool (*goes)(const ot_hub *hub, const char *name),
                  const ot_hub *hub)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    ot_text path = {0};
    while (dir && (entry = readdir(dir))) {
        if (!goes(hub, entry->d_name))
            continue;
        ot_text_clear(&path);
        ot_text_printf(&path, "%s/%s", folder, entry->d_name);
        unlink(path.s);
    }
    if (dir)
        closedir(dir);
    ot_text_release(&path);
}

/* Other versions' lists would call packs known whose records are gone. */
static bool is_others_list(const ot_hub *hub, const char *name)
{
    const size_t n = sizeof list_name - 1;
    (void)hub;
    return !strncmp(name, list_name, n) && strcmp(name + n, optune_version()) != 0;
}

/* Also of a pack that a killed pull did not get to call taken: it comes once more. */
static bool is_no_taken_log(const ot_hub *hub, const char *name)
{
    char pack[OT_HEX_SHA256];
    if (strlen(name) < NAME)
        return false;
    snprintf(pack, sizeof pack, "%.*s", (int)NAME, name);
    return ot_is_hex(pack, NAME) && !strcmp(name + NAME, ".log") &&
           !json_object_get(hub->taken, pack);
}

/* Packs of these keys, and those of which nobody noted whose they are. */
static int64_t give_up(ot_hub *hub, const json_t *gone)
{
    int64_t n = 0;
    const char *pack;
    json_t *key, *rest = json_object();
    json_object_foreach(hub->taken, pack, key)
    {
        const char *of = json_string_value(key);
        n += of && ot_hub_has_key(gone, of);
        if (of && !ot_hub_has_key(gone, of))
            json_object_set(rest, pack, key);
    }
    json_decref(hub->taken);
    hub->taken = rest;
    return n;
}

static int write_taken(const ot_hub *hub, optune_err *err)
{
    ot_text path = {0}, text = {0};
    const char *pack;
    json_t *key;
    json_object_foreach(hub->taken, pack, key) print_taken(pack, json_string_value(key), &text);
    list_path(hub, &path);
    const int status = ot_write_shared(path.s, ot_text_str(&text), text.n, err);
    ot_text_release(&path);
    ot_text_release(&text);
    return status;
}

/* From the logs that are left. */
static int make_store_anew(const ot_hub *hub, const atomic_bool *stop, optune_err *err)
{
    ot_store_stats stats;
    int64_t refused;
    ot_text store = {0};
    ot_text_printf(&store, "%s/store", hub->dir);
    const ot_rebuilding how = {.stop = stop};
    const bool any = ot_exists(store.s);
    int status = any ? ot_store_rebuild(hub->dir, &how, &stats, &refused, err) : OPTUNE_OK;
    if (status == OPTUNE_ENOENT) { /* no log is left */
        ot_remove_tree(store.s);
        status = ot_exists(store.s)
                     ? optune_fail(err, OPTUNE_EIO, "cannot remove all of '%s'", store.s)
                     : OPTUNE_OK;
    }
    ot_text_release(&store);
    return status;
}

/* The keys last: whoever is killed before that does it all again. */
int ot_hub_withdraw(ot_hub *hub, const json_t *keys, const atomic_bool *stop, int64_t *packs,
                    optune_err *err)
{
    ot_text logs = {0};
    size_t i;
    json_t *key;
    *packs = give_up(hub, keys);
    int status = write_taken(hub, err);
    ot_text_printf(&logs, "%s/logs", hub->dir);
    if (status >= 0) {
        sweep(hub->dir, is_others_list, hub);
        sweep(logs.s, is_no_taken_log, hub);
        ot_sync_path(logs.s);
        status = make_store_anew(hub, stop, err);
    }
    if (status >= 0) {
        json_t *rest = without(hub->keys, keys);
        json_decref(hub->keys);
        hub->keys = rest;
        json_array_foreach(keys, i,
                           key) if (!ot_hub_has_key(hub->withdrawn, json_string_value(key)))
            json_array_append(hub->withdrawn, key);
        status = ot_hub_write_config(hub, err);
    }
    ot_text_release(&logs);
    return status;
}
