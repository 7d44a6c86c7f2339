/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The knob of small calls on CPUs: who has it, what is chosen untuned, what a plan for one thread
 * is, and that configs from before there was such a knob are still read.
 */
#include <math.h>

#include "strategy/inside.h"
#include "support/check.h"
#include "support/counted.h"
#include "target/target.h"

typedef struct asked {
    optune_target target;
    optune_device device;
    optune_call call;
    optune_task task;
    const optune_impl *impl;
    optune_space *space;
} asked;

static asked a;

/* Lives until the next one. */
static void ask(const char *impl, const char *call, int threads)
{
    optune_err err = {0};
    ot_space_close(a.space);
    a = (asked){.impl = ot_impl_find(impl)};
    check_ok(ot_target_parse("cpu", &a.target, &err));
    a.device = (optune_device){.kind = "cpu",
                               .threads = threads,
                               .cores = threads,
                               .vector_bytes = 32,
                               .vector_registers = 16,
                               .l1 = 32 << 10,
                               .l2 = 512 << 10,
                               .l3 = 8 << 20};
    a.task = (optune_task){&a.call, &a.target, &a.device};
    check_ok(ot_call_parse(call, &a.call, &err));
    assert_non_null(a.impl);
    check_ok(ot_space_open(&a.task, a.impl, &a.space, &err));
}

static int release(void **state)
{
    (void)state;
    ot_space_close(a.space);
    return 0;
}

static bool has_knob(const char *impl, const char *call, int threads)
{
    ask(impl, call, threads);
    return ot_space_knob(a.space, "team") >= 0;
}

static void test_who_has_it(void **state)
{
    (void)state;
    assert_true(has_knob("relu_vector.cpu", "relu(f32[1260])", 2));
    assert_true(has_knob("cumsum_loops.generic", "cumsum(i8[131])", 4));
    assert_false(has_knob("relu_vector.cpu", "relu(f32[1260])", 1));
    assert_false(has_knob("relu_vector.cpu", "relu(f32[1260000])", 2));
    /* Few bytes and many operations. */
    assert_true(has_knob("dense_gemm.cpu", "dense(f32[8,64], const f32[64,64])", 2));
    assert_false(has_knob("dense_gemm.cpu", "dense(f32[128,128], const f32[128,128])", 2));
    assert_true(has_knob("sort_radix.cpu", "sort(f32[30])", 2));
    /* AutoTVM's templates have its knobs, libraries teams of their own. */
    assert_false(has_knob("dense_nopack.x86", "dense(f32[8,64], const f32[64,64])", 2));
    assert_false(has_knob("dense_cblas.x86", "dense(f32[8,64], const f32[64,64])", 2));
}

static int64_t team_untuned(const char *call)
{
    optune_config config;
    ask("relu_vector.cpu", call, 2);
    assert_true(ot_space_fallback(a.space, &config, NULL));
    return strcmp(optune_config_word(&config, "team"), "one") == 0 ? 1 : 2;
}

/* Including the words is not using them. */
static void test_a_body_without(void **state)
{
    (void)state;
    static const optune_impl alone = {
        .op = "relu",
        .name = "relu_alone.cpu",
        .source = "/* PARALLEL_FOR\n * PARALLEL_FOR */\n#define PARALLEL_FOR\nvoid f() {}\n"};
    optune_err err = {0};
    optune_space *space = NULL;
    ask("relu_vector.cpu", "relu(f32[1260])", 2);
    check_ok(ot_space_open(&a.task, &alone, &space, &err));
    assert_int_equal(optune_space_knobs(space), 0);
    ot_space_close(space);
}

static void test_untuned(void **state)
{
    (void)state;
    assert_int_equal(team_untuned("relu(f32[1260])"), 1);
    assert_int_equal(team_untuned("relu(f32[20000])"), 2);
}

static int threads_of(const optune_config *config)
{
    static const char define[] = "#define OT_THREADS ";
    optune_plan *plan = ot_alloc(sizeof *plan);
    optune_err err = {0};
    ot_text text = {0};
    check_ok(ot_plan_make(&a.task, a.impl, config, plan, &err));
    ot_plan_source(&a.task, plan, 0, &text);
    const char *found = strstr(ot_text_str(&text), define);
    assert_non_null(found);
    const int threads = atoi(found + strlen(define));
    assert_int_equal(threads, plan->threads);
    ot_text_release(&text);
    free(plan);
    return threads;
}

static void test_plan(void **state)
{
    (void)state;
    optune_config config;
    ask("relu_vector.cpu", "relu(f32[1260])", 2);
    assert_true(ot_space_fallback(a.space, &config, NULL));
    assert_int_equal(threads_of(&config), 1);
    optune_config_choose_word(&config, a.space, "team", "all");
    assert_int_equal(threads_of(&config), 2);
}

