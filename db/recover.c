/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trial is logged before it is stored, so a writer that is killed leaves a log that knows more
 * than the store. The store remembers of every log how many bytes are stored; whoever opens it to
 * write next reads the logs that have more, but those whose writer lives: they are locked.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/record.h"
#include "db/bulk.h"
#include "db/kv.h"
#include "db/line.h"

typedef struct reading {
    ot_store *store;
    ot_bulk *bulk; /* into it, not the store; NULL: there is none so far */
    bool given;    /* `bulk` is another's, and knows of nothing in the store */
    bool own;
    ot_intake *in;
    optune_device seen; /* the last one that a line told of; key empty: none */
    int64_t added, refused;
    optune_err *err;
} reading;

/* ---- one log ----------------------------------------------------------------------------- */

static int write_batch(void *arg, ot_batch *batch, optune_err *err)
{
    reading *r = arg;
    int added = 0;
    if (r->given)
        return ot_bulk_take(r->bulk, batch, err);
    if (!ot_batch_settle(batch, r->store))
        return OPTUNE_OK;
    if (!r->bulk && ot_batch_full(batch))
        OT_RETURN_UNLESS_OK(
            ot_bulk_open(ot_store_dir(r->store), ot_store_stopped_by(r->store), &r->bulk, err));
    if (r->bulk)
        return ot_bulk_take(r->bulk, batch, err);
    const int status = ot_batch_put(batch, r->store, &added, err);
    r->added += added;
    return status;
}

/* What was taken by then, however the reading ended. */
static int store_bulk(reading *r, optune_err *err)
{
    bool replaced;
    int64_t added = 0;
    if (r->given || !r->bulk)
        return OPTUNE_OK;
    const int status = ot_bulk_store(r->bulk, &added, &replaced, err);
    ot_bulk_close(r->bulk);
    r->added += added;
    return status;
}

static int take_forgotten(reading *r, const ot_digest *digest)
{
    const int status = ot_intake_flush(r->in, r->err);
    return status < 0 ? status : ot_store_drop(r->store, digest, 1, true, r->err);
}

static int take_device(reading *r, const optune_device *device)
{
    optune_device known;
    if (*r->seen.key && ot_device_order(&r->seen, device) == 0)
        return OPTUNE_OK;
    OT_RETURN_UNLESS_OK(ot_intake_wait(r->in, r->err));
    r->seen = *device;
    const bool there = ot_store_device(r->store, device->key, &known, NULL) >= 0;
    return there && ot_device_order(&known, device) >= 0
               ? OPTUNE_OK
               : ot_store_put_device(r->store, device, r->err);
}

static int on_line(void *arg, const ot_log_line *line)
{
    reading *r = arg;
    if (line->forgotten)
        return r->own ? take_forgotten(r, line->forgotten) : OPTUNE_OK;
    if (line->device)
        return take_device(r, line->device);
    if (line->problem || !line->ours) {
        r->refused++;
        return OPTUNE_OK;
    }
    ot_batch *batch = ot_intake_batch(r->in);
    const int status = ot_batch_add(batch, &line->record, line, r->err);
    return status >= 0 && ot_batch_full(batch) ? ot_intake_full(r->in, r->err) : status;
}

static int read_log(ot_store *store, ot_bulk *bulk, const char *path, bool own, int64_t *added,
                    int64_t *refused, optune_err *err)
{
    reading *r = ot_alloc(sizeof *r);
    *r = (reading){.store = store, .bulk = bulk, .given = bulk, .own = own, .err = err};
    r->in = ot_intake_open(false, write_batch, r);
    const ot_log_source source = {.path = path, .stop = ot_store_stopped_by(store)};
    int status = ot_log_read_from(&source, on_line, r, err);
    const int last = status >= 0 ? ot_intake_flush(r->in, err) : ot_intake_wait(r->in, NULL);
    status = status < 0 ? status : last;
    const int stored = store_bulk(r, status < 0 ? NULL : err);
    status = status < 0 ? status : stored;
    *added += r->added;
    if (refused)
        *refused += r->refused;
    ot_intake_close(r->in);
    free(r);
    return status;
}

int ot_store_read_log(ot_store *store, const char *path, bool own, int64_t *added,
                      int64_t *refused, optune_err *err)
{
    return read_log(store, NULL, path, own, added, refused, err);
}

int ot_bulk_read_log(ot_bulk *bulk, ot_store *store, const char *path, bool own,
                     int64_t *refused, optune_err *err)
{
    int64_t added = 0;
    return read_log(store, bulk, path, own, &added, refused, err);
}

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

/* How many bytes of it are stored; -1: that is not known. *old: an older version says so. */
static int64_t marked(ot_store *store, const char *name, bool *old)
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

typedef struct known_log {
    char *name;
    int64_t size;
} known_log;

static int put_mark(ot_writer *writer, const known_log *log, optune_err *err)
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

/* All in one transaction. */
static int mark(ot_store *store, const known_log *log, int n, optune_err *err)
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
    char *const name = (char *)(uintptr_t)(slash ? slash + 1 : path);
    return mark(store, &(known_log){name, info.st_size}, 1, err);
}

/* ---- all logs ---------------------------------------------------------------------------- */

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
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

typedef struct recovering {
    ot_store *store, *fresh; /* the latter is in the former's place by now; NULL: none */
    bool all;
    int64_t *added;
    known_log *log; /* that were read, or were marked by an older version */
    int n, capacity;
    optune_err unread; /* why the first of those could not be read that cannot; 0: all can */
    optune_err *err;
} recovering;

static ot_store *present(const recovering *r)
{
    return r->fresh ? r->fresh : r->store;
}

/* A large log may have left another store. */
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

static int recover(void *arg, const char *path, const char *name, int64_t size)
{
    recovering *r = arg;
    bool old = false;
    OT_RETURN_UNLESS_OK(open_again(r));
    const bool stored = !r->all && marked(present(r), name, &old) == size;
    if (stored && !old)
        return OPTUNE_OK;
    const int claim = ot_log_claim(path);
    if (claim < 0)
        return OPTUNE_OK; /* its writer lives */
    optune_err why = {0};
    const int status = stored && !has_heads(path)
                           ? OPTUNE_OK
                           : ot_store_read_log(present(r), path, true, r->added, NULL, &why);
    close(claim);
    if (status == OPTUNE_EUSAGE || status == OPTUNE_EIO) {
        /* That one is no log, or its disk has a fault: the others are none the worse. */
        r->unread = r->unread.status ? r->unread : why;
        return OPTUNE_OK;
    }
    if (status < 0)
        return optune_fail(r->err, status, "%s", why.text);
    r->log = ot_room(r->log, r->n, &r->capacity, sizeof *r->log);
    r->log[r->n++] = (known_log){ot_strdup(name), size};
    return OPTUNE_OK;
}

int ot_store_recover(ot_store *store, bool all, int64_t *added, optune_err *err)
{
    recovering r = {.store = store, .all = all, .added = added, .err = err};
    *added = 0;
    ot_swap_sweep(ot_store_dir(store));
    int status = ot_each_log(ot_store_dir(store), recover, &r, err);
    r.err = status < 0 ? NULL : err;
    int marking = open_again(&r);
    if (marking >= 0) /* what was read, was */
        marking = mark(present(&r), r.log, r.n, r.err);
    ot_store_close(r.fresh);
    status = status < 0 ? status : marking;
    if (status >= 0 && r.unread.status)
        status = optune_fail(err, r.unread.status, "%s", r.unread.text);
    for (int i = 0; i < r.n; i++)
        free(r.log[i].name);
    free(r.log);
    return status;
}
