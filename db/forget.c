/* SPDX-License-Identifier: Apache-2.0 */
/* Records that go for good: a line in a log says so before they do. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "db/prune.h"

/* In the log *path. */
static int say_forgotten(ot_store *store, const ot_digest *digest, int n, ot_text *path,
                         optune_err *err)
{
    char stamp[32];
    struct tm utc;
    const time_t now = time(NULL);
    ot_log *log = NULL;
    strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", gmtime_r(&now, &utc));
    ot_text_printf(path, "%s/logs", ot_store_dir(store));
    int status = ot_make_shared_dirs(path->s, err);
    ot_text_printf(path, "/%s-%d-forget.log", stamp, (int)getpid());
    if (status >= 0)
        status = ot_log_open(path->s, OT_LOG_SHORT, &log, err);
    for (int i = 0; status >= 0 && i < n; i++)
        status = ot_log_forget(log, &digest[i], err);
    if (status >= 0)
        status = ot_log_sync(log, err);
    ot_log_close(log);
    return status;
}

int ot_store_forget(ot_store *store, const ot_digest *digest, int n, ot_pruned *pruned,
                    optune_err *err)
{
    ot_pruning p = {.store = store, .forget = true, .pruned = pruned, .err = err, .n_gone = n};
    ot_text path = {0};
    *pruned = (ot_pruned){0};
    int status = say_forgotten(store, digest, n, &path, err);
    if (status < 0) {
        ot_text_release(&path);
        return status;
    }
    p.gone = ot_alloc((size_t)(n + 1) * sizeof *p.gone);
    for (int i = 0; i < n; i++)
        p.gone[i] = (ot_going){.digest = digest[i]};
    ot_prune_sort(&p);
    status = ot_prune_remove(&p);
    /* Not before: who is killed here leaves it to the next one that writes. */
    if (status >= 0)
        status = ot_store_log_done(store, path.s, err);
    free(p.gone);
    ot_text_release(&path);
    return status;
}
