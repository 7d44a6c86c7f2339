/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known elsewhere: which records serve a workload, as which configs of its space, and that
 * a search is better for a source that tells the truth and little worse for one that lies.
 */
#include "support/check.h"

#include <math.h>
#include <stdlib.h>

#include "tuner/search_forest.h"
#include "tuner/transfer.h"

static const int64_t eight[] = {1, 2, 4, 8, 16, 32, 64, 128};

static void six_knobs(const optune_task *task, optune_space *space)
{
    (void)task;
    for (int k = 0; k < 6; k++) {
        char name[8];
        snprintf(name, sizeof name, "k%d", k);
        optune_space_ints(space, name, 8, eight);
    }
}

/* Its knobs have other values where the call is larger. */
static void by_shape(const optune_task *task, optune_space *space)
{
    static const int64_t odd[] = {3, 24, 96};
    static const char *const words[] = {"no", "yes"};
    const int64_t n = task->call->input[0].type.dim[0].max;
    optune_space_split(space, "tile", n, 2, NULL);
    optune_space_ints(space, "rows", n > 64 ? 3 : 8, n > 64 ? odd : eight);
    optune_space_words(space, "copy", n > 1000 ? 1 : 2, words);
}

static const optune_impl six = {.op = "relu", .name = "six.test", .space = six_knobs};
static const optune_impl shaped = {.op = "relu", .name = "shaped.test", .space = by_shape};

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

static double upside_down(const optune_config *config)
{
    return 1e-12 / bowl(config);
}

static const optune_target target;
static optune_device device = {.key = "here"};

static optune_call *call_of(const char *text)
{
    optune_err err;
    optune_call *call = ot_alloc(sizeof *call);
    check_ok(ot_call_parse(text, call, &err));
    return call;
}

static optune_record record_of(const optune_impl *impl, const char *call, const char *where,
                               const optune_config *config, double cost)
{
    return (optune_record){.op = "relu",
                           .impl = impl->name,
                           .call = call,
                           .device = where,
                           .policy = "warm",
                           .config = *config,
                           .outcome = isfinite(cost) ? OPTUNE_OUTCOME_OK : OPTUNE_OUTCOME_CRASH,
                           .cost = cost};
}

/* n trials of random configs of the six knobs. */
static void fill(ot_transfer *transfer, const char *call, const char *where, int n,
                 double (*cost)(const optune_config *), uint64_t seed)
{
    optune_err err;
    optune_space *space;
    optune_call *parsed = call_of(call);
    const optune_task task = {parsed, &target, &device};
    check_ok(ot_space_open(&task, &six, &space, &err));
    for (int i = 0; i < n; i++) {
        optune_config config;
        ot_space_nth(space, optune_random_below(&seed, optune_space_size(space)), &config);
        const optune_record record = record_of(&six, call, where, &config, cost(&config));
        ot_transfer_add(transfer, &record, false);
    }
    ot_space_close(space);
    free(parsed);
}

static void open_arm(ot_arm *arm, ot_transfer *transfer, const optune_task *task,
                     const ot_candidate *candidate, uint64_t seed)
{
    optune_err err;
    check_ok(ot_arm_open(arm, task, candidate, ot_search_find("forest"), seed, &err));
    if (transfer) {
        arm->view.n_sources = ot_transfer_sources(transfer, task, "warm", arm, &arm->source);
        arm->view.source = arm->source;
    }
}

/* ---- which serve ---------------------------------------------------------------------------- */

static double likeness(const char *a, const char *b)
{
    optune_call *one = call_of(a), *two = call_of(b);
    const double alike = ot_likeness(one, two);
    assert_true(alike == ot_likeness(two, one));
    free(one);
    free(two);
    return alike;
}

static void calls_are_as_alike_as_their_shapes(void **state)
{
    (void)state;
    const char *of = "conv2d(f32[1,64,56,56], const f32[64,64,3,3], padding=[1,1])";
    const double same = likeness(of, of),
                 near = likeness(
                     of, "conv2d(f32[1,64,28,28], const f32[64,64,3,3], padding=[1,1])"),
                 far = likeness(
                     of, "conv2d(f32[1,512,7,7], const f32[512,512,3,3], padding=[1,1])"),
                 strided = likeness(of, "conv2d(f32[1,64,56,56], const f32[64,64,3,3], "
                                        "padding=[1,1], strides=[2,2])");
    assert_true(same == 1 && near < same && far < near && far > 0);
    assert_true(strided < same && strided > far);
    assert_true(likeness("relu(f32[64])", "relu(f16[64])") == 0);
    assert_true(likeness("relu(f32[64])", "relu(f32[8,8])") == 0);
    assert_true(likeness("relu(f32[64])", "sigmoid(f32[64])") == 0);
}

