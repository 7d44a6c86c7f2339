/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hubs of a database: a folder for each, in it what it is called, where it is and whose word
 * counts. No secret is ever written here: tokens and S3 keys come from the environment.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "answer/hub/hub.h"
#include "base/home.h"
#include "db/turn.h"

enum {
    MOST_CONFIG = 1 << 20,
    MOST_GIVEN = 256 << 20,
    GIVEN_S = 7 * 86400, /* what was given longer ago and is named no more was taken away */
};

static const char lock_name[] = "lock";

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char **ot_hub_names(const char *db, ot_arena *arena)
{
    ot_text path = {0};
    ot_text_printf(&path, "%s/hubs", db);
    DIR *dir = *db ? opendir(path.s) : NULL;
    ot_text_release(&path);
    char **name = ot_arena_alloc(arena, sizeof *name);
    name[0] = NULL;
    int n = 0, room = 1;
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        if (!ot_is_identifier(entry->d_name) || strlen(entry->d_name) >= OPTUNE_NAME_SIZE)
            continue;
        if (n + 1 == room) {
            char **more = ot_arena_alloc(arena, (size_t)(2 * room) * sizeof *more);
            memcpy(more, name, (size_t)n * sizeof *more);
            name = more;
            room *= 2;
        }
        name[n++] = ot_arena_copy(arena, entry->d_name);
        name[n] = NULL;
    }
    if (dir)
        closedir(dir);
    qsort(name, (size_t)n, sizeof *name, by_text);
    return name;
}

void ot_hub_place(const optune *o, const char *name, ot_hub *hub)
{
    snprintf(hub->name, sizeof hub->name, "%s", name);
    snprintf(hub->dir, sizeof hub->dir, "%s/hubs/%s", o->db, name);
}

/* ---- one hub ----------------------------------------------------------------------------- */

static void text_of(const json_t *json, const char *name, char *to, size_t size)
{
    const char *text = json_string_value(json_object_get(json, name));
    ot_copy(to, size, text ? text : "");
}

static int read_config(ot_hub *hub, optune_err *err)
{
    ot_text path = {0}, text = {0};
    ot_text_printf(&path, "%s/hub.json", hub->dir);
    optune_err why = {0};
    const int status = ot_read_file(path.s, &text, MOST_CONFIG, &why);
    json_t *json = status >= 0 ? json_loads(ot_text_str(&text), 0, NULL) : NULL;
    text_of(json, "url", hub->url, sizeof hub->url);
    text_of(json, "s3_region", hub->region, sizeof hub->region);
    hub->plain = json_is_true(json_object_get(json, "plain_http"));
    hub->hints = !json_is_false(json_object_get(json, "hints"));
    hub->anybody = json_is_true(json_object_get(json, "unsigned"));
    hub->keys = json_incref(json_object_get(json, "keys"));
    hub->withdrawn = json_incref(json_object_get(json, "withdrawn"));
    if (!json_is_array(hub->withdrawn)) {
        json_decref(hub->withdrawn);
        hub->withdrawn = json_array();
    }
    json_decref(json);
    ot_text_release(&text);
    ot_text_release(&path);
    if (status == OPTUNE_EDAMAGED)
        return optune_fail(err, status, "%s: `optune hub remove %s`, and add it again",
                           why.text, hub->name);
    if (status < 0 && status != OPTUNE_ENOENT)
        return optune_fail(err, status, "%s", why.text);
    return *hub->url && json_is_array(hub->keys)
               ? OPTUNE_OK
               : optune_fail(err, OPTUNE_EDAMAGED,
                             "'%s/hub.json' does not say what the hub is: `optune hub remove "
                             "%s`, and add it again",
                             hub->dir, hub->name);
}

int ot_hub_gave(ot_hub *hub, const char *device, json_t *entry, optune_err *err)
{
    ot_text path = {0}, line = {0};
    char *text = json_dumps(entry, JSON_COMPACT);
    ot_text_printf(&path, "%s/given", hub->dir);
    ot_text_printf(&line, "%s\t%s\n", device, text ? text : "");
    free(text);
    const int status = ot_hub_append(&path, &line, err);
    ot_text_release(&path);
    ot_text_release(&line);
    return status;
}

