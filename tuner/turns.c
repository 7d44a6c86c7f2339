/* SPDX-License-Identifier: Apache-2.0 */
#include "tuner/turns.h"

#include <math.h>

enum { FEWEST = 7 };
static const double APART = 1e-2; /* of the largest value, by which results may differ */
static const double LONG_S = 10;  /* the fewest turns take no longer, or twice their time */

/* ---- turns ------------------------------------------------------------------------------- */

/* The whole, with the seconds of the groups that are asked about. */
static int run_once(const ot_turns *t, ot_side *s, double *seconds, double *part,
                    optune_err *err)
{
    const optune_partition *p = s->partition;
    int status = OPTUNE_OK;
    const double start = ot_now();
    double before = start;
    *part = 0;
    for (int i = 0; i < p->groups.n && status >= 0; i++) {
        if (p->places.idle[i] != OT_RUNS)
            continue;
        status = ot_kernel_run(&s->program->kernel[i], err);
        const double after = ot_now();
        if (s->counts(p, i))
            *part += after - before;
        before = after;
    }
    *seconds = before - start;
    return status < 0 || !ot_context_stopped(t->run->o) ? status : OPTUNE_EINTERRUPTED;
}

static int take_turn(const ot_turns *t, ot_side *s, double *least, optune_err *err)
{
    int status = OPTUNE_OK;
    *least = INFINITY;
    for (int i = 0; i < OT_TURN_RUNS && status >= 0; i++) {
        double seconds, part;
        status = run_once(t, s, &seconds, &part, err);
        if (i == 0)
            continue;
        s->part[s->n++] = part;
        *least = fmin(*least, seconds);
    }
    return status;
}

static int take_turns(ot_turns *t, double end, optune_err *err)
{
    double ratio[OT_MOST_TURNS], fastest[OT_MOST_TURNS];
    const double start = ot_now();
    int status = OPTUNE_OK, n = 0;
    for (; n < OT_MOST_TURNS && status >= 0 && (n < FEWEST || ot_now() < end); n++) {
        double first = 0, second = 0;
        ot_run_report(t->run, t->stage, NULL);
        status = take_turn(t, &t->first, &first, err);
        if (status >= 0)
            status = take_turn(t, &t->second, &second, err);
        ratio[n] = second / first;
        fastest[n] = first;
        if (status >= 0 && n == 0 &&
            FEWEST * (ot_now() - start) > fmax(2 * (end - start), LONG_S))
            return optune_fail(err, OPTUNE_EPARTIAL, "there is no time for turns of the whole");
    }
    if (status < 0)
        return status;
    t->first_s = ot_median_interval(fastest, n).median;
    t->second_s = t->first_s * ot_median_interval(ratio, n).median;
    return OPTUNE_OK;
}

/* ---- both mean the same ------------------------------------------------------------------ */

static double *output_of(const ot_side *s, int i, int64_t *n, optune_err *err)
{
    const ot_value value = s->program->output[i];
    const optune_tensor *type = ot_graph_type_of(s->partition->graph, value);
    const ot_machine *m = &s->program->machine;
    *n = optune_tensor_elements(type);
    void *data = ot_try_alloc((size_t)optune_tensor_bytes(type) + 1, "an output", err);
    double *numbers = ot_try_alloc((size_t)*n * sizeof(double) + 1, "an output", err);
    if (data && numbers &&
        m->row->read(m->state, ot_program_buffer(s->program, value), data,
                     optune_tensor_bytes(type)) >= 0) {
        ot_elements(type->dtype, data, 0, *n, numbers);
    } else {
        free(numbers);
        numbers = NULL;
    }
    free(data);
    return numbers;
}

