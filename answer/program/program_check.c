/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether each group of a program computes what it should: run once more, one after another, each
 * judged as a trial is, by its own reference over what its inputs really held. So a wrong group is
 * named, and those behind it are not blamed for what they were given.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer/graph.h"

/* From the graph, a constant that the program dropped. */
static int copy_constant(const optune_program *p, int group, int input, void *to, int64_t bytes,
                         optune_err *err)
{
    const optune_graph *g = p->partition->graph;
    const ot_located at =
        ot_places_at(&p->partition->places, p->partition->groups.group[group].in[input]);
    const int leaf = p->partition->places.home[at.home].leaf;
    const void *data = NULL;
    const int status = ot_graph_hold(g, leaf, &data, err);
    if (status < 0)
        return status;
    memcpy(to, (const char *)data + at.offset, (size_t)bytes);
    ot_graph_let_go(g, leaf);
    return status;
}

static int read_inputs(const optune_program *p, int group, void **in, optune_err *err)
{
    const ot_kernel *k = ot_program_kernel(p, group);
    const ot_session *s = k->session;
    int status = OPTUNE_OK;
    for (int i = 0; i < optune_call_inputs(s->task.call) && status >= 0; i++) {
        const int64_t bytes = optune_tensor_bytes(&s->task.call->input[i].type);
        in[i] = ot_alloc((size_t)bytes + 1);
        if (!s->in[OT_ALIGNED][i])
            status = copy_constant(p, group, i, in[i], bytes, err);
        else if (s->row->read(s->state, s->in[OT_ALIGNED][i], in[i], bytes) < 0)
            status = optune_fail(err, OPTUNE_EIO, "input %d of a group cannot be read back", i);
    }
    return status;
}

/* Compares the outputs of a kernel that has run; 1: wrong, with a message. */
static int judge(ot_kernel *k, const void *const *in, const char *path, double *error,
                 char *message, size_t size, optune_err *err)
{
    ot_session *s = k->session;
    const ot_reference_limits limits = {
        .seconds = 1, .target = s->task.target, .device = s->task.device};
    const int threads = s->task.device->threads > 0 ? s->task.device->threads : 1;
    int64_t largest = 1;
    int status = ot_reference_make(s->task.call, in, threads, 1, &limits, path, err);
    if (status >= 0)
        status = ot_reference_open(path, &s->reference, err);
    s->reference.given = true;
    if (status < 0)
        return status;
    for (int i = 0; i < s->task.call->n_outputs; i++) {
        s->out_bytes[i] = optune_tensor_bytes(&s->task.call->output[i]);
        largest = s->out_bytes[i] > largest ? s->out_bytes[i] : largest;
    }
    s->host = ot_alloc((size_t)largest);
    const bool right = ot_verify_outputs(s, OT_ALIGNED, k->impl, error, message, size);
    free(s->host);
    s->host = NULL;
    ot_reference_close(&s->reference);
    s->reference = (ot_reference){0};
    unlink(path);
    return right ? OPTUNE_OK : 1;
}

static int check_group(optune_program *p, int i, const char *path, ot_text *text, json_t *list,
                       optune_err *err)
{
    ot_kernel *k = ot_program_kernel(p, i);
    void *in[OPTUNE_MAX_INPUTS] = {NULL};
    char message[OPTUNE_ERR_SIZE] = "";
    double error = 0;
    int status = read_inputs(p, i, in, err);
    if (status >= 0)
        status = ot_kernel_run(k, err);
    if (status >= 0)
        status = judge(k, (const void *const *)in, path, &error, message, sizeof message, err);
    for (int n = 0; n < optune_call_inputs(k->session->task.call); n++)
        free(in[n]);
    if (status == 1) {
        const char *nodes = p->partition->row[i].nodes;
        const char *impl = k->impl->name;
        ot_text_printf(text, "wrong: group '%s' by %s: %s\n", nodes, impl, message);
        json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "nodes", nodes, "impl", impl,
                                              "message", message));
    }
    return status;
}

int ot_program_check(optune_program *p, ot_text *text, json_t *list, optune_err *err)
{
    char dir[4096], path[4200];
    int status = ot_temp_dir(dir, sizeof dir, err), wrong = 0;
    if (status < 0)
        return status;
    snprintf(path, sizeof path, "%s/reference", dir);
    for (int i = 0; i < p->partition->groups.n && status >= 0; i++) {
        if (p->partition->places.idle[i] != OT_RUNS)
            continue;
        status = check_group(p, i, path, text, list, err);
        wrong += status == 1;
    }
    ot_remove_tree(dir);
    return status < 0 ? status : wrong;
}
