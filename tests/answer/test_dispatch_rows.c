/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dispatch tables of every kind of operator that has rows or a batch: without any tuning, each is
 * written as C, built as a stranger would, and computes every size right, the ends among them, and
 * nothing beyond its output. A table of constants' kind is a hint for a call of constants.
 *
 * OPTUNE_TEST_WORKLOAD: this one instead of the list.
 */
#include "support/tuning.h"

#include "support/check.h"

#include <dlfcn.h>
#include <math.h>
#include <unistd.h>

#include "answer/dispatch/dispatch.h"
#include "run/worker.h"
#include "support/emitted.h"

enum { PAD = 64, MOST = 64 };

/* Fast ones: no row of theirs is the generic implementation's. */
static const char *const workloads[] = {
    "relu(f32[?n:1..61,5,7])",
    "add(f32[?b:1..3,?n:1..37,19], f32[19])",
    "add(f32[?n:1..37,4,19], f32[?n:1..37,1,19])",
    "sum(f32[?n:1..67,33], axis=[1])",
    "max(f32[?n:1..9,17,12], axis=[1])",
    "softmax(f32[?b:1..3,?n:1..29,40])",
    "softmax(f32[?n:1..11,9,20], axis=1)",
    "cumsum(f32[?n:1..23,50], axis=-1)",
    "topk(f32[?n:1..31,64], k=3)",
    "sort(f32[?n:1..13,70])",
    "max_pool2d(f32[?n:1..5,6,14,14], pool_size=[3,3], strides=[2,2], padding=[1,1,1,1])",
    "avg_pool2d(f32[?n:1..5,6,13,13], pool_size=[2,2], strides=[2,2])",
    "global_avg_pool2d(f32[?n:1..7,10,5,5])",
    "conv2d(f32[?n:1..5,16,9,11], const f32[24,16,3,3], padding=[1,1,1,1])",
    "conv2d(f32[?n:1..5,16,9,11], const f32[24,16,1,1])",
    "conv2d(f32[?n:1..4,16,9,11], const f32[16,1,3,3], padding=[1,1,1,1], groups=16)",
    "conv2d(f32[?n:1..3,16,?h:5..23,11], const f32[24,16,3,3], strides=[2,1], "
    "padding=[1,1,1,1]) -> add(f32[24,1,1]) -> relu()",
    "conv2d(f32[1,8,?h:5..23,?w:5..19], const f32[10,8,3,3]) -> add(f32[10,1,1])",
    "max_pool2d(f32[3,6,?h:5..20,19], pool_size=[3,3], strides=[2,2]) -> relu()",
    "dense(f32[?m:1..30,24], const f32[20,24]) -> add(f32[20]) -> sigmoid()",
    "concatenate(f32[?n:1..9,?m:1..7], f32[?n:1..9,5], axis=1)",
    "transpose(f32[?n:1..9,?h:1..6,40], axes=[1,0,2])",
};

/* What only the generic implementation computes, whose entry a macro writes. */
static const char *const general[] = {
    "concatenate(f32[?n:1..8,3], f32[?n:1..8,4], axis=1)",
    "transpose(f32[?n:1..9,5,6], axes=[0,2,1])",
    "reverse(f32[?n:1..9,7], axis=1)",
    /* More inputs and sizes than a stage has arguments. */
    "concatenate(f32[?a:0..3,2], f32[?b:1..4,2], f32[?c:0..2,2], f32[?d:0..3,2], f32[?2*a,2], "
    "f32[?2*b,2], f32[?2*c,2], f32[?2*d,2], f32[?a+b,2], f32[?a+c,2], f32[?a+d,2], "
    "f32[?b+c,2], "
    "f32[?b+d,2], f32[?c+d,2], f32[?a+1,2], f32[?d+1,2])",
};

