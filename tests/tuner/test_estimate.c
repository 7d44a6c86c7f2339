/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An implementation's own estimate of what configs cost: it orders the first trials of a search
 * where it is right, and costs little where it is wrong; those of GPU templates tell good configs
 * from bad ones.
 */
#include "support/check.h"

#include <math.h>
#include <stdlib.h>

#include "strategy/inside.h"
#include "tuner/tune.h"

static void six_knobs(const optune_task *task, optune_space *space)
{
    (void)task;
    for (int k = 0; k < 6; k++) {
        char name[8];
        snprintf(name, sizeof name, "k%d", k);
        optune_space_ints(space, name, 8, (const int64_t[]){1, 2, 4, 8, 16, 32, 64, 128});
    }
}

static double bowl(const optune_config *config)
{
    static const double bottom[] = {3, 5, 1, 6, 2, 4};
    double cost = 1;
    for (int k = 0; k < config->n; k++) {
        const double d = log2((double)config->entity[k].v[0]) - bottom[k];
        cost += d * d;
    }
    return 1e-6 * cost;
}

/* It knows two thirds of the knobs. */
static double rough(const optune_task *task, const optune_config *config)
{
    (void)task;
    optune_config some = *config;
    some.n = 4;
    return bowl(&some);
}

static double inverted(const optune_task *task, const optune_config *config)
{
    return -rough(task, config);
}

static double unknown(const optune_task *task, const optune_config *config)
{
    (void)task;
    (void)config;
    return NAN;
}

static const optune_impl
    without = {.op = "relu", .name = "six.test", .space = six_knobs},
    right = {.op = "relu", .name = "six.test", .space = six_knobs, .estimate = rough},
    wrong = {.op = "relu", .name = "six.test", .space = six_knobs, .estimate = inverted},
    silent = {.op = "relu", .name = "six.test", .space = six_knobs, .estimate = unknown};

/* The mean logarithm of the best of so many trials, over seeds. */
static double mean_log(const optune_impl *impl, int trials)
{
    enum { SEEDS = 20 };
    static const optune_target target;
    static optune_device device = {.key = "here"};
    static optune_call call;
    const optune_task task = {&call, &target, &device};
    const ot_candidate candidate = {.impl = impl};
    optune_err err;
    double sum = 0;
    check_ok(ot_call_parse("relu(f32[64])", &call, &err));
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        ot_arm arm;
        optune_config config;
        check_ok(ot_arm_open(&arm, &task, &candidate, ot_search_find("forest"), seed, &err));
        arm.view.left = trials;
        for (int i = 0; i < trials && ot_arm_next(&arm, &config); i++) {
            ot_arm_tell(&arm, &config, &(optune_told){.cost = bowl(&config)});
            arm.view.left = trials - i - 1;
        }
        sum += log(arm.best) / SEEDS;
        ot_arm_close(&arm);
    }
    return sum;
}

static void truth_helps_and_lies_hurt_little(void **state)
{
    (void)state;
    const double few = mean_log(&without, 6), few_right = mean_log(&right, 6);
    const double alone = mean_log(&without, 40), helped = mean_log(&right, 40),
                 misled = mean_log(&wrong, 40);
    print_message("logarithms of the best: 6 trials %.2f, estimated %.2f; 40 trials %.2f, "
                  "estimated %.2f, the other way round %.2f\n",
                  few, few_right, alone, helped, misled);
    assert_true(few_right < few - 0.2);
    assert_true(helped < alone + 0.1);
    assert_true(misled < alone + 0.3);
}

static void what_is_not_known_changes_nothing(void **state)
{
    (void)state;
    const double alone = mean_log(&without, 40), same = mean_log(&silent, 40);
    assert_true(fabs(alone - same) < 0.3);
}

/* On a GPU a product has estimates that prefer its fallback to what fills a tenth of it. */
static void templates_tell_good_from_bad(void **state)
{
    (void)state;
    static const char *const names[] = {"dense_tile.gpu", "dense_ring.cuda", "dense_mma.cuda"};
    static const char *const calls[] = {"dense(f32[4096,4096], f32[4096,4096])",
                                        "dense(f32[4096,4096], f32[4096,4096])",
                                        "dense(bf16[4096,4096], bf16[4096,4096])"};
    for (int i = 0; i < OT_COUNT(names); i++) {
        optune_err err;
        optune_target target;
        optune_device device = {0};
        static optune_call call;
        optune_space *space;
        optune_config best, other;
        uint64_t rng = 5;
        int worse = 0, valid = 0;
        check_ok(ot_target_parse("cuda -arch=sm_80", &target, &err));
        check_ok(ot_target_find("cuda")->assume(&target, &device, &err));
        check_ok(ot_call_parse(calls[i], &call, &err));
        const optune_task task = {&call, &target, &device};
        check_ok(ot_space_open(&task, ot_impl_find(names[i]), &space, &err));
        assert_true(ot_space_fallback(space, &best, NULL));
        const double least = ot_space_estimate(space, &best);
        assert_true(isfinite(least) && least > 0);
        for (int t = 0; t < 3000; t++) {
            ot_space_nth(space, ot_space_random(space, &rng), &other);
            if (!ot_space_valid(space, &other, NULL))
                continue;
            valid++;
            worse += ot_space_estimate(space, &other) >= least;
        }
        assert_true(valid > 20);
        assert_true(worse >= valid * 8 / 10);
        ot_space_close(space);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(truth_helps_and_lies_hurt_little),
        cmocka_unit_test(what_is_not_known_changes_nothing),
        cmocka_unit_test(templates_tell_good_from_bad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