static void the_question_at_hand_is_no_source(void **state)
{
    (void)state;
    optune_call *call = call_of("relu(f32[64])");
    const optune_task task = {call, &target, &device};
    const ot_candidate candidate = {.impl = &six};
    ot_transfer *transfer = ot_transfer_open();
    ot_arm arm;
    fill(transfer, "relu(f32[64])", "here", 50, bowl, 1); /* the arm knows these */
    open_arm(&arm, transfer, &task, &candidate, 1);
    assert_int_equal(arm.view.n_sources, 0);
    assert_int_equal(arm.n_queue, 1); /* the fallback */
    ot_arm_close(&arm);

    fill(transfer, "relu(f32[64])", "there", 50, bowl, 2);
    fill(transfer, "relu(f32[32])", "here", 50, bowl, 3);
    fill(transfer, "relu(f32[8])", "here", 50, bowl, 4);
    fill(transfer, "relu(f16[64])", "here", 50, bowl, 5);        /* another type */
    fill(transfer, "relu(f32[64000000])", "there", 50, bowl, 6); /* too far */
    open_arm(&arm, transfer, &task, &candidate, 1);
    assert_int_equal(arm.view.n_sources, 3);
    for (int i = 0; i < 3; i++) {
        const optune_source *s = &arm.view.source[i];
        assert_true(s->likeness > 0 && s->likeness <= 1 && s->n > 40);
        assert_true(i == 0 || s->likeness <= s[-1].likeness);
        for (int k = 1; k < s->n; k++)
            assert_true(s->trial[k].index > s->trial[k - 1].index);
    }
    assert_int_equal(arm.n_queue, 1 + 4); /* the best of the same call elsewhere come first */
    ot_arm_close(&arm);
    ot_transfer_close(transfer);
    free(call);
}

static void much_is_cut_to_the_best(void **state)
{
    (void)state;
    optune_call *call = call_of("relu(f32[64])");
    const optune_task task = {call, &target, &device};
    const ot_candidate candidate = {.impl = &six};
    ot_transfer *transfer = ot_transfer_open();
    ot_arm arm;
    optune_config best = {0};
    optune_err err;
    fill(transfer, "relu(f32[32])", "here", 3000, bowl, 1);
    optune_space *space;
    check_ok(ot_space_open(&task, &six, &space, &err));
    const int64_t bottom[] = {3, 5, 1, 6, 2, 4};
    ot_space_nth(space, optune_space_index(space, bottom), &best);
    const optune_record record = record_of(&six, "relu(f32[32])", "here", &best, bowl(&best));
    ot_transfer_add(transfer, &record, false);
    fill(transfer, "relu(f32[32])", "here", 3000, bowl, 2);
    open_arm(&arm, transfer, &task, &candidate, 1);
    assert_int_equal(arm.view.n_sources, 1);
    assert_in_range(arm.view.source[0].n, 100, 256);
    bool found = false;
    for (int i = 0; i < arm.view.source[0].n; i++)
        found = found || arm.view.source[0].trial[i].index == best.index;
    assert_true(found);
    ot_space_close(space);
    ot_arm_close(&arm);
    ot_transfer_close(transfer);
    free(call);
}

/* A platform's database: more sources than are kept, and few of them serve. */
static void of_many_the_most_alike_serve(void **state)
{
    (void)state;
    optune_call *call = call_of("relu(f32[3000])");
    const optune_task task = {call, &target, &device};
    const ot_candidate candidate = {.impl = &six};
    ot_transfer *transfer = ot_transfer_open();
    ot_arm arm;
    for (int n = 1; n <= 6000; n++) {
        char text[32];
        snprintf(text, sizeof text, "relu(f32[%d])", n);
        if (n != 3000)
            fill(transfer, text, "here", 2, bowl, (uint64_t)n);
    }
    open_arm(&arm, transfer, &task, &candidate, 1);
    assert_int_equal(arm.view.n_sources, 6);
    for (int i = 0; i < 6; i++)
        assert_true(arm.view.source[i].likeness > 0.999);
    ot_arm_close(&arm);

    /* What the run itself measured still finds room. */
    optune_config config = {0};
    optune_err err;
    optune_space *space;
    check_ok(ot_space_open(&task, &six, &space, &err));
    for (int i = 0; i < 8; i++) {
        ot_space_nth(space, i, &config);
        const optune_record record =
            record_of(&six, "relu(f32[7000])", "here", &config, bowl(&config));
        ot_transfer_add(transfer, &record, true);
    }
    ot_space_close(space);
    optune_call *far = call_of("relu(f32[7001])");
    const optune_task next = {far, &target, &device};
    open_arm(&arm, transfer, &next, &candidate, 1);
    assert_true(arm.view.n_sources > 0 && arm.view.source[0].likeness > 0.999);
    assert_int_equal(arm.view.source[0].n, 8);
    ot_arm_close(&arm);
    free(far);
    ot_transfer_close(transfer);
    free(call);
}

