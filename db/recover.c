/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trial is logged before it is stored, so a writer that is killed leaves a log that knows more
 * than the store. The store remembers of every log how many bytes are stored; whoever opens it to
 * write next reads the logs that have more, but those whose writer lives: they are locked. A
 * thousand small ones are stored together, and their marks are set once that is done; of large ones
 * fewer, so that who is killed meanwhile has not read them all for nothing.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/kv.h"
#include "db/line.h"
#include "db/turn.h"

int64_t ot_recover_at_once = 64 << 20;

/* ---- how much of it is stored ------------------------------------------------------------ */

static void mark_key(const char *name, ot_text *key)
{
    ot_text_clear(key);
    ot_text_printf(key, "log:%s", name);
}

/* So many bytes of a log are stored, says a version that reads such lines. Older ones have eight
 * bytes of it, and say so of short lines that they refused. */
typedef struct log_mark {
    int64_t size, format;
} log_mark;
enum { MARK_FORMAT = 1, OLD_MARK = sizeof(int64_t) };

/* Whether a log has short lines, at least heads of theirs. */
static bool has_heads(const char *path)
{
    const ot_log_source source = {.path = path};
    ot_input *in;
    ot_text line = {0};
    bool ended, found = false;
    if (ot_input_open(&source, &in, NULL) < 0)
        return true;
    while (!found && ot_input_line(in, &line, &ended, NULL) == OPTUNE_OK)
        found = ot_line_is_head(line.s, line.n);
    ot_input_close(in);
    ot_text_release(&line);
    return found;
}

int64_t ot_store_log_mark(ot_store *store, const char *name, bool *old)
{
    ot_snapshot reader;
    ot_text key = {0};
    ot_bytes value;
    log_mark mark = {.size = -1};
    *old = false;
    mark_key(name, &key);
    if (ot_snapshot_begin(store, &reader, NULL) >= 0) {
        if (ot_snapshot_get(&reader, OT_TABLE_META, (ot_bytes){key.s, key.n}, &value, NULL) ==
                OPTUNE_OK &&
            (value.n == OLD_MARK || value.n == sizeof mark)) {
            *old = value.n == OLD_MARK;
            memcpy(&mark, value.data, value.n);
        }
        ot_snapshot_end(&reader);
    }
    ot_text_release(&key);
    return mark.format > MARK_FORMAT ? -1 : mark.size;
}

static int put_mark(ot_writer *writer, const ot_stored_log *log, optune_err *err)
{
    enum { LONGEST_KEY = 400 };
    ot_text key = {0};
    const log_mark said = {log->size, MARK_FORMAT};
    mark_key(log->name, &key);
    const int status = key.n > LONGEST_KEY
                           ? OPTUNE_OK
                           : ot_writer_put(writer, OT_TABLE_META, (ot_bytes){key.s, key.n},
                                           (ot_bytes){&said, sizeof said}, NULL, err);
    ot_text_release(&key);
    return status;
}

int ot_store_logs_done(ot_store *store, const ot_stored_log *log, int n, optune_err *err)
{
    ot_writer writer;
    int status = n ? ot_writer_begin(store, &writer, err) : 1;
    if (status != OPTUNE_OK)
        return status < 0 ? status : OPTUNE_OK;
    for (int i = 0; status >= 0 && i < n; i++)
        status = put_mark(&writer, &log[i], err);
    if (status >= 0)
        return ot_writer_commit(&writer, err);
    ot_writer_abort(&writer);
    return status;
}

int ot_store_log_done(ot_store *store, const char *path, optune_err *err)
{
    struct stat info;
    const char *slash = strrchr(path, '/');
    if (stat(path, &info) < 0)
        return OPTUNE_OK;
    const ot_stored_log log = {slash ? slash + 1 : path, info.st_size};
    return ot_store_logs_done(store, &log, 1, err);
}

/* ---- all logs ---------------------------------------------------------------------------- */

