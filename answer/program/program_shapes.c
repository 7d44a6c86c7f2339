/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dims that follow from values, in a program: buffers are as large as the bounds, and in front of
 * each group that has such dims the host finds the true ones, by the shape function over what the
 * inputs hold or by the type relation over their true types. What is refused is the node's.
 */
#include <string.h>

#include "answer/graph.h"

/* What the inputs hold, where the host can read it. */
static int look(const optune_program *p, const ot_group *group, const optune_call *call,
                const void **in, void **own, optune_err *err)
{
    const ot_machine *m = &p->machine;
    for (int k = 0; k < group->n_in; k++) {
        void *buffer = ot_program_buffer(p, group->in[k]);
        const int64_t bytes = optune_tensor_bytes(&call->input[k].type);
        if (m->row->address) {
            in[k] = m->row->address(m->state, buffer);
            continue;
        }
        in[k] = own[k] = ot_try_alloc((size_t)bytes + 1, "an input", err);
        if (!own[k])
            return OPTUNE_ENOMEM;
        if (m->row->read(m->state, buffer, own[k], bytes) < 0)
            return optune_fail(err, OPTUNE_EIO, "input %d cannot be read back", k + 1);
    }
    return OPTUNE_OK;
}

/* The outputs of a sized call, as large as they are. */
static int find_shape(const optune_program *p, const ot_group *group, optune_call *call,
                      optune_err *err)
{
    const void *in[OPTUNE_MAX_INPUTS] = {NULL};
    void *own[OPTUNE_MAX_INPUTS] = {NULL};
    int status = call->op->shape ? look(p, group, call, in, own, err) : OPTUNE_OK;
    if (status >= 0)
        status = ot_call_shape(call, in, err);
    for (int k = 0; k < group->n_in; k++)
        free(own[k]);
    return status;
}

int ot_program_shapes(optune_program *p, int i, optune_err *err)
{
    const optune_graph *g = p->partition->graph;
    const ot_group *group = &p->partition->groups.group[i];
    const int last = group->node[group->n_nodes - 1];
    if (!ot_group_is_open(g, group))
        return OPTUNE_OK;
    optune_err inner = {0};
    optune_call *call = ot_alloc(2 * sizeof *call), *sized = call + 1;
    *call = group->call;
    for (int k = 0; k < group->n_in; k++)
        call->input[k].type = p->type[group->in[k].node][group->in[k].output];
    *sized = *call;
    int status = ot_call_widen(sized, &inner); /* the kernel's: bounds where values decide */
    if (status >= 0)
        status = find_shape(p, group, call, &inner);
    for (int o = 0; o < call->n_outputs && status >= 0; o++)
        p->type[last][o] = call->output[o];
    if (status >= 0)
        ot_kernel_resize(&p->kernel[i], sized);
    free(call);
    return status < 0 ? ot_graph_fail(g, group->node[0], -1, status, inner.text, err) : status;
}
