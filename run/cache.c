/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cache of compiled modules: files named by the digest of all they are made from. Several runs
 * share it without a lock: files appear by rename, and removing one that is mapped harms nobody.
 *
 * What is loaded is code: the folder is its owner's alone, and beside each module lies the digest
 * of its bytes (NAME.sum), so that one that was cut short or changed is made again.
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

#include "run/cache.h"

typedef struct entry {
    char name[80];
    int64_t bytes;
    time_t used;
} entry;

/* A folder into which others may write holds what others put there. */
static bool nobody_elses(const char *dir, optune_err *err)
{
    struct stat info;
    if (lstat(dir, &info) < 0 || (!S_ISDIR(info.st_mode) && stat(dir, &info) < 0)) {
        optune_fail(err, OPTUNE_EIO, "cannot look at the module cache '%s': %s", dir,
                    strerror(errno));
        return false;
    }
    if (info.st_uid != geteuid()) {
        optune_fail(err, OPTUNE_EIO,
                    "the module cache '%s' is somebody else's (user %d); name a folder of your "
                    "own with OPTUNE_CACHE",
                    dir, (int)info.st_uid);
        return false;
    }
    if ((info.st_mode & 022) && chmod(dir, info.st_mode & ~(mode_t)022 & 07777) < 0) {
        optune_fail(err, OPTUNE_EIO,
                    "others may write to the module cache '%s'; name a folder of your own with "
                    "OPTUNE_CACHE",
                    dir);
        return false;
    }
    return true;
}

int ot_cache_open(const char *dir, optune_err *err)
{
    optune_err why = {0};
    if (!*dir)
        return optune_fail(
            err, OPTUNE_EUSAGE,
            "no folder for compiled modules: set OPTUNE_CACHE or HOME, or name a "
            "database with --db");
    if (ot_make_dirs(dir, &why) < 0)
        return optune_fail(err, OPTUNE_EIO,
                           "no module cache: %s; name a folder of your own with OPTUNE_CACHE",
                           why.text);
    if (!nobody_elses(dir, err))
        return OPTUNE_EIO;
    if (access(dir, W_OK | X_OK) < 0)
        return optune_fail(err, OPTUNE_EIO,
                           "cannot write to the module cache '%s': %s; name a folder of your "
                           "own with OPTUNE_CACHE",
                           dir, strerror(errno));
    return OPTUNE_OK;
}

/* All of a plain file of ours that nobody else may write, no link; false: it is none. */
static bool read_own(const char *path, ot_text *to)
{
    struct stat info;
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    bool good = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
                info.st_uid == geteuid() && !(info.st_mode & 022);
    char piece[16384];
    for (ssize_t n = 1; good && n > 0;) {
        n = read(fd, piece, sizeof piece);
        good = n >= 0;
        if (n > 0)
            ot_text_add_n(to, piece, (size_t)n);
    }
    if (fd >= 0)
        close(fd);
    return good;
}

/* All of it, and its digest. */
static bool read_module(const char *path, ot_text *bytes, char hex[33])
{
    const bool good = read_own(path, bytes) && bytes->n > 0;
    if (good)
        ot_digest_hex(ot_digest_of(bytes->s, bytes->n), hex);
    return good;
}

static bool sum_path(const char *path, char *to, size_t size)
{
    return snprintf(to, size, "%s%s", path, OT_CACHE_SUM) < (int)size;
}

int ot_cache_keep(const char *made, const char *path, optune_err *err)
{
    char hex[33], sum[4096];
    struct stat info;
    ot_text bytes = {0};
    chmod(made, 0600); /* whatever the compiler's umask is */
    if (!sum_path(path, sum, sizeof sum))
        return optune_fail(err, OPTUNE_ELIMIT, "path too long: '%s'", path);
    const bool good = read_module(made, &bytes, hex);
    ot_text_release(&bytes);
    if (!good) {
        const bool none = lstat(made, &info) < 0 ? errno == ENOENT : info.st_size == 0;
        return none
                   ? optune_fail(err, OPTUNE_ETOOL, "the compiler left no module")
                   : optune_fail(err, OPTUNE_EIO, "cannot read the compiled module '%s'", made);
    }
    /* First the digest: a module without it, or with another's, is made again. */
    const int status = ot_write_cached(sum, hex, strlen(hex), err);
    if (status < 0)
        return status;
    if (rename(made, path) < 0)
        return optune_fail(err, OPTUNE_EIO, "the compiled module cannot be kept as '%s': %s",
                           path, strerror(errno));
    return OPTUNE_OK;
}

bool ot_cache_read(const char *path, ot_text *bytes)
{
    char hex[33], sum[4096];
    ot_text kept = {0};
    const bool good = sum_path(path, sum, sizeof sum) && read_module(path, bytes, hex) &&
                      read_own(sum, &kept) && strcmp(ot_text_str(&kept), hex) == 0;
    ot_text_release(&kept);
    return good;
}

bool ot_cache_hit(const char *path)
{
    ot_text bytes = {0};
    const bool good = ot_cache_read(path, &bytes);
    ot_text_release(&bytes);
    if (!good)
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

/* The digest of a module that is there. */
static bool is_in_use(DIR *dir, const char *name)
{
    char module[256];
    const size_t n = strlen(name), end = strlen(OT_CACHE_SUM);
    if (n <= end || n - end >= sizeof module || strcmp(name + n - end, OT_CACHE_SUM) != 0)
        return false;
    snprintf(module, sizeof module, "%.*s", (int)(n - end), name);
    return faccessat(dirfd(dir), module, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int64_t ot_cache_trim(const char *dir, const char *suffix, int64_t limit)
{
    DIR *open = opendir(dir);
    if (!open)
        return 0;
    const time_t now = time(NULL);
    entry *found = NULL;
    int n = 0, capacity = 0;
    int64_t total = 0;
    struct dirent *item;
    while ((item = readdir(open))) {
        struct stat info;
        if (fstatat(dirfd(open), item->d_name, &info, AT_SYMLINK_NOFOLLOW) < 0 ||
            !S_ISREG(info.st_mode) || strlen(item->d_name) >= sizeof found->name)
            continue;
        const char *dot = strchr(item->d_name, '.');
        if (!dot || strcmp(dot, suffix) != 0) {
            /* Sources, half-made modules, and digests of modules that are not used. */
            if (now - info.st_mtime > OT_CACHE_KEEP_S && !is_in_use(open, item->d_name))
                unlinkat(dirfd(open), item->d_name, 0);
            continue;
        }
        found = ot_room(found, n, &capacity, sizeof *found);
        const time_t used = info.st_atime > info.st_mtime ? info.st_atime : info.st_mtime;
        found[n] = (entry){.bytes = info.st_size, .used = used};
        ot_copy(found[n++].name, sizeof found->name, item->d_name);
        total += info.st_size;
    }
    if (n)
        qsort(found, (size_t)n, sizeof *found, oldest_first);
    for (int i = 0; i < n && total > limit && now - found[i].used > OT_CACHE_KEEP_S; i++)
        if (unlinkat(dirfd(open), found[i].name, 0) == 0) {
            char sum[sizeof found->name + sizeof OT_CACHE_SUM];
            snprintf(sum, sizeof sum, "%s%s", found[i].name, OT_CACHE_SUM);
            unlinkat(dirfd(open), sum, 0);
            total -= found[i].bytes;
        }
    free(found);
    closedir(open);
    return total;
}
