/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LMDB's one door, between open.c and tables.c, which open environments, and store.c, which works
 * in them.
 */
#ifndef OPTUNE_DB_ENV_H
#define OPTUNE_DB_ENV_H

#include <pthread.h>

#include <lmdb.h>

#include "db/kv.h"
#include "db/peek.h"

enum { POOL = 64 }; /* idle read transactions kept */

typedef struct env {
    struct env *next;
    MDB_env *mdb;
    MDB_dbi table[OT_TABLES];
    bool absent[OT_TABLES]; /* an older version made the store */
    dev_t device_number;    /* of the data file: what "the same store" means */
    ino_t inode, lock_inode;
    dev_t lock_device;
    int lock_file; /* LMDB's, open as long as the environment: closing it gives its locks away */
    pid_t pid;
    int users;
    bool read_only; /* this process may only read: there is no mdb */
    bool torn;      /* another store came into its place while it was opened */
    bool twin; /* a process of the same number, as containers have them, reads: LMDB knows one
                     * place for both, so what is read here is read without a place */
    const char *map;  /* LMDB's, its first page; NULL: nobody can tell */
    size_t page_size; /* with `map` */
    struct ot_vetted *vetted;
    ot_sight *sight;
    _Atomic int64_t behind, behind_ms; /* catch_up.c: of which commit, and since when */
    ot_write_lock *write_lock;
    bool met_all; /* each page was looked at; the write lock's, apart from readers' */
    unsigned forks;
    char path[4096]; /* DIR/store */
    char dir[4096];
    pthread_mutex_t lock; /* over the pool */
    ot_snapshot idle[POOL];
    int n_idle;
} env;

struct ot_store {
    env *env;
    int mode;
    const atomic_bool *stop;
    atomic_int passed;                    /* damaged records passed over */
    _Atomic(ot_parts *) parts;            /* not borrowed at the moment; NULL: there are none */
    _Atomic(struct ot_absence *) absence; /* likewise */
};

extern const char *const ot_env_tables[OT_TABLES]; /* their names in the file */
/* In the folder PATH; `source`: NULL, or the folder of the store that it is made from, which says
 * how large it may become. */
int ot_env_open_mdb(const char *path, const char *source, unsigned flags, MDB_env **mdb);
/* Says what LMDB or the system refused, and what to do about it. */
int ot_env_fail(const env *e, int rc, const char *doing, optune_err *err);
void ot_env_drop_snapshot(ot_snapshot *reader);
/* tables.c, all returning a status: */
/* Where there is no data file; under the write lock. */
int ot_env_create(env *e, optune_err *err);
int ot_env_check_schema(env *e, const ot_bytes *value, optune_err *err);
/* 1: it may not read, as a process of its number does. */
int ot_env_load_tables(env *e, unsigned flags, optune_err *err);
int ot_env_load_as_twin(env *e, optune_err *err); /* then */
int ot_env_add_tables(env *e, optune_err *err);   /* with a write_lock */
/* epoch.c: who has made summaries. Those returning int: of LMDB. */
bool ot_epoch_holds(const ot_bytes *value, int64_t snapshot, uint64_t *first);
int ot_epoch_enter(const env *e, MDB_txn *txn, uint64_t *serial); /* one that makes them */
int ot_epoch_copied(MDB_env *to, const char *meta_name); /* all hold; transactions begin anew */

static inline MDB_val value_of(ot_bytes bytes)
{
    return (MDB_val){.mv_size = bytes.n, .mv_data = (void *)(uintptr_t)bytes.data};
}

static inline ot_bytes bytes_of(MDB_val value)
{
    return (ot_bytes){.data = value.mv_data, .n = value.mv_size};
}

#endif
