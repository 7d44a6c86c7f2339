/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What implementations estimate, beside what was measured: for every template and workload of a
 * log, how well the estimate of today's code orders the configs that the log has, and how far from
 * the best of them are the one that it puts first, the best of the first few, and the default.
 * Measures nothing and needs no device but the log's line of it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/answer.h"
#include "base/base.h"
#include "bench/bench.h"
#include "db/db.h"

enum { FEW = 3, SOME = 8 };

typedef struct point {
    char *config;
    double cost, estimate; /* seconds; cycles */
    bool fallback;
} point;

/* All configs of one implementation, for one workload on one device under one policy. */
typedef struct space_seen {
    char *impl, *call, *target, *device, *policy;
    int n, capacity;
    point *at;
} space_seen;

typedef struct seen {
    int n, capacity, n_devices, device_capacity;
    space_seen *space;
    optune_device *device;
    int64_t records, foreign; /* foreign: of no implementation or config that there is today */
} seen;

static const char usage[] =
    "estimates [--records] [--least N] [--tau T] [--first R] LOG: of spaces with at least N "
    "(8) "
    "configs;\n--records prints implementation, workload, config, seconds, estimate and "
    "whether "
    "it is the default;\na mean order below T or a first config further than R from the best "
    "fails";

static const optune_device *device_of(const seen *s, const char *key)
{
    for (int i = 0; i < s->n_devices; i++)
        if (!strcmp(s->device[i].key, key))
            return &s->device[i];
    return NULL;
}

static const char *policy_of(const optune_record *r)
{
    return r->policy ? r->policy : "warm";
}

static space_seen *space_of(seen *s, const optune_record *r)
{
    for (int i = 0; i < s->n; i++) {
        space_seen *one = &s->space[i];
        if (!strcmp(one->impl, r->impl) && !strcmp(one->call, r->call) &&
            !strcmp(one->target, r->target) && !strcmp(one->device, r->device) &&
            !strcmp(one->policy, policy_of(r)))
            return one;
    }
    s->space = ot_room(s->space, s->n, &s->capacity, sizeof *s->space);
    space_seen *one = &s->space[s->n++];
    *one = (space_seen){.impl = ot_strdup(r->impl),
                        .call = ot_strdup(r->call),
                        .target = ot_strdup(r->target),
                        .device = ot_strdup(r->device),
                        .policy = ot_strdup(policy_of(r))};
    return one;
}

static void add(space_seen *space, const optune_record *r)
{
    ot_text text = {0};
    ot_config_print(&r->config, &text);
    for (int i = 0; i < space->n; i++)
        if (!strcmp(space->at[i].config, ot_text_str(&text))) {
            space->at[i].cost = fmin(space->at[i].cost, r->cost);
            ot_text_release(&text);
            return;
        }
    space->at = ot_room(space->at, space->n, &space->capacity, sizeof *space->at);
    space->at[space->n++] =
        (point){.config = ot_strdup(ot_text_str(&text)), .cost = r->cost, .estimate = NAN};
    ot_text_release(&text);
}

static int note(void *arg, const ot_log_line *line)
{
    seen *s = arg;
    const optune_record *r = &line->record;
    if (line->device && !device_of(s, line->device->key)) {
        s->device = ot_room(s->device, s->n_devices, &s->device_capacity, sizeof *s->device);
        s->device[s->n_devices++] = *line->device;
    }
    if (line->problem || !line->ours || line->forgotten || !r->impl || !r->call)
        return 0;
    s->records++;
    if (r->outcome == OPTUNE_OUTCOME_OK && isfinite(r->cost) && r->cost > 0)
        add(space_of(s, r), r);
    return 0;
}

