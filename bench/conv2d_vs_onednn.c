/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv2d: the best template of ours against the best of oneDNN, in two tables. plain: data and
 * output are NCHW on both sides. free: each side keeps them in the layout it likes best, as
 * inside a network; ours takes NCHW8c, NCHW16c or NCHW32c (or NCHW where channels do not
 * divide).
 *
 * The one idea: a layout is part of the workload's text, so "free" is one workload for each
 * layout, tuned like any other, and the cheapest record decides.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/peer.h"

enum { VARIANTS = 4 };

static const char *layout = "both", *wanted = "onednn";
static const bench_option options[] = {
    {"peer", "P", "onednn (all that are there), or a path (default onednn)", &wanted},
    {"layout", "L", "plain, free or both tables (default both)", &layout},
    {NULL, NULL, NULL, NULL},
};
static const bench_about about = {
    .name = "conv2d_vs_onednn",
    .summary = "convolutions, our best template against oneDNN's best algorithm",
    .op = "conv2d",
    .preset = "resnet50",
    .threads = 1,
    .seconds = 20,
    .rows = 2,
    .options = options,
};

typedef struct shape {
    optune_call call;
    char *variant[VARIANTS]; /* the same in other layouts; the widest vector's first */
    int n;
    bench_ours plain, free;
} shape;

static const bench_peer_kind *const kinds[] = {&bench_peer_onednn2, &bench_peer_onednn3, NULL};
static bench_peers peers;

/* ---- layouts ----------------------------------------------------------------------------- */

static void add_ints(ot_text *to, const optune_call *call, const char *name, int n)
{
    const int64_t *v = optune_call_ints(call, name);
    ot_text_printf(to, ", %s=[", name);
    for (int i = 0; i < n; i++)
        ot_text_printf(to, "%s%lld", i ? "," : "", (long long)v[i]);
    ot_text_add(to, "]");
}

/* The call with data and output in blocks of `block` channels, where they divide; NULL:
 * nowhere. */
static char *blocked(const optune_call *call, int64_t block)
{
    const optune_dim *d = call->input[0].type.dim;
    const int64_t co = call->input[1].type.dim[0].min;
    const bool in = d[1].min % block == 0, out = co % block == 0;
    if (!in && !out)
        return NULL;
    ot_text weight = {0}, text = {0};
    ot_tensor_print(&call->input[1].type, &weight);
    ot_text_printf(&text, "conv2d(f32[%lld,%lld,%lld,%lld", (long long)d[0].min,
                   (long long)(in ? d[1].min / block : d[1].min), (long long)d[2].min,
                   (long long)d[3].min);
    if (in)
        ot_text_printf(&text, ",%lld", (long long)block);
    ot_text_printf(&text, "], %s %s", call->input[1].is_const ? "const" : "var", weight.s);
    add_ints(&text, call, "strides", 2);
    add_ints(&text, call, "padding", 4);
    add_ints(&text, call, "dilation", 2);
    ot_text_printf(&text, ", groups=%lld", (long long)optune_call_int(call, "groups"));
    if (in)
        ot_text_printf(&text, ", data_layout=NCHW%lldc", (long long)block);
    if (in != out)
        ot_text_printf(&text, out ? ", out_layout=NCHW%lldc" : ", out_layout=NCHW",
                       (long long)block);
    ot_text_add(&text, ")");
    optune_call parsed;
    optune_err err = {0};
    if (ot_call_parse(text.s, &parsed, &err) < 0)
        bench_die("%s", err.text);
    ot_text_clear(&text);
    ot_call_print(&parsed, &text);
    ot_text_release(&weight);
    return text.s;
}

static void add_variants(const bench *b, shape *s)
{
    const int lanes = b->o->device.vector_bytes / 4;
    const int64_t blocks[VARIANTS] = {lanes, 16, 8, 32};
    for (int i = 0; i < VARIANTS; i++) {
        bool twice = blocks[i] < 4;
        for (int k = 0; k < i; k++)
            twice = twice || blocks[k] == blocks[i];
        char *text = twice ? NULL : blocked(&s->call, blocks[i]);
        if (text)
            s->variant[s->n++] = text;
    }
}

static double cost_of(bench *b, const char *workload)
{
    optune_selection *selection = NULL;
    optune_err err = {0};
    if (optune_select(b->o, workload, &selection, &err) < 0)
        bench_die("%s", err.text);
    const double cost = optune_selection_cost(selection);
    optune_selection_free(selection);
    return cost;
}

/* The layout of the cheapest record, plain NCHW included; the first when nothing is known. */
static const char *cheapest(bench *b, const shape *s, const char *plain)
{
    const char *best = s->n ? s->variant[0] : plain;
    double cost = cost_of(b, best);
    for (int i = 0; i <= s->n; i++) {
        const char *text = i < s->n ? s->variant[i] : plain;
        const double c = cost_of(b, text);
        if (c < cost) {
            cost = c;
            best = text;
        }
    }
    return best;
}

