/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The word on layouts: the graph as it is and the graph in blocks of channels, each as it would be
 * used, take turns in this process. Blocks are used from then on unless they were slower; what was
 * found is written into a record of the graph as it is (answer/layouts.c reads it back).
 */
#include <math.h>
#include <string.h>

#include "tuner/tune.h"

/* A turn is a few runs, the first of them not counted: it meets caches that the other one left. The
 * fastest of the others counts, as a machine that is shared makes runs longer, never shorter. */
enum { TURN = 6, FEWEST = 7, MOST = 21 };
static const double APART = 1e-2; /* of the largest value, by which results may differ */

typedef struct side {
    optune_partition *partition;
    optune_program *program;
    int n; /* runs */
} side;

typedef struct turns {
    ot_run *run;
    side plain, blocked;
    int anchor;
    double anchored[MOST * TURN]; /* seconds of the anchor, a run of the plain graph */
    double transforms[MOST * TURN];
    int n_transforms;
} turns;

static bool is_transform(const optune_partition *p, int group)
{
    return p->relaid.graph && p->relaid.origin[p->groups.group[group].node[0]] < 0;
}

/* The whole, with the seconds of the groups that are asked about. */
static int run_once(const turns *t, side *s, double *seconds, double *part, optune_err *err)
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
        if (p->relaid.graph ? is_transform(p, i) : i == t->anchor)
            *part += after - before;
        before = after;
    }
    *seconds = before - start;
    return status < 0 || !ot_context_stopped(t->run->o) ? status : OPTUNE_EINTERRUPTED;
}

static int take_turn(turns *t, side *s, double *part, double *least, optune_err *err)
{
    int status = OPTUNE_OK;
    *least = INFINITY;
    for (int i = 0; i < TURN && status >= 0; i++) {
        double seconds, own;
        status = run_once(t, s, &seconds, &own, err);
        if (i == 0)
            continue;
        part[s->n++] = own;
        *least = fmin(*least, seconds);
    }
    return status;
}

static double median(double *sample, int n)
{
    return n ? ot_median_interval(sample, n).median : 0;
}

static int compare(turns *t, double end, ot_layouts *told, optune_err *err)
{
    double ratio[MOST], fastest[MOST], transforms[MOST * TURN];
    int status = OPTUNE_OK, n = 0;
    for (; n < MOST && status >= 0 && (n < FEWEST || ot_now() < end); n++) {
        double plain = 0, blocked = 0;
        ot_run_report(t->run, "in blocks", NULL);
        status = take_turn(t, &t->plain, t->anchored, &plain, err);
        if (status >= 0)
            status = take_turn(t, &t->blocked, transforms, &blocked, err);
        ratio[n] = blocked / plain;
        fastest[n] = plain;
    }
    if (status < 0)
        return status;
    told->plain = median(fastest, n);
    told->blocked = told->plain * median(ratio, n);
    told->transforms_s = median(transforms, t->blocked.n);
    told->kept = told->blocked <= told->plain;
    return OPTUNE_OK;
}

/* ---- both mean the same ------------------------------------------------------------------ */

static double *output_of(const side *s, int i, int64_t *n, optune_err *err)
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
static int agree(turns *t, optune_err *err)
{
    int status = OPTUNE_OK;
    for (int i = 0; i < t->plain.program->n_outputs && status >= 0; i++) {
        int64_t n = 0;
        double *a = output_of(&t->plain, i, &n, err), *b = output_of(&t->blocked, i, &n, err);
        double largest = 0, apart = 0;
        for (int64_t k = 0; k < n && a && b; k++) {
            largest = isfinite(a[k]) ? fmax(largest, fabs(a[k])) : largest;
            if (isfinite(a[k]) || isfinite(b[k]))
                apart = fmax(apart, isnan(a[k] - b[k]) ? INFINITY : fabs(a[k] - b[k]));
        }
        if (!a || !b)
            status = optune_fail(err, OPTUNE_EIO, "an output cannot be read back");
        else if (apart > APART * largest)
            status =
                optune_fail(err, OPTUNE_EIO,
                            "output %d differs by %g of %g between the graph as it is and in "
                            "blocks",
                            i + 1, apart, largest);
        free(a);
        free(b);
    }
    return status;
}

/* ---- what is written down ---------------------------------------------------------------- */

