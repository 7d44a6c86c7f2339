/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hubs and keys of hubs, added and removed: what is said of a hub is kept beside the database and
 * changed by adding and withdrawing keys alone.
 */
#include <string.h>

#include "answer/hub/hub.h"

/* ---- adding ------------------------------------------------------------------------------ */

static int check_url(const char *url, bool plain, optune_err *err)
{
    const char *host = strstr(url, "://");
    const bool known = !strncmp(url, "https://", 8) || !strncmp(url, "file:///", 8) ||
                       (plain && !strncmp(url, "http://", 7));
    if (!known)
        return optune_fail(err, OPTUNE_EUSAGE,
                           "'%.200s' is no address of a hub: https://HOST/PATH or "
                           "file:///FOLDER (--plain-http allows http://)",
                           url);
    host += 3;
    if (!host[strspn(host, "/")])
        return optune_fail(err, OPTUNE_EUSAGE, "'%.200s' names no host or folder", url);
    for (const char *at = host; *at && *at != '/'; at++)
        if (*at == '@')
            return optune_fail(err, OPTUNE_EUSAGE,
                               "the address holds a name or password, which would be kept: "
                               "put a token into OPTUNE_HUB_TOKEN instead");
    if (strpbrk(url, "?#"))
        return optune_fail(
            err, OPTUNE_EUSAGE,
            "the address of a hub ends with a path: '?' and '#' cannot be in it");
    for (const char *at = url; *at; at++)
        if ((unsigned char)*at <= 32 || *at == 127)
            return optune_fail(err, OPTUNE_EUSAGE,
                               "the address holds a blank or a control character");
    return strlen(url) < sizeof((ot_hub *)0)->url
               ? OPTUNE_OK
               : optune_fail(err, OPTUNE_ELIMIT, "the address is too long");
}

/* What the options say of a hub at this address; nothing is kept yet. */
static void describe(const optune_hub_options *options, const char *url, ot_hub *hub)
{
    size_t n = strlen(url);
    while (n && url[n - 1] == '/')
        n--;
    snprintf(hub->url, sizeof hub->url, "%.*s", (int)n, url);
    snprintf(hub->region, sizeof hub->region, "%s",
             options->s3_region ? options->s3_region : "");
    hub->plain = options->plain_http;
    hub->anybody = options->anybody;
    hub->hints = options->hints || options->anybody;
}

static void tell_added(ot_hub_deed *deed, const ot_hub *hub, const char *says)
{
    ot_text_printf(&deed->text, "hub %s: %s\n  %s\n", hub->name, hub->url, says);
    json_array_append_new(deed->json,
                          json_pack("{s:s, s:s, s:b, s:O}", "hub", hub->name, "url", hub->url,
                                    "hints", hub->hints, "keys", hub->keys));
}

static bool is_hub(const ot_hub *hub)
{
    ot_text config = {0};
    ot_text_printf(&config, "%s/hub.json", hub->dir);
    const bool there = ot_exists(config.s);
    ot_text_release(&config);
    return there;
}

/* To one that is there only keys are added: said again in full, or by its name alone. */
static int add_keys(ot_hub_deed *deed, const char *name, const char *url, const json_t *keys)
{
    ot_hub hub, again = {.url = ""};
    const optune_hub_options *options = deed->options;
    OT_RETURN_UNLESS_OK(ot_hub_open(deed->o, name, &hub, deed->err));
    describe(options, url ? url : hub.url, &again);
    const bool named = !url && !again.hints && !again.plain && !*again.region;
    const bool same = !strcmp(again.url, hub.url) && !strcmp(again.region, hub.region) &&
                      again.plain == hub.plain && again.hints == hub.hints &&
                      again.anybody == hub.anybody;
    const size_t before = json_array_size(hub.keys);
    int status = OPTUNE_OK;
    if (!named && !same)
        status = optune_fail(deed->err, OPTUNE_ECONFLICT,
                             "there is a hub '%s', and only --key can be added to it: `optune "
                             "hub remove %s` first",
                             name, name);
    else if (named && !json_array_size(keys))
        status = optune_fail(deed->err, OPTUNE_EUSAGE,
                             "there is a hub '%s': --key K takes packs of one more key", name);
    if (status >= 0)
        status = ot_hub_allow(&hub, keys, deed->err);
    if (status >= 0)
        tell_added(deed, &hub,
                   json_array_size(hub.keys) > before
                       ? "its packs signed by that key, too, are "
                         "taken with the next pull"
                       : "it is as it was");
    ot_hub_close(&hub);
    return status;
}

