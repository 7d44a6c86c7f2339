/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops that only move memory, at sizes that no cache holds: bytes that must be read and written
 * by ours in a second, over the bytes that memcpy reads and writes in a second. memcpy copies
 * half as many bytes as the op moves, so both move the same; its time is the peer's.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench/bench.h"

static const char *const workloads[] = {
    "copy(f32[134217728])",
    "relu(f32[134217728])",
    "sigmoid(f32[134217728])",
    "add(f32[134217728], f32[134217728])",
    "add(f32[64,512,64,64], f32[512,1,1])",
    "sum(f32[16384,8192], axis=[1])",
    "sum(f32[16384,8192], axis=[0])",
    "max(f32[134217728])",
    "cumsum(f32[134217728])",
    "cumsum(f32[16384,8192], axis=0)",
    "concatenate(f32[67108864], f32[67108864])",
    "layout_transform(f32[64,512,64,64], src_layout=NCHW, dst_layout=NCHW16c)",
    "layout_transform(f32[64,32,64,64,16], src_layout=NCHW16c, dst_layout=NCHW)",
    NULL,
};

static const bench_about about = {
    .name = "memory_bound",
    .summary = "ops at 512 MB and more, share of memcpy's bytes per second",
    .threads = 1,
    .seconds = 30,
    .workloads = workloads,
};

typedef struct copying {
    char *from, *to;
    size_t bytes;
} copying;

static double time_copy(void *arg, int64_t count)
{
    const copying *c = arg;
    const int64_t start = ot_now_ns();
    for (int64_t i = 0; i < count; i++) {
        memcpy(c->to, c->from, c->bytes);
        __asm__ volatile("" : : "r"(c->to) : "memory");
    }
    return (double)(ot_now_ns() - start) * 1e-9;
}

static char *room(size_t bytes)
{
    void *p = aligned_alloc(1 << 21, (bytes + (1 << 21) - 1) >> 21 << 21);
    if (!p)
        bench_die("no memory for a copy of %zu bytes", bytes);
    madvise(p, bytes, MADV_HUGEPAGE);
    memset(p, 1, bytes);
    return p;
}

static void run(bench *b, bench_ours *ours, bench_table *table)
{
    char label[OPTUNE_TEXT_SIZE], how[OPTUNE_TEXT_SIZE], line[2 * OPTUNE_TEXT_SIZE];
    bench_buffers(b, ours->call);
    const double bytes = ot_call_bytes(&b->session.call);
    copying c = {.bytes = (size_t)bytes / 2};
    c.from = room(c.bytes);
    c.to = room(c.bytes);
    time_copy(&c, 1);
    bench_bind(ours);
    const bench_row row = bench_compare(b, bench_ours_time, ours, time_copy, &c);
    bench_label(&b->session.call, label, sizeof label);
    bench_ours_how(ours, how, sizeof how);
    snprintf(line, sizeof line, "%s, %.1f GB/s | %.1f GB/s", how,
             bytes / row.ours.median * 1e-9, bytes / row.peer.median * 1e-9);
    bench_print(table, label, &row, line);
    bench_unbind(ours);
    free(c.from);
    free(c.to);
}

int main(int argc, char **argv)
{
    return bench_main(argc, argv, &about,
                      "memcpy of half of the op's bytes: as many are read and written",
                      (const char *const[]){"ours", "memcpy", "share"}, run);
}
