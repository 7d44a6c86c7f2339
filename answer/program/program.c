/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole graph with what was selected for each of its groups: one kernel for every group, run
 * in order, over the buffers of program_memory.c. Constants are written and packed once;
 * between groups nothing leaves the target's memory.
 */
#include <math.h>
#include <string.h>

#include "answer/graph.h"
#include "base/fenv.h"

/* Weights shrink with what is summed over, so that deep graphs stay within their dtype's range. */
static void scale_weights(const optune_tensor *type, void *data)
{
    const int64_t n = optune_tensor_elements(type);
    const bool is_float =
        type->dtype.code == OPTUNE_DTYPE_FLOAT || type->dtype.code == OPTUNE_DTYPE_BFLOAT;
    if (!is_float || type->rank < 2 || type->dtype.lanes != 1 || n <= 3 * type->dim[0].min)
        return;
    const double scale = sqrt(3.0 * (double)type->dim[0].min / (double)n);
    for (int64_t i = 0; i < n; i++) {
        double value;
        ot_elements(type->dtype, data, i, 1, &value);
        value *= scale;
        ot_elements_set(type->dtype, data, i, 1, &value);
    }
}

int optune_graph_fill(optune_graph *g, uint64_t seed, optune_err *err)
{
    OT_ENTER(err, {"graph", g});
    for (int id = 0; id < g->n; id++) {
        const ot_node *node = &g->node[id];
        if (node->kind != OT_NODE_CONST || node->data)
            continue;
        if (!optune_tensor_known(&node->out[0]))
            return ot_graph_fail(g, id, -1, OPTUNE_ETYPE, "its type is not known", err);
        optune_err inner = {0};
        void *data = ot_try_alloc((size_t)optune_tensor_bytes(&node->out[0]) + 1,
                                  "this constant", &inner);
        if (!data)
            return ot_graph_fail(g, id, -1, OPTUNE_ENOMEM, inner.text, err);
        ot_fill_input(&node->out[0], seed, id, data);
        scale_weights(&node->out[0], data);
        const int status = optune_graph_set_data(g, id, data, err);
        free(data);
        if (status < 0)
            return status;
    }
    return OPTUNE_OK;
}

int ot_partition_fill(optune_partition *p, uint64_t seed, optune_err *err)
{
    const int status = optune_graph_fill(p->given, seed, err);
    ot_partition_share(p);
    return status;
}

void ot_program_bind(const optune_program *p, int i, ot_kernel *kernel)
{
    const ot_group *group = &p->partition->groups.group[i];
    const int last = group->node[group->n_nodes - 1];
    ot_session *s = kernel->session;
    for (int k = 0; k < group->n_in; k++)
        s->in[OT_ALIGNED][k] = ot_program_buffer(p, group->in[k]);
    for (int o = 0; o < group->call->n_outputs; o++)
        s->out[OT_ALIGNED][o] = ot_program_buffer(p, (ot_value){last, o});
}

int ot_program_load(const optune_program *p, int i, ot_kernel *kernel, optune_err *err)
{
    ot_program_bind(p, i, kernel);
    return ot_kernel_load(kernel, err);
}

optune_program *ot_program_new(optune_partition *partition)
{
    const optune_graph *g = partition->graph;
    optune_program *p = ot_alloc(sizeof *p);
    p->partition = partition;
    atomic_init(&p->users, 1);
    p->kernel = ot_alloc((size_t)(partition->groups.n + 1) * sizeof *p->kernel);
    p->rows = ot_alloc((size_t)(partition->groups.n + 1) * sizeof *p->rows);
    p->n_outputs = ot_graph_output_values(g, NULL, 0);
    p->output = ot_alloc((size_t)(p->n_outputs + 1) * sizeof *p->output);
    ot_graph_output_values(g, p->output, p->n_outputs);
    return p;
}

static int prepare(optune_partition *partition, optune_program **program, optune_err *err)
{
    *program = NULL;
    ot_partition_share(partition);
    optune_program *p = ot_program_new(partition);
    int status = ot_machine_open(partition->o, &p->machine, err);
    if (status >= 0)
        status = ot_program_make_buffers(p, err);
    if (status < 0) {
        optune_program_close(p);
        return status;
    }
    *program = p;
    return OPTUNE_OK;
}