/* Those points remain that today's code has, with what it estimates of them. */
static void ask(seen *s, space_seen *one)
{
    static optune_call call;
    optune_target target;
    optune_space *space;
    optune_config config, fallback = {0};
    optune_err err;
    const optune_device *device = device_of(s, one->device);
    const optune_impl *impl = ot_impl_find(one->impl);
    const int all = one->n;
    one->n = 0;
    if (impl && device && impl->estimate && ot_target_parse(one->target, &target, &err) >= 0 &&
        ot_call_parse(one->call, &call, &err) >= 0) {
        const optune_task task = {&call, &target, device};
        if (ot_impl_applies(impl, &task, NULL) &&
            ot_space_open(&task, impl, &space, &err) >= 0) {
            const bool has = ot_space_fallback(space, &fallback, NULL);
            for (int i = 0; i < all; i++) {
                point p = one->at[i];
                if (ot_config_parse(p.config, &config, &err) < 0 ||
                    ot_space_index_of(space, &config, &err) < 0 ||
                    !ot_space_valid(space, &config, NULL))
                    continue;
                p.estimate = ot_space_estimate(space, &config);
                p.fallback = has && config.index == fallback.index;
                if (isfinite(p.estimate))
                    one->at[one->n++] = p;
            }
            ot_space_close(space);
        }
    }
    s->foreign += all - one->n;
}

static int by_estimate(const void *a, const void *b)
{
    const point *x = a, *y = b;
    return x->estimate < y->estimate ? -1 : x->estimate > y->estimate;
}

static int sign(double x)
{
    return (x > 0) - (x < 0);
}

/* Kendall's tau-b. */
static double tau(const space_seen *s)
{
    double agree = 0, in_cost = 0, in_estimate = 0;
    for (int i = 0; i < s->n; i++)
        for (int k = 0; k < i; k++) {
            const int cost = sign(s->at[i].cost - s->at[k].cost);
            const int estimate = sign(s->at[i].estimate - s->at[k].estimate);
            agree += cost * estimate;
            in_cost += cost != 0;
            in_estimate += estimate != 0;
        }
    return in_cost > 0 && in_estimate > 0 ? agree / sqrt(in_cost * in_estimate) : NAN;
}

static double best_of(const space_seen *s, int first)
{
    double best = INFINITY;
    for (int i = 0; i < s->n && i < first; i++)
        best = fmin(best, s->at[i].cost);
    return best;
}

static int by_number(const void *a, const void *b)
{
    return sign(*(const double *)a - *(const double *)b);
}

/* The mean logarithm of the best of `drawn` configs that are drawn at random, over the best. */
static double drawn(const space_seen *s, int drawn)
{
    double *cost = ot_alloc((size_t)s->n * sizeof *cost), sum = 0, none = 1;
    const int k = drawn < s->n ? drawn : s->n;
    for (int i = 0; i < s->n; i++)
        cost[i] = s->at[i].cost;
    qsort(cost, (size_t)s->n, sizeof *cost, by_number);
    /* `none`: the chance that none of the i cheapest was drawn. */
    for (int i = 0; i < s->n && none > 0; i++) {
        const double next = s->n - i > k ? none * (s->n - i - k) / (s->n - i) : 0;
        sum += (none - next) * log(cost[i] / cost[0]);
        none = next;
    }
    free(cost);
    return sum;
}

typedef struct figures {
    int n; /* workloads */
    int defaults, configs;
    double tau, first, few, some, drawn, fallback; /* sums; logarithms but for tau */
} figures;

static void print(const char *what, const figures *f, int configs)
{
    char fallback[24] = "-";
    if (f->defaults > 0)
        snprintf(fallback, sizeof fallback, "%.3f", exp(f->fallback / f->defaults));
    printf("%6d %6.2f %7.3f %7.3f %7.3f %7.3f %8s  %s\n", configs, f->tau / f->n,
           exp(f->first / f->n), exp(f->few / f->n), exp(f->some / f->n), exp(f->drawn / f->n),
           fallback, what);
}

static figures figures_of(const space_seen *s)
{
    const double best = best_of(s, s->n), order = tau(s);
    figures f = {.n = 1,
                 .configs = s->n,
                 .tau = isfinite(order) ? order : 0,
                 .first = log(best_of(s, 1) / best),
                 .few = log(best_of(s, FEW) / best),
                 .some = log(best_of(s, SOME) / best),
                 .drawn = drawn(s, SOME)};
    for (int i = 0; i < s->n; i++)
        if (s->at[i].fallback) {
            f.defaults = 1;
            f.fallback = log(s->at[i].cost / best);
        }
    return f;
}