json_t *ot_hub_given(const ot_hub *hub)
{
    ot_text path = {0}, text = {0};
    json_t *all = json_object();
    const double since = ot_unix_time() - GIVEN_S;
    ot_text_printf(&path, "%s/given", hub->dir);
    char *save = NULL;
    if (ot_read_file(path.s, &text, MOST_GIVEN, NULL) < 0)
        ot_text_clear(&text);
    for (char *line = text.n ? strtok_r(text.s, "\n", &save) : NULL; line;
         line = strtok_r(NULL, "\n", &save)) {
        char *tab = strchr(line, '\t');
        json_t *entry = tab ? json_loads(tab + 1, 0, NULL) : NULL;
        if (entry && json_number_value(json_object_get(entry, "time")) > since) {
            *tab = 0;
            json_t *list = json_object_get(all, line);
            if (!list)
                json_object_set_new(all, line, list = json_array());
            json_array_append(list, entry);
        }
        json_decref(entry);
    }
    ot_text_release(&path);
    ot_text_release(&text);
    return all;
}

int ot_hub_take_turn(optune *o, const char *name, ot_hub *hub, optune_err *err)
{
    ot_text path = {0};
    *hub = (ot_hub){.lock = -1};
    ot_hub_place(o, name, hub);
    ot_text_printf(&path, "%s/%s", hub->dir, lock_name);
    const int status = ot_turn_take(path.s, &o->stop, &hub->lock, err);
    ot_text_release(&path);
    return status;
}

void ot_hub_empty(const ot_hub *hub)
{
    ot_text path = {0};
    ot_text_printf(&path, "%s/hub.json", hub->dir);
    unlink(path.s);
    DIR *dir = opendir(hub->dir);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
            !strcmp(entry->d_name, lock_name))
            continue;
        ot_text_clear(&path);
        ot_text_printf(&path, "%s/%s", hub->dir, entry->d_name);
        ot_remove_tree(path.s);
    }
    if (dir)
        closedir(dir);
    ot_text_release(&path);
}

bool ot_hub_leave(ot_hub *hub)
{
    ot_text path = {0};
    ot_text_printf(&path, "%s/%s", hub->dir, lock_name);
    unlink(path.s);
    ot_text_release(&path);
    const bool gone = rmdir(hub->dir) == 0 || errno == ENOENT;
    ot_hub_close(hub);
    return gone;
}

static int check_name(optune *o, const char *name, optune_err *err)
{
    ot_arena arena = {0};
    OT_RETURN_UNLESS_OK(ot_context_need_db(o, err));
    char **names = ot_hub_names(o->db, &arena);
    int n = 0, status = OPTUNE_ENOENT;
    for (; names[n]; n++)
        if (!strcmp(names[n], name))
            status = OPTUNE_OK;
    if (status < 0 && n == 0)
        optune_fail(err, status, "no hub '%.100s': `optune hub add NAME URL --key K` adds one",
                    name);
    else if (status < 0)
        status = ot_no_such(err, "hub", name, (const char *const *)names, n);
    ot_arena_release(&arena);
    return status;
}

/* What was removed with its lock while somebody waited has at most another lock. */
static int take_turn(optune *o, const char *name, ot_hub *hub, optune_err *err)
{
    int status = ot_hub_take_turn(o, name, hub, err);
    if (status >= 0) /* not before: whose turn it was may have changed it */
        status = read_config(hub, err);
    if (status == OPTUNE_EDAMAGED && ot_hub_leave(hub))
        status = OPTUNE_ENOENT;
    return status == OPTUNE_ENOENT
               ? optune_fail(err, status, "hub '%.100s' was removed meanwhile", name)
               : status;
}

static int open_hub(optune *o, const char *name, bool turn, ot_hub *hub, optune_err *err)
{
    *hub = (ot_hub){.lock = -1};
    OT_RETURN_UNLESS_OK(check_name(o, name, err));
    ot_hub_place(o, name, hub);
    const int status = turn ? take_turn(o, name, hub, err) : read_config(hub, err);
    if (status < 0) {
        ot_hub_close(hub);
        return status;
    }
    const char *token = getenv("OPTUNE_HUB_TOKEN");
    hub->token = token && *token ? token : NULL;
    ot_hub_read_taken(hub);
    return OPTUNE_OK;
}

int ot_hub_open(optune *o, const char *name, ot_hub *hub, optune_err *err)
{
    OT_RETURN_UNLESS_OK(open_hub(o, name, true, hub, err));
    ot_hub_tidy(hub);
    ot_hub_read_refused(hub);
    return OPTUNE_OK;
}

int ot_hub_look(optune *o, const char *name, ot_hub *hub, optune_err *err)
{
    return open_hub(o, name, false, hub, err);
}