/* The turn at a folder that is made; who removes one of that name may be faster. */
static int take_folder(ot_hub_deed *deed, const char *name, ot_hub *hub)
{
    enum { TRIES = 20 };
    int status = OPTUNE_ENOENT;
    for (int i = 0; i < TRIES && status == OPTUNE_ENOENT; i++) {
        ot_hub_place(deed->o, name, hub);
        OT_RETURN_UNLESS_OK(ot_make_shared_dirs(hub->dir, deed->err));
        status = ot_hub_take_turn(deed->o, name, hub, deed->err);
    }
    return status;
}

/* ECONFLICT: there is one, which somebody has added since. */
static int add_new(ot_hub_deed *deed, const char *name, const char *url, json_t *keys)
{
    const optune_hub_options *options = deed->options;
    if (!json_array_size(keys) && !options->anybody)
        return optune_fail(deed->err, OPTUNE_EUSAGE,
                           "whose packs are taken? --key K, which `optune hub key` prints "
                           "where they are made; --unsigned takes anybody's as hints");
    ot_hub hub;
    OT_RETURN_UNLESS_OK(take_folder(deed, name, &hub));
    if (is_hub(&hub)) {
        ot_hub_close(&hub);
        return OPTUNE_ECONFLICT;
    }
    hub.keys = json_incref(keys);
    hub.withdrawn = json_array();
    describe(options, url, &hub);
    ot_hub_empty(&hub); /* what another hub of that name left when it was cut short */
    const int status = ot_hub_write_config(&hub, deed->err);
    if (status >= 0)
        tell_added(deed, &hub,
                   hub.hints ? "what it holds starts searches, and is never selected before it "
                               "was measured here"
                             : "records of this very kind of device, signed by its keys, are "
                               "selected where nothing was measured here");
    ot_hub_close(&hub);
    return status;
}

int ot_hub_add(ot_hub_deed *deed)
{
    const char *const *word = deed->options->words;
    optune_err *err = deed->err;
    if (!word || !word[0] || (word[1] && word[2]))
        return optune_fail(err, OPTUNE_EUSAGE, "hub add needs a name and an address");
    if (!ot_is_identifier(word[0]) || strlen(word[0]) >= OPTUNE_NAME_SIZE)
        return optune_fail(err, OPTUNE_EUSAGE,
                           "'%.80s' is no name of a hub: letters, digits and _", word[0]);
    OT_RETURN_UNLESS_OK(ot_context_need_db(deed->o, err));
    if (word[1])
        OT_RETURN_UNLESS_OK(check_url(word[1], deed->options->plain_http, err));
    ot_hub hub;
    ot_hub_place(deed->o, word[0], &hub);
    const bool there = is_hub(&hub);
    if (!there && !word[1])
        return optune_fail(err, OPTUNE_EUSAGE,
                           "there is no hub '%s': hub add needs a name and an address",
                           word[0]);
    json_t *keys = json_array();
    int status = ot_hub_take_keys(deed->options->keys, keys, err);
    if (status >= 0)
        status = there ? OPTUNE_ECONFLICT : add_new(deed, word[0], word[1], keys);
    if (status == OPTUNE_ECONFLICT)
        status = add_keys(deed, word[0], word[1], keys);
    json_decref(keys);
    return status;
}

/* ---- removing ---------------------------------------------------------------------------- */

