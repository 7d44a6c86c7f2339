/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that come in by the thousand: while one batch is written, by a thread of its own, the
 * next one is filled by the caller. Batches are written in their order, one at a time, so that what
 * is on disk at any moment is what would be there if one thread did both, a little later.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "db/db.h"

struct ot_intake {
    ot_intake_fn *write;
    void *arg;
    ot_batch *batch[2];
    int filling; /* which one is the caller's */
    bool threaded;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    ot_batch *given; /* what the thread writes; NULL: it waits */
    bool ends;
    int status; /* of what it wrote, since that was last told */
    optune_err err;
};

ot_intake *ot_intake_open(bool logged, ot_intake_fn *write, void *arg)
{
    ot_intake *in = ot_alloc(sizeof *in);
    *in = (ot_intake){.write = write, .arg = arg};
    in->batch[0] = ot_batch_new(logged);
    in->batch[1] = ot_batch_new(logged);
    pthread_mutex_init(&in->lock, NULL);
    pthread_cond_init(&in->changed, NULL);
    return in;
}

ot_batch *ot_intake_batch(ot_intake *in)
{
    return in->batch[in->filling];
}

static void *write_on(void *arg)
{
    ot_intake *in = arg;
    pthread_mutex_lock(&in->lock);
    for (;;) {
        while (!in->given && !in->ends)
            pthread_cond_wait(&in->changed, &in->lock);
        if (!in->given)
            break;
        ot_batch *batch = in->given;
        pthread_mutex_unlock(&in->lock);
        optune_err err = {0};
        const int status = in->write(in->arg, batch, &err);
        ot_batch_clear(batch);
        pthread_mutex_lock(&in->lock);
        in->given = NULL;
        if (status < 0 && in->status >= 0) {
            in->status = status;
            in->err = err;
        }
        pthread_cond_signal(&in->changed);
    }
    pthread_mutex_unlock(&in->lock);
    return NULL;
}

/* Signals that come from outside are the caller's: they end its waiting. */
static bool has_thread(ot_intake *in)
{
    static const int own[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    sigset_t blocked, was;
    if (in->threaded)
        return true;
    sigfillset(&blocked);
    for (int i = 0; i < OT_COUNT(own); i++)
        sigdelset(&blocked, own[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &was);
    in->threaded = pthread_create(&in->thread, NULL, write_on, in) == 0;
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    return in->threaded;
}

int ot_intake_wait(ot_intake *in, optune_err *err)
{
    pthread_mutex_lock(&in->lock);
    while (in->given)
        pthread_cond_wait(&in->changed, &in->lock);
    const int status = in->status;
    in->status = OPTUNE_OK;
    pthread_mutex_unlock(&in->lock);
    return status < 0 ? optune_fail(err, status, "%s", in->err.text) : OPTUNE_OK;
}

static int write_now(ot_intake *in, optune_err *err)
{
    ot_batch *batch = ot_intake_batch(in);
    const int status = in->write(in->arg, batch, err);
    ot_batch_clear(batch);
    return status;
}

int ot_intake_full(ot_intake *in, optune_err *err)
{
    OT_RETURN_UNLESS_OK(ot_intake_wait(in, err));
    if (!has_thread(in))
        return write_now(in, err);
    pthread_mutex_lock(&in->lock);
    in->given = ot_intake_batch(in);
    pthread_cond_signal(&in->changed);
    pthread_mutex_unlock(&in->lock);
    in->filling = !in->filling;
    return OPTUNE_OK;
}

int ot_intake_flush(ot_intake *in, optune_err *err)
{
    OT_RETURN_UNLESS_OK(ot_intake_wait(in, err));
    return write_now(in, err);
}

void ot_intake_close(ot_intake *in)
{
    if (!in)
        return;
    if (in->threaded) {
        pthread_mutex_lock(&in->lock);
        in->ends = true;
        pthread_cond_signal(&in->changed);
        pthread_mutex_unlock(&in->lock);
        pthread_join(in->thread, NULL);
    }
    pthread_mutex_destroy(&in->lock);
    pthread_cond_destroy(&in->changed);
    ot_batch_free(in->batch[0]);
    ot_batch_free(in->batch[1]);
    free(in);
}
