/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense and batch_matmul: the best template of ours against OpenBLAS. Both read the same inputs
 * and write the same output buffer; both are verified before they are timed.
 */
#include "bench/peer_openblas.h"

static const bench_about about = {
    .name = "dense_vs_openblas",
    .summary = "matrix products, our best template against OpenBLAS",
    .op = "dense",
    .other_op = "batch_matmul",
    .preset = "bert-base",
    .threads = 1,
    .seconds = 30,
};

int main(int argc, char **argv)
{
    static bench b;
    static bench_ours ours[BENCH_MOST];
    bench_table table = {0};
    char peer_text[512];
    bench_open(&b, &about, argc, argv);
    bench_needs("cblas");
    bench_tune(&b, b.workload, b.n, b.seconds);
    for (int i = 0; i < b.n; i++)
        bench_select(&b, b.workload[i], &ours[i]);
    bench_measuring(&b);
    if (!peer_openblas_there(&b, peer_text, sizeof peer_text))
        bench_missing(peer_text);
    bench_heading(&b, peer_text);
    bench_columns("ours", "OpenBLAS", "speed");
    for (int i = 0; i < b.n; i++) {
        char label[OPTUNE_TEXT_SIZE], how[OPTUNE_TEXT_SIZE], line[3 * OPTUNE_TEXT_SIZE];
        bench_buffers(&b, ours[i].call);
        peer_openblas *peer = peer_openblas_open(&b);
        bench_bind(&ours[i]);
        const bench_row row =
            bench_compare(&b, bench_ours_time, &ours[i], peer_openblas_time, peer);
        bench_label(&b.session.call, label, sizeof label);
        bench_ours_how(&ours[i], how, sizeof how);
        snprintf(line, sizeof line, "%s | %s", how, peer_openblas_how(peer));
        bench_print(&table, label, &row, line);
        bench_unbind(&ours[i]);
        peer_openblas_close(peer);
    }
    bench_geomean(&table, NULL);
    bench_close(&b);
    return 0;
}
