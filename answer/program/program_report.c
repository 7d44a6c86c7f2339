/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph executed for somebody to look at: made-up elements, one run compared with the composed
 * references in double precision and group by group with their own, then its time against the
 * sum of what its groups were measured to take.
 */
#include <math.h>
#include <string.h>

#include "answer/graph.h"
#include "base/fenv.h"

typedef struct execution {
    optune_partition *partition;
    const optune_graph *g;
    uint64_t seed;
    int n_in, n_out;
    void **in, **out;
    double *error, *largest; /* of each output: largest difference and largest value */
    optune_tensor *type;     /* of each output, as it came out */
    optune_tensor *given;    /* of each input, with sizes where the graph has ranges */
    double median, low, high, sum;
    ot_text wrong; /* a line for each group outside its bound */
    json_t *wrongs;
    int n_wrong;
    bool sized; /* the graph has ranges: `given` is a choice of ours */
    ot_program_figures figures;
} execution;

static int make_elements(execution *e, optune_err *err)
{
    e->n_out = optune_graph_outputs(e->g);
    e->in = ot_alloc((size_t)(e->n_in + 1) * sizeof *e->in);
    e->out = ot_alloc((size_t)(e->n_out + 1) * sizeof *e->out);
    e->error = ot_alloc((size_t)(e->n_out + 1) * sizeof *e->error);
    e->largest = ot_alloc((size_t)(e->n_out + 1) * sizeof *e->largest);
    e->type = ot_alloc((size_t)(e->n_out + 1) * sizeof *e->type);
    for (int i = 0; i < e->n_in; i++) {
        const int64_t bytes = optune_tensor_bytes(&e->given[i]);
        e->in[i] = ot_try_alloc((size_t)bytes + 1, "an input", err);
        if (!e->in[i])
            return OPTUNE_ENOMEM;
        ot_graph_fill_variable(e->g, i, &e->given[i], e->seed, e->in[i]);
    }
    for (int i = 0; i < e->n_out; i++) {
        const int64_t most = ot_tensor_most_bytes(optune_graph_output_type(e->g, i));
        e->out[i] = ot_try_alloc((size_t)(most < 0 ? 0 : most) + 1, "an output", err);
        if (!e->out[i])
            return OPTUNE_ENOMEM;
    }
    return OPTUNE_OK;
}

static void release(execution *e)
{
    for (int i = 0; i < e->n_in && e->in; i++)
        free(e->in[i]);
    for (int i = 0; i < e->n_out && e->out; i++)
        free(e->out[i]);
    free(e->in);
    free(e->out);
    free(e->error);
    free(e->largest);
    free(e->type);
    free(e->given);
    ot_text_release(&e->wrong);
    json_decref(e->wrongs);
}

static double *as_double(const optune_tensor *type, const void *data)
{
    const int64_t n = optune_tensor_elements(type);
    double *value = ot_alloc((size_t)(n + 1) * sizeof *value);
    ot_elements(type->dtype, data, 0, n, value);
    return value;
}

static double compare(const optune_tensor *type, const void *data, const double *want,
                      double *most)
{
    const int64_t n = optune_tensor_elements(type);
    double *got = as_double(type, data), largest = 0, off = 0;
    for (int64_t i = 0; i < n; i++) {
        if (isfinite(want[i]))
            largest = fmax(largest, fabs(want[i]));
        if (got[i] != want[i] && !(isnan(got[i]) && isnan(want[i])))
            off = fmax(off, isnan(got[i] - want[i]) ? INFINITY : fabs(got[i] - want[i]));
    }
    free(got);
    *most = largest;
    return off;
}

static bool same_shape(const optune_tensor *a, const optune_tensor *b)
{
    bool same = a->rank == b->rank;
    for (int d = 0; d < a->rank && same; d++)
        same = a->dim[d].min == b->dim[d].min;
    return same;
}

/* Outputs as they came out of the program. */
static void take_types(execution *e, const optune_program *program)
{
    for (int i = 0; i < e->n_out; i++) {
        const ot_value at = program->output[i];
        e->type[i] = program->type[at.node][at.output];
    }
}

/* Evaluates a wide copy: what exact arithmetic would give, but for integers. */
static int check(execution *e, optune_err *err)
{
    optune_graph *wide = NULL;
    optune_values *values = NULL;
    const int copied = optune_graph_copy(e->g, true, &wide, err);
    if (copied < 0)
        return copied;
    const void **in = ot_alloc((size_t)(e->n_in + 1) * sizeof *in);
    optune_tensor *types = ot_alloc((size_t)(e->n_in + 1) * sizeof *types);
    for (int i = 0; i < e->n_in; i++) {
        const optune_tensor *type = &e->given[i];
        types[i] = *type;
        types[i].dtype = optune_graph_input_type(wide, i)->dtype;
        const bool same = optune_dtype_equal(types[i].dtype, type->dtype);
        in[i] = same ? e->in[i] : as_double(type, e->in[i]);
    }
    const int status = optune_graph_evaluate(wide, in, types, &values, err);
    for (int i = 0; i < e->n_out && status >= 0; i++) {
        const optune_tensor *right = optune_values_type(values, i);
        double *want = as_double(right, optune_values_data(values, i));
        e->error[i] = same_shape(right, &e->type[i])
                          ? compare(&e->type[i], e->out[i], want, &e->largest[i])
                          : INFINITY;
        free(want);
    }
    optune_values_free(values);
    for (int i = 0; i < e->n_in; i++)
        if (in[i] != e->in[i])
            free((void *)(uintptr_t)in[i]);
    free(in);
    free(types);
    optune_graph_close(wide);
    return status;
}