/* ---- as which configs ------------------------------------------------------------------------ */

static void values_become_the_nearest(void **state)
{
    (void)state;
    optune_err err;
    optune_config config;
    optune_space *space;
    optune_call *call = call_of("relu(f32[96])");
    const optune_task task = {call, &target, &device};
    check_ok(ot_space_open(&task, &shaped, &space, &err));
    for (int i = 0; i < 2; i++) { /* the ends of all numbers have a nearest one, too */
        check_ok(ot_config_parse(
            i ? "[[\"tile\",\"sp\",[4,16]],[\"rows\",\"ot\",9223372036854775807],"
                "[\"copy\",\"ot\",\"yes\"]]"
              : "[[\"tile\",\"sp\",[4,16]],[\"rows\",\"ot\",-9223372036854775808],"
                "[\"copy\",\"ot\",\"yes\"]]",
            &config, &err));
        ot_space_nth(space, ot_space_like(space, &config), &config);
        assert_int_equal(optune_config_int(&config, "rows"), 96);
    }
    check_ok(ot_config_parse("[[\"tile\",\"sp\",[4,16]],[\"rows\",\"ot\",32],"
                             "[\"copy\",\"ot\",\"yes\"]]",
                             &config, &err));
    const int64_t index = ot_space_like(space, &config);
    assert_true(index >= 0);
    ot_space_nth(space, index, &config);
    assert_int_equal(optune_config_split(&config, "tile")[1], 16);
    assert_int_equal(optune_config_int(&config, "rows"), 24);
    assert_string_equal(optune_config_word(&config, "copy"), "yes");
    ot_space_close(space);
    free(call);

    /* No such word there. */
    call = call_of("relu(f32[1024])");
    const optune_task large = {call, &target, &device};
    check_ok(ot_space_open(&large, &shaped, &space, &err));
    assert_int_equal(ot_space_like(space, &config), -1);
    config.n = 2; /* nor may a knob be missing */
    assert_int_equal(ot_space_like(space, &config), -1);
    ot_space_close(space);
    free(call);
}

/* ---- what it is good for --------------------------------------------------------------------- */

static double best_of(ot_transfer *transfer, int trials, uint64_t seed)
{
    optune_call *call = call_of("relu(f32[64])");
    const optune_task task = {call, &target, &device};
    const ot_candidate candidate = {.impl = &six};
    ot_arm arm;
    optune_config config;
    open_arm(&arm, transfer, &task, &candidate, seed);
    for (int i = 0; i < trials && ot_arm_next(&arm, &config); i++)
        ot_arm_tell(&arm, &config, &(optune_told){.cost = bowl(&config)});
    const double best = arm.best;
    ot_arm_close(&arm);
    free(call);
    return best;
}

static double mean_log(ot_transfer *transfer, int trials)
{
    enum { SEEDS = 10 };
    double sum = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        sum += log(best_of(transfer, trials, seed)) / SEEDS;
    return sum;
}

static void truth_helps_and_lies_hurt_little(void **state)
{
    (void)state;
    ot_transfer *truth = ot_transfer_open(), *lie = ot_transfer_open(),
                *both = ot_transfer_open();
    fill(truth, "relu(f32[32])", "here", 60, bowl, 1);
    fill(lie, "relu(f32[32])", "here", 60, upside_down, 1);
    fill(both, "relu(f32[32])", "here", 60, bowl, 1);
    fill(both, "relu(f32[128])", "here", 60, upside_down, 2);
    const double alone = mean_log(NULL, 30), helped = mean_log(truth, 30),
                 misled = mean_log(lie, 30), mixed = mean_log(both, 30);
    print_message(
        "log of the best of 30: %.3f alone, %.3f helped, %.3f misled, %.3f mixed; of 80: "
        "%.3f alone, %.3f misled\n",
        alone, helped, misled, mixed, mean_log(NULL, 80), mean_log(lie, 80));
    assert_true(helped < alone - 0.1);
    assert_true(misled < alone + 0.5);
    assert_true(mixed < alone);
    assert_true(mean_log(lie, 80) < mean_log(NULL, 80) + 0.1);
    ot_transfer_close(truth);
    ot_transfer_close(lie);
    ot_transfer_close(both);
}

