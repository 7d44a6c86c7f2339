/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that several may use: whose a file is that was just made, by the folder that it is in or
 * the file whose place it takes. All by descriptor, and of nothing that has another name. A
 * database's owner may have put links into it for root to follow: none is.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/base.h"

enum { RIGHTS = 0777, GROUP_FILE = 060, GROUP_FOLDER = 070 };

/* The folder of `path`, if that very name in it is this file's: what is behind a link lies
 * elsewhere, and is not the folder's owner's to be given. */
static bool folder_of(int fd, const char *path, struct stat *folder)
{
    struct stat is, named;
    const char *slash = strrchr(path, '/');
    ot_text name = {0};
    ot_text_add_n(&name, slash ? path : ".",
                  slash && slash > path ? (size_t)(slash - path) : 1);
    const int in = open(name.s, O_PATH | O_DIRECTORY | O_CLOEXEC);
    ot_text_release(&name);
    const bool found =
        in >= 0 && fstat(in, folder) == 0 && fstat(fd, &is) == 0 &&
        fstatat(in, slash ? slash + 1 : path, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
        named.st_ino == is.st_ino && named.st_dev == is.st_dev;
    if (in >= 0)
        close(in);
    return found;
}

static bool is_own(int fd, struct stat *is)
{
    return fstat(fd, is) == 0 && is->st_uid == geteuid() &&
           (S_ISDIR(is->st_mode) || (S_ISREG(is->st_mode) && is->st_nlink == 1));
}

static void share(int fd, const char *path, bool empty)
{
    struct stat is, folder;
    /* Both times: a second name may come and go meanwhile. */
    if (!is_own(fd, &is) || !folder_of(fd, path, &folder) || !is_own(fd, &is) ||
        (empty && S_ISREG(is.st_mode) && is.st_size > 0))
        return;
    if (geteuid() == 0 && folder.st_uid != 0 && fchown(fd, folder.st_uid, folder.st_gid) == 0)
        is.st_gid = folder.st_gid;
    const mode_t shared = S_ISGID | S_IWGRP,
                 group = S_ISDIR(is.st_mode) ? S_ISGID | GROUP_FOLDER : GROUP_FILE;
    if ((folder.st_mode & shared) == shared && folder.st_gid == is.st_gid &&
        (is.st_mode & group) != group)
        (void)!fchmod(fd, (is.st_mode & 07777) | group);
}

/* A file that holds something was there before: somebody may have put it there for this. */
void ot_made(int fd, const char *path)
{
    share(fd, path, true);
}

void ot_made_at(const char *path)
{
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    share(fd, path, false);
    close(fd);
}

/* Who is named one by one; a file system that knows no such lists has none. */
static void keep_list(int fd, int was, const char *list)
{
    enum { MOST_LIST = 64 << 10 };
    char *value = ot_alloc(MOST_LIST);
    const ssize_t n = fgetxattr(was, list, value, MOST_LIST);
    if (n > 0)
        (void)!fsetxattr(fd, list, value, (size_t)n, 0);
    else if (n < 0 && errno == ENODATA)
        (void)!fremovexattr(fd, list); /* which its folder gave it */
    free(value);
}

int ot_stay_whose(int fd, int was)
{
    struct stat is, old;
    if (fstat(fd, &is) < 0 || fstat(was, &old) < 0)
        return errno;
    if ((is.st_uid != old.st_uid || is.st_gid != old.st_gid) &&
        fchown(fd, old.st_uid, old.st_gid) < 0 && is.st_gid != old.st_gid)
        (void)!fchown(fd, (uid_t)-1, old.st_gid); /* of a group that this one is of */
    keep_list(fd, was, "system.posix_acl_access");
    if (S_ISDIR(old.st_mode)) /* of what will be made in it */
        keep_list(fd, was, "system.posix_acl_default");
    if (fstat(fd, &is) < 0)
        return errno;
    const mode_t kept = S_ISDIR(old.st_mode) ? S_ISGID | RIGHTS : RIGHTS;
    const mode_t rights = old.st_mode & kept;
    const bool same = (is.st_mode & kept) == rights;
    return same || fchmod(fd, rights) == 0 ? 0 : errno;
}