static int record(const turns *t, const ot_blocks *form, const ot_layouts *told,
                  optune_err *err)
{
    const optune *o = t->run->o;
    const optune_partition *p = t->plain.partition;
    const optune_task task = {p->groups.group[t->anchor].call, &o->target, &o->device};
    const ot_kernel *kernel = &t->plain.program->kernel[t->anchor];
    const ot_contender who = {
        .task = &task, .impl = kernel->impl, .config = kernel->config, .policy = p->in_graph};
    ot_text lines = {0};
    double spent = 0;
    ot_layouts_lines(told, form, p->groups.n, &lines);
    for (int i = 0; i < t->plain.n; i++)
        spent += t->anchored[i];
    const ot_interval interval = ot_median_interval(t->anchored, t->plain.n);
    const ot_trial_result result = {.outcome = OPTUNE_OUTCOME_OK,
                                    .cost = interval.median,
                                    .low = interval.low,
                                    .high = interval.high,
                                    .n_samples = t->plain.n,
                                    .sample = t->anchored,
                                    .inner = 1,
                                    .counters = ot_text_str(&lines),
                                    .seed = t->run->options->seed};
    const int status = ot_record_trial(t->run, &who, &result, spent, true, err);
    ot_text_release(&lines);
    return status;
}

/* ---- all of it --------------------------------------------------------------------------- */

static int open_side(turns *t, side *s, optune_err *err)
{
    int status = optune_program_open(s->partition, &s->program, err);
    if (status >= 0)
        status = ot_program_fill_inputs(s->program, t->run->options->seed, err);
    return status;
}

/* The second program takes about what the first one took. */
static int open_both(turns *t, optune_err *err)
{
    const double there = (double)ot_memory_available(t->run->memory_root);
    int status = open_side(t, &t->plain, err);
    const double left = (double)ot_memory_available(t->run->memory_root);
    if (status >= 0 && there > 0 && left < 1.5 * (there - left))
        return optune_fail(err, OPTUNE_ENOMEM, "there is no memory for the graph twice");
    return status < 0 ? status : open_side(t, &t->blocked, err);
}

static void count_transforms(const turns *t, ot_layouts *told)
{
    told->transforms = 0;
    for (int i = 0; i < t->blocked.partition->groups.n; i++)
        told->transforms += t->blocked.partition->places.idle[i] == OT_RUNS &&
                            is_transform(t->blocked.partition, i);
}

static int play(turns *t, const ot_blocks *form, double end, double to_beat, ot_layouts *told,
                optune_err *err)
{
    int status = open_both(t, err);
    if (status >= 0)
        status = compare(t, end, told, err);
    if (status >= 0)
        status = agree(t, err);
    if (status < 0)
        return status;
    ot_layouts_count(t->plain.partition, form, told);
    count_transforms(t, told);
    return told->blocked / told->plain >= to_beat ? OPTUNE_OK : record(t, form, told, err);
}

int ot_layouts_turns(ot_run *run, optune_partition *plain, optune_partition *blocked,
                     const ot_blocks *form, double end, double to_beat, ot_layouts *told,
                     optune_err *err)
{
    turns *t = ot_alloc(sizeof *t);
    *t = (turns){.run = run, .plain = {.partition = plain}, .blocked = {.partition = blocked}};
    t->anchor = ot_layouts_anchor(plain);
    optune_graph *given = plain->given;
    bool *ours = ot_alloc((size_t)(given->n + 1) * sizeof *ours);
    for (int id = 0; id < given->n; id++)
        ours[id] = given->node[id].kind == OT_NODE_CONST && !given->node[id].data;
    int lock = -1;
    ot_layouts found = {0};
    const ot_worker_options whose = {.device = &run->o->device, .stop = &run->o->stop};
    const double before = ot_now();
    int status = ot_partition_fill(plain, run->options->seed, err);
    if (status >= 0)
        status = ot_device_lock(&whose, &lock, err);
    if (status >= 0)
        status = play(t, form, end + ot_now() - before, to_beat, &found, err);
    ot_device_unlock(lock);
    if (status >= 0)
        *told = found;
    optune_program_close(t->plain.program);
    optune_program_close(t->blocked.program);
    for (int id = 0; id < given->n; id++)
        if (ours[id])
            optune_graph_set_data(given, id, NULL, NULL);
    ot_partition_share(blocked);
    free(ours);
    free(t);
    return status;
}
