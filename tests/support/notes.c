/* SPDX-License-Identifier: Apache-2.0 */
#include "support/notes.h"

#include <dirent.h>
#include <sys/stat.h>

#include "support/check.h"

static char folder[4200];

void notes_begin(const char *dir)
{
    char cache[4096];
    snprintf(cache, sizeof cache, "%s/cache", dir);
    snprintf(folder, sizeof folder, "%s/notes", cache);
    ot_remove_tree(cache);
    setenv("OPTUNE_CACHE", cache, 1);
}

const char *notes_path(void)
{
    return folder;
}

static int look(const char *name, char *first, size_t size)
{
    int n = 0;
    DIR *all = opendir(folder);
    for (struct dirent *entry; all && (entry = readdir(all));)
        if (entry->d_name[0] != '.' && !strncmp(entry->d_name, name, strlen(name)) && !n++)
            snprintf(first, size, "%s/%s", folder, entry->d_name);
    if (all)
        closedir(all);
    return n;
}

int notes_count(void)
{
    char path[4600];
    return look("", path, sizeof path);
}

const char *notes_one(const char *name)
{
    static char path[4600];
    assert_true(look(name, path, sizeof path) > 0);
    return path;
}

void notes_change(const char *path, const char *from, const char *to)
{
    optune_err err = {0};
    ot_text was = {0}, now = {0}, all = {0};
    char hex[33];
    check_ok(ot_read_file(path, &was, 1 << 20, &err));
    char *at = strstr(was.s + 33, from);
    assert_non_null(at);
    ot_text_add_n(&now, was.s + 33, (size_t)(at - was.s - 33));
    ot_text_printf(&now, "%s%s", to, at + strlen(from));
    ot_digest_hex(ot_digest_of(now.s, now.n), hex);
    ot_text_printf(&all, "%s\n%s", hex, now.s);
    check_ok(ot_write_file(path, all.s, all.n, &err));
    assert_int_equal(chmod(path, 0600), 0);
    ot_text_release(&was);
    ot_text_release(&now);
    ot_text_release(&all);
}
