/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two stores' folders change places, in one step, or in two where the file system cannot do it in
 * one: between the two, and if their process was killed there, DIR has no store, and whoever may
 * write finishes it. All under the write lock, but for the question.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/kv.h"

bool ot_swap_in_two_steps;

typedef struct places {
    ot_text store, made, old; /* DIR/store, DIR/swap/store, DIR/swap/store.old */
    ot_text gives_way;        /* the file DIR/swap/gives-way */
} places;

static places places_of(const char *dir)
{
    places p = {0};
    ot_text_printf(&p.store, "%s/store", dir);
    ot_text_printf(&p.made, "%s/" OT_SWAP_FOLDER "/store", dir);
    ot_text_printf(&p.old, "%s.old", p.made.s);
    ot_text_printf(&p.gives_way, "%s/" OT_SWAP_FOLDER "/gives-way", dir);
    return p;
}

static void places_release(places *p)
{
    ot_text_release(&p->store);
    ot_text_release(&p->made);
    ot_text_release(&p->old);
    ot_text_release(&p->gives_way);
}

/* Of a store; the last one makes it one. */
static const char *const files[] = {OT_COUNTER, "lock.mdb", "data.mdb"};

/* A folder without a store, and no link, which may lead anywhere. */
static bool is_emptied(const char *path)
{
    const int in = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const bool emptied = in >= 0 && faccessat(in, "data.mdb", F_OK, AT_SYMLINK_NOFOLLOW) < 0;
    if (in >= 0)
        close(in);
    return emptied;
}

static int move_files(const char *from, const char *to)
{
    ot_text was = {0}, is = {0};
    int rc = 0;
    for (int i = 0; i < OT_COUNT(files); i++) {
        ot_text_printf(&was, "%s/%s", from, files[i]);
        ot_text_printf(&is, "%s/%s", to, files[i]);
        rc = rename(was.s, is.s);
        ot_text_release(&was);
        ot_text_release(&is);
    }
    return rc;
}

/* A folder that can be emptied and not removed, as of a user's own overlay, takes the files. */
static int take_place(const places *p, const char *dir)
{
    int rc = rename(p->made.s, p->store.s);
    if (rc < 0 && ot_exists(p->gives_way.s) && is_emptied(p->store.s))
        rc = move_files(p->made.s, p->store.s);
    if (rc == 0) { /* the disk has it before it hears that nothing gives way any more */
        ot_sync_path(p->store.s);
        ot_sync_path(dir);
        unlink(p->gives_way.s);
    }
    return rc;
}

static bool has_data(const char *path)
{
    ot_text data = {0};
    ot_text_printf(&data, "%s/data.mdb", path);
    const bool has = ot_exists(data.s);
    ot_text_release(&data);
    return has;
}

/* As long as the old one has its data file it is the store: others may have written to it since. */
bool ot_swap_halfway(const char *dir)
{
    places p = places_of(dir);
    const bool halfway =
        has_data(p.made.s) && !has_data(p.store.s) &&
        (ot_exists(p.gives_way.s) || (!ot_exists(p.store.s) && ot_exists(p.old.s)));
    places_release(&p);
    return halfway;
}

void ot_swap_finish(const char *dir)
{
    places p = places_of(dir);
    if (ot_swap_halfway(dir))
        (void)!take_place(&p, dir);
    places_release(&p);
}

int ot_swap_begin(const char *dir, ot_text *work, ot_text *store, optune_err *err)
{
    struct stat info;
    ot_swap_finish(dir);
    places p = places_of(dir);
    const bool link = lstat(p.store.s, &info) == 0 && S_ISLNK(info.st_mode);
    places_release(&p);
    if (link)
        return optune_fail(err, OPTUNE_ESTORE,
                           "'%s/store' is a symbolic link, which a new store would replace: "
                           "link the database's folder instead",
                           dir);
    ot_text_printf(work, "%s/" OT_SWAP_FOLDER, dir);
    ot_text_printf(store, "%s/store", work->s);
    ot_remove_tree(work->s);
    if (mkdir(work->s, 0777) < 0)
        return ot_place_refused(work->s, "make", errno, err);
    ot_made_at(work->s);
    return OPTUNE_OK;
}

void ot_swap_sweep(const char *dir)
{
    ot_write_lock *turn = NULL, *lock = NULL;
    ot_text work = {0};
    ot_text_printf(&work, "%s/" OT_SWAP_FOLDER, dir);
    if (ot_exists(work.s) && ot_write_lock_open(dir, OT_SWAP_LOCK, &turn, NULL) >= 0 &&
        ot_write_lock_open(dir, OT_WRITE_LOCK, &lock, NULL) >= 0 && ot_write_lock_try(turn)) {
        if (ot_write_lock_try(lock)) {
            ot_swap_finish(dir);
            ot_remove_tree(work.s);
            ot_write_lock_give(lock);
        }
        ot_write_lock_give(turn);
    }
    ot_write_lock_close(turn);
    ot_write_lock_close(lock);
    ot_text_release(&work);
}

