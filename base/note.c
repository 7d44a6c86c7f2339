/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A note is a file of its own in <cache>/notes, named by the digest of its circumstances, which it
 * has word for word in front of its text, behind a digest of all. Folder and file are to be the
 * user's, and nobody else may write to them: what a note says decides which records are believed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/home.h"
#include "base/note.h"

enum { MOST_BYTES = 64 << 10, MOST_NOTES = 32 };

/* Another form of these files, or of what is noted in them, has another. */
static const char form[] = "optune note 1 " OT_VERSION;

bool ot_file_identity(const char *path, ot_text *to)
{
    struct stat i;
    if (stat(path, &i) < 0)
        return false;
    ot_text_printf(to, "%llu:%llu:%lld:%lld.%09ld:%lld.%09ld", (unsigned long long)i.st_dev,
                   (unsigned long long)i.st_ino, (long long)i.st_size,
                   (long long)i.st_mtim.tv_sec, i.st_mtim.tv_nsec, (long long)i.st_ctim.tv_sec,
                   i.st_ctim.tv_nsec);
    return true;
}

/* ---- the folder -------------------------------------------------------------------------- */

static bool is_own(int fd, mode_t kind)
{
    struct stat info;
    return fstat(fd, &info) == 0 && (info.st_mode & S_IFMT) == kind &&
           info.st_uid == geteuid() && !(info.st_mode & 022);
}

/* -1: there is none that is ours. */
static int open_folder(const char *path)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || is_own(fd, S_IFDIR))
        return fd;
    close(fd);
    return -1;
}

static int make_folder(const char *cache, const char *path)
{
    if (ot_is_anothers(path) || ot_make_dirs(cache, NULL) < 0 ||
        (mkdir(path, 0700) < 0 && errno != EEXIST))
        return -1;
    return open_folder(path);
}

static int notes_folder(bool make)
{
    char cache[4096];
    if (!ot_cache_home(cache, sizeof cache))
        return -1;
    ot_text path = {0};
    ot_text_printf(&path, "%s/notes", cache);
    int fd = open_folder(path.s);
    if (fd < 0 && make)
        fd = make_folder(cache, path.s);
    ot_text_release(&path);
    return fd;
}

/* Those that were written last stay, and `latest`, whatever the clock says of it; what a killed
 * process left is one of the others some day. */
static void prune(int folder, const char *latest)
{
    for (;;) {
        const int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *all = fd < 0 ? NULL : fdopendir(fd);
        struct timespec oldest = {0};
        char name[256] = "";
        int n = 0;
        if (!all && fd >= 0)
            close(fd);
        for (const struct dirent *entry; all && (entry = readdir(all));) {
            struct stat info;
            if (entry->d_name[0] == '.' || strcmp(entry->d_name, latest) == 0 ||
                fstatat(folder, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) < 0 ||
                S_ISDIR(info.st_mode))
                continue;
            const struct timespec t = info.st_mtim;
            if (n++ == 0 || t.tv_sec < oldest.tv_sec ||
                (t.tv_sec == oldest.tv_sec && t.tv_nsec < oldest.tv_nsec)) {
                oldest = t;
                ot_copy(name, sizeof name, entry->d_name);
            }
        }
        if (all)
            closedir(all);
        if (n < MOST_NOTES || unlinkat(folder, name, 0) < 0)
            return;
    }
}

/* ---- a note ------------------------------------------------------------------------------ */

/* All of it but the digest in front. */
static void print(const char *name, const char *circumstances, const char *text, ot_text *to)
{
    ot_text_printf(to, "%s\n%s\n%s\n\n", form, name, circumstances);
    ot_text_add(to, text);
}

static void name_of(const char *name, const char *circumstances, char to[128])
{
    const char *const texts[] = {form, name, circumstances};
    char hex[33];
    ot_digest_hex(ot_digest_texts(texts, OT_COUNT(texts)), hex);
    snprintf(to, 128, "%.64s-%s", name, hex);
}

/* All of a plain file of ours; false: it is none, or too long for a note. */
static bool read_own(int folder, const char *name, ot_text *to)
{
    const int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool good = fd >= 0 && is_own(fd, S_IFREG);
    char piece[4096];
    for (ssize_t n = 1; good && n > 0;) {
        n = read(fd, piece, sizeof piece);
        good = n >= 0 && to->n + (size_t)n <= MOST_BYTES;
        if (good && n > 0)
            ot_text_add_n(to, piece, (size_t)n);
    }
    if (fd >= 0)
        close(fd);
    return good;
}

bool ot_note_read(const char *name, const char *circumstances, ot_text *to)
{
    char file[128], hex[33];
    ot_text all = {0}, front = {0};
    const int folder = notes_folder(false);
    if (folder < 0)
        return false;
    name_of(name, circumstances, file);
    bool good = read_own(folder, file, &all) && all.n > 33;
    close(folder);
    print(name, circumstances, "", &front);
    if (good) {
        ot_digest_hex(ot_digest_of(all.s + 33, all.n - 33), hex);
        good = !memchr(all.s, 0, all.n) && !strncmp(all.s, hex, 32) && all.s[32] == '\n' &&
               !strncmp(all.s + 33, front.s, front.n);
    }
    if (good)
        ot_text_add(to, all.s + 33 + front.n);
    ot_text_release(&all);
    ot_text_release(&front);
    return good;
}

/* A reader sees all of it or nothing; after a crash it may be cut short, which the digest tells. */
static void replace(int folder, const char *name, const char *data, size_t n)
{
    static atomic_int serial;
    char fresh[192];
    snprintf(fresh, sizeof fresh, "%s.%ld.%d", name, (long)getpid(),
             atomic_fetch_add(&serial, 1));
    const int fd = openat(folder, fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    const bool written = write(fd, data, n) == (ssize_t)n;
    if (close(fd) < 0 || !written || renameat(folder, fresh, folder, name) < 0)
        unlinkat(folder, fresh, 0);
}

void ot_note_write(const char *name, const char *circumstances, const char *text)
{
    char file[128], hex[33];
    ot_text rest = {0}, all = {0};
    print(name, circumstances, text, &rest);
    const int folder = rest.n <= MOST_BYTES - 33 ? notes_folder(true) : -1;
    if (folder >= 0) {
        name_of(name, circumstances, file);
        ot_digest_hex(ot_digest_of(rest.s, rest.n), hex);
        ot_text_printf(&all, "%s\n", hex);
        ot_text_add_n(&all, rest.s, rest.n);
        replace(folder, file, all.s, all.n);
        prune(folder, file);
        close(folder);
    }
    ot_text_release(&rest);
    ot_text_release(&all);
}
