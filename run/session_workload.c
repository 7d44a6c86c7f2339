/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session's whole workload in one process: its sizes, its reference (made where there is none
 * yet) and both kinds of its buffers. A worker's keeper and its runners do this between them.
 */
#include <stdlib.h>
#include <unistd.h>

#include "run/worker.h"

static int make_reference(ot_session *s, const char *path, optune_err *err)
{
    void *in[OPTUNE_MAX_INPUTS] = {0};
    for (int i = 0; i < optune_call_inputs(&s->call); i++) {
        in[i] = ot_alloc((size_t)s->in_bytes[i] + 1);
        ot_fill_call_input(&s->call, s->seed, i, in[i]);
    }
    /* A GPU has no threads, and this machine's cores are idle while it works. */
    const int threads =
        s->device.threads > 0 ? s->device.threads : (int)sysconf(_SC_NPROCESSORS_ONLN);
    const ot_reference_limits limits = {.target = &s->target, .device = &s->device};
    const int status = ot_reference_make(&s->call, (const void *const *)in, threads, s->seed,
                                         &limits, path, err);
    for (int i = 0; i < optune_call_inputs(&s->call); i++)
        free(in[i]);
    return status;
}

int ot_session_workload(ot_session *s, const char *text, uint64_t seed, const char *reference,
                        optune_err *err)
{
    int status = ot_session_shape(s, text, err);
    s->seed = seed;
    if (status >= 0 && !ot_exists(reference))
        status = make_reference(s, reference, err);
    if (status >= 0)
        status = ot_reference_open(reference, &s->reference, err);
    if (status >= 0)
        status = ot_session_fill(s, OT_GUARDED, err);
    if (status >= 0)
        status = ot_session_fill(s, OT_ALIGNED, err);
    if (status < 0)
        ot_session_forget(s);
    return status;
}