/* What was asked for, of trials whose costs say nothing. */
static void ask_for(ot_transfer *transfer, int trials, uint64_t seed, optune_config *config)
{
    optune_call *call = call_of("relu(f32[64])");
    const optune_task task = {call, &target, &device};
    const ot_candidate candidate = {.impl = &six};
    ot_arm arm;
    open_arm(&arm, transfer, &task, &candidate, seed);
    for (int i = 0; i < trials; i++) {
        assert_true(ot_arm_next(&arm, &config[i]));
        ot_arm_tell(&arm, &config[i], &(optune_told){.cost = i ? 2 : 1});
    }
    ot_arm_close(&arm);
    free(call);
}

/* The one that is not taught draws for itself: neither what the taught one drew before, which is
 * no longer fresh, nor what a run without sources draws. */
static void the_untaught_draws_for_itself(void **state)
{
    (void)state;
    enum { TRIALS = 60, SEEDS = 4 };
    static optune_config with[TRIALS], without[TRIALS];
    ot_transfer *lie = ot_transfer_open();
    int same = 0;
    fill(lie, "relu(f32[32])", "here", 60, upside_down, 1);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        ask_for(lie, TRIALS, seed, with);
        ask_for(NULL, TRIALS, seed, without);
        for (int i = 0; i < TRIALS; i++)
            for (int k = 0; k < TRIALS; k++)
                same += memcmp(&with[i], &without[k], sizeof *with) == 0;
    }
    print_message("%d of %d are asked for with sources and without\n", same, SEEDS * TRIALS);
    /* Neighbours of the best, which is the first of both. */
    assert_true(same < SEEDS * TRIALS / 3);
    ot_transfer_close(lie);
}

/* Whether the one that is not taught asks for the next trial; what it costs if so, and if not. */
static bool untaught_asks(ot_arm *arm, double if_so, double if_not)
{
    const ot_forest_search *s = arm->view.state;
    const int before = s->n_out;
    optune_config config;
    assert_true(ot_arm_next(arm, &config));
    const bool own = s->n_out > before;
    ot_arm_tell(arm, &config, &(optune_told){.cost = own ? if_so : if_not});
    assert_int_equal(s->n_out, 0);
    return own;
}

/* Quiet while the taught one gets on; where that is stuck, every other trial or two of three are
 * its own, until the taught one finds something better; its own finds are no such progress. */
static void the_untaught_takes_turns_where_the_other_is_stuck(void **state)
{
    (void)state;
    enum { PATIENCE = 16, TURNS = 24 };
    optune_call *call = call_of("relu(f32[64])");
    const optune_task task = {call, &target, &device};
    const ot_candidate candidate = {.impl = &six};
    ot_transfer *transfer = ot_transfer_open();
    ot_arm arm;
    fill(transfer, "relu(f32[32])", "here", 60, bowl, 1);
    open_arm(&arm, transfer, &task, &candidate, 1);
    const ot_forest_search *s = arm.view.state;
    for (int i = 0; i < 40; i++)
        assert_false(untaught_asks(&arm, 0, 1.0 / (i + 1)));
    assert_null(s->untaught);
    for (int i = 0; i < PATIENCE; i++)
        assert_false(untaught_asks(&arm, 2, 2));
    int own = 0;
    for (int i = 0; i < TURNS; i++)
        own += untaught_asks(&arm, 2, 2);
    assert_in_range(own, TURNS / 2, 3 * TURNS / 4); /* which of the two may change */
    assert_int_equal(ot_learner_progress(s->untaught).n, s->known + own);
    assert_int_equal(ot_learner_progress(s->taught).n, 40 + PATIENCE + TURNS);

    /* What it finds itself does not end its turns, what the other finds does. */
    while (!untaught_asks(&arm, 1e-3, 2))
        ;
    for (int i = own = 0; i < 6; i++)
        own += untaught_asks(&arm, 2, 2);
    assert_in_range(own, 3, 5);
    while (untaught_asks(&arm, 2, 1e-4))
        ;
    for (int i = 0; i < PATIENCE; i++)
        assert_false(untaught_asks(&arm, 2, 2));
    ot_arm_close(&arm);
    ot_transfer_close(transfer);
    free(call);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_as_alike_as_their_shapes),
        cmocka_unit_test(the_question_at_hand_is_no_source),
        cmocka_unit_test(much_is_cut_to_the_best),
        cmocka_unit_test(of_many_the_most_alike_serve),
        cmocka_unit_test(values_become_the_nearest),
        cmocka_unit_test(the_untaught_draws_for_itself),
        cmocka_unit_test(the_untaught_takes_turns_where_the_other_is_stuck),
        cmocka_unit_test(truth_helps_and_lies_hurt_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
