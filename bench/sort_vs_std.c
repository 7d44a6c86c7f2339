/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sort, argsort and topk: the best template of ours against the C++ standard library, and sort
 * beside Highway's vqsort where that was found. All read the same input and write the same
 * outputs; all are verified. Along the last axis only.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/peer_std.h"

static const char *const workloads[] = {
    "sort(f32[1024])",
    "sort(f32[65536])",
    "sort(f32[1048576])",
    "sort(f32[65536,25])",
    "argsort(f32[1024])",
    "argsort(f32[65536])",
    "argsort(f32[1048576])",
    "argsort(f32[80,8400], is_ascend=false)",
    "topk(f32[1,50257], k=50)",
    "topk(f32[4096,64], k=2)",
    "topk(f32[128,1000], k=5)",
    "topk(f32[1,120000], k=2000)",
    NULL,
};

static const bench_about about = {
    .name = "sort_vs_std",
    .summary = "sort, argsort and topk, our best template against the C++ standard library",
    .threads = 1,
    .seconds = 10,
    .workloads = workloads,
};

#ifdef OT_STD

typedef struct peer {
    peer_std call;
    int way;
} peer;

static double time_std(void *arg, int64_t count)
{
    const peer *p = arg;
    const int64_t start = ot_now_ns();
    for (int64_t i = 0; i < count; i++)
        peer_std_run(&p->call, p->way);
    return (double)(ot_now_ns() - start) * 1e-9;
}

static double time_vqsort(void *arg, int64_t count)
{
    const peer *p = arg;
    const int64_t start = ot_now_ns();
    for (int64_t i = 0; i < count; i++)
        peer_vqsort_run(&p->call);
    return (double)(ot_now_ns() - start) * 1e-9;
}

static peer_std peer_of(bench *b)
{
    const ot_session *s = &b->session;
    const optune_call *call = &s->call;
    const optune_tensor *data = &call->input[0].type;
    const char *op = call->op->name;
    if (optune_call_int(call, "axis") != -1)
        bench_die("the peer orders along the last axis only");
    const bool topk = strcmp(op, "topk") == 0;
    const char *type = topk ? optune_call_word(call, "ret_type") : op;
    const bool values = strcmp(type, "indices") != 0 && strcmp(type, "argsort") != 0;
    const bool indices = strcmp(type, "values") != 0 && strcmp(type, "sort") != 0;
    peer_std p = {
        .data = s->row->address(s->state, s->in[OT_ALIGNED][0]),
        .n = data->dim[data->rank - 1].min,
        .k = call->output[0].dim[data->rank - 1].min,
        .is_float = data->dtype.code == OPTUNE_DTYPE_FLOAT,
        .ascend = optune_call_int(call, "is_ascend"),
        .bits = data->dtype.bits,
        .index_bits = indices ? call->output[values].dtype.bits : 32,
    };
    p.lines = optune_tensor_elements(data) / p.n;
    if (values)
        p.values = s->row->address(s->state, s->out[OT_ALIGNED][0]);
    if (indices)
        p.indices = s->row->address(s->state, s->out[OT_ALIGNED][values]);
    p.work = malloc((size_t)p.n * 16);
    if (!p.work)
        bench_die("no memory for a line of pairs");
    return p;
}

static void run(bench *b, bench_ours *ours, bench_table *table, bench_table *vqsort)
{
    char label[OPTUNE_TEXT_SIZE], how[OPTUNE_TEXT_SIZE], line[2 * OPTUNE_TEXT_SIZE];
    bench_buffers(b, ours->call);
    peer p[2];
    void *arg[2] = {&p[0], &p[1]};
    p[0] = p[1] = (peer){.call = peer_of(b)};
    int ways = 0;
    for (; ways < 2 && peer_std_way(&p[0].call, ways); ways++) {
        p[ways].way = ways;
        peer_std_run(&p[ways].call, ways);
        bench_check(b, ours->impl->name, peer_std_way(&p[0].call, ways));
    }
    const int best = bench_fastest(time_std, arg, ways);
    bench_bind(ours);
    bench_label(&b->session.call, label, sizeof label);
    bench_ours_how(ours, how, sizeof how);
    const bench_row row = bench_compare(b, bench_ours_time, ours, time_std, &p[best]);
    snprintf(line, sizeof line, "%s | %s", how, peer_std_way(&p[0].call, best));
    bench_print(table, label, &row, line);
    const char *name = peer_vqsort_way(&p[0].call);
    if (name) {
        peer_vqsort_run(&p[0].call);
        bench_check(b, ours->impl->name, name);
        const bench_row beside = bench_compare(b, bench_ours_time, ours, time_vqsort, &p[0]);
        snprintf(line, sizeof line, "%s | %s", how, name);
        bench_print(vqsort, label, &beside, line);
    }
    bench_unbind(ours);
    free(p[0].call.work);
}

int main(int argc, char **argv)
{
    static bench b;
    static bench_ours ours[BENCH_MOST];
    bench_table table = {0}, vqsort = {0};
    bench_open(&b, &about, argc, argv);
    bench_tune(&b, b.workload, b.n, b.seconds);
    for (int i = 0; i < b.n; i++)
        bench_select(&b, b.workload[i], &ours[i]);
    bench_measuring(&b);
    bench_heading(&b, "the C++ standard library at -O3 -march=native, one thread");
    bench_columns("ours", "peer", "speed");
    for (int i = 0; i < b.n; i++)
        run(&b, &ours[i], &table, &vqsort);
    if (vqsort.n)
        bench_geomean(&vqsort, "sort against vqsort");
    bench_geomean(&table, NULL);
    bench_close(&b);
    return 0;
}
#else
int main(int argc, char **argv)
{
    static bench b;
    bench_open(&b, &about, argc, argv);
    bench_missing("it was built without a C++ compiler");
}
#endif
