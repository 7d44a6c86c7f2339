/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of every row of the tables `strategy` and `impl`, present and future: they name
 * each other, spaces open, fallbacks are valid, searches stay inside, and every valid config
 * becomes a plan. On a device of which much is known and on one of which nothing is.
 */
#include "strategy/inside.h"
#include "support/check.h"

static const optune_device cpus[] = {
    {.key = "large",
     .kind = "cpu",
     .cores = 8,
     .threads = 8,
     .vector_bytes = 64,
     .vector_registers = 32,
     .l1 = 48 << 10,
     .l2 = 2 << 20,
     .l3 = 64 << 20},
    {.key = "small",
     .kind = "cpu",
     .cores = 1,
     .threads = 1,
     .vector_bytes = 16,
     .vector_registers = 16,
     .l1 = 32 << 10,
     .l2 = 256 << 10},
    {.key = "unknown", .kind = "cpu", .threads = 1},
};
static const optune_device gpu = {
    .key = "gpu",
    .kind = "cuda",
    .cores = 80,
    .warp = 32,
    .max_threads_per_block = 1024,
    .max_block = {1024, 1024, 64},
    .max_shared = 48 << 10,
    .registers = 65536,
    .cc_major = 8,
};

static bool for_gpu(const optune_strategy *strategy)
{
    static const char *const keys[] = {"cuda", "gpu", "opencl", "rocm"};
    for (int i = 0; i < OT_COUNT(keys); i++)
        if (strcmp(strategy->key, keys[i]) == 0)
            return true;
    return false;
}

/* ---- names ------------------------------------------------------------------------------- */

static void test_rows_name_each_other(void **state)
{
    (void)state;
    int n_impls, n_strategies;
    const optune_impl *const *impls = ot_impls(&n_impls);
    const optune_strategy *const *strategies = ot_strategies(&n_strategies);
    bool *named = ot_alloc((size_t)n_impls + 1);
    for (int i = 0; i < n_strategies; i++) {
        assert_non_null(ot_op_find(strategies[i]->op));
        for (const optune_strategy_row *row = strategies[i]->rows; row->impl; row++) {
            const optune_impl *impl = ot_impl_find(row->impl);
            if (!impl || strcmp(impl->op, strategies[i]->op) != 0)
                print_error("strategy %s/%s names %s\n", strategies[i]->op, strategies[i]->key,
                            row->impl);
            assert_non_null(impl);
            assert_string_equal(impl->op, strategies[i]->op);
            for (int k = 0; k < n_impls; k++)
                named[k] = named[k] || impls[k] == impl;
        }
    }
    for (int k = 0; k < n_impls; k++) {
        if (!named[k])
            print_error("no strategy names %s\n", impls[k]->name);
        assert_true(named[k] || impls[k]->generic);
        assert_non_null(impls[k]->summary);
        assert_non_null(impls[k]->plan);
        assert_ptr_equal(ot_impl_find(impls[k]->name), impls[k]); /* names are unique */
        assert_true(strlen(ot_impl_source(impls[k])) > 0);
        assert_int_equal(strlen(ot_impl_digest(impls[k])), 32);
    }
    free(named);
}

static void test_every_op_has_a_generic_strategy(void **state)
{
    (void)state;
    int n;
    const optune_op *const *ops = ot_ops(&n);
    const optune_target bare = {.kind = "none", .n_keys = 1, .key = {"none"}};
    for (int i = 0; i < n; i++)
        assert_non_null(ot_strategy_find(ops[i], &bare));
}

