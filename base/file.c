/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files and directories: reading with a limit, writing so that a reader sees the old text or
 * the new one and never half of it, finding programs and the place this code was loaded from.
 * No function here changes the working directory or the environment.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/remedy.h"

static int make_dirs(const char *path, bool shared, optune_err *err)
{
    char *part = ot_strdup(path);
    int status = OPTUNE_OK;
    for (char *at = part; status == OPTUNE_OK && *at;) {
        at += strspn(at, "/");
        at += strcspn(at, "/");
        char kept = *at;
        *at = 0;
        struct stat info;
        const bool made = mkdir(part, 0777) == 0;
        if (made && shared)
            ot_made_at(part);
        if (!made && (errno != EEXIST || stat(part, &info) < 0 ||
                      (!S_ISDIR(info.st_mode) && (errno = ENOTDIR))))
            status = optune_fail(err, OPTUNE_EIO, "cannot make directory '%s': %s", part,
                                 strerror(errno));
        *at = kept;
    }
    free(part);
    return status;
}

int ot_make_dirs(const char *path, optune_err *err)
{
    return make_dirs(path, false, err);
}

int ot_make_shared_dirs(const char *path, optune_err *err)
{
    return make_dirs(path, true, err);
}

static int cannot_open(const char *path, int why, optune_err *err)
{
    return optune_fail(err, why == ENOENT ? OPTUNE_ENOENT : OPTUNE_EIO,
                       "cannot open '%s': %s%s", path, strerror(why), ot_errno_remedy(why));
}

static int no_file(const char *path, int flags, const struct stat *info, optune_err *err)
{
    const char *what = S_ISFIFO(info->st_mode)   ? "a pipe"
                       : S_ISDIR(info->st_mode)  ? "a directory"
                       : S_ISSOCK(info->st_mode) ? "a socket"
                                                 : "a device";
    return optune_fail(err, flags & O_CREAT ? OPTUNE_EIO : OPTUNE_EDAMAGED,
                       "cannot open '%s': it is %s, not a file", path, what);
}

/* With O_NONBLOCK open(2) does not wait for the other end of a pipe. */
static int open_at_once(const char *path, int flags, struct stat *info, optune_err *err)
{
    const int fd = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
    if (fd >= 0 && fstat(fd, info) == 0)
        return fd;
    const int why = errno;
    if (fd >= 0)
        close(fd);
    /* ENXIO: a pipe that nobody reads, or a socket. */
    if (why == ENXIO && stat(path, info) == 0 && !S_ISREG(info->st_mode))
        return no_file(path, flags, info, err);
    return cannot_open(path, why, err);
}

int ot_open_file(const char *path, int flags, optune_err *err)
{
    struct stat info;
    const int fd = open_at_once(path, flags & ~O_TRUNC, &info, err);
    if (fd < 0)
        return fd;
    if (!S_ISREG(info.st_mode)) {
        close(fd);
        return no_file(path, flags, &info, err);
    }
    if (flags & O_TRUNC && ftruncate(fd, 0) < 0) {
        const int why = errno;
        close(fd);
        return cannot_open(path, why, err);
    }
    return fd;
}

/* Until there is something, or its end: that of a pipe is when nobody may write to it any more. */
static int wait_for(int fd, const char *path, optune_err *err)
{
    enum { PATIENCE_S = 60 };
    struct pollfd one = {.fd = fd, .events = POLLIN};
    int ready;
    while ((ready = poll(&one, 1, PATIENCE_S * 1000)) < 0 && errno == EINTR)
        ;
    return ready ? OPTUNE_OK
                 : optune_fail(err, OPTUNE_EIO, "nobody wrote to '%s' for %d s", path,
                               PATIENCE_S);
}

static int read_all(int fd, bool waits, const char *path, ot_text *to, size_t limit,
                    optune_err *err)
{
    int status = OPTUNE_OK;
    char piece[16384];
    while (status >= 0) {
        status = waits ? wait_for(fd, path, err) : OPTUNE_OK;
        const ssize_t n = status < 0 ? 0 : read(fd, piece, sizeof(piece));
        if (n < 0 && (errno == EINTR || (waits && errno == EAGAIN)))
            continue;
        if (n < 0)
            status =
                optune_fail(err, OPTUNE_EIO, "cannot read '%s': %s", path, strerror(errno));
        if (n <= 0)
            break;
        if ((size_t)n > limit - to->n)
            status =
                optune_fail(err, OPTUNE_ELIMIT, "'%s' is longer than %zu bytes", path, limit);
        else
            ot_text_add_n(to, piece, (size_t)n);
    }
    return status;
}