/* Every kernel was verified by itself; this holds the two graphs against one another. */
static int agree(const ot_turns *t, optune_err *err)
{
    int status = OPTUNE_OK;
    for (int i = 0; i < t->first.program->n_outputs && status >= 0; i++) {
        int64_t n = 0;
        double *a = output_of(&t->first, i, &n, err), *b = output_of(&t->second, i, &n, err);
        double largest = 0, apart = 0;
        for (int64_t k = 0; k < n && a && b; k++) {
            largest = isfinite(a[k]) ? fmax(largest, fabs(a[k])) : largest;
            if (isfinite(a[k]) || isfinite(b[k]))
                apart = fmax(apart, isnan(a[k] - b[k]) ? INFINITY : fabs(a[k] - b[k]));
        }
        if (!a || !b)
            status = optune_fail(err, OPTUNE_EIO, "an output cannot be read back");
        else if (apart > APART * largest)
            status = optune_fail(err, OPTUNE_EIO,
                                 "output %d differs by %g of %g between two ways to compute "
                                 "the graph",
                                 i + 1, apart, largest);
        free(a);
        free(b);
    }
    return status;
}

/* ---- what is written down ---------------------------------------------------------------- */

bool ot_turns_is_anchor(const optune_partition *p, int group)
{
    return group == ot_layouts_anchor(p);
}

int ot_turns_record(const ot_turns *t, const char *lines, optune_err *err)
{
    const optune *o = t->run->o;
    const ot_side *s = &t->first;
    const int anchor = ot_layouts_anchor(s->partition);
    const optune_task task = {s->partition->groups.group[anchor].call, &o->target, &o->device};
    const ot_kernel *kernel = &s->program->kernel[anchor];
    const ot_contender who = {.task = &task,
                              .impl = kernel->impl,
                              .config = kernel->config,
                              .policy = s->partition->in_graph};
    double spent = 0;
    for (int i = 0; i < s->n; i++)
        spent += s->part[i];
    const ot_interval interval = ot_median_interval(s->part, s->n);
    const ot_trial_result result = {.outcome = OPTUNE_OUTCOME_OK,
                                    .cost = interval.median,
                                    .low = interval.low,
                                    .high = interval.high,
                                    .n_samples = s->n,
                                    .sample = s->part,
                                    .inner = 1,
                                    .counters = lines,
                                    .seed = t->run->options->seed};
    return ot_record_trial(t->run, &who, &result, spent, true, err);
}

/* ---- all of it --------------------------------------------------------------------------- */

static int open_side(const ot_turns *t, ot_side *s, optune_err *err)
{
    int status = optune_program_open(s->partition, &s->program, err);
    if (status >= 0)
        status = ot_program_fill_inputs(s->program, t->run->options->seed, err);
    return status;
}

/* The second program takes about what the first one took. */
static int open_both(ot_turns *t, optune_err *err)
{
    const double there = (double)ot_memory_available(t->run->memory_root);
    int status = open_side(t, &t->first, err);
    const double left = (double)ot_memory_available(t->run->memory_root);
    if (status >= 0 && there > 0 && left < 1.5 * (there - left))
        return optune_fail(err, OPTUNE_ENOMEM, "there is no memory for the graph twice");
    return status < 0 ? status : open_side(t, &t->second, err);
}

int ot_turns_play(ot_turns *t, double end, optune_err *err)
{
    const optune_graph *given = t->first.partition->given;
    t->ours = ot_alloc((size_t)(given->n + 1) * sizeof *t->ours);
    for (int id = 0; id < given->n; id++)
        t->ours[id] = given->node[id].kind == OT_NODE_CONST && !given->node[id].data;
    int lock = -1;
    const ot_worker_options whose = {.device = &t->run->o->device, .stop = &t->run->o->stop};
    const double before = ot_now();
    int status = ot_partition_fill(t->first.partition, t->run->options->seed, err);
    if (status >= 0)
        status = ot_device_lock(&whose, &lock, err);
    const double waited = ot_now() - before;
    if (status >= 0)
        status = open_both(t, err);
    if (status >= 0)
        status = take_turns(t, end + waited, err);
    if (status >= 0)
        status = agree(t, err);
    ot_device_unlock(lock);
    return status;
}

void ot_turns_close(ot_turns *t)
{
    optune_graph *given = t->first.partition->given;
    optune_program_close(t->first.program);
    optune_program_close(t->second.program);
    t->first.program = t->second.program = NULL;
    for (int id = 0; id < given->n && t->ours; id++)
        if (t->ours[id])
            optune_graph_set_data(given, id, NULL, NULL);
    ot_partition_share(t->first.partition);
    ot_partition_share(t->second.partition);
    free(t->ours);
    t->ours = NULL;
}
