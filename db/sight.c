/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of a store's file while it is open: who commits to it, and whether it is still the
 * store of its directory. Asked with every answer, so it costs nanoseconds: writers count their
 * commits in shared memory, and the file itself is looked at every OT_LOOK_MS.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "db/peek.h"

struct ot_sight {
    ot_peek *peek; /* the file, whatever is at its name now */
    char *data;    /* its name */
    dev_t device;
    ino_t inode;
    _Atomic uint64_t *commits; /* NULL: none */
    bool counts;               /* `commits` may be written */
    _Atomic int64_t seen;      /* of them, when `last` was read */
    _Atomic int64_t last, looked_ms, size;
    atomic_bool gone;
};

static int64_t coarse_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

enum { COUNTER = sizeof(uint64_t) }; /* in a file of its own, mapped */

static bool is_counter(const struct stat *info)
{
    return S_ISREG(info->st_mode) && info->st_size >= COUNTER;
}

/* Of who may count; -1: he may not. */
static int open_counter(const char *path)
{
    static const char zeros[COUNTER];
    struct stat info;
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0664);
    if (fd >= 0 && fstat(fd, &info) == 0 && info.st_size < COUNTER) {
        ot_made(fd, path);
        (void)ot_place_fill(fd, COUNTER);
        /* Where that is not to be had; from eight bytes on others may count in it. */
        if (fstat(fd, &info) == 0 && info.st_size < COUNTER)
            (void)!pwrite(fd, zeros, COUNTER, 0);
    }
    return fd;
}

void ot_sight_counter(const char *path)
{
    ot_text counter = {0};
    ot_text_printf(&counter, "%s/" OT_COUNTER, path);
    const int fd = open_counter(counter.s);
    if (fd >= 0)
        close(fd);
    ot_text_release(&counter);
}

bool ot_sight_inherit(const char *path, const char *was)
{
    struct stat info;
    ot_text counter = {0}, old = {0};
    ot_text_printf(&counter, "%s/" OT_COUNTER, path);
    ot_text_printf(&old, "%s/" OT_COUNTER, was);
    unlink(counter.s);
    const bool same =
        lstat(old.s, &info) == 0 && is_counter(&info) && link(old.s, counter.s) == 0;
    ot_text_release(&counter);
    ot_text_release(&old);
    return same;
}

static void map_commits(ot_sight *s, const char *path)
{
    struct stat info;
    int protection = PROT_READ | PROT_WRITE;
    int fd = open_counter(path);
    if (fd < 0) {
        protection = PROT_READ;
        fd = ot_open_file(path, O_RDONLY | O_NOFOLLOW, NULL);
    }
    if (fd >= 0 && fstat(fd, &info) == 0 && is_counter(&info)) {
        void *map = mmap(NULL, COUNTER, protection, MAP_SHARED, fd, 0);
        s->commits = map == MAP_FAILED ? NULL : map;
        s->counts = s->commits && protection & PROT_WRITE;
    }
    if (fd >= 0)
        close(fd);
}

int ot_sight_open(const char *path, ot_sight **sight, optune_err *err)
{
    ot_text name = {0};
    struct stat info;
    ot_text_printf(&name, "%s/data.mdb", path);
    ot_sight *s = ot_alloc(sizeof *s);
    s->data = name.s;
    int status = ot_peek_open(s->data, &s->peek, err);
    if (status >= 0 && stat(s->data, &info) < 0)
        status = ot_place_refused(path, "open", errno, err);
    if (status < 0) {
        ot_sight_close(s);
        return status;
    }
    s->device = info.st_dev;
    s->inode = info.st_ino;
    ot_sight_look(s);
    *sight = s;
    return OPTUNE_OK;
}

void ot_sight_share(ot_sight *s, const char *path)
{
    ot_text commits = {0};
    ot_text_printf(&commits, "%s/" OT_COUNTER, path);
    map_commits(s, commits.s);
    ot_text_release(&commits);
    ot_sight_look(s);
}

void ot_sight_close(ot_sight *s)
{
    if (!s)
        return;
    if (s->commits)
        munmap(s->commits, sizeof *s->commits);
    ot_peek_close(s->peek);
    free(s->data);
    free(s);
}

ot_peek *ot_sight_peek(const ot_sight *s)
{
    return s->peek;
}

/* Two threads look at once, and the one that saw less may be the last to say so. */
static void raise_to(_Atomic int64_t *at, int64_t value)
{
    int64_t was = atomic_load(at);
    while (was < value && !atomic_compare_exchange_weak(at, &was, value))
        ;
}

bool ot_sight_look(ot_sight *s)
{
    struct stat info;
    const int64_t commits = s->commits ? (int64_t)atomic_load(s->commits) : 0;
    /* Read in front of the look: another thread may see the file grow between the two. */
    const int64_t before = atomic_load(&s->last), least = atomic_load(&s->size);
    const bool there = stat(s->data, &info) == 0 && info.st_ino == s->inode &&
                       info.st_dev == s->device && info.st_size >= least;
    const int64_t last = there ? ot_peek_last(s->peek) : -1;
    if (!there || (last < before && ot_peek_last(s->peek) < before)) {
        /* Another look, as a meta page may have been written during the first. */
        atomic_store(&s->gone, true);
        return false;
    }
    if (last >= before) {
        raise_to(&s->size, info.st_size);
        raise_to(&s->last, last);
        raise_to(&s->seen, commits); /* behind `last`, which is no older */
    }
    atomic_store(&s->looked_ms, coarse_ms());
    return !atomic_load(&s->gone);
}

bool ot_sight_here(const ot_sight *s)
{
    return !atomic_load(&s->gone);
}

bool ot_sight_whole(ot_sight *s)
{
    const int64_t least = atomic_load(&s->size); /* in front of the look, as above */
    if (!atomic_load(&s->gone) && ot_peek_size(s->peek) < least)
        atomic_store(&s->gone, true);
    return !atomic_load(&s->gone);
}

static bool looked_lately(const ot_sight *s)
{
    const int64_t ago = coarse_ms() - atomic_load(&s->looked_ms);
    return ago >= 0 && ago < OT_LOOK_MS;
}

/* Or nobody would say so: an older version's store, which has no counter. */
static bool has_news(const ot_sight *s)
{
    return !s->commits || (int64_t)atomic_load(s->commits) != atomic_load(&s->seen);
}

bool ot_sight_gone(ot_sight *s)
{
    const bool news = has_news(s);
    return atomic_load(&s->gone) || ((news || !looked_lately(s)) && !ot_sight_look(s));
}

/* A writer that was killed between its commit and the count, and one of a version that did not
 * count, are seen when the file is looked at. */
int64_t ot_sight_last(ot_sight *s)
{
    if (has_news(s) || !looked_lately(s))
        ot_sight_look(s);
    return atomic_load(&s->last);
}

void ot_sight_count(ot_sight *s)
{
    if (s->counts)
        atomic_fetch_add(s->commits, 1);
}
