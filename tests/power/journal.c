/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into a program, writes down what it asks of the disk under one folder, in order: bytes
 * written, lengths, names made and taken away, and what was waited for until it was safe. From this
 * power_cut.py makes what a power cut at any moment could have left. Nothing is changed or held up.
 *
 *   OPTUNE_POWER_ROOT     the folder, as its true path
 *   OPTUNE_POWER_JOURNAL  a file, appended to: kind (1), lengths of both texts and of the bytes
 *                         (3 x 4), an offset (8), then the texts and the bytes
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define REAL(name) ((__typeof__(&name))real(#name))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *real(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

static int journal(void)
{
    static int fd = -1;
    static pid_t opened;
    const char *path = getenv("OPTUNE_POWER_JOURNAL");
    if (path && opened != getpid()) {
        fd = REAL(open)(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        opened = getpid();
    }
    return fd;
}

/* The path inside of the folder; NULL: it is elsewhere. */
static const char *inside(const char *path)
{
    const char *root = getenv("OPTUNE_POWER_ROOT");
    const size_t n = root ? strlen(root) : 0;
    return n && strncmp(path, root, n) == 0 && path[n] == '/' ? path + n + 1 : NULL;
}

static const char *of_fd(int fd, char name[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t n = readlink(link, name, PATH_MAX - 1);
    name[n < 0 ? 0 : n] = 0;
    return n < 0 ? NULL : inside(name);
}

/* Where a name will be, its folder resolved. */
static const char *of_name(int dir, const char *path, char name[PATH_MAX])
{
    char folder[PATH_MAX], joined[2 * PATH_MAX], base[2 * PATH_MAX];
    if (*path == '/' || dir == AT_FDCWD) {
        snprintf(joined, sizeof joined, "%s", path);
    } else {
        char at[PATH_MAX], link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
        const ssize_t n = readlink(link, at, sizeof at - 1);
        at[n < 0 ? 0 : n] = 0;
        snprintf(joined, sizeof joined, "%s/%s", at, path);
    }
    char *slash = strrchr(joined, '/');
    snprintf(base, sizeof base, "%s", slash ? slash + 1 : joined);
    if (slash)
        *slash = 0;
    if (!realpath(slash ? (*joined ? joined : "/") : ".", folder))
        return NULL;
    if ((size_t)snprintf(name, PATH_MAX, "%s/%s", folder, base) >= PATH_MAX)
        return NULL;
    return inside(name);
}

static void note(char kind, const char *path, const char *other, uint64_t offset,
                 const struct iovec *part, int parts, size_t n)
{
    if (!path)
        return;
    const int saved = errno;
    const uint32_t lengths[3] = {(uint32_t)strlen(path), other ? (uint32_t)strlen(other) : 0,
                                 (uint32_t)n};
    const size_t size = 1 + sizeof lengths + 8 + lengths[0] + lengths[1] + n;
    char *bytes = malloc(size), *at = bytes;
    if (!bytes)
        abort();
    *at++ = kind;
    memcpy(at, lengths, sizeof lengths);
    at += sizeof lengths;
    memcpy(at, &offset, 8);
    at += 8;
    memcpy(at, path, lengths[0]);
    at += lengths[0];
    if (other)
        memcpy(at, other, lengths[1]);
    at += lengths[1];
    for (int i = 0; i < parts && n; i++) {
        const size_t k = part[i].iov_len < n ? part[i].iov_len : n;
        memcpy(at, part[i].iov_base, k);
        at += k;
        n -= k;
    }
    if (REAL(write)(journal(), bytes, size) != (ssize_t)size)
        abort();
    free(bytes);
    errno = saved;
}

static void note_written(int fd, int64_t offset, const struct iovec *part, int parts, ssize_t n)
{
    char name[PATH_MAX];
    struct stat info;
    if (n <= 0)
        return;
    const char *path = of_fd(fd, name);
    const int flags = fcntl(fd, F_GETFL);
    if (path && offset < 0)
        offset = flags & O_APPEND ? (fstat(fd, &info) == 0 ? info.st_size - n : 0)
                                  : lseek(fd, 0, SEEK_CUR) - n;
    note('w', path, NULL, (uint64_t)offset, part, parts, (size_t)n);
    if (flags & O_DSYNC)
        note('s', path, NULL, 0, NULL, 0, 0);
}

/* ---- writing ----------------------------------------------------------------------------- */

#define ONE_AT_A_TIME(...)                                                                     \
    pthread_mutex_lock(&lock);                                                                 \
    __VA_ARGS__;                                                                               \
    pthread_mutex_unlock(&lock)

EXPORT ssize_t write(int fd, const void *data, size_t n)
{
    const struct iovec part = {(void *)(uintptr_t)data, n};
    ssize_t done;
    ONE_AT_A_TIME(done = REAL(write)(fd, data, n); note_written(fd, -1, &part, 1, done));
    return done;
}

EXPORT ssize_t pwrite64(int fd, const void *data, size_t n, off64_t offset)
{
    const struct iovec part = {(void *)(uintptr_t)data, n};
    ssize_t done;
    ONE_AT_A_TIME(done = REAL(pwrite64)(fd, data, n, offset);
                  note_written(fd, offset, &part, 1, done));
    return done;
}

EXPORT ssize_t pwrite(int fd, const void *data, size_t n, off_t offset)
{
    return pwrite64(fd, data, n, offset);
}

EXPORT ssize_t writev(int fd, const struct iovec *part, int parts)
{
    ssize_t done;
    ONE_AT_A_TIME(done = REAL(writev)(fd, part, parts);
                  note_written(fd, -1, part, parts, done));
    return done;
}

EXPORT ssize_t pwritev(int fd, const struct iovec *part, int parts, off_t offset)
{
    ssize_t done;
    ONE_AT_A_TIME(done = REAL(pwritev)(fd, part, parts, offset);
                  note_written(fd, offset, part, parts, done));
    return done;
}

EXPORT int ftruncate64(int fd, off64_t size)
{
    char name[PATH_MAX];
    int done;
    ONE_AT_A_TIME(done = REAL(ftruncate64)(fd, size);
                  if (done == 0) note('t', of_fd(fd, name), NULL, (uint64_t)size, NULL, 0, 0));
    return done;
}

EXPORT int ftruncate(int fd, off_t size)
{
    return ftruncate64(fd, size);
}

/* ---- waiting for the disk ---------------------------------------------------------------- */

EXPORT int fsync(int fd)
{
    char name[PATH_MAX];
    struct stat info;
    const int done = REAL(fsync)(fd);
    ONE_AT_A_TIME(if (done == 0 && fstat(fd, &info) == 0) {
        const char *path = of_fd(fd, name), *root = getenv("OPTUNE_POWER_ROOT");
        if (!path && root && strcmp(name, root) == 0)
            path = "";
        note(S_ISDIR(info.st_mode) ? 'd' : 's', path, NULL, 0, NULL, 0, 0);
    });
    return done;
}

EXPORT int fdatasync(int fd)
{
    char name[PATH_MAX];
    const int done = REAL(fdatasync)(fd);
    ONE_AT_A_TIME(if (done == 0) note('s', of_fd(fd, name), NULL, 0, NULL, 0, 0));
    return done;
}

/* ---- names ------------------------------------------------------------------------------- */

static int opened(int dir, const char *path, int flags, mode_t mode)
{
    char name[PATH_MAX];
    int fd;
    pthread_mutex_lock(&lock);
    const char *in = flags & (O_CREAT | O_TRUNC) ? of_name(dir, path, name) : NULL;
    struct stat info;
    const int there = in ? REAL(fstatat)(dir, path, &info, 0) == 0 : 0;
    fd = REAL(openat)(dir, path, flags, mode);
    if (fd >= 0 && in && !there)
        note('c', in, NULL, 0, NULL, 0, 0);
    else if (fd >= 0 && in && flags & O_TRUNC)
        note('t', in, NULL, 0, NULL, 0, 0);
    pthread_mutex_unlock(&lock);
    return fd;
}

#define MODE(flags)                                                                            \
    mode_t mode = 0;                                                                           \
    if ((flags) & O_CREAT) {                                                                   \
        va_list list;                                                                          \
        va_start(list, flags);                                                                 \
        mode = (mode_t)va_arg(list, int);                                                      \
        va_end(list);                                                                          \
    }

EXPORT int open(const char *path, int flags, ...)
{
    MODE(flags)
    return opened(AT_FDCWD, path, flags, mode);
}

EXPORT int open64(const char *path, int flags, ...)
{
    MODE(flags)
    return opened(AT_FDCWD, path, flags, mode);
}

EXPORT int openat(int dir, const char *path, int flags, ...)
{
    MODE(flags)
    return opened(dir, path, flags, mode);
}

EXPORT int openat64(int dir, const char *path, int flags, ...)
{
    MODE(flags)
    return opened(dir, path, flags, mode);
}

EXPORT FILE *fopen(const char *path, const char *how)
{
    char name[PATH_MAX];
    pthread_mutex_lock(&lock);
    const char *in = *how == 'w' ? of_name(AT_FDCWD, path, name) : NULL;
    FILE *file = REAL(fopen)(path, how);
    if (file && in) /* its bytes are not seen: nobody keeps what matters so */
        note('?', in, NULL, 0, NULL, 0, 0);
    pthread_mutex_unlock(&lock);
    return file;
}

EXPORT FILE *fopen64(const char *path, const char *how)
{
    return fopen(path, how);
}

static void note_names(char kind, int from_dir, const char *from, int to_dir, const char *to)
{
    char a[PATH_MAX], b[PATH_MAX];
    const char *one = of_name(from_dir, from, a), *two = to ? of_name(to_dir, to, b) : NULL;
    note(kind, one, two, 0, NULL, 0, 0);
}

EXPORT int rename(const char *from, const char *to)
{
    int done;
    ONE_AT_A_TIME(done = REAL(rename)(from, to);
                  if (done == 0) note_names('r', AT_FDCWD, from, AT_FDCWD, to));
    return done;
}

EXPORT int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    int done;
    ONE_AT_A_TIME(done = REAL(renameat)(from_dir, from, to_dir, to);
                  if (done == 0) note_names('r', from_dir, from, to_dir, to));
    return done;
}

/* Flag 2 exchanges the two. */
EXPORT int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    int done;
    ONE_AT_A_TIME(done = REAL(renameat2)(from_dir, from, to_dir, to, flags);
                  if (done == 0) note_names(flags & 2 ? 'x' : 'r', from_dir, from, to_dir, to));
    return done;
}

EXPORT int link(const char *from, const char *to)
{
    int done;
    ONE_AT_A_TIME(done = REAL(link)(from, to);
                  if (done == 0) note_names('l', AT_FDCWD, from, AT_FDCWD, to));
    return done;
}

EXPORT int mkdir(const char *path, mode_t mode)
{
    int done;
    ONE_AT_A_TIME(done = REAL(mkdir)(path, mode);
                  if (done == 0) note_names('m', AT_FDCWD, path, 0, NULL));
    return done;
}

EXPORT int mkdirat(int dir, const char *path, mode_t mode)
{
    int done;
    ONE_AT_A_TIME(done = REAL(mkdirat)(dir, path, mode);
                  if (done == 0) note_names('m', dir, path, 0, NULL));
    return done;
}

EXPORT int unlink(const char *path)
{
    int done;
    ONE_AT_A_TIME(done = REAL(unlink)(path);
                  if (done == 0) note_names('u', AT_FDCWD, path, 0, NULL));
    return done;
}

EXPORT int rmdir(const char *path)
{
    int done;
    ONE_AT_A_TIME(done = REAL(rmdir)(path);
                  if (done == 0) note_names('u', AT_FDCWD, path, 0, NULL));
    return done;
}

EXPORT int unlinkat(int dir, const char *path, int flags)
{
    int done;
    ONE_AT_A_TIME(done = REAL(unlinkat)(dir, path, flags);
                  if (done == 0) note_names('u', dir, path, 0, NULL));
    return done;
}

EXPORT int remove(const char *path)
{
    int done;
    ONE_AT_A_TIME(done = REAL(remove)(path);
                  if (done == 0) note_names('u', AT_FDCWD, path, 0, NULL));
    return done;
}