static int compute(execution *e, optune_err *err)
{
    optune_program *program = NULL;
    int status = optune_program_open(e->partition, &program, err);
    if (status >= 0 && e->sized)
        status = optune_program_resize(program, e->given, err);
    if (status >= 0)
        status = optune_program_run(program, (const void *const *)e->in, e->out, err);
    if (status >= 0) {
        take_types(e, program);
        status = check(e, err);
    }
    if (status >= 0)
        status = e->n_wrong = ot_program_check(program, &e->wrong, e->wrongs, err);
    if (status >= 0)
        status = optune_program_time(program, &e->median, &e->low, &e->high, err);
    if (status >= 0)
        e->figures = ot_program_figures_of(program);
    optune_program_close(program);
    for (int i = 0; i < e->partition->groups.n; i++)
        if (e->partition->places.idle[i] == OT_RUNS)
            e->sum += optune_selection_cost(e->partition->row[i].selection);
    return status;
}

static json_t *report_memory(const ot_program_figures *f, ot_text *text)
{
    ot_text_printf(text,
                   "memory in MB: %.2f of constants became %.2f packed and %.2f read as they "
                   "are; %.2f of inputs, %.2f between groups, %.2f scratch\n",
                   (double)f->constants / 1e6, (double)f->packed / 1e6, (double)f->kept / 1e6,
                   (double)f->inputs / 1e6, (double)f->arena / 1e6, (double)f->scratch / 1e6);
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "constants", (json_int_t)f->constants,
                     "packed", (json_int_t)f->packed, "kept", (json_int_t)f->kept, "inputs",
                     (json_int_t)f->inputs, "arena", (json_int_t)f->arena, "scratch",
                     (json_int_t)f->scratch);
}

static optune_result *report(const execution *e)
{
    ot_text text = {0};
    json_t *json = json_object(), *outputs = json_array();
    if (e->sized)
        json_object_set_new(json, "inputs", ot_graph_say_sizes(e->g, e->given, &text));
    for (int i = 0; i < e->n_out; i++) {
        ot_text type = {0};
        ot_tensor_print(&e->type[i], &type);
        ot_text_printf(&text, "output %d  %-28s ", i, ot_text_str(&type));
        if (isfinite(e->error[i]))
            ot_text_printf(&text, "off by %.1e at most, largest value %.3g\n", e->error[i],
                           e->largest[i]);
        else
            ot_text_add(&text, "wrong: infinite or no number where it should not be\n");
        json_array_append_new(
            outputs, json_pack("{s:s, s:o, s:f}", "type", ot_text_str(&type), "error",
                               isfinite(e->error[i]) ? json_real(e->error[i]) : json_null(),
                               "largest", e->largest[i]));
        ot_text_release(&type);
    }
    ot_text_add(&text, ot_text_str(&e->wrong));
    const int n = e->partition->groups.n, idle = n - e->partition->places.n_run;
    ot_text_printf(&text, "%d groups in %.4g us [%.4g, %.4g]", n, e->median * 1e6, e->low * 1e6,
                   e->high * 1e6);
    if (idle)
        ot_text_printf(&text, ", %d of them in place or views", idle);
    if (e->figures.over)
        ot_text_printf(&text, ", %d written over an operand", e->figures.over);
    if (isfinite(e->sum))
        ot_text_printf(&text, "; measured one by one they take %.4g us", e->sum * 1e6);
    ot_text_add(&text, "\n");
    json_object_set_new(json, "memory", report_memory(&e->figures, &text));
    json_object_set_new(json, "outputs", outputs);
    json_object_set(json, "wrong", e->wrongs);
    json_object_set_new(json, "groups", json_integer(n));
    json_object_set_new(json, "run", json_integer(n - idle));
    json_object_set_new(json, "over", json_integer(e->figures.over));
    json_object_set_new(json, "seconds", json_real(e->median));
    json_object_set_new(json, "low", json_real(e->low));
    json_object_set_new(json, "high", json_real(e->high));
    json_object_set_new(json, "sum", isfinite(e->sum) ? json_real(e->sum) : json_null());
    return ot_result_new(text.s, json);
}

int optune_partition_execute(optune_partition *p, uint64_t seed, optune_result **result,
                             optune_err *err)
{
    OT_ENTER(err, {"partition", p}, {"result", result});
    *result = NULL;
    execution e = {.partition = p, .g = p->given, .seed = seed, .wrongs = json_array()};
    e.n_in = optune_graph_inputs(e.g);
    e.given = ot_alloc((size_t)(e.n_in + 1) * sizeof *e.given);
    int status = ot_graph_choose_sizes(e.g, e.given, &e.sized, err);
    if (status >= 0)
        status = ot_partition_fill(p, seed, err);
    if (status >= 0)
        status = optune_partition_select(p, err);
    if (status >= 0)
        status = make_elements(&e, err);
    if (status >= 0)
        status = compute(&e, err);
    bool wrong = e.n_wrong > 0;
    for (int i = 0; i < e.n_out && status >= 0; i++)
        wrong = wrong || !isfinite(e.error[i]);
    if (status >= 0)
        *result = report(&e);
    release(&e);
    return status < 0 ? status : wrong;
}
