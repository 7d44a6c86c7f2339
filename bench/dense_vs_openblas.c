/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense and batch_matmul: the best template of ours against OpenBLAS, or another library, or the
 * fastest of all there are. Both sides are verified before they are timed.
 */
#include "bench/peer.h"

static const char *wanted = "openblas";
static const bench_option options[] = {
    {"peer", "P", "openblas, mkl, blis, onednn, best of all, or a path (default openblas)",
     &wanted},
    {NULL, NULL, NULL, NULL},
};
static const bench_about about = {
    .name = "dense_vs_openblas",
    .summary = "matrix products, our best template against libraries",
    .op = "dense",
    .other_op = "batch_matmul",
    .preset = "bert-base",
    .threads = 1,
    .seconds = 30,
    .options = options,
};
static const bench_peer_kind *const kinds[] = {&bench_peer_cblas, &bench_peer_onednn3, NULL};

int main(int argc, char **argv)
{
    static bench b;
    static bench_ours ours[BENCH_MOST];
    static bench_peers peers;
    bench_table table = {0};
    char names[OPTUNE_TEXT_SIZE];
    bench_open(&b, &about, argc, argv);
    bench_peers_find(&peers, kinds, wanted);
    bench_tune(&b, b.workload, b.n, b.seconds);
    for (int i = 0; i < b.n; i++)
        bench_select(&b, b.workload[i], &ours[i]);
    bench_measuring(&b);
    bench_peers_start(&b, &peers);
    bench_peers_names(&peers, names, sizeof names);
    bench_heading(&b, names);
    bench_columns("ours", "peer", "speed");
    for (int i = 0; i < b.n; i++) {
        char label[OPTUNE_TEXT_SIZE], how[OPTUNE_TEXT_SIZE], line[3 * OPTUNE_TEXT_SIZE];
        char peer[OPTUNE_TEXT_SIZE];
        bench_peers_open(&b, &peers, i, false);
        bench_buffers(&b, ours[i].call);
        bench_bind(&ours[i]);
        const bench_row row = bench_peers_compare(&b, &ours[i], &peers, peer, sizeof peer);
        bench_label(&b.session.call, label, sizeof label);
        bench_ours_how(&ours[i], how, sizeof how);
        snprintf(line, sizeof line, "%s | %s", how, peer);
        bench_print(&table, label, &row, line);
        bench_unbind(&ours[i]);
    }
    bench_geomean(&table, NULL);
    bench_peers_stop(&peers);
    bench_close(&b);
    return 0;
}
