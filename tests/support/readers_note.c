/* SPDX-License-Identifier: Apache-2.0 */
/* Notes: whatever is in the file, the machine is one, and what is not sealed is not believed. */
#include "support/readers.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/device.h"
#include "base/note.h"
#include "target/target.h"

enum { DIGEST = 33 }; /* with its newline */

static void die_unless(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "%s\n", what);
        abort();
    }
}

/* The only one that there is. */
static void find_note(const char *cache, char *path, size_t size)
{
    char notes[4200];
    snprintf(notes, sizeof notes, "%s/notes", cache);
    DIR *all = opendir(notes);
    for (const struct dirent *entry; all && (entry = readdir(all));)
        if (entry->d_name[0] != '.')
            snprintf(path, size, "%s/%.200s", notes, entry->d_name);
    die_unless(all && *path, "no note");
    closedir(all);
}

static void put(const char *path, const char *bytes, size_t n)
{
    die_unless(ot_write_file(path, bytes, n, NULL) >= 0 && chmod(path, 0600) == 0, "no file");
}

/* As it is, and behind the circumstances of this process under a digest that is right. */
void read_note(const char *bytes, size_t n)
{
    static char dir[4096], path[4600];
    static ot_text front;
    static optune_device is;
    optune_device said = {0};
    optune_err err = {0};
    char *was = getenv("OPTUNE_CACHE") ? ot_strdup(getenv("OPTUNE_CACHE")) : NULL;
    if (!*dir) {
        die_unless(ot_temp_dir(dir, sizeof dir, NULL) >= 0, "no folder");
        setenv("OPTUNE_CACHE", dir, 1);
        die_unless(ot_cpu_known(&is, &err) >= 0, err.text);
        find_note(dir, path, sizeof path);
        die_unless(ot_read_file(path, &front, 1 << 20, NULL) >= 0, "no note");
        front.n = (size_t)(strstr(front.s, "\n\n") - front.s) + 2;
    }
    setenv("OPTUNE_CACHE", dir, 1);
    put(path, bytes, n);
    die_unless(ot_cpu_known(&said, &err) >= 0 && !memcmp(&is, &said, sizeof is),
               "believed, and not sealed");
    ot_text all = {0};
    char hex[DIGEST];
    ot_text_add_n(&all, front.s, front.n);
    ot_text_add_n(&all, bytes, n);
    ot_digest_hex(ot_digest_of(all.s + DIGEST, all.n - DIGEST), hex);
    memcpy(all.s, hex, DIGEST - 1);
    put(path, all.s, all.n);
    die_unless(ot_cpu_known(&said, &err) >= 0 && *said.key && said.cores > 0, "no machine");
    ot_text_release(&all);
    if (was)
        setenv("OPTUNE_CACHE", was, 1);
    else
        unsetenv("OPTUNE_CACHE");
    free(was);
}