/* Names of task arguments are inputs, attributes, or the few words that are neither. */
static void test_task_args_are_known(void **state)
{
    (void)state;
    int n;
    const optune_impl *const *impls = ot_impls(&n);
    for (int i = 0; i < n; i++) {
        const optune_op *op = ot_op_find(impls[i]->op);
        char list[512];
        assert_true(ot_copy(list, sizeof list, impls[i]->task_args));
        char *rest = NULL;
        for (char *w = strtok_r(list, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
            w[strcspn(w, "?=")] = '\0';
            bool known = strcmp(w, "out_shape") == 0 || strcmp(w, "out_dtype") == 0 ||
                         strcmp(w, "null") == 0;
            for (int k = 0; k < ot_op_input_count(op); k++)
                known = known || strcmp(op->inputs[k].name, w) == 0;
            for (int k = 0; k < ot_op_attr_count(op); k++)
                known = known || strcmp(ot_op_attr_at(op, k)->name, w) == 0;
            if (!known)
                print_error("%s: task argument '%s'\n", impls[i]->name, w);
            assert_true(known);
        }
    }
}

/* ---- one task ---------------------------------------------------------------------------- */

static void check_plan(const optune_task *task, const optune_impl *impl,
                       const optune_config *config)
{
    optune_err err = {0};
    optune_plan *plan = ot_alloc(sizeof *plan), *again = ot_alloc(sizeof *again);
    check_ok(ot_plan_make(task, impl, config, plan, &err));
    check_ok(ot_plan_make(task, impl, config, again, &err));
    for (int i = 0; i < plan->n_modules; i++) {
        ot_text a = {0}, b = {0};
        ot_plan_source(task, plan, i, &a);
        ot_plan_source(task, again, i, &b);
        assert_string_equal(ot_text_str(&a), ot_text_str(&b));
        ot_text_release(&a);
        ot_text_release(&b);
    }
    free(plan);
    free(again);
}

static void check_moves(const optune_space *space)
{
    uint64_t rng = 11;
    int64_t out[1024];
    const int64_t size = optune_space_size(space);
    int64_t at = ot_space_random(space, &rng);
    for (int i = 0; i < 200; i++) {
        const int64_t other = ot_space_random(space, &rng);
        const int n = optune_space_neighbours(space, at, out, OT_COUNT(out));
        assert_true(n > 0 || size == 1);
        const int64_t moved[] = {other, ot_space_mutate(space, at, 0.2, &rng),
                                 ot_space_cross(space, at, other, &rng),
                                 n ? out[optune_random_below(&rng, n)] : at};
        for (int k = 0; k < OT_COUNT(moved); k++)
            assert_true(moved[k] >= 0 && moved[k] < size);
        at = moved[i % OT_COUNT(moved)];
    }
}

static void check_space(const optune_task *task, const optune_impl *impl)
{
    optune_err err = {0};
    optune_space *space;
    check_ok(ot_space_open(task, impl, &space, &err));
    optune_config config;
    char why[OPTUNE_WHY_SIZE] = "";
    if (!ot_space_fallback(space, &config, why))
        fail_msg("%s: fallback is not valid: %s", impl->name, why);
    assert_true(config.index >= 0 && config.index < optune_space_size(space));
    check_plan(task, impl, &config);
    check_moves(space);
    uint64_t rng = 5;
    for (int tries = 0, valid = 0; tries < 200 && valid < 10; tries++) {
        const int64_t index = ot_space_random(space, &rng);
        ot_space_nth(space, index, &config);
        optune_config same = config;
        check_ok(ot_space_index_of(space, &same, &err));
        assert_int_equal(same.index, index);
        why[0] = '\0';
        if (ot_space_valid(space, &config, why)) {
            check_plan(task, impl, &config);
            valid++;
        } else {
            assert_true(why[0] != '\0'); /* a refusal says why */
        }
    }
    ot_space_close(space);
}

static int spaces_opened;

static void check_strategy(const optune_strategy *strategy, const char *text,
                           const optune_device *device)
{
    optune_err err = {0};
    optune_call call;
    check_ok(ot_call_parse(text, &call, &err));
    optune_target target = {.kind = "test", .n_keys = 1, .threads = device->threads};
    assert_true(ot_copy(target.key[0], sizeof target.key[0], strategy->key));
    const optune_task task = {.call = &call, .target = &target, .device = device};
    ot_candidate *candidate = ot_alloc(OT_MAX_CANDIDATES * sizeof(*candidate));
    int n;
    check_ok(ot_candidates(&task, candidate, &n, &err));
    for (int i = 0; i < n; i++) {
        assert_null(strstr(candidate[i].why, "there is no dim"));
        if (candidate[i].refusal == OT_VALID || candidate[i].refusal == OT_REFUSED_LIBRARY) {
            check_space(&task, candidate[i].impl);
            spaces_opened++;
        } else {
            assert_true(candidate[i].why[0] != '\0');
        }
    }
    /* something can always be chosen, or everything says why not */
    ot_choice *choice = ot_alloc(sizeof *choice);
    if (ot_select(&task, NULL, 0, choice, &err) >= 0) {
        assert_int_equal(choice->tier, OT_TIER_PLEVEL);
        assert_int_equal(choice->winner, ot_choice_default(&task, choice));
    } else {
        check_contains(err.text, "no valid implementation");
    }
    ot_choice_free(choice);
    free(candidate);
}

static void test_every_space_of_every_sample(void **state)
{
    (void)state;
    int n;
    const optune_strategy *const *strategies = ot_strategies(&n);
    spaces_opened = 0;
    for (int i = 0; i < n; i++) {
        const optune_op *op = ot_op_find(strategies[i]->op);
        for (const char *const *text = op->samples; *text; text++) {
            if (for_gpu(strategies[i])) {
                check_strategy(strategies[i], *text, &gpu);
                continue;
            }
            for (int k = 0; k < OT_COUNT(cpus); k++)
                check_strategy(strategies[i], *text, &cpus[k]);
        }
    }
    assert_true(spaces_opened > 0);
}

/* Any implementation that applies to a call can say it as a task and read that back. */
static void test_task_args_travel(void **state)
{
    (void)state;
    int n;
    const optune_impl *const *impls = ot_impls(&n);
    const optune_target target = {.kind = "cpu", .n_keys = 1, .key = {"cpu"}};
    for (int i = 0; i < n; i++)
        for (const char *const *text = ot_op_find(impls[i]->op)->samples; *text; text++) {
            optune_err err = {0};
            optune_call call, back;
            check_ok(ot_call_parse(*text, &call, &err));
            const optune_task task = {.call = &call, .target = &target, .device = &cpus[0]};
            if (impls[i]->applies && !impls[i]->applies(&task, NULL))
                continue;
            json_t *args = ot_task_args(&call, impls[i]);
            assert_true(json_is_array(args));
            /* what a task leaves out is at its default when read; the shapes still agree */
            if (ot_call_from_args(impls[i], args, &back, &err) >= 0) {
                assert_int_equal(back.n_inputs, call.n_inputs);
                for (int k = 0; k < call.n_inputs; k++)
                    assert_int_equal(optune_tensor_bytes(&back.input[k].type),
                                     optune_tensor_bytes(&call.input[k].type));
            } else {
                assert_int_equal(err.status, OPTUNE_ETYPE);
            }
            json_decref(args);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_name_each_other),
        cmocka_unit_test(test_every_op_has_a_generic_strategy),
        cmocka_unit_test(test_task_args_are_known),
        cmocka_unit_test(test_every_space_of_every_sample),
        cmocka_unit_test(test_task_args_travel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
