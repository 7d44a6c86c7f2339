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
#include "db/kv.h"
#include "db/line.h"

typedef struct reading {
    ot_store *store;
    bool own;
    ot_batch *batch;
    int64_t added, refused;
    optune_err *err;
} reading;

/* ---- one log ----------------------------------------------------------------------------- */

static int flush(reading *r)
{
    int added = 0;
    const int status = ot_batch_settle(r->batch, r->store)
                           ? ot_batch_put(r->batch, r->store, &added, r->err)
                           : OPTUNE_OK;
    r->added += added;
    ot_batch_clear(r->batch);
    return status;
}

static int take_forgotten(reading *r, const ot_digest *digest)
{
    const int status = flush(r);
    return status < 0 ? status : ot_store_drop(r->store, digest, 1, true, r->err);
}

static int on_line(void *arg, const ot_log_line *line)
{
    reading *r = arg;
    if (line->forgotten)
        return r->own ? take_forgotten(r, line->forgotten) : OPTUNE_OK;
    if (line->device) {
        optune_device known;
        return ot_store_device(r->store, line->device->key, &known, NULL) >= 0
                   ? OPTUNE_OK
                   : ot_store_put_device(r->store, line->device, r->err);
    }
    if (line->problem || !line->ours) {
        r->refused++;
        return OPTUNE_OK;
    }
    const int status = ot_batch_add(r->batch, &line->record, line, r->err);
    return status >= 0 && ot_batch_full(r->batch) ? flush(r) : status;
}

int ot_store_read_log(ot_store *store, const char *path, bool own, int64_t *added,
                      int64_t *refused, optune_err *err)
{
    reading r = {.store = store, .own = own, .batch = ot_batch_new(false), .err = err};
    const ot_log_source source = {.path = path, .stop = ot_store_stopped_by(store)};
    int status = ot_log_read_from(&source, on_line, &r, err);
    if (status >= 0)
        status = flush(&r);
    *added += r.added;
    if (refused)
        *refused += r.refused;
    ot_batch_free(r.batch);
    return status;
}

/* ---- how much of it is stored ------------------------------------------------------------ */

static void mark_key(const char *name, ot_text *key)
{
    ot_text_clear(key);
    ot_text_printf(key, "log:%s", name);
}

static int64_t marked(ot_store *store, const char *name)
{
    ot_snapshot reader;
    ot_text key = {0};
    ot_bytes value;
    int64_t size = -1;
    mark_key(name, &key);
    if (ot_snapshot_begin(store, &reader, NULL) >= 0) {
        if (ot_snapshot_get(&reader, OT_TABLE_META, (ot_bytes){key.s, key.n}, &value, NULL) ==
                OPTUNE_OK &&
            value.n == sizeof size)
            memcpy(&size, value.data, sizeof size);
        ot_snapshot_end(&reader);
    }
    ot_text_release(&key);
    return size;
}

static int mark(ot_store *store, const char *name, int64_t size, optune_err *err)
{
    ot_writer writer;
    ot_text key = {0};
    mark_key(name, &key);
    int status = key.n > 400 ? 1 : ot_writer_begin(store, &writer, err);
    if (status == OPTUNE_OK) {
        status = ot_writer_put(&writer, OT_TABLE_META, (ot_bytes){key.s, key.n},
                               (ot_bytes){&size, sizeof size}, NULL, err);
        if (status >= 0)
            status = ot_writer_commit(&writer, err);
        else
            ot_writer_abort(&writer);
    }
    ot_text_release(&key);
    return status < 0 ? status : OPTUNE_OK;
}

int ot_store_log_done(ot_store *store, const char *path, optune_err *err)
{
    struct stat info;
    const char *slash = strrchr(path, '/');
    if (stat(path, &info) < 0)
        return OPTUNE_OK;
    return mark(store, slash ? slash + 1 : path, info.st_size, err);
}

/* ---- all logs ---------------------------------------------------------------------------- */

int ot_each_log(const char *dir, ot_each_log_fn fn, void *arg)
{
    ot_text logs = {0}, path = {0};
    ot_text_printf(&logs, "%s/logs", dir);
    struct dirent **entry = NULL;
    const int n = scandir(logs.s, &entry, NULL, alphasort);
    int status = OPTUNE_OK;
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
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

typedef struct recovering {
    ot_store *store;
    bool all;
    int64_t *added;
    optune_err *err;
} recovering;

static int recover(void *arg, const char *path, const char *name, int64_t size)
{
    recovering *r = arg;
    if (!r->all && marked(r->store, name) == size)
        return OPTUNE_OK;
    const int claim = ot_log_claim(path);
    if (claim < 0)
        return OPTUNE_OK; /* its writer lives */
    int status = ot_store_read_log(r->store, path, true, r->added, NULL, r->err);
    if (status >= 0)
        status = mark(r->store, name, size, r->err);
    close(claim);
    return status;
}

int ot_store_recover(ot_store *store, bool all, int64_t *added, optune_err *err)
{
    recovering r = {store, all, added, err};
    *added = 0;
    return ot_each_log(ot_store_dir(store), recover, &r);
}