/* NAME.log.pruned whose log nobody has claimed: its writer was killed. */
static void remove_left(const char *path, size_t n)
{
    const size_t behind = sizeof OT_LOG_PRUNED - 1;
    if (n <= behind || strcmp(path + n - behind, OT_LOG_PRUNED) != 0)
        return;
    char *log = ot_strdup(path);
    log[n - behind] = 0;
    const int claim = ot_log_claim(log);
    if (claim >= 0 || !ot_exists(log))
        unlink(path);
    if (claim >= 0)
        close(claim);
    free(log);
}

int ot_each_log(const char *dir, ot_each_log_fn fn, void *arg, optune_err *err)
{
    ot_text logs = {0}, path = {0};
    ot_text_printf(&logs, "%s/logs", dir);
    struct dirent **entry = NULL;
    const int n = scandir(logs.s, &entry, NULL, alphasort);
    int status = n < 0 && errno != ENOENT
                     ? ot_place_refused(logs.s, "read the logs of", errno, err)
                     : OPTUNE_OK;
    for (int i = 0; i < n; i++) {
        const char *name = entry[i]->d_name;
        const size_t length = strlen(name);
        struct stat info;
        ot_text_clear(&path);
        ot_text_printf(&path, "%s/%s", logs.s, name);
        if (status >= 0 && length > 4 && !strcmp(name + length - 4, ".log") &&
            lstat(path.s, &info) == 0 && S_ISREG(info.st_mode))
            status = fn(arg, path.s, name, info.st_size);
        else
            remove_left(path.s, path.n);
        free(entry[i]);
    }
    free(entry);
    ot_text_release(&logs);
    ot_text_release(&path);
    return status;
}

int ot_log_claim(const char *path)
{
    const int fd = ot_open_file(path, O_RDONLY | O_NOFOLLOW, NULL);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && ot_is_named(fd, path))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* ---- those with more than is stored ------------------------------------------------------ */

typedef struct behind {
    char *path, *name;
    int64_t size;
    bool stored; /* so says an older version, which did not know all lines */
    int claim;   /* -1: none */
} behind;

typedef struct recovering {
    ot_store *store, *fresh; /* the latter is in the former's place by now; NULL: none */
    ot_reading *reading;     /* into the present one; NULL: nothing waits */
    bool all;
    int64_t *added;
    behind *log;
    int n, capacity;
    int first, end; /* of these, those that were read and are claimed until they are stored */
    int claimed, most; /* so many are; so many may be at once */
    int64_t bytes;     /* in these */
    optune_err unread; /* why the first of those could not be read that cannot; 0: all can */
    optune_err *err;
} recovering;

static int look_at(void *arg, const char *path, const char *name, int64_t size)
{
    recovering *r = arg;
    bool old = false;
    const bool stored = !r->all && ot_store_log_mark(r->store, name, &old) == size;
    if (stored && !old)
        return OPTUNE_OK;
    r->log = ot_room(r->log, r->n, &r->capacity, sizeof *r->log);
    r->log[r->n++] = (behind){ot_strdup(path), ot_strdup(name), size, stored, -1};
    return OPTUNE_OK;
}

static int find_behind(recovering *r)
{
    ot_store_hold(r->store); /* else a snapshot for each of them */
    const int status = ot_each_log(ot_store_dir(r->store), look_at, r, r->err);
    ot_store_let_go(r->store);
    return status;
}

/* ---- reading them ------------------------------------------------------------------------ */

static ot_store *present(const recovering *r)
{
    return r->fresh ? r->fresh : r->store;
}

/* Many records may have left another store. */
static int open_again(recovering *r)
{
    ot_store *fresh;
    if (!ot_store_gone(present(r)))
        return OPTUNE_OK;
    OT_RETURN_UNLESS_OK(ot_store_open(ot_store_dir(r->store), OT_STORE_WRITE, &fresh, r->err));
    ot_store_stop(fresh, ot_store_stopped_by(r->store));
    ot_store_close(r->fresh);
    r->fresh = fresh;
    return OPTUNE_OK;
}

