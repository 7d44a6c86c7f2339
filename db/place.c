/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory that a store is in, as far as it concerns the system and not LMDB: whether its
 * file system will do (on a network file system LMDB loses data silently), making it, and finding
 * it. What the system refuses is said here with its remedy.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/remedy.h"
#include "db/kv.h"

/* ---- the file system --------------------------------------------------------------------- */

enum { FUSE_MAGIC = 0x65735546 };

static const struct {
    int64_t magic;
    const char *name;
} refused_places[] = {
    {0x6969, "NFS"},       {0x517b, "SMB"},          {0xff534d42, "CIFS"},
    {0xfe534d42, "SMB2"},  {0x0bd00bd0, "Lustre"},   {0x47504653, "GPFS"},
    {0x01021997, "9p"},    {0x5346414f, "AFS"},      {0x6b414653, "AFS"},
    {0x73757245, "Coda"},  {0x00c36400, "Ceph"},     {0x7461636f, "OCFS2"},
    {0x01161970, "GFS2"},  {0x564c, "NCP"},          {0x19830326, "BeeGFS"},
    {0xaad7aaea, "PanFS"}, {0x20030528, "OrangeFS"}, {0x786f4256, "VirtualBox share"},
};

/* FUSE may be anything; these are known to be local. */
static const char *const local_fuse[] = {"fuseblk", "fuse.fuse-overlayfs", "fuse.gocryptfs",
                                         "fuse.encfs", "fuse.bindfs"};

/* The type of the mounted file system that holds `path`, from the kernel's own table. */
static void mount_type(const char *path, char *type, size_t size)
{
    struct stat info;
    FILE *table = fopen("/proc/self/mountinfo", "re");
    if (!table)
        return;
    char *line = NULL;
    size_t room = 0;
    while (stat(path, &info) == 0 && getline(&line, &room, table) > 0) {
        unsigned device_major, device_minor;
        const char *rest = strstr(line, " - ");
        if (!rest || sscanf(line, "%*d %*d %u:%u", &device_major, &device_minor) != 2 ||
            makedev(device_major, device_minor) != info.st_dev)
            continue;
        snprintf(type, size, "%.*s", (int)strcspn(rest + 3, " "), rest + 3);
        break;
    }
    free(line);
    fclose(table);
}

static void place_of(const char *path, ot_place *place)
{
    struct statfs info;
    *place = (ot_place){.magic = -1};
    if (statfs(path, &info) < 0)
        return;
    place->magic = (int64_t)info.f_type & 0xffffffff;
    if (place->magic == FUSE_MAGIC)
        mount_type(path, place->type, sizeof(place->type));
}

void (*ot_place_of)(const char *path, ot_place *place) = place_of;

static int refuse_place(const char *path, const char *name, optune_err *err)
{
    return optune_fail(err, OPTUNE_ESTORE,
                       "the database cannot be on a network file system, and '%s' is on %s; "
                       "choose a directory on a local disk with --db or OPTUNE_DB (machines "
                       "share records by `optune hub`, also by way of a folder there)",
                       path, name);
}

int ot_check_place(const char *path, optune_err *err)
{
    ot_place place;
    ot_place_of(path, &place);
    for (int i = 0; i < OT_COUNT(refused_places); i++)
        if (place.magic == refused_places[i].magic)
            return refuse_place(path, refused_places[i].name, err);
    if (place.magic != FUSE_MAGIC)
        return OPTUNE_OK;
    for (int i = 0; i < OT_COUNT(local_fuse); i++)
        if (strcmp(place.type, local_fuse[i]) == 0)
            return OPTUNE_OK;
    return refuse_place(path, *place.type ? place.type : "fuse", err);
}

/* ---- the directory ----------------------------------------------------------------------- */

/* A link to what is not there is no database that nobody made yet: a disk may be missing. */
static int check_link(const char *path, optune_err *err)
{
    struct stat info;
    char target[256];
    if (lstat(path, &info) < 0 || !S_ISLNK(info.st_mode) || stat(path, &info) == 0 ||
        errno != ENOENT)
        return OPTUNE_OK;
    const ssize_t n = readlink(path, target, sizeof target - 1);
    target[n < 0 ? 0 : n] = '\0';
    return optune_fail(
        err, OPTUNE_ESTORE,
        "'%s' is a symbolic link to '%s', which is not there: mount or make that, "
        "or remove the link",
        path, target);
}

int ot_place_make(const char *path, optune_err *err)
{
    OT_RETURN_UNLESS_OK(check_link(path, err));
    optune_err why = {0};
    if (ot_make_shared_dirs(path, &why) < 0)
        return optune_fail(err, OPTUNE_ESTORE,
                           "%s; --db DIR, or OPTUNE_DB, names another database", why.text);
    return ot_check_place(path, err);
}

