/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The advisory lock of a physical device: two runs that measure at once take turns. It
 * guards nothing but the quality of numbers, so when the file cannot be made, measuring
 * goes on.
 *
 * The one idea: flock on an open file, which the kernel drops with its holder, however that
 * ends; the file stays and is never removed, or two holders could lock two files of one
 * name.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "run/worker.h"

enum { LOOK_AGAIN_MS = 20 };

static int open_file(const char *key)
{
    const char *dir = getenv("XDG_RUNTIME_DIR");
    char hex[33], path[4096];
    ot_digest_hex(ot_digest_of(key, strlen(key)), hex);
    if (!dir || !*dir || access(dir, W_OK | X_OK) < 0)
        dir = "/tmp";
    if (snprintf(path, sizeof path, "%s/optune-%s.lock", dir, hex) >= (int)sizeof path)
        return -1;
    /* A sticky directory may refuse O_CREAT on a file of somebody else's. */
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT) {
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (fd >= 0)
            fchmod(fd, 0666); /* whatever the umask is: others must be able to wait */
    }
    return fd;
}

bool ot_worker_time_is_over(const ot_worker_options *options)
{
    return options && options->until && *options->until > 0 && ot_now() >= *options->until;
}

int ot_device_lock(const ot_worker_options *options, int *lock, optune_err *err)
{
    *lock = -1;
    const int fd = open_file(options->device->key);
    if (fd < 0)
        return OPTUNE_OK;
    const double since = ot_now();
    double told = since;
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            break;
        if (options->stop && atomic_load(options->stop)) {
            close(fd);
            return optune_fail(err, OPTUNE_EINTERRUPTED,
                               "interrupted while another run measures");
        }
        if (ot_worker_time_is_over(options)) {
            close(fd);
            return optune_fail(err, OPTUNE_EINTERRUPTED,
                               "the time is over while another run measures");
        }
        if (options->waiting && ot_now() - told >= 1) {
            told = ot_now();
            options->waiting(options->arg, told - since);
        }
        nanosleep(&(struct timespec){.tv_nsec = LOOK_AGAIN_MS * 1000000L}, NULL);
    }
    *lock = fd;
    return OPTUNE_OK;
}

void ot_device_unlock(int fd)
{
    if (fd >= 0)
        close(fd);
}