int ot_program_prepare(optune_partition *partition, optune_program **program, optune_err *err)
{
    int status = prepare(partition, program, err);
    for (int i = 0; i < partition->groups.n && status >= 0; i++)
        status = ot_program_write_constants(*program, i, err);
    if (status >= 0)
        status = ot_program_write_outputs(*program, err);
    if (status >= 0)
        status = ot_program_arrange(*program, NULL, NULL, err);
    if (status < 0) {
        optune_program_close(*program);
        *program = NULL;
    }
    return status;
}

/* The first group in front of this one with its workload, of which the same is chosen; -1: none. */
static int same_workload(const optune_program *p, int i)
{
    const ot_partition_row *row = p->partition->row;
    if (row[i].workload < 0 || !ot_call_static(p->partition->groups.group[i].call))
        return -1;
    for (int j = 0; j < i; j++)
        if (row[j].workload == row[i].workload)
            return j;
    return -1;
}

/* What is loaded for equal groups is loaded once, and packed once of equal constants: a layer that
 * is written out step by step has a group for each step. */
static int load_kernel(optune_program *p, int i, optune_err *err)
{
    const ot_partition_row *row = p->partition->row;
    const ot_program_rows *rows = &p->rows[i];
    int like = same_workload(p, i);
    for (int k = 0; k < rows->n; k++)
        OT_RETURN_UNLESS_OK(ot_program_load(p, i, &rows->kernel[k], err));
    if (rows->table)
        return OPTUNE_OK;
    if (like < 0)
        return ot_program_load(p, i, &p->kernel[i], err);
    const optune_plan *plan = &p->kernel[like].bound->loaded->plan;
    bool same = false;
    for (int j = like; j < i && !same; j++)
        if (row[j].workload == row[i].workload) {
            same = ot_groups_pack_alike(p->partition, plan, j, i);
            like = same ? j : like;
        }
    ot_program_bind(p, i, &p->kernel[i]);
    return ot_kernel_load_like(&p->kernel[i], &p->kernel[like], same, err);
}

/* Constants are written right before they are packed, and go as soon as nobody needs them: no more
 * of them than what one group packs is there at a time. */
static int load_group(optune_program *p, int i, optune_err *err)
{
    const bool runs = p->partition->places.idle[i] == OT_RUNS;
    int status = ot_program_write_constants(p, i, err);
    if (status >= 0 && runs)
        status = load_kernel(p, i, err);
    if (status >= 0)
        ot_program_drop_packed(p, i);
    return status;
}

static int open_program(optune_partition *partition, optune_program **program, optune_err *err)
{
    const optune_graph *g = partition->graph;
    const ot_groups *groups = &partition->groups;
    optune_program *p = NULL;
    *program = NULL;
    int status = prepare(partition, &p, err);
    for (int i = 0; i < groups->n && status >= 0; i++) {
        optune_err inner = {0};
        if (partition->places.idle[i] != OT_RUNS)
            continue;
        const int like = same_workload(p, i);
        if (like >= 0)
            ot_kernel_like(&p->machine, &p->kernel[like], &p->kernel[i]);
        else
            status = ot_program_choose(p, i, &inner);
        if (status < 0)
            ot_graph_fail(g, groups->group[i].node[0], -1, status, inner.text, err);
    }
    for (int i = 0; i < groups->n && status >= 0; i++) {
        optune_err inner = {0};
        status = load_group(p, i, &inner);
        if (status < 0)
            ot_graph_fail(g, groups->group[i].node[0], -1, status, inner.text, err);
    }
    if (status >= 0)
        status = ot_program_write_outputs(p, err);
    if (status >= 0)
        status = ot_program_arrange(p, NULL, NULL, err);
    if (status < 0) {
        optune_program_close(p);
        return status;
    }
    *program = p;
    return OPTUNE_OK;
}

int optune_program_open(optune_partition *partition, optune_program **program, optune_err *err)
{
    OT_ENTER(err, {"partition", partition}, {"program", program});
    OT_RETURN_UNLESS_OK(open_program(partition, program, err));
    ot_context_rest(partition->o);
    ot_memory_trim(); /* choosing and packing took more than what is left */
    return OPTUNE_OK;
}