void ot_hub_close(ot_hub *hub)
{
    json_decref(hub->keys);
    json_decref(hub->withdrawn);
    json_decref(hub->taken);
    json_decref(hub->refused);
    if (hub->lock >= 0)
        close(hub->lock);
    *hub = (ot_hub){.lock = -1};
}

/* ---- listing ----------------------------------------------------------------------------- */

static void list_one(ot_hub_deed *deed, const ot_hub *hub)
{
    ot_store *store = NULL;
    ot_store_stats stats = {0};
    if (ot_store_open(hub->dir, OT_STORE_READ, &store, NULL) >= 0)
        ot_store_stats_get(store, &stats, NULL);
    ot_store_close(store);
    ot_text_printf(&deed->text, "%s  %s\n  %lld records of %zu packs; %s\n", hub->name,
                   hub->url, (long long)stats.records, json_object_size(hub->taken),
                   hub->anybody ? "anybody's, as hints"
                   : hub->hints ? "signed, as hints"
                                : "signed, selected where the device is the same");
    size_t i;
    json_t *key;
    json_array_foreach(hub->keys, i, key)
        ot_text_printf(&deed->text, "  key %s\n", json_string_value(key));
    json_array_foreach(hub->withdrawn, i, key)
        ot_text_printf(&deed->text, "  withdrawn %s\n", json_string_value(key));
    json_array_append_new(deed->json,
                          json_pack("{s:s, s:s, s:O, s:O, s:b, s:b, s:I, s:I}", "hub",
                                    hub->name, "url", hub->url, "keys", hub->keys, "withdrawn",
                                    hub->withdrawn, "hints", hub->hints, "unsigned",
                                    hub->anybody, "records", (json_int_t)stats.records, "packs",
                                    (json_int_t)json_object_size(hub->taken)));
}

/* The devices that the hub has packs of. */
static int list_devices(ot_hub_deed *deed, const ot_hub *hub)
{
    json_t *devices = NULL, *device;
    char etag[128];
    const int status = ot_hub_devices(hub, deed, &devices, etag, deed->err);
    size_t i;
    if (status < 0)
        return status;
    json_array_foreach(devices, i, device)
        ot_text_printf(&deed->text, "  has %s\n", json_string_value(device));
    json_object_set_new(json_array_get(deed->json, json_array_size(deed->json) - 1), "devices",
                        devices);
    return OPTUNE_OK;
}

int ot_hub_list(ot_hub_deed *deed)
{
    const char *const *word = deed->options->words;
    ot_arena arena = {0};
    char **names = ot_hub_names(deed->o->db, &arena);
    int status = OPTUNE_OK;
    const char *one[] = {word ? word[0] : NULL, NULL};
    const bool asked = one[0] != NULL;
    const char *const *name = asked ? one : (const char *const *)names;
    for (int i = 0; name[i] && status >= 0; i++) {
        ot_hub hub;
        status = ot_hub_look(deed->o, name[i], &hub, deed->err);
        if (status >= 0) {
            list_one(deed, &hub);
            if (asked)
                status = list_devices(deed, &hub);
            ot_hub_close(&hub);
        } else if (!asked) {
            ot_text_printf(&deed->text, "%s  %s\n", name[i], deed->err->text);
            json_array_append_new(deed->json, json_pack("{s:s, s:s}", "hub", name[i], "problem",
                                                        deed->err->text));
            deed->failed++;
            status = OPTUNE_OK;
        }
    }
    if (!asked && !names[0])
        ot_text_add(&deed->text, "no hubs: `optune hub add NAME URL --key K` adds one\n");
    ot_arena_release(&arena);
    return status;
}

/* ---- one's own key ----------------------------------------------------------------------- */

int ot_hub_key_file(const char *named, char *path, size_t size, optune_err *err)
{
    const char *key = getenv("OPTUNE_KEY"), *config = getenv("XDG_CONFIG_HOME");
    char own[4096];
    int n;
    if (named && *named)
        n = snprintf(path, size, "%s", named);
    else if (key && *key)
        n = snprintf(path, size, "%s", key);
    else if (config && *config == '/')
        n = snprintf(path, size, "%s/optune/key", config);
    else if (ot_home_folder(".config/optune/key", true, own, sizeof own))
        n = snprintf(path, size, "%s", own);
    else
        return optune_fail(
            err, OPTUNE_EUSAGE,
            "no folder for your key: set HOME or OPTUNE_KEY, or name a file with "
            "--key-file");
    return n >= 0 && (size_t)n < size
               ? OPTUNE_OK
               : optune_fail(err, OPTUNE_ELIMIT, "the key's path is too long");
}