/* Whether anything that is known of the hub was, or may have been, signed by that key. */
static bool knows_key(const ot_hub *hub, const char *key)
{
    const char *pack;
    json_t *of;
    bool known = hub->anybody || ot_hub_has_key(hub->keys, key) ||
                 ot_hub_has_key(hub->withdrawn, key) || ot_hub_refused_of(hub, key);
    json_object_foreach(hub->taken, pack, of) known =
        known || !json_is_string(of) || !strcmp(json_string_value(of), key);
    return known;
}

/* A key with a wrong digit would be withdrawn for nothing, and the one that was meant stay good. */
static int check_keys(const ot_hub *hub, const json_t *keys, optune_err *err)
{
    size_t i;
    json_t *key;
    json_array_foreach(keys, i, key)
    {
        const char *text = json_string_value(key), *known[OT_HUB_KEYS];
        int n = 0;
        if (knows_key(hub, text))
            continue;
        for (size_t k = 0; k < json_array_size(hub->keys) && n < OT_HUB_KEYS; k++)
            if ((known[n] = json_string_value(json_array_get(hub->keys, k))))
                n++;
        char kind[OPTUNE_NAME_SIZE + 16];
        snprintf(kind, sizeof kind, "key of hub '%s'", hub->name);
        return ot_no_such(err, kind, text, known, n);
    }
    return OPTUNE_OK;
}

/* Keys that count no more; the hub stays. */
static int withdraw(ot_hub_deed *deed, const char *name)
{
    ot_hub hub;
    int64_t packs = 0;
    OT_RETURN_UNLESS_OK(ot_hub_open(deed->o, name, &hub, deed->err));
    json_t *keys = json_array();
    int status = ot_hub_take_keys(deed->options->keys, keys, deed->err);
    if (status >= 0)
        status = check_keys(&hub, keys, deed->err);
    if (status >= 0)
        status = ot_hub_withdraw(&hub, keys, &deed->o->stop, &packs, deed->err);
    if (status >= 0) {
        ot_text_printf(&deed->text,
                       "hub %s: what %s key%s signed is taken no more; %lld packs are gone\n",
                       name, json_array_size(keys) == 1 ? "this" : "these",
                       json_array_size(keys) == 1 ? "" : "s", (long long)packs);
        if (!json_array_size(hub.keys) && !hub.anybody)
            ot_text_printf(&deed->text,
                           "  it has no key now: `optune hub add %s --key K` takes packs of "
                           "one\n",
                           name);
        json_array_append_new(deed->json, json_pack("{s:s, s:O, s:I}", "hub", name, "withdrawn",
                                                    keys, "packs", (json_int_t)packs));
    }
    json_decref(keys);
    ot_hub_close(&hub);
    return status;
}

int ot_hub_remove(ot_hub_deed *deed)
{
    const char *const *word = deed->options->words;
    if (!word || !word[0] || word[1])
        return optune_fail(deed->err, OPTUNE_EUSAGE, "hub remove needs the name of one");
    if (deed->options->keys && deed->options->keys[0])
        return withdraw(deed, word[0]);
    ot_hub hub;
    int status = ot_hub_open(deed->o, word[0], &hub, deed->err);
    if (status == OPTUNE_EDAMAGED) /* this is the remedy */
        status = ot_hub_take_turn(deed->o, word[0], &hub, deed->err);
    if (status < 0)
        return status;
    char dir[sizeof hub.dir];
    memcpy(dir, hub.dir, sizeof dir);
    ot_hub_empty(&hub);
    if (!ot_hub_leave(&hub))
        return optune_fail(deed->err, OPTUNE_EIO, "cannot remove all of '%s'", dir);
    ot_text_printf(&deed->text, "hub %s and what came from it are gone\n", word[0]);
    json_array_append_new(deed->json, json_pack("{s:s, s:b}", "hub", word[0], "removed", 1));
    return OPTUNE_OK;
}
