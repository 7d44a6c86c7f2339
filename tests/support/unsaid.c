/* SPDX-License-Identifier: Apache-2.0 */
#include "support/unsaid.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "db/env.h"
#include "support/check.h"
#include "support/records.h"

/* LMDB's word: the number in its lock file behind magic, format and the mutex of readers. */
static _Atomic size_t *map_word(const char *dir)
{
    char path[4300];
    snprintf(path, sizeof path, "%s/store/lock.mdb", dir);
    const int fd = open(path, O_RDWR);
    if (fd < 0)
        return NULL;
    char *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return map == MAP_FAILED ? NULL : (_Atomic size_t *)(void *)(map + 8 + sizeof(pthread_mutex_t));
}

/* It dies as the one whose turn it is to write. */
static int store_and_die(const char *dir, int number)
{
    optune_err err = {0};
    ot_store *store;
    MDB_txn *txn;
    const optune_record first = some_record(number), last = some_record(number + 1);
    if (ot_store_open(dir, OT_STORE_WRITE, &store, &err) < 0 ||
        ot_store_put(store, &first, 1, NULL, &err) < 0 ||
        ot_store_put(store, &last, 1, NULL, &err) < 0 ||
        mdb_txn_begin(store->env->mdb, NULL, 0, &txn) != 0)
        return 1;
    _Atomic size_t *word = map_word(dir);
    if (!word || atomic_load(word) + 1 != mdb_txn_id(txn))
        return 2; /* another LMDB, which has it elsewhere */
    atomic_fetch_sub(word, 1);
    return 0;
}

void store_unsaid(const char *dir, int number)
{
    int how;
    const pid_t child = fork();
    if (child == 0)
        _exit(store_and_die(dir, number));
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    usleep(2 * OT_LOOK_MS * 1000); /* nobody counted the commit */
}