/* Half of the time finds the layout, the other half goes to the one that won. */
static void tune_free(bench *b, shape *s)
{
    char *all[BENCH_MOST * VARIANTS], *best[BENCH_MOST];
    int n_best = 0;
    for (int v = 1; v <= VARIANTS; v++) { /* shapes with as many layouts share a run */
        int n = 0, shapes = 0;
        for (int i = 0; i < b->n; i++)
            if (s[i].n == v) {
                shapes++;
                for (int k = 0; k < v; k++)
                    all[n++] = s[i].variant[k];
            }
        bool *fresh = ot_alloc((size_t)(shapes + 1) * sizeof *fresh);
        for (int i = 0, k = 0; i < b->n; i++)
            if (s[i].n == v) {
                for (int c = 0; c < v; c++)
                    fresh[k] = fresh[k] || b->time_given || !bench_known(b, s[i].variant[c]);
                k++;
            }
        if (n)
            bench_tune(b, all, n, b->seconds / 2 / v);
        for (int i = 0, k = 0; i < b->n; i++)
            if (s[i].n == v && fresh[k++])
                best[n_best++] = (char *)cheapest(b, &s[i], b->workload[i]);
        free(fresh);
    }
    const bool given = b->time_given;
    b->time_given = true; /* they are known by now */
    if (n_best)
        bench_tune(b, best, n_best, b->seconds / 2);
    b->time_given = given;
}

/* ---- tables ------------------------------------------------------------------------------ */

static bool is_3x3(const optune_call *call)
{
    const optune_dim *kernel = call->input[1].type.dim + 2;
    const int64_t *stride = optune_call_ints(call, "strides");
    const int64_t *dilation = optune_call_ints(call, "dilation");
    return kernel[0].min == 3 && kernel[1].min == 3 && stride[0] == 1 && stride[1] == 1 &&
           dilation[0] == 1 && dilation[1] == 1 && optune_call_int(call, "groups") == 1;
}

static const char *layouts_of(const optune_call *call, char *to, size_t size)
{
    const char *in = optune_call_word(call, "data_layout");
    const char *out = optune_call_word(call, "out_layout");
    snprintf(to, size, *out && strcmp(in, out) != 0 ? "%s -> %s" : "%s", in, out);
    return to;
}

static void run_table(bench *b, shape *s, bool free_layout, const char *title)
{
    bench_table all = {0}, winograd = {0};
    printf("\n%s", title);
    bench_columns("ours", "oneDNN", "speed");
    for (int i = 0; i < b->n; i++) {
        bench_ours *ours = free_layout ? &s[i].free : &s[i].plain;
        char label[OPTUNE_TEXT_SIZE], how[OPTUNE_TEXT_SIZE], words[OPTUNE_WORD_SIZE * 3];
        char line[3 * OPTUNE_TEXT_SIZE], peer[OPTUNE_TEXT_SIZE];
        bench_peers_open(b, &peers, i, free_layout);
        bench_buffers(b, ours->call);
        bench_bind(ours);
        const bench_row row = bench_peers_compare(b, ours, &peers, peer, sizeof peer);
        bench_label(&s[i].call, label, sizeof label);
        bench_ours_how(ours, how, sizeof how);
        snprintf(line, sizeof line, "%s, %s | %s", how,
                 layouts_of(&b->session.call, words, sizeof words), peer);
        bench_print(&all, label, &row, line);
        if (is_3x3(&s[i].call)) {
            winograd.median[winograd.n] = row.ratio.median;
            winograd.low[winograd.n] = row.ratio.low;
            winograd.high[winograd.n++] = row.ratio.high;
        }
        bench_unbind(ours);
    }
    if (winograd.n && winograd.n < all.n) {
        char name[64];
        snprintf(name, sizeof name, "the %d of 3x3 with stride 1", winograd.n);
        bench_geomean(&winograd, name);
    }
    bench_geomean(&all, NULL);
}

int main(int argc, char **argv)
{
    static bench b;
    char text[OPTUNE_TEXT_SIZE];
    bench_open(&b, &about, argc, argv);
    const bool plain = strcmp(layout, "free") != 0, any = strcmp(layout, "plain") != 0;
    if (plain && any && strcmp(layout, "both") != 0)
        bench_die("--layout is plain, free or both, not '%s'", layout);
    optune_err err = {0};
    bench_peers_find(&peers, kinds, wanted);
    shape *s = ot_alloc((size_t)b.n * sizeof *s);
    for (int i = 0; i < b.n; i++) {
        if (ot_call_parse(b.workload[i], &s[i].call, &err) < 0)
            bench_die("%s", err.text);
        if (any && (s[i].call.output[0].dtype.code != OPTUNE_DTYPE_FLOAT ||
                    s[i].call.output[0].dtype.bits != 32))
            bench_die("'%s': other layouts are for float32, ask for --layout plain",
                      b.workload[i]);
        if (s[i].call.input[0].type.rank != 4 || s[i].call.output[0].rank != 4)
            bench_die("'%s' names a layout: write it in NCHW, the tables are about layouts",
                      b.workload[i]);
        if (any)
            add_variants(&b, &s[i]);
    }
    if (plain)
        bench_tune(&b, b.workload, b.n, b.seconds);
    if (any)
        tune_free(&b, s);
    for (int i = 0; i < b.n; i++) {
        if (plain)
            bench_select(&b, b.workload[i], &s[i].plain);
        if (any)
            bench_select(&b, cheapest(&b, &s[i], b.workload[i]), &s[i].free);
    }
    bench_measuring(&b);
    bench_peers_start(&b, &peers);
    bench_peers_names(&peers, text, sizeof text);
    bench_heading(&b, text);
    if (plain)
        run_table(&b, s, false, "plain: data and output in NCHW on both sides");
    if (any)
        run_table(&b, s, true, "free: each side in the layout it likes best");
    for (int i = 0; i < b.n; i++)
        for (int k = 0; k < s[i].n; k++)
            free(s[i].variant[k]);
    free(s);
    bench_peers_stop(&peers);
    bench_close(&b);
    return 0;
}