int ot_read_file(const char *path, ot_text *to, size_t limit, optune_err *err)
{
    ot_text_clear(to);
    const int fd = ot_open_file(path, O_RDONLY, err);
    if (fd < 0)
        return fd;
    const int status = read_all(fd, false, path, to, limit, err);
    close(fd);
    return status;
}

int ot_read_input(const char *path, ot_text *to, size_t limit, optune_err *err)
{
    struct stat info;
    ot_text_clear(to);
    const int fd = open_at_once(path, O_RDONLY, &info, err);
    if (fd < 0)
        return fd;
    const int status = read_all(fd, !S_ISREG(info.st_mode), path, to, limit, err);
    close(fd);
    return status;
}

static bool write_all(int fd, const char *data, size_t n)
{
    while (n > 0) {
        ssize_t written = write(fd, data, n);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        data += written;
        n -= (size_t)written;
    }
    return true;
}

typedef enum keeping { CACHED, LASTING, SHARED } keeping;

/* Into a new file, which then takes the place of what was there. */
static bool replace(const char *path, const char *data, size_t n, keeping how)
{
    const bool lasting = how != CACHED;
    static atomic_int serial;
    ot_text fresh = {0};
    ot_text_printf(&fresh, "%s.%ld.%d.tmp", path, (long)getpid(), atomic_fetch_add(&serial, 1));
    const mode_t mode = lasting ? 0666 : 0600; /* what is cached nobody else may change */
    const int fd = open(fresh.s, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd >= 0 && how == SHARED)
        ot_made(fd, fresh.s);
    bool good = fd >= 0 && write_all(fd, data, n) && (!lasting || fsync(fd) == 0);
    int why = errno;
    if (fd >= 0 && close(fd) < 0 && good) {
        good = false;
        why = errno;
    }
    if (good && rename(fresh.s, path) < 0) {
        good = false;
        why = errno;
    }
    if (!good && fd >= 0)
        unlink(fresh.s);
    ot_text_release(&fresh);
    errno = why;
    return good;
}

/* A pipe is opened once somebody reads it; then writing waits for him as it always does. */
static int open_into(const char *path)
{
    enum { TRIES = 200, PAUSE_US = 50000 };
    int fd = -1;
    for (int i = 0; i < TRIES; i++) {
        fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd >= 0 || errno != ENXIO)
            break;
        usleep(PAUSE_US);
    }
    if (fd >= 0)
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    return fd;
}

static bool write_into(const char *path, const char *data, size_t n)
{
    const int fd = open_into(path);
    if (fd < 0)
        return false;
    const bool good = write_all(fd, data, n);
    const int why = errno;
    close(fd);
    errno = why;
    return good;
}

/* A device or a pipe stays what it is, and so does a link: what it names is written. Not so where
 * several users write: one's link may name what only another may write to. */
static int write_file(const char *path, const void *data, size_t n, keeping how,
                      optune_err *err)
{
    struct stat info;
    char *named = how == SHARED ? NULL : realpath(path, NULL);
    const char *place = named ? named : path;
    const bool special = how != SHARED && stat(place, &info) == 0 && !S_ISREG(info.st_mode) &&
                         !S_ISDIR(info.st_mode);
    int status = OPTUNE_OK;
    if (!(special ? write_into(place, data, n) : replace(place, data, n, how))) {
        const int why = errno;
        status = optune_fail(err, OPTUNE_EIO, "cannot write '%s': %s%s", path,
                             special && why == ENXIO ? "it is a pipe that nobody reads"
                                                     : strerror(why),
                             ot_write_remedy(path, why));
    }
    free(named);
    return status;
}

int ot_write_file(const char *path, const void *data, size_t n, optune_err *err)
{
    return write_file(path, data, n, LASTING, err);
}

int ot_write_shared(const char *path, const void *data, size_t n, optune_err *err)
{
    return write_file(path, data, n, SHARED, err);
}

int ot_write_cached(const char *path, const void *data, size_t n, optune_err *err)
{
    return write_file(path, data, n, CACHED, err);
}

int ot_lock_at_once(int fd)
{
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return 1;
    return errno == EWOULDBLOCK || errno == EINTR ? 0 : -errno;
}

void ot_sync_path(const char *path)
{
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
}

void ot_path_from_root(const char *path, size_t n, size_t most, ot_text *to)
{
    char folder[4096];
    if (n && *path != '/' && getcwd(folder, sizeof folder) && *folder == '/' &&
        strlen(folder) + 1 + n <= most)
        ot_text_printf(to, "%s/", strcmp(folder, "/") ? folder : "");
    ot_text_add_n(to, path, n);
}

bool ot_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *place)
{
    (void)info;
    (void)type;
    (void)place;
    remove(path);
    return 0;
}

