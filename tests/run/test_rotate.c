/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rotation: which copy of what is constant each run gets. The stages are functions of this file,
 * bound by hand to buffers of the cpu target; policies by name.
 */
#include <math.h>
#include <string.h>

#include "run/worker.h"
#include "support/check.h"

enum { WEIGHT = 1, N = 256 }; /* bytes: 4 N a piece */

static struct seen {
    const float *in, *weight, *packed;
    float *work;
    float first;
} seen[64];
static int n_seen;

/* arg: input, weight, packed scratch, workspace, output */
static void witness(void *const *arg)
{
    const float *packed = arg[2];
    float *out = arg[4];
    if (n_seen < 64)
        seen[n_seen++] = (struct seen){arg[0], arg[1], packed, arg[3], packed[N - 1]};
    for (int i = 0; i < N; i++)
        out[i] = packed[i] + ((const float *)arg[1])[i];
}

static void pack(void *const *arg)
{
    for (int i = 0; i < N; i++)
        ((float *)arg[1])[i] = 2 * ((const float *)arg[0])[i];
}

typedef struct bench {
    ot_session session;
    optune_impl impl;
    ot_loaded loaded;
    ot_bound bound;
    optune_launch launch[2]; /* one of each phase */
} bench;

static void bind_launch(bench *b, int phase, ot_function function, optune_stage *stage)
{
    optune_launch *launch = &b->bound.launch[phase][b->bound.n[phase]++];
    const ot_session *s = &b->session;
    launch->stage = stage;
    memcpy(&launch->function, &function, sizeof function);
    for (int k = 0; k < stage->n_args; k++)
        launch->arg[k] =
            stage->arg[k].kind == OPTUNE_ARG_INPUT    ? s->in[OT_ALIGNED][stage->arg[k].index]
            : stage->arg[k].kind == OPTUNE_ARG_OUTPUT ? s->out[OT_ALIGNED][stage->arg[k].index]
                                                      : b->bound.scratch[stage->arg[k].index];
}

static bench *open_bench(void)
{
    static const optune_device device = {.threads = 1};
    optune_err err = {0};
    optune_target target;
    bench *b = ot_alloc(sizeof *b);
    check_ok(ot_target_parse("cpu -threads=1", &target, &err));
    check_ok(ot_session_open(&b->session, &target, &device, &err));
    ot_session *s = &b->session;
    check_ok(ot_session_shape(s, "add(f32[256], const f32[256])", &err));
    check_ok(ot_session_buffers(s, OT_ALIGNED, &err));
    for (int i = 0; i < 2; i++) {
        ot_fill_input(&s->call.input[i].type, 1, i, s->host);
        check_ok(ot_session_put(s, OT_ALIGNED, i, s->host, &err));
    }
    b->impl = (optune_impl){.name = "test"};
    b->loaded.impl = &b->impl;
    b->bound = (ot_bound){.session = s, .loaded = &b->loaded, .kind = OT_ALIGNED};
    b->bound.launch[OPTUNE_PREPACK] = &b->launch[0];
    b->bound.launch[OPTUNE_TIMED] = &b->launch[1];
    optune_plan *plan = &b->loaded.plan;
    plan->n_scratch = 2;
    plan->n_stages = 2;
    for (int i = 0; i < 2; i++) {
        plan->scratch[i].bytes = 4 * N;
        check_ok(s->row->alloc(s->state, 4 * N, false, &b->bound.scratch[i], &err));
    }
    plan->stage[0] = (optune_stage){
        .phase = OPTUNE_PREPACK,
        .n_args = 2,
        .arg = {{.kind = OPTUNE_ARG_INPUT, .index = WEIGHT}, {.kind = OPTUNE_ARG_SCRATCH}}};
    plan->stage[1] = (optune_stage){.phase = OPTUNE_TIMED,
                                    .n_args = 5,
                                    .arg = {{.kind = OPTUNE_ARG_INPUT},
                                            {.kind = OPTUNE_ARG_INPUT, .index = WEIGHT},
                                            {.kind = OPTUNE_ARG_SCRATCH},
                                            {.kind = OPTUNE_ARG_SCRATCH, .index = 1},
                                            {.kind = OPTUNE_ARG_OUTPUT}}};
    bind_launch(b, OPTUNE_PREPACK, pack, &plan->stage[0]);
    bind_launch(b, OPTUNE_TIMED, witness, &plan->stage[1]);
    check_ok(ot_bound_prepack(&b->bound, &err));
    n_seen = 0;
    return b;
}