static void sum_up(figures *to, const figures *f)
{
    to->n += f->n;
    to->configs += f->configs;
    to->defaults += f->defaults;
    to->tau += f->tau;
    to->first += f->first;
    to->few += f->few;
    to->some += f->some;
    to->drawn += f->drawn;
    to->fallback += f->fallback;
}

static int by_name(const void *a, const void *b)
{
    const space_seen *x = a, *y = b;
    const int order = strcmp(x->impl, y->impl);
    return order ? order : strcmp(x->call, y->call);
}

static figures table(seen *s, int least)
{
    figures all = {0};
    printf("%6s %6s %7s %7s %7s %7s %8s\n", "n", "tau", "first", "of 3", "of 8", "drawn",
           "default");
    for (int i = 0; i < s->n;) {
        figures of_impl = {0};
        const char *impl = s->space[i].impl;
        for (; i < s->n && !strcmp(s->space[i].impl, impl); i++) {
            space_seen *one = &s->space[i];
            char what[600];
            if (one->n < least)
                continue;
            qsort(one->at, (size_t)one->n, sizeof *one->at, by_estimate);
            const figures f = figures_of(one);
            snprintf(what, sizeof what, "%s %s", one->impl, one->call);
            print(what, &f, f.configs);
            sum_up(&of_impl, &f);
        }
        if (of_impl.n == 0)
            continue;
        char what[OPTUNE_NAME_SIZE + 64];
        snprintf(what, sizeof what, "%s: %d workloads", impl, of_impl.n);
        print(what, &of_impl, of_impl.configs);
        printf("\n");
        sum_up(&all, &of_impl);
    }
    if (all.n == 0)
        bench_die("no implementation and workload with %d configs or more", least);
    print("all", &all, all.configs);
    return all;
}

static void list(const seen *s)
{
    for (int i = 0; i < s->n; i++)
        for (int k = 0; k < s->space[i].n; k++) {
            const space_seen *one = &s->space[i];
            const point *p = &one->at[k];
            printf("%s\t%s\t%s\t%.9g\t%.9g\t%d\n", one->impl, one->call, p->config, p->cost,
                   p->estimate, p->fallback);
        }
}

/* A number behind an option. */
static double number(const char *name, const char *text)
{
    double value;
    if (!text || !ot_read_real(text, &value))
        bench_die("%s takes a number, not '%s'", name, text ? text : "");
    return value;
}

int main(int argc, char **argv)
{
    seen s = {0};
    optune_err err = {0};
    const char *log = NULL;
    bool records = false;
    double least = SOME, order = -1, first = INFINITY;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--records"))
            records = true;
        else if (!strcmp(argv[i], "--least"))
            least = number("--least", argv[i + 1]), i++;
        else if (!strcmp(argv[i], "--tau"))
            order = number("--tau", argv[i + 1]), i++;
        else if (!strcmp(argv[i], "--first"))
            first = number("--first", argv[i + 1]), i++;
        else if (argv[i][0] == '-' || log)
            bench_die("%s", usage);
        else
            log = argv[i];
    }
    if (!log)
        bench_die("%s", usage);
    if (!(least >= 2 && least <= 1e6))
        bench_die("--least: an order needs 2 configs or more");
    if (ot_log_read(log, note, &s, &err) < 0)
        bench_die("%s", err.text);
    for (int i = 0; i < s.n; i++)
        ask(&s, &s.space[i]);
    qsort(s.space, (size_t)s.n, sizeof *s.space, by_name);
    figures all = {0};
    if (records)
        list(&s);
    else
        all = table(&s, (int)least);
    fprintf(stderr, "%lld records; %lld configs are of nothing that estimates today\n",
            (long long)s.records, (long long)s.foreign);
    for (int i = 0; i < s.n; i++) {
        space_seen *one = &s.space[i];
        for (int k = 0; k < one->n; k++)
            free(one->at[k].config);
        free(one->at);
        free(one->impl);
        free(one->call);
        free(one->target);
        free(one->device);
        free(one->policy);
    }
    free(s.space);
    free(s.device);
    if (all.n > 0 && !(all.tau / all.n >= order && exp(all.first / all.n) <= first))
        bench_die("worse than a tau of %g and a first of %g", order, first);
    return 0;
}