/* A claim is an open file. */
static int most_claims(void)
{
    enum { MOST = 64 };
    struct rlimit files;
    const rlim_t few = getrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur / 4 : 1;
    return few < 1 ? 1 : few < MOST ? (int)few : MOST;
}

static int mark_read(const recovering *r)
{
    ot_stored_log *log = ot_alloc((size_t)(r->end - r->first + 1) * sizeof *log);
    int n = 0;
    for (int i = r->first; i < r->end; i++)
        if (r->log[i].claim >= 0)
            log[n++] = (ot_stored_log){r->log[i].name, r->log[i].size};
    const int status = ot_store_logs_done(present(r), log, n, r->err);
    free(log);
    return status;
}

/* What was read is stored, then it is said to be, then others may append again. */
static int settle(recovering *r)
{
    int status = r->reading ? ot_reading_store(r->reading, r->err) : OPTUNE_OK;
    if (r->reading)
        *r->added += ot_reading_added(r->reading);
    ot_reading_close(r->reading);
    r->reading = NULL;
    if (status >= 0)
        status = open_again(r);
    if (status >= 0)
        status = mark_read(r);
    for (; r->first < r->end; r->first++)
        if (r->log[r->first].claim >= 0)
            close(r->log[r->first].claim);
    r->claimed = 0;
    r->bytes = 0;
    return status;
}

/* *claim -1: its writer lives. Where no more files may be open, those of others go first. */
static int claim_one(recovering *r, const char *path, int *claim)
{
    errno = 0;
    *claim = ot_log_claim(path);
    if (*claim >= 0 || (errno != EMFILE && errno != ENFILE))
        return OPTUNE_OK;
    if (r->claimed == 0)
        return ot_place_refused(path, "read", errno, r->err);
    OT_RETURN_UNLESS_OK(settle(r));
    return claim_one(r, path, claim);
}

static int read_one(recovering *r, behind *log)
{
    struct stat info;
    optune_err why = {0};
    int claim = -1;
    OT_RETURN_UNLESS_OK(claim_one(r, log->path, &claim));
    if (claim < 0)
        return OPTUNE_OK;
    int status = OPTUNE_OK;
    log->size = fstat(claim, &info) == 0 ? info.st_size : log->size;
    if (!log->stored || has_heads(log->path)) {
        if (!r->reading)
            r->reading = ot_reading_open(present(r), NULL);
        status = ot_reading_take(r->reading, log->path, true, &why);
    }
    if (status >= 0) {
        log->claim = claim;
        r->claimed++;
        r->bytes += log->size;
        return OPTUNE_OK;
    }
    close(claim);
    const int failed = ot_reading_failed(r->reading, r->err);
    if (failed < 0)
        return failed;
    if (status == OPTUNE_EUSAGE || status == OPTUNE_EIO) {
        /* That one is no log, or its disk has a fault: the others are none the worse. */
        r->unread = r->unread.status ? r->unread : why;
        return OPTUNE_OK;
    }
    return optune_fail(r->err, status, "%s", why.text);
}

int ot_store_recover(ot_store *store, bool all, int64_t *added, optune_err *err)
{
    recovering r = {.store = store, .all = all, .added = added, .err = err};
    *added = 0;
    r.most = most_claims();
    ot_swap_sweep(ot_store_dir(store));
    int status = find_behind(&r);
    while (status >= 0 && r.end < r.n) {
        status = r.end == r.first ? open_again(&r) : OPTUNE_OK;
        if (status >= 0)
            status = read_one(&r, &r.log[r.end]);
        if (status < 0)
            break;
        r.end++;
        if (r.claimed >= r.most || r.bytes >= ot_recover_at_once)
            status = settle(&r);
    }
    r.err = status < 0 ? NULL : err;
    const int last = settle(&r); /* what was read, was */
    ot_store_close(r.fresh);
    status = status < 0 ? status : last;
    if (status >= 0 && r.unread.status)
        status = optune_fail(err, r.unread.status, "%s", r.unread.text);
    for (int i = 0; i < r.n; i++) {
        free(r.log[i].path);
        free(r.log[i].name);
    }
    free(r.log);
    return status;
}