/* One row for all sizes: what is chosen untuned. */
static ot_dispatch *untuned(optune *o, const char *workload, bool rows)
{
    ot_dispatch *table = NULL;
    optune_err err = {0};
    optune_call *call = ot_alloc(sizeof *call);
    ot_choice choice = {0};
    ot_text target = {0};
    check_ok(ot_context_device(o, &err));
    check_ok(ot_call_parse(workload, call, &err));
    check_ok(ot_dispatch_new(call, &table, &err));
    const optune_task task = {&table->call, &o->target, &o->device};
    check_ok(ot_select(&task, NULL, 0, &choice, &err));
    const optune_impl *impl = choice.row[choice.winner].candidate.impl;
    if (impl->generic && rows)
        fail_msg("only the generic implementation takes %s", workload);
    char digest[33];
    ot_call_digest(&task, impl, digest);
    ot_target_print(&o->target, true, &target);
    table->target = ot_arena_copy(&table->arena, ot_text_str(&target));
    table->device = ot_arena_copy(&table->arena, o->device.key);
    const char *depends = ot_context_depends(o, NULL, NULL, &table->arena);
    table->depends = depends ? depends : "";
    const ot_dispatch_row row = {.range = table->dims,
                                 .impl = impl,
                                 .digest = ot_arena_copy(&table->arena, digest),
                                 .tier = "plevel",
                                 .config = *choice.config};
    ot_dispatch_add(table, &row);
    check_ok(ot_dispatch_compile(table, &err));
    ot_choice_release(&choice);
    ot_text_release(&target);
    free(call);
    return table;
}

typedef struct built {
    size_t (*workspace)(void);
    void (*init)(void *workspace, const void *const *input);
    void (*close)(void *workspace);
    void *run;
} built;

