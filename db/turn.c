/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/remedy.h"
#include "db/turn.h"

enum { TURN_S = 60, NAP_US = 20000 };

bool ot_is_named(int fd, const char *path)
{
    struct stat opened, named;
    return fstat(fd, &opened) == 0 && lstat(path, &named) == 0 &&
           opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

static const char *remedy(int number)
{
    switch (number) {
    case EACCES:
    case EPERM:
    case EROFS:
        return "; be given the right to write there, or take a folder of your own";
    case ENOLCK:
    case ENOSYS:
    case EOPNOTSUPP:
        return "; its file system will not do: choose a directory on a local disk";
    default:
        return ot_errno_remedy(number);
    }
}

/* 1: it is locked, and still is what others lock; 0: not now. */
static int try(const char *path, int *fd, optune_err *err)
{
    if (*fd < 0) {
        *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
        if (*fd < 0)
            return optune_fail(err, errno == ENOENT ? OPTUNE_ENOENT : OPTUNE_EIO,
                               "cannot open '%s': %s%s", path, strerror(errno), remedy(errno));
        ot_made(*fd, path);
    }
    const int got = ot_lock_at_once(*fd);
    if (got < 0)
        return optune_fail(err, OPTUNE_EIO, "cannot lock '%s': %s%s", path, strerror(-got),
                           remedy(-got));
    if (ot_is_named(*fd, path))
        return got;
    close(*fd);
    *fd = -1;
    return 0;
}

int ot_turn_take(const char *path, const atomic_bool *stop, int *fd, optune_err *err)
{
    const double last = ot_now() + TURN_S;
    int status;
    *fd = -1;
    while ((status = try(path, fd, err)) == 0) {
        if (stop && atomic_load(stop))
            status = optune_fail(err, OPTUNE_EINTERRUPTED, "interrupted");
        else if (ot_now() > last)
            status = optune_fail(err, OPTUNE_ETIMEOUT, "another process holds '%s'", path);
        if (status < 0)
            break;
        usleep(NAP_US);
    }
    if (status == 1)
        return OPTUNE_OK;
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    return status;
}
