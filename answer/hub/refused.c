/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs that were refused for what they are: their name is the digest of their bytes, so they stay
 * refused, and are not fetched again and again. One that was refused for its key alone is fetched
 * once more when the hub's keys hold that key. A line of DB/hubs/NAME/refused-VERSION is a pack's
 * name, its key or '-', and the reason.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer/hub/hub.h"

enum { MOST_REFUSED = 16 << 20 };

static void refused_path(const ot_hub *hub, ot_text *path)
{
    ot_text_printf(path, "%s/refused-%s", hub->dir, optune_version());
}

void ot_hub_read_refused(ot_hub *hub)
{
    ot_text path = {0}, text = {0};
    char *save = NULL;
    hub->refused = json_object();
    refused_path(hub, &path);
    if (ot_read_file(path.s, &text, MOST_REFUSED + 4096, NULL) < 0)
        ot_text_clear(&text);
    for (char *line = text.n ? strtok_r(text.s, "\n", &save) : NULL; line;
         line = strtok_r(NULL, "\n", &save)) {
        char *key = strchr(line, ' '), *why = key ? strchr(key + 1, ' ') : NULL;
        if (!why)
            continue;
        *key++ = *why++ = 0;
        if (!ot_is_hex(line, OT_HEX_SHA256 - 1) || ot_hub_has_key(hub->keys, key))
            continue;
        const bool withdrawn = ot_hub_has_key(hub->withdrawn, key);
        json_object_set_new(hub->refused, line, withdrawn ? json_true() : json_string(why));
    }
    ot_text_release(&path);
    ot_text_release(&text);
}

const char *ot_hub_refused(const ot_hub *hub, const char *pack)
{
    return json_string_value(json_object_get(hub->refused, pack));
}

bool ot_hub_passes_over(const ot_hub *hub, const char *pack)
{
    return json_is_true(json_object_get(hub->refused, pack));
}

bool ot_hub_refused_of(const ot_hub *hub, const char *key)
{
    ot_text path = {0}, text = {0}, field = {0};
    refused_path(hub, &path);
    ot_text_printf(&field, " %s ", key);
    const bool found = ot_read_file(path.s, &text, MOST_REFUSED + 4096, NULL) >= 0 && text.n &&
                       strstr(text.s, field.s);
    ot_text_release(&path);
    ot_text_release(&text);
    ot_text_release(&field);
    return found;
}

void ot_hub_refuse(ot_hub *hub, const char *pack, const char *key, const char *why)
{
    ot_text path = {0}, line = {0};
    refused_path(hub, &path);
    ot_text_printf(&line, "%s %s %s\n", pack, key && *key ? key : "-", why);
    const int fd = ot_open_file(path.s, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, NULL);
    if (fd >= 0)
        ot_made(fd, path.s);
    /* What is not remembered is only looked at once more. */
    if (fd >= 0 && lseek(fd, 0, SEEK_END) < MOST_REFUSED &&
        write(fd, line.s, line.n) == (ssize_t)line.n)
        json_object_set_new(hub->refused, pack, json_string(why));
    if (fd >= 0)
        close(fd);
    ot_text_release(&path);
    ot_text_release(&line);
}