static int run_groups(optune_program *p, optune_err *err)
{
    int status = OPTUNE_OK;
    for (int i = 0; i < p->partition->groups.n && status >= 0; i++) {
        if (p->partition->places.idle[i] != OT_RUNS)
            continue;
        if (p->by_values)
            status = ot_program_shapes(p, i, err);
        if (status >= 0)
            status = ot_kernel_run(ot_program_kernel(p, i), err);
    }
    return status;
}

int optune_program_shape(const optune_program *p, int output, int64_t *dims, optune_err *err)
{
    OT_ENTER(err, {"program", p}, {"dims", dims});
    if (output < 0 || output >= p->n_outputs)
        return optune_fail(err, OPTUNE_EUSAGE, "there is no output %d: the graph has %d",
                           output, p->n_outputs);
    const optune_tensor *type = &p->type[p->output[output].node][p->output[output].output];
    for (int d = 0; d < type->rank; d++)
        dims[d] = type->dim[d].min;
    return type->rank;
}

int optune_program_run(optune_program *p, const void *const *inputs, void *const *outputs,
                       optune_err *err)
{
    OT_ENTER(err, {"program", p});
    const optune_graph *g = p->partition->graph;
    int status = OPTUNE_OK, n = 0;
    for (int i = 0; i < p->n_outputs; i++)
        if (!outputs ||
            (!outputs[i] && ot_tensor_most_bytes(ot_graph_type_of(g, p->output[i])) > 0))
            return optune_fail(err, OPTUNE_EUSAGE, "there is no room for output %d", i + 1);
    for (int id = 0; id < g->n && status >= 0; id++)
        if (g->node[id].kind == OT_NODE_VAR) {
            const ot_value value = {id, 0};
            if (!inputs || (!inputs[n] && ot_program_bytes(p, value)))
                return ot_graph_fail(g, id, -1, OPTUNE_EUSAGE, "it has no data", err);
            status = p->machine.row->write(p->machine.state, ot_program_buffer(p, value),
                                           inputs[n++], ot_program_bytes(p, value));
        }
    if (status >= 0)
        status = run_groups(p, err);
    for (int i = 0; i < p->n_outputs && status >= 0; i++)
        status = p->machine.row->read(p->machine.state, ot_program_buffer(p, p->output[i]),
                                      outputs[i], ot_program_bytes(p, p->output[i]));
    return status;
}

static double time_runs(void *arg, int64_t count)
{
    const double start = ot_now();
    for (int64_t i = 0; i < count; i++)
        if (run_groups(arg, NULL) < 0)
            return -1;
    return ot_now() - start;
}

int optune_program_time(optune_program *p, double *median, double *low, double *high,
                        optune_err *err)
{
    OT_ENTER(err, {"program", p}, {"median", median}, {"low", low}, {"high", high});
    ot_measured *m = ot_alloc(sizeof *m);
    ot_measure(&ot_policy_warm, INFINITY, time_runs, p, m);
    *median = m->interval.median;
    *low = m->interval.low;
    *high = m->interval.high;
    const bool failed = m->failed;
    free(m);
    return failed ? optune_fail(err, OPTUNE_EIO, "a group of the graph failed") : OPTUNE_OK;
}

void optune_program_close(optune_program *p)
{
    if (!p || atomic_fetch_sub(&p->users, 1) > 1)
        return; /* clones use what it has */
    optune_program *origin = p->origin;
    for (int i = p->partition->groups.n - 1; i >= 0; i--) { /* users first */
        ot_kernel_release(&p->kernel[i]);
        ot_program_release_rows(p, i);
    }
    ot_program_free_buffers(p);
    if (!origin)
        ot_machine_close(&p->machine);
    else if (p->machine.row)
        ot_shared_release(&p->machine.scratch, p->machine.row, p->machine.state);
    free(p->kernel);
    free(p->rows);
    free(p->output);
    free(p);
    optune_program_close(origin);
}

int optune_graph_execute(optune *o, optune_graph *graph, const void *const *inputs,
                         void *const *outputs, optune_err *err)
{
    OT_ENTER(err, {"handle", o}, {"graph", graph});
    optune_partition *partition = NULL;
    optune_program *program = NULL;
    int status = optune_partition_open(o, graph, &partition, err);
    if (status >= 0)
        status = open_program(partition, &program, err);
    if (status >= 0)
        status = optune_program_run(program, inputs, outputs, err);
    optune_program_close(program);
    optune_partition_close(partition);
    return status;
}