static void close_bench(bench *b)
{
    for (int i = 0; i < 2; i++)
        b->session.row->free(b->session.state, b->bound.scratch[i]);
    ot_session_close(&b->session);
    free(b);
}

static void test_every_run_has_the_next_copy(void **state)
{
    (void)state;
    bench *b = open_bench();
    ot_session *s = &b->session;
    optune_err err = {0};
    ot_rotation *r;
    optune_launch launch[OPTUNE_MAX_STAGES];
    const int copies = 5;
    /* The weight and what was packed of it: 8 N bytes a copy. */
    check_ok(ot_rotation_open(&b->bound, 4 * 8 * N + 1, &r, &err));
    assert_non_null(r);
    const int n = ot_rotation_launches(r, launch);
    assert_int_equal(n, 2);
    check_ok(ot_session_poison(s, OT_ALIGNED, &err));
    assert_true(s->row->time(s->state, launch, n, 2 * copies, &err) >= 0);
    assert_int_equal(n_seen, 2 * copies);
    for (int i = 0; i < copies; i++) {
        for (int k = 0; k < i; k++) {
            assert_ptr_not_equal(seen[i].weight, seen[k].weight);
            assert_ptr_not_equal(seen[i].packed, seen[k].packed);
        }
        assert_ptr_equal(seen[i].weight, seen[i + copies].weight); /* round and round */
        assert_ptr_equal(seen[i].packed, seen[i + copies].packed);
        assert_ptr_equal(seen[i].in, seen[0].in); /* these are one and the same */
        assert_ptr_equal(seen[i].work, seen[0].work);
        assert_true(seen[i].first == seen[0].first);
        assert_int_equal((uintptr_t)seen[i].packed % 64, 0);
    }
    /* Every copy computes the same. */
    float want[N], got[N];
    ot_fill_input(&s->call.input[WEIGHT].type, 1, WEIGHT, want);
    for (int c = 0; c < copies; c++) {
        check_ok(ot_session_poison(s, OT_ALIGNED, &err));
        check_ok(s->row->run(s->state, launch, n, &err));
        check_ok(s->row->read(s->state, s->out[OT_ALIGNED][0], got, sizeof got));
        for (int i = 0; i < N; i++)
            assert_true(got[i] == 3 * want[i]);
    }
    ot_rotation_close(r);
    close_bench(b);
}

static void test_nothing_to_turn(void **state)
{
    (void)state;
    bench *b = open_bench();
    optune_err err = {0};
    ot_rotation *r;
    check_ok(ot_rotation_open(&b->bound, 0, &r, &err));
    assert_null(r);
    check_ok(ot_rotation_open(&b->bound, 8 * N, &r, &err)); /* one copy is as much */
    assert_null(r);
    b->session.call.input[WEIGHT].is_const = false;
    b->loaded.plan.stage[0].phase = OPTUNE_TIMED; /* and nothing is packed */
    check_ok(ot_rotation_open(&b->bound, 1 << 20, &r, &err));
    assert_null(r);
    close_bench(b);
}

static void test_names(void **state)
{
    (void)state;
    optune_err err = {0};
    ot_measure_policy policy;
    char name[OPTUNE_NAME_SIZE];
    check_ok(ot_policy_find("model-128M", &policy, &err));
    assert_int_equal(policy.footprint, 128 << 20);
    assert_false(policy.cold);
    check_ok(ot_policy_find("warm", &policy, &err));
    assert_int_equal(policy.footprint, 0);
    check_ok(ot_policy_find("cold", &policy, &err));
    assert_true(policy.cold);
    static const char *const none[] = {
        "", "model", "model-", "model-3M", "model-2048M", "model-128", "warmer"};
    for (int i = 0; i < OT_COUNT(none); i++) {
        assert_int_equal(ot_policy_find(none[i], &policy, &err), OPTUNE_EUSAGE);
        check_contains(err.text, "model-<N>M");
    }
    static const struct {
        double mib;
        const char *name;
    } row[] = {
        {0.9, ""},         {1, "model-1M"},       {1.5, "model-2M"},        {97, "model-128M"},
        {90, "model-64M"}, {5000, "model-1024M"}, {INFINITY, "model-1024M"}};
    for (int i = 0; i < OT_COUNT(row); i++) {
        ot_policy_of_model(row[i].mib * 0x1p20, name, sizeof name);
        assert_string_equal(name, row[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_run_has_the_next_copy),
        cmocka_unit_test(test_nothing_to_turn),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