/* Its place is behind all others, so that an index means what it meant; who lacks it has a team. */
static void test_older_configs(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_config config, older;
    ask("relu_vector.cpu", "relu(f32[1260])", 2);
    assert_true(ot_space_fallback(a.space, &config, NULL));
    optune_config_choose_word(&config, a.space, "team", "all");
    assert_true(ot_space_index_of(a.space, &config, &err) >= 0);
    older = config;
    older.n--;
    assert_string_equal(config.entity[older.n].name, "team");
    assert_int_equal(threads_of(&older), 2);
    check_ok(ot_space_index_of(a.space, &older, &err));
    assert_int_equal(older.n, config.n);
    assert_int_equal(older.index, config.index);
    assert_true(older.index < optune_space_size(a.space) / 2);
    /* Any other must be there. */
    older = config;
    older.entity[0] = older.entity[--older.n];
    assert_true(ot_space_index_of(a.space, &older, &err) < 0);
}

/* ---- whose threads run a module ------------------------------------------------------------ */

/* Each body whose loops are shared, so that on a busy machine nobody waits for threads of
 * libgomp's. */
static void test_all_bodies_run_our_team(void **state)
{
    (void)state;
    int n = 0;
    int n_impls = 0;
    const optune_impl *const *impl = ot_impls(&n_impls);
    for (int i = 0; i < n_impls; i++) {
        const char *source = ot_impl_source(impl[i]);
        if (!source || !strstr(source, "PARALLEL_FOR") || !ot_team_runs(source))
            continue;
        if (!*ot_team_calls(source))
            fail_msg("%s asks OpenMP for more", impl[i]->name);
        n++;
    }
    assert_true(n > 50);
}

static void test_who_asks_openmp_for_more(void **state)
{
    (void)state;
    static const char *const more[] = {"#pragma omp parallel\n",
                                       "int n = omp_get_max_threads();",
                                       "_Pragma(\"omp critical\")", "void GOMP_barrier(void);"};
    static const char *const words[] = {"int comp, romp, omp_;", "int GOMP, omps, xomp_get;"};
    ot_text text = {0};
    const char *body = ot_impl_source(ot_impl_find("relu_vector.cpu"));
    assert_true(*ot_team_calls(body));
    for (size_t i = 0; i < OT_COUNT(more) + OT_COUNT(words); i++) {
        const bool asks = i < OT_COUNT(more);
        ot_text_clear(&text);
        ot_text_add(&text, body);
        ot_text_add(&text, asks ? more[i] : words[i - OT_COUNT(more)]);
        assert_int_equal(!*ot_team_calls(ot_text_str(&text)), asks);
    }
    assert_string_equal(ot_team_calls("void f() {}\n"), "");
    ot_text_release(&text);
}

enum { PLANES = 8, SIDE = 40 };

static float highest(const float *plane, int y, int x)
{
    float most = -INFINITY;
    for (int i = -1; i <= 1; i++)
        for (int j = -1; j <= 1; j++)
            if (y + i >= 0 && y + i < SIDE && x + j >= 0 && x + j < SIDE)
                most = fmaxf(most, plane[(y + i) * SIDE + x + j]);
    return most;
}

/* By itself a module computes all parts; given a team, by that one, whose threads each have memory
 * of their own, whichever parts they are in. */
static void test_a_module(void **state)
{
    (void)state;
    enum { N = PLANES * SIDE * SIDE };
    static float in[N], out[N];
    optune_config config;
    optune_err err = {0};
    optune_plan *plan = ot_alloc(sizeof *plan);
    counted c;
    ask("max_pool2d_rows.cpu", "max_pool2d(f32[1,8,40,40], pool_size=[3,3], padding=[1,1])", 2);
    assert_true(ot_space_fallback(a.space, &config, NULL));
    check_ok(ot_plan_make(&a.task, a.impl, &config, plan, &err));
    assert_true(plan->n_scratch > 0);
    counted_open(&c, &a.task, plan);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < N; i++)
            in[i] = (float)(i * 31 % 101 - 50), out[i] = -1;
        assert_int_equal(counted_compute(&c, (void *[]){in}, out, k, NULL, NULL), k);
        for (int i = 0; i < N; i++)
            assert_true(out[i] == highest(in + i / (SIDE * SIDE) * (SIDE * SIDE),
                                          i / SIDE % SIDE, i % SIDE));
    }
    counted_close(&c);
    free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_has_it),
        cmocka_unit_test(test_a_body_without),
        cmocka_unit_test(test_untuned),
        cmocka_unit_test(test_plan),
        cmocka_unit_test(test_older_configs),
        cmocka_unit_test(test_all_bodies_run_our_team),
        cmocka_unit_test(test_who_asks_openmp_for_more),
        cmocka_unit_test(test_a_module),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
