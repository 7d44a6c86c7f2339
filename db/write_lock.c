/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose turn it is to write, all processes together: a lock on DIR/write.lock that can be waited
 * for with a limit. The file says who has it, so that who waits in vain can be told; the kernel
 * gives it back when its holder ends, however that happens.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "db/kv.h"

enum { FIRST_NAP_US = 50, LONGEST_NAP_US = 2000 };

double ot_write_patience_s = 30;

struct ot_write_lock {
    int fd;
    char *path;
    pthread_mutex_t turn; /* of this process's threads */
};

static atomic_uint forks;

static void count_fork(void)
{
    atomic_fetch_add(&forks, 1);
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, count_fork);
}

unsigned ot_forks(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    return atomic_load_explicit(&forks, memory_order_relaxed);
}

int ot_write_lock_open(const char *dir, const char *name, ot_write_lock **lock, optune_err *err)
{
    ot_text path = {0};
    ot_text_printf(&path, "%s/%s", dir, name);
    const int fd = ot_place_open(path.s);
    if (fd < 0) {
        const int status = ot_place_refused(path.s, "lock", errno, err);
        ot_text_release(&path);
        return status;
    }
    ot_made(fd, path.s);
    *lock = ot_alloc(sizeof **lock);
    **lock = (ot_write_lock){.fd = fd, .path = path.s};
    pthread_mutex_init(&(*lock)->turn, NULL);
    return OPTUNE_OK;
}

void ot_write_lock_close(ot_write_lock *lock)
{
    if (!lock)
        return;
    close(lock->fd);
    pthread_mutex_destroy(&lock->turn);
    free(lock->path);
    free(lock);
}

/* "process 4711 (optune), which is stopped"; the file may tell of one that is gone. */
static void name_holder(const ot_write_lock *lock, ot_text *to)
{
    char text[32] = "", path[64], line[512];
    int64_t pid = 0;
    const ssize_t n = pread(lock->fd, text, sizeof text - 1, 0);
    text[n > 0 ? strcspn(text, " \n") : 0] = 0;
    if (!ot_parse_int(text, &pid) || pid <= 0) {
        ot_text_add(to, "another process");
        return;
    }
    ot_text_printf(to, "process %lld", (long long)pid);
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    FILE *file = fopen(path, "re");
    if (file && fgets(line, sizeof line, file)) {
        const char *open = strchr(line, '('), *close = strrchr(line, ')');
        if (open && close && open < close && close[1] == ' ')
            ot_text_printf(to, " %.*s%s", (int)(close + 1 - open), open,
                           close[2] == 'T' || close[2] == 't'
                               ? ", which is stopped: continue it (kill -CONT) or end it"
                               : "");
    }
    if (file)
        fclose(file);
}

/* As ot_lock_at_once. */
static int try(ot_write_lock *lock)
{
    if (pthread_mutex_trylock(&lock->turn))
        return 0;
    const int got = ot_lock_at_once(lock->fd);
    if (got != 1)
        pthread_mutex_unlock(&lock->turn);
    return got;
}

static int refuse(const ot_write_lock *lock, optune_err *err)
{
    ot_text who = {0};
    name_holder(lock, &who);
    const int status = optune_fail(
        err, OPTUNE_ETIMEOUT,
        "waited %g s to write to the database: '%s' is held by %s; what was logged is not lost",
        ot_write_patience_s, lock->path, ot_text_str(&who));
    ot_text_release(&who);
    return status;
}

bool ot_write_lock_try(ot_write_lock *lock)
{
    return try(lock) == 1;
}

int ot_write_lock_take(ot_write_lock *lock, const atomic_bool *stop, optune_err *err)
{
    const double until = ot_now() + ot_write_patience_s;
    int got;
    for (long nap = FIRST_NAP_US; (got = try(lock)) != 1;
         nap = nap < LONGEST_NAP_US ? 2 * nap : nap) {
        if (got < 0)
            return ot_place_refused(lock->path, "lock", -got, err);
        if (stop && atomic_load(stop))
            return optune_fail(err, OPTUNE_EINTERRUPTED,
                               "interrupted while another process writes to the database");
        if (ot_now() > until)
            return refuse(lock, err);
        nanosleep(&(struct timespec){.tv_nsec = nap * 1000}, NULL);
    }
    char text[32];
    const int n = snprintf(text, sizeof text, "%-15lld\n", (long long)getpid());
    (void)!pwrite(lock->fd, text, (size_t)n, 0);
    return OPTUNE_OK;
}

void ot_write_lock_pause(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 2000L * LONGEST_NAP_US}, NULL);
}

void ot_write_lock_give(ot_write_lock *lock)
{
    flock(lock->fd, LOCK_UN);
    pthread_mutex_unlock(&lock->turn);
}
