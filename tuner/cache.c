/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cache of compiled modules: files named by the digest of all they are made from, so a
 * file is right or absent and never has to be compared. Several runs share it without a
 * lock: files appear by rename, and removing one that is mapped harms nobody.
 *
 * The one idea: the access time, set by hand at each use (file systems may not keep it),
 * orders what is thrown away.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tuner/cache.h"

typedef struct entry {
    char name[80];
    int64_t bytes;
    time_t used;
} entry;

int ot_cache_open(const char *dir, optune_err *err)
{
    const int status = ot_make_dirs(dir, err);
    if (status < 0)
        return status;
    if (access(dir, W_OK | X_OK) < 0)
        return optune_fail(err, OPTUNE_EIO, "cannot write to the module cache '%s': %s", dir,
                           strerror(errno));
    return OPTUNE_OK;
}

bool ot_cache_hit(const char *path)
{
    struct stat info;
    /* After a power cut a renamed file may be empty. */
    if (stat(path, &info) < 0 || !S_ISREG(info.st_mode) || info.st_size == 0)
        return false;
    const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};
    utimensat(AT_FDCWD, path, times, 0);
    return true;
}

static int oldest_first(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->used != y->used)
        return x->used < y->used ? -1 : 1;
    return strcmp(x->name, y->name);
}

int64_t ot_cache_trim(const char *dir, const char *suffix, int64_t limit)
{
    DIR *open = opendir(dir);
    if (!open)
        return 0;
    const time_t now = time(NULL);
    entry *found = NULL;
    size_t n = 0, capacity = 0;
    int64_t total = 0;
    struct dirent *item;
    while ((item = readdir(open))) {
        struct stat info;
        if (fstatat(dirfd(open), item->d_name, &info, AT_SYMLINK_NOFOLLOW) < 0 ||
            !S_ISREG(info.st_mode) || strlen(item->d_name) >= sizeof found->name)
            continue;
        const char *dot = strchr(item->d_name, '.');
        if (!dot || strcmp(dot, suffix) != 0) {
            /* Sources and half-made modules have a process number in their name. */
            if (now - info.st_mtime > OT_CACHE_KEEP_S)
                unlinkat(dirfd(open), item->d_name, 0);
            continue;
        }
        if (n == capacity) {
            capacity = capacity ? 2 * capacity : 256;
            entry *more = ot_alloc(capacity * sizeof *more);
            if (n)
                memcpy(more, found, n * sizeof *more);
            free(found);
            found = more;
        }
        const time_t used = info.st_atime > info.st_mtime ? info.st_atime : info.st_mtime;
        found[n] = (entry){.bytes = info.st_size, .used = used};
        ot_copy(found[n++].name, sizeof found->name, item->d_name);
        total += info.st_size;
    }
    if (n)
        qsort(found, n, sizeof *found, oldest_first);
    for (size_t i = 0; i < n && total > limit && now - found[i].used > OT_CACHE_KEEP_S; i++)
        if (unlinkat(dirfd(open), found[i].name, 0) == 0)
            total -= found[i].bytes;
    free(found);
    closedir(open);
    return total;
}