static built build(optune *o, const ot_dispatch *table, int number)
{
    char name[32], path[1400], out[1400], symbol[64];
    optune_err err = {0};
    ot_text said = {0};
    snprintf(name, sizeof name, "rows%d", number);
    snprintf(path, sizeof path, "%s/%s.c", tuning_path("rows"), name);
    snprintf(out, sizeof out, "%s/%s.so", tuning_path("rows"), name);
    check_ok(ot_make_dirs(tuning_path("rows"), &err));
    check_ok(ot_dispatch_write(o, table, path, &said, &err));
    emitted_build("rows", name, (const char *const[]){"-shared", "-fPIC", "-o", out, NULL});
    void *object = dlopen(out, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    assert_non_null(object);
    built b;
#define FIND(what)                                                                             \
    snprintf(symbol, sizeof symbol, "%s_" #what, name);                                        \
    *(void **)&b.what = dlsym(object, symbol);                                                 \
    assert_non_null(*(void **)&b.what)
    FIND(workspace);
    FIND(init);
    FIND(close);
    FIND(run);
    ot_text_release(&said);
    return b;
}

static int run(const built *b, void *workspace, const void *const *in, void *const *out,
               const int64_t *size, int n)
{
    if (n == 1)
        return ((int (*)(void *, const void *const *, void *const *, int64_t))b->run)(
            workspace, in, out, size[0]);
    if (n == 2)
        return ((int (*)(void *, const void *const *, void *const *, int64_t, int64_t))b->run)(
            workspace, in, out, size[0], size[1]);
    typedef int (*four)(void *, const void *const *, void *const *, int64_t, int64_t, int64_t,
                        int64_t);
    assert_int_equal(n, 4);
    return ((four)b->run)(workspace, in, out, size[0], size[1], size[2], size[3]);
}

static double element(const optune_tensor *type, const void *data, int64_t i)
{
    return type->dtype.code == OPTUNE_DTYPE_FLOAT ? (double)((const float *)data)[i]
                                                  : (double)((const int32_t *)data)[i];
}

/* Against the operator's own reference, and the bytes behind each output against what was there. */
static void compare(const optune_call *call, const void *const *in, void *const *out,
                    const char *text)
{
    for (int k = 0; k < call->n_outputs; k++) {
        const optune_tensor *type = &call->output[k];
        const int64_t n = optune_tensor_elements(type);
        double *right = ot_alloc((size_t)n * sizeof *right), *size = ot_alloc((size_t)n * 8);
        optune_region region = {.rank = type->rank};
        for (int d = 0; d < type->rank; d++)
            region.hi[d] = type->dim[d].min;
        call->op->reference(call, in, k, &region, right, size);
        ot_reference_fused(call, in, &region, right, size);
        for (int64_t i = 0; i < n; i++)
            if (!(fabs(element(type, out[k], i) - right[i]) <= 1e-5 * (size[i] + 1e-3)))
                fail_msg("%s: element %lld of output %d is %g, not %g", text, (long long)i, k,
                         element(type, out[k], i), right[i]);
        const unsigned char *behind = (const unsigned char *)out[k] + n * 4;
        for (int i = 0; i < PAD; i++)
            if (behind[i] != 0xff)
                fail_msg("%s: it wrote %d bytes behind output %d", text, i, k);
        free(right);
        free(size);
    }
}

static void try_sizes(const ot_dispatch *table, const built *b, void *workspace,
                      const void *const *weights, const int64_t *size, uint64_t *rng)
{
    optune_err err = {0};
    ot_text text = {0};
    ot_symbols at = table->dims;
    optune_call *call = ot_alloc(sizeof *call);
    const void *in[OPTUNE_MAX_INPUTS];
    void *out[OPTUNE_MAX_OUTPUTS];
    for (int i = 0; i < at.n; i++)
        at.dim[i].min = at.dim[i].max = size[i];
    check_ok(ot_call_narrow(&table->call, &at, call, &err));
    ot_call_print(call, &text);
    for (int i = 0; i < optune_call_inputs(call); i++) {
        const int64_t n = optune_tensor_elements(&call->input[i].type);
        float *x = ot_alloc((size_t)n * sizeof *x + 64);
        for (int64_t k = 0; k < n; k++)
            x[k] = (float)(optune_random_below(rng, 2001) - 1000) / 512;
        in[i] = weights[i] ? weights[i] : x;
        if (weights[i])
            free(x);
    }
    for (int k = 0; k < call->n_outputs; k++) {
        const size_t bytes = (size_t)optune_tensor_elements(&call->output[k]) * 4 + PAD;
        out[k] = ot_alloc(bytes);
        memset(out[k], 0xff, bytes);
    }
    assert_int_equal(run(b, workspace, in, out, size, at.n), 0);
    compare(call, in, out, ot_text_str(&text));
    for (int i = 0; i < optune_call_inputs(call); i++)
        if (!weights[i])
            free((void *)(uintptr_t)in[i]);
    for (int k = 0; k < call->n_outputs; k++)
        free(out[k]);
    ot_text_release(&text);
    free(call);
}

static void try_workload(optune *o, const char *workload, bool rows, int number, uint64_t *rng)
{
    ot_dispatch *table = untuned(o, workload, rows);
    const built b = build(o, table, number);
    const optune_call *call = &table->call;
    float *weights[OPTUNE_MAX_INPUTS] = {NULL};
    for (int i = 0; i < call->n_inputs; i++) {
        if (!call->input[i].is_const)
            continue;
        const int64_t n = optune_tensor_elements(&call->input[i].type);
        weights[i] = ot_alloc((size_t)n * sizeof(float));
        for (int64_t k = 0; k < n; k++)
            weights[i][k] = (float)(optune_random_below(rng, 2001) - 1000) / 512;
    }
    const size_t bytes = (b.workspace() + 127) / 64 * 64;
    void *workspace = aligned_alloc(64, bytes);
    memset(workspace, 0, bytes);
    b.init(workspace, (const void *const *)weights);
    for (int turn = 0; turn < 8; turn++) {
        int64_t size[MOST];
        for (int k = 0; k < table->dims.n; k++) {
            const optune_dim *dim = &table->dims.dim[k];
            size[k] = turn == 0 ? dim->min
                      : turn == 1
                          ? dim->max
                          : dim->min + optune_random_below(rng, dim->max - dim->min + 1);
        }
        try_sizes(table, &b, workspace, (const void *const *)weights, size, rng);
    }
    const int64_t beyond[MOST] = {table->dims.dim[0].max + 1, 1};
    assert_int_equal(run(&b, workspace, NULL, NULL, beyond, table->dims.n), -1);
    b.close(workspace);
    free(workspace);
    for (int i = 0; i < call->n_inputs; i++)
        free(weights[i]);
    ot_dispatch_free(table);
}

static void test_sources(void **state)
{
    (void)state;
    const char *only = getenv("OPTUNE_TEST_WORKLOAD");
    uint64_t rng = 3;
    optune *o = tuning_open("rows-db");
    for (int i = 0; i < OT_COUNT(workloads); i++)
        if (!only || !i)
            try_workload(o, only ? only : workloads[i], true, i, &rng);
    for (int i = 0; i < OT_COUNT(general) && !only; i++)
        try_workload(o, general[i], false, OT_COUNT(workloads) + i, &rng);
    optune_close(o);
}

/* A call of constants that was never measured is served by a table that knows its sizes. */
static void test_hint(void **state)
{
    (void)state;
    optune *o = tuning_open("hinting");
    optune_err err = {0};
    optune_selection *s = NULL;
    char path[4096];
    ot_dispatch *table = untuned(o, "softmax(f32[?n:1..29,40])", true);
    json_t *json = ot_dispatch_json(table);
    char *text = json_dumps(json, 0);
    /* Asked for in vain, and there a moment later. */
    check_ok(optune_select(o, "softmax(f32[11,40])", &s, &err));
    assert_string_equal(optune_selection_tier(s), "plevel");
    optune_selection_free(s);
    check_ok(ot_dispatch_path(o, &table->call, path, sizeof path, &err));
    char *end = strrchr(path, '/');
    *end = 0;
    check_ok(ot_make_dirs(path, &err));
    *end = '/';
    check_ok(ot_write_file(path, text, strlen(text), &err));
    check_ok(optune_select(o, "softmax(f32[7,40])", &s, &err));
    assert_string_equal(optune_selection_tier(s), "hinted");
    check_contains(optune_selection_text(s, false), "dispatch table");
    optune_selection_free(s);
    static const char *const others[] = {"softmax(f32[30,40])", "softmax(f32[7,41])",
                                         "log_softmax(f32[7,40])", "relu(f32[7,40])"};
    for (int i = 0; i < OT_COUNT(others); i++)
        if (optune_select(o, others[i], &s, &err) >= 0) {
            assert_string_equal(optune_selection_tier(s), "plevel");
            optune_selection_free(s);
        }
    /* The same where somebody else takes the folder away and brings it back. */
    char away[sizeof path + 8];
    *end = 0;
    snprintf(away, sizeof away, "%s.away", path);
    assert_int_equal(rename(path, away), 0);
    check_ok(optune_select(o, "softmax(f32[8,40])", &s, &err));
    assert_string_equal(optune_selection_tier(s), "plevel");
    optune_selection_free(s);
    assert_int_equal(rename(away, path), 0);
    usleep(3 * 1000 * OT_LOOK_MS);
    check_ok(optune_select(o, "softmax(f32[9,40])", &s, &err));
    assert_string_equal(optune_selection_tier(s), "hinted");
    optune_selection_free(s);
    free(text);
    json_decref(json);
    ot_dispatch_free(table);
    optune_close(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sources),
                                       cmocka_unit_test(test_hint)};
    return cmocka_run_group_tests(tests, tuning_setup, tuning_teardown);
}