int ot_place_fill(int fd, int64_t bytes)
{
    struct stat info;
    int flags;
    if (fstat(fd, &info) < 0)
        return errno;
    if (info.st_size == 0 && ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0) {
        flags |= FS_NOCOW_FL;
        (void)ioctl(fd, FS_IOC_SETFLAGS,
                    &flags); /* others have no such flag, or no need of it */
    }
    if (fallocate(fd, 0, 0, info.st_size ? info.st_size : bytes) == 0)
        return 0;
    return errno == ENOSPC || errno == EDQUOT ? errno : 0;
}

int ot_place_find(const char *dir, const char *path, const char *data, optune_err *err)
{
    if (!ot_exists(data) && (errno == ENOENT || errno == ENOTDIR)) {
        OT_RETURN_UNLESS_OK(check_link(dir, err));
        OT_RETURN_UNLESS_OK(check_link(path, err));
        return optune_fail(err, OPTUNE_ENOENT, "there is no database in '%s'", dir);
    }
    return ot_check_place(path, err);
}

/* ---- failing ----------------------------------------------------------------------------- */

int ot_place_damaged(const char *dir, const char *why, optune_err *err)
{
    return optune_fail(err, OPTUNE_EDAMAGED,
                       "%s; the logs are whole: `optune db rebuild --db '%s'` makes it anew "
                       "from them",
                       why, dir);
}

int ot_place_sound(const char *dir, const char *data, ot_check_for to, struct ot_vetted *vetted,
                   optune_err *err)
{
    const int status = ot_check_pages(data, to, vetted, err);
    return status == OPTUNE_EDAMAGED && err ? ot_place_damaged(dir, err->text, err) : status;
}

/* LMDB calls a write that a full disk cut short an input or output error. */
static bool is_full(const char *path)
{
    enum { LEAST_BYTES = 64 << 10 };
    struct statvfs disk;
    return statvfs(path, &disk) == 0 && disk.f_bavail * disk.f_frsize < LEAST_BYTES;
}

/* `ulimit -f` cuts writes short, too. */
static bool is_limited(void)
{
    struct rlimit most;
    return getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY;
}

/* Somebody else's in a folder that a group shares, made so that the group may not write to it: his
 * umask was for a folder of his own. */
static bool is_kept_from_group(const char *path, struct stat *info)
{
    struct stat around;
    ot_text parent = {0};
    const char *slash = strrchr(path, '/');
    ot_text_printf(&parent, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    const bool kept = stat(path, info) == 0 && stat(parent.s, &around) == 0 &&
                      info->st_uid != geteuid() && !(info->st_mode & S_IWGRP) &&
                      (around.st_mode & S_IWGRP) && info->st_gid == around.st_gid;
    ot_text_release(&parent);
    return kept;
}

int ot_place_open(const char *path)
{
    enum { TRIES = 25, PAUSE_US = 10000, FRESH_S = 2 };
    struct stat info;
    bool last = false; /* it may just have been shared */
    for (int i = 1;; i++) {
        const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0664);
        if (fd >= 0 || errno != EACCES || last || i == TRIES)
            return fd;
        last = !is_kept_from_group(path, &info) || time(NULL) - info.st_ctime > FRESH_S;
        if (!last)
            usleep(PAUSE_US);
    }
}

int ot_place_refused(const char *path, const char *doing, int number, optune_err *err)
{
    struct stat info;
    if (number == EACCES && is_kept_from_group(path, &info))
        return optune_fail(err, OPTUNE_ESTORE,
                           "cannot %s database '%s': %s; user %d made it, in a folder of the "
                           "group, so that the group may not write there: he can mend it with "
                           "`chmod -R g+rwX`, and `chmod g+s` of its folders keeps it so",
                           doing, path, strerror(number), (int)info.st_uid);
    if (number == EIO && is_full(path))
        number = ENOSPC;
    else if ((number == EIO || number == ENOSPC) && is_limited() && !is_full(path))
        number = EFBIG;
    const char *remedy = ot_errno_remedy(number);
    if (number == EACCES || number == EPERM || number == EROFS)
        remedy = "; choose another directory with --db, or be given the right to";
    else if (number == ENOSPC || number == EDQUOT)
        remedy = "; free some, nothing stored before is lost";
    else if (number == ENOLCK || number == ESTALE || number == ENOSYS || number == EOPNOTSUPP)
        remedy =
            "; its file system will not do: choose a directory on a local disk with --db or "
            "OPTUNE_DB";
    else if (number == EAGAIN)
        remedy = "; a process of another container has this one's number: try again when it is "
                 "done, or give each a database of its own";
    return optune_fail(err, OPTUNE_ESTORE, "cannot %s database '%s': %s%s", doing, path,
                       strerror(number), remedy);
}
