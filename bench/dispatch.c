/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one call of optune_dispatch_select costs: over tables of one and two dims whose rows are
 * intervals, at random sizes that a branch predictor cannot know. A sample is a run of calls, its
 * time divided by their number; nothing is measured to make the tables. No peer.
 */
#include <stdlib.h>
#include <string.h>

#include "answer/dispatch/dispatch.h"
#include "bench/bench.h"

enum { SIZES = 4096, SAMPLES = 2000, CALLS = 1000 };

static optune_dispatch *make(const char *text, const char *impl, int rows)
{
    optune_err err = {0};
    optune_call *call = ot_alloc(sizeof *call);
    ot_dispatch_row *row = ot_alloc(sizeof *row);
    ot_dispatch *d = NULL;
    if (ot_call_parse(text, call, &err) < 0 || ot_dispatch_new(call, &d, &err) < 0)
        bench_die("%s", err.text);
    for (int r = 0; r < rows; r++) {
        char when[80];
        const char *last = d->dims.dim[d->dims.n - 1].name, *first = d->dims.dim[0].name;
        const int64_t max = d->dims.dim[d->dims.n - 1].max;
        snprintf(when, sizeof when, "%s <= %lld%s%s%s", last, (long long)(max * (r + 1) / rows),
                 d->dims.n > 1 ? " && " : "", d->dims.n > 1 ? first : "",
                 d->dims.n > 1 ? (r % 2 ? " > 3" : " > 9") : "");
        row->when = r < rows - 1 ? when : NULL;
        row->range = d->dims;
        row->impl = ot_impl_find(impl);
        row->digest = ot_impl_digest(row->impl);
        row->tier = "tuned";
        ot_dispatch_add(d, row);
    }
    if (ot_dispatch_compile(d, &err) < 0)
        bench_die("%s", err.text);
    free(call);
    free(row);
    return ot_dispatch_wrap(d);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double measure(const char *label, const optune_dispatch *d, const int64_t *most)
{
    static int64_t size[SIZES][2];
    static double ns[SAMPLES];
    uint64_t rng = 1;
    int sum = 0;
    for (int i = 0; i < SIZES; i++)
        for (int k = 0; k < 2; k++)
            size[i][k] = 1 + optune_random_below(&rng, most[k]);
    for (int s = 0; s < SAMPLES; s++) {
        const int64_t start = ot_now_ns();
        for (int c = 0; c < CALLS; c++)
            sum += optune_dispatch_select(d, size[(s * CALLS + c) % SIZES]);
        ns[s] = (double)(ot_now_ns() - start) / CALLS;
    }
    qsort(ns, SAMPLES, sizeof *ns, ascending);
    printf("%-24s p50 %5.1f ns  p99 %5.1f ns  (%d rows, sum %d)\n", label, ns[SAMPLES / 2],
           ns[SAMPLES * 99 / 100], optune_dispatch_rows(d), sum);
    return ns[SAMPLES / 2];
}

int main(void)
{
    static const int rows[] = {2, 8, 64};
    double worst = 0;
    for (int i = 0; i < OT_COUNT(rows); i++) {
        optune_dispatch *d =
            make("dense(f32[?m:1..4096,768], const f32[3072,768])", "dense_gemm.cpu", rows[i]);
        const double ns = measure("one dim", d, (const int64_t[]){4096, 1});
        worst = ns > worst ? ns : worst;
        optune_dispatch_close(d);
        d = make("batch_matmul(f32[?b:1..64,?m:1..512,64], f32[?b:1..64,512,64])",
                 "batch_matmul_gemm.cpu", rows[i]);
        const double two = measure("two dims", d, (const int64_t[]){64, 512});
        worst = two > worst ? two : worst;
        optune_dispatch_close(d);
    }
    printf("dispatch: p50 %.1f ns at worst\n", worst);
    return 0;
}