void ot_remove_tree(const char *path)
{
    /* Contents before their directory; links are removed, not followed. */
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Directories of processes that were killed: theirs is `optune-<pid>-...`, the process is gone and
 * nothing was written for a day (another machine or container may share this directory). */
static void remove_leftovers(const char *parent)
{
    DIR *dir = opendir(parent);
    const time_t now = time(NULL);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        long pid;
        struct stat info;
        if (sscanf(entry->d_name, "optune-%ld-", &pid) != 1 || pid <= 0 ||
            kill((pid_t)pid, 0) == 0 || errno != ESRCH)
            continue;
        ot_text path = {0};
        ot_text_printf(&path, "%s/%s", parent, entry->d_name);
        if (lstat(path.s, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
            now - info.st_mtime > 24 * 3600)
            ot_remove_tree(path.s);
        ot_text_release(&path);
    }
    if (dir)
        closedir(dir);
}

int ot_temp_dir(char *path, size_t size, optune_err *err)
{
    const char *parent = ot_temp_parent();
    remove_leftovers(parent);
    ot_text name = {0};
    ot_text_printf(&name, "%s/optune-%ld-XXXXXX", parent, (long)getpid());
    int status = OPTUNE_OK;
    if (name.n >= size)
        status = optune_fail(err, OPTUNE_ELIMIT, "temporary directory '%s' has too long a name",
                             parent);
    else if (!mkdtemp(name.s))
        status = optune_fail(err, OPTUNE_EIO,
                             "cannot make a directory in '%s': %s; name a folder for temporary "
                             "files with TMPDIR",
                             parent, strerror(errno));
    if (status == OPTUNE_OK)
        ot_copy(path, size, name.s);
    ot_text_release(&name);
    return status;
}

/* The memory map has absolute paths, whatever argv[0] and the working directory are. */
static int mapped_dir(uintptr_t here, char *path, size_t size)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps)
        return OPTUNE_EIO;
    int status = OPTUNE_ENOENT;
    char *line = NULL;
    size_t room = 0;
    while (status == OPTUNE_ENOENT && getline(&line, &room, maps) > 0) {
        unsigned long low, high;
        char *file = strchr(line, '/');
        if (!file || sscanf(line, "%lx-%lx", &low, &high) != 2 || here < low || here >= high)
            continue;
        *strrchr(file, '/') = 0;
        status = ot_copy(path, size, *file ? file : "/") ? OPTUNE_OK : OPTUNE_ELIMIT;
    }
    free(line);
    fclose(maps);
    return status;
}

typedef struct holder {
    uintptr_t here;
    char file[PATH_MAX];
} holder;

static int holds(struct dl_phdr_info *object, size_t size, void *arg)
{
    (void)size;
    holder *h = arg;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        const uintptr_t low = (uintptr_t)(object->dlpi_addr + part->p_vaddr);
        if (part->p_type != PT_LOAD || h->here < low || h->here - low >= part->p_memsz)
            continue;
        const char *name = object->dlpi_name; /* "" of the program itself */
        if (!*name)
            name = (const char *)getauxval(AT_EXECFN);
        if (!name || !realpath(name, h->file))
            h->file[0] = '\0';
        return 1;
    }
    return 0;
}

/* As the dynamic loader knows it, which is all there is where no /proc is mounted: of a program
 * that was started by a relative path, from where it was started. */
static int loaded_dir(char *path, size_t size)
{
    holder h = {.here = (uintptr_t)&ot_self_dir};
    dl_iterate_phdr(holds, &h);
    if (!h.file[0])
        return OPTUNE_ENOENT;
    *strrchr(h.file, '/') = 0;
    return ot_copy(path, size, h.file[0] ? h.file : "/") ? OPTUNE_OK : OPTUNE_ELIMIT;
}

int ot_self_dir(char *path, size_t size)
{
    const int status = mapped_dir((uintptr_t)&ot_self_dir, path, size);
    return status == OPTUNE_EIO ? loaded_dir(path, size) : status;
}

static bool is_program(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

bool ot_find_program(const char *name, char *path, size_t size)
{
    if (!*name)
        return false;
    if (strchr(name, '/'))
        return is_program(name) && ot_copy(path, size, name);
    const char *list = getenv("PATH");
    if (!list)
        list = "/usr/local/bin:/usr/bin:/bin";
    bool found = false;
    ot_text candidate = {0};
    while (!found && *list) {
        size_t n = strcspn(list, ":");
        ot_text_clear(&candidate);
        ot_text_add_n(&candidate, list, n);
        ot_text_printf(&candidate, "/%s", name);
        /* An empty entry would mean the working directory, which is nobody's PATH. */
        found = n > 0 && is_program(candidate.s) && ot_copy(path, size, candidate.s);
        list += n + (list[n] == ':');
    }
    ot_text_release(&candidate);
    return found;
}
