/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control groups that a process is in, as folders: a limit, and how often it was reached,
 * stands in any of a group and its parents. Both versions of the interface are walked. What the
 * files in these folders mean is for the callers to know.
 */
#include <stdlib.h>
#include <string.h>

#include "target/target.h"

/* One of a comma-separated list. */
static bool names(const char *controllers, const char *controller)
{
    const size_t length = strlen(controller);
    for (const char *p = controllers; *p; p += *p == ',') {
        const size_t n = strcspn(p, ",");
        if (n == length && strncmp(p, controller, n) == 0)
            return true;
        p += n;
    }
    return false;
}

/* From this group up to the root of its hierarchy. */
static void walk_up(const char *base, const char *group, bool unified,
                    void (*look)(void *arg, const char *folder, bool unified), void *arg)
{
    char *at = ot_strdup(group);
    for (;;) {
        ot_text folder = {0};
        ot_text_add(&folder, base);
        ot_text_add(&folder, at);
        look(arg, ot_text_str(&folder), unified);
        ot_text_release(&folder);
        char *slash = strrchr(at, '/');
        if (!slash)
            break;
        *slash = '\0';
    }
    free(at);
}

void ot_cpu_groups(const char *groups, const char *mount, const char *controller,
                   void (*look)(void *arg, const char *folder, bool unified), void *arg)
{
    FILE *file = fopen(groups, "re");
    char *line = NULL;
    size_t room = 0;
    while (file && getline(&line, &room, file) > 0) {
        /* "0::/path" or "4:cpu,cpuacct:/path" */
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        controllers++;
        const bool unified = !*controllers;
        if (!unified && !names(controllers, controller))
            continue;
        ot_text base = {0};
        ot_text_printf(&base, "%s%s%s", mount, unified ? "" : "/", controllers);
        walk_up(ot_text_str(&base), strcmp(group, "/") == 0 ? "" : group, unified, look, arg);
        ot_text_release(&base);
    }
    free(line);
    if (file)
        fclose(file);
}