int64_t ot_swap_bytes(const char *path)
{
    struct stat info;
    ot_text data = {0};
    ot_text_printf(&data, "%s/data.mdb", path);
    const int64_t size = stat(data.s, &info) == 0 ? info.st_size : 0;
    ot_text_release(&data);
    return size;
}

static int in_two_steps(const places *p)
{
    if (rename(p->store.s, p->old.s) < 0 && errno != ENOENT)
        return -1;
    if (rename(p->made.s, p->store.s) == 0)
        return 0;
    const int error = errno;
    (void)!rename(p->old.s, p->store.s); /* the folder that it lies in is removed */
    errno = error;
    return -1;
}

/* A folder of a lower layer of an overlay (an image of a container) cannot change its name. It is
 * removed, its data file first, and with that it is no store any more; where the rest is cut short,
 * the file says that the new one takes its place, and the new one's files that of what is left. */
static int in_place_of(const places *p, const char *dir)
{
    const int fd = open(p->gives_way.s, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0664);
    if (fd < 0)
        return -1;
    fsync(fd);
    close(fd);
    ot_text work = {0}, data = {0};
    ot_text_printf(&work, "%.*s", (int)(strrchr(p->made.s, '/') - p->made.s), p->made.s);
    ot_sync_path(work.s);
    ot_text_printf(&data, "%s/data.mdb", p->store.s);
    int rc = unlink(data.s);
    if (rc == 0 || errno == ENOENT) {
        ot_remove_tree(p->store.s);
        rc = take_place(p, dir);
    }
    ot_text_release(&work);
    ot_text_release(&data);
    return rc;
}

/* Whoever may use the one may use the other. 0, or an errno. */
static int keep_whose(const char *made, const char *was)
{
    enum { LOOK = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC };
    const int fd = open(made, LOOK);
    const int old = fd < 0 ? -1 : open(was, LOOK);
    int rc = fd < 0 ? errno : 0;
    if (old >= 0)
        rc = ot_stay_whose(fd, old);
    else if (fd >= 0)
        ot_made_at(made);
    if (fd >= 0)
        close(fd);
    if (old >= 0)
        close(old);
    return rc;
}

static int keep_file(const places *p, const char *name)
{
    ot_text made = {0}, was = {0};
    ot_text_printf(&made, "%s/%s", p->made.s, name);
    ot_text_printf(&was, "%s/%s", p->store.s, name);
    const int rc = keep_whose(made.s, was.s);
    ot_text_release(&made);
    ot_text_release(&was);
    return rc;
}

static void make_lock_file(const places *p)
{
    ot_text path = {0};
    ot_text_printf(&path, "%s/lock.mdb", p->made.s);
    const int fd = open(path.s, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0664);
    if (fd >= 0) {
        (void)ot_place_fill(fd, OT_LOCK_BYTES);
        (void)!ftruncate(fd, OT_LOCK_BYTES); /* where blocks cannot be asked for */
        close(fd);
    }
    ot_text_release(&path);
}

/* Two files are made by whoever opens a store first. He has a umask of his own, or may only read:
 * so they are there before. What is empty he would share as its folder is: so they are filled.
 * Where they cannot be made, that is left to him. */
static int keep_all_whose(const places *p)
{
    if (!ot_sight_inherit(p->made.s, p->store.s)) {
        ot_sight_counter(p->made.s);
        (void)keep_file(p, OT_COUNTER);
    }
    make_lock_file(p);
    (void)keep_file(p, "lock.mdb");
    const int rc = keep_file(p, "data.mdb");
    return rc ? rc : keep_whose(p->made.s, p->store.s);
}

int ot_swap_exchange(const char *dir, optune_err *err)
{
    places p = places_of(dir);
    ot_text data = {0};
    ot_text_printf(&data, "%s/data.mdb", p.made.s);
    const int whose = keep_all_whose(&p);
    if (whose) {
        places_release(&p);
        ot_text_release(&data);
        return ot_place_refused(dir, "share a new store of", whose, err);
    }
    ot_sync_path(data.s);
    ot_sync_path(p.made.s);
    int rc = -1;
    errno = ENOSYS;
    if (!ot_swap_in_two_steps)
        rc = renameat2(AT_FDCWD, p.made.s, AT_FDCWD, p.store.s, RENAME_EXCHANGE);
    if (rc < 0 && (errno == ENOENT || errno == EINVAL || errno == ENOSYS))
        rc = in_two_steps(&p);
    if (rc < 0 && errno == EXDEV)
        rc = in_place_of(&p, dir);
    const int status =
        rc < 0 ? ot_place_refused(p.store.s, "put in place", errno, err) : OPTUNE_OK;
    ot_sync_path(dir);
    ot_text_release(&data);
    places_release(&p);
    return status;
}
