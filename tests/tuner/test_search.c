/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of every search, present and future, on made-up spaces with a known cost surface:
 * same seed, same path; never an invalid or repeated config; survives a space where everything
 * fails; ends; finds the best of a small space.
 */
#include "support/check.h"

#include <math.h>
#include <unistd.h>

#include "tuner/tune.h"

static void two_knobs(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_split(space, "tile", 64, 3, NULL);
    static const int64_t values[] = {1, 2, 4, 8, 16};
    optune_space_ints(space, "unroll", 5, values);
}

static void wide(const optune_task *task, optune_space *space)
{
    (void)task;
    for (int k = 0; k < 6; k++) {
        char name[8];
        static const int64_t values[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
        snprintf(name, sizeof name, "k%d", k);
        optune_space_ints(space, name, 10, values);
    }
}

static bool no_big_tiles(const optune_task *task, const optune_config *config, char *why)
{
    (void)task;
    const int64_t *tile = optune_config_split(config, "tile");
    return tile[1] * tile[2] <= 32 || optune_refuse(why, "tile too big");
}

static const optune_impl small = {
    .op = "test", .name = "small.test", .space = two_knobs, .valid = no_big_tiles};
static const optune_impl big = {.op = "test", .name = "big.test", .space = wide};
static const optune_impl lone = {.op = "test", .name = "lone.test"};

static double bowl(const optune_config *config)
{
    double cost = 1;
    for (int k = 0; k < config->n; k++) {
        const optune_entity *e = &config->entity[k];
        for (int i = 0; i < (e->kind == OPTUNE_KNOB_SPLIT ? e->n : 1); i++) {
            const double d = log2((double)e->v[i] + 1) - 2.2;
            cost += d * d;
        }
    }
    return cost;
}

static double all_fail(const optune_config *config)
{
    (void)config;
    return INFINITY;
}

typedef struct walk {
    int64_t path[600];
    int n;
    double best;
} walk;

static void explore(const optune_search *search, const optune_impl *impl, uint64_t seed,
                    int most, double (*cost)(const optune_config *), walk *w)
{
    optune_err err = {0};
    static const optune_call call;
    static const optune_target target;
    static const optune_device device;
    const optune_task task = {&call, &target, &device};
    const ot_candidate candidate = {.impl = impl};
    ot_arm arm;
    check_ok(ot_arm_open(&arm, &task, &candidate, search, seed, &err));
    *w = (walk){.best = INFINITY};
    optune_config config;
    while (w->n < most && ot_arm_next(&arm, &config)) {
        assert_true(ot_space_valid(arm.space, &config, NULL));
        for (int i = 0; i < w->n; i++)
            assert_int_not_equal(w->path[i], config.index);
        w->path[w->n++] = config.index;
        const double c = cost(&config);
        w->best = fmin(w->best, c);
        ot_arm_tell(&arm, &config, &(optune_told){.cost = c});
    }
    ot_arm_close(&arm);
}

static void each_search(void (*test)(const optune_search *search))
{
    int n;
    const optune_search *const *search = ot_searches(&n);
    assert_true(n >= 4);
    for (int i = 0; i < n; i++)
        test(search[i]);
}

static void repeats(const optune_search *search)
{
    walk a, b;
    explore(search, &big, 7, 200, bowl, &a);
    explore(search, &big, 7, 200, bowl, &b);
    assert_int_equal(a.n, 200);
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.path, b.path, (size_t)a.n * sizeof a.path[0]);
}

static void same_seed_same_path(void **state)
{
    (void)state;
    each_search(repeats);
}

static int64_t valid_configs(void)
{
    int64_t n = 0;
    optune_err err = {0};
    optune_space *space;
    const optune_task task = {0};
    check_ok(ot_space_open(&task, &small, &space, &err));
    for (int64_t i = 0; i < optune_space_size(space); i++) {
        optune_config config;
        ot_space_nth(space, i, &config);
        n += ot_space_valid(space, &config, NULL);
    }
    ot_space_close(space);
    return n;
}

static void exhausts(const optune_search *search)
{
    walk w, grid;
    explore(search, &small, 3, 600, bowl, &w);
    assert_int_equal(w.n, valid_configs());
    explore(ot_search_find("grid"), &small, 0, 600, bowl, &grid);
    assert_true(w.best == grid.best);
}

static void ends_with_the_best(void **state)
{
    (void)state;
    each_search(exhausts);
}

static void fails(const optune_search *search)
{
    walk w;
    explore(search, &big, 5, 300, all_fail, &w);
    assert_int_equal(w.n, 300);
}

static void survives_failure(void **state)
{
    (void)state;
    each_search(fails);
}

static void only_one(const optune_search *search)
{
    walk w;
    explore(search, &lone, 1, 10, bowl, &w);
    assert_int_equal(w.n, 1);
    assert_int_equal(w.path[0], 0);
}

static void spaces_without_knobs(void **state)
{
    (void)state;
    each_search(only_one);
}

/* Over 20 seeds, what a guided search finds in 150 trials beats random on a million configs. */
static void guided_beats_random(void **state)
{
    (void)state;
    static const char *const guided[] = {"forest", "genetic", "anneal"};
    for (int g = 0; g < OT_COUNT(guided); g++) {
        int wins = 0;
        for (uint64_t seed = 1; seed <= 20; seed++) {
            walk a, b;
            explore(ot_search_find(guided[g]), &big, seed, 150, bowl, &a);
            explore(ot_search_find("random"), &big, seed, 150, bowl, &b);
            wins += a.best < b.best;
        }
        assert_true(wins >= 15);
    }
}

static bool six_in_a_million(const optune_task *task, const optune_config *config, char *why)
{
    (void)task;
    return config->index < 5 || config->index == 999000 || optune_refuse(why, "not one of six");
}

static const optune_impl sparse = {
    .op = "test", .name = "sparse.test", .space = wide, .valid = six_in_a_million};

/* However rare the valid ones, a draw prefers none: what lies behind a gap comes no more often. */
static void draws_are_uniform(void **state)
{
    (void)state;
    optune_err err = {0};
    const optune_task task = {0};
    const ot_candidate candidate = {.impl = &sparse};
    ot_arm arm;
    check_ok(ot_arm_open(&arm, &task, &candidate, ot_search_find("random"), 1, &err));
    uint64_t rng = 1;
    int count[6] = {0};
    for (int i = 0; i < 6000; i++) {
        const int64_t index = optune_search_draw(&arm.view, &rng);
        assert_true(index >= 0);
        count[index == 999000 ? 5 : index]++;
    }
    for (int i = 0; i < 6; i++)
        assert_in_range(count[i], 850, 1150);
    /* All six come, each once, and then it is over. */
    optune_config config;
    for (int i = 0; i < 6; i++)
        assert_true(ot_arm_next(&arm, &config));
    assert_false(ot_arm_next(&arm, &config));
    ot_arm_close(&arm);
}

/* One for each compiler, one that is measured, one that is ready. */
static void as_many_are_out_as_are_worked_on(void **state)
{
    (void)state;
    assert_int_equal(ot_queue_depth(1), 3);
    assert_int_equal(ot_queue_depth(2), 4);
    assert_int_equal(ot_queue_depth(6), OT_QUEUE);
    assert_int_equal(ot_queue_depth(64), OT_QUEUE);
    assert_int_equal(ot_queue_depth(0), ot_queue_depth((int)sysconf(_SC_NPROCESSORS_ONLN)));
}

static int64_t watched_pending[4];
static int watched_outcome, watched_n;

static int64_t watch_ask(optune_search_view *view)
{
    watched_n = view->n_pending;
    for (int i = 0; i < view->n_pending; i++)
        watched_pending[i] = view->pending[i];
    for (int64_t i = 0; i < optune_space_size(view->space); i++)
        if (view->fresh(view, i))
            return i;
    return -1;
}

static void watch_tell(optune_search_view *view, const optune_told *told)
{
    (void)view;
    watched_outcome = told->outcome;
}

static void searches_see_what_is_out_and_how_it_ended(void **state)
{
    (void)state;
    static const optune_search watch = {.name = "watch", .ask = watch_ask, .tell = watch_tell};
    optune_err err = {0};
    const optune_task task = {0};
    const ot_candidate candidate = {.impl = &big};
    ot_arm arm;
    optune_config config[3];
    check_ok(ot_arm_open(&arm, &task, &candidate, &watch, 1, &err));
    for (int i = 0; i < 3; i++)
        assert_true(ot_arm_next(&arm, &config[i])); /* the fallback, then two of the search */
    assert_int_equal(watched_n, 2);
    ot_arm_tell(&arm, &config[1],
                &(optune_told){.cost = INFINITY, .outcome = OPTUNE_OUTCOME_WRONG});
    assert_int_equal(watched_outcome, OPTUNE_OUTCOME_WRONG);
    assert_true(ot_arm_next(&arm, &config[1]));
    assert_int_equal(watched_n, 2);
    assert_int_equal(watched_pending[0], config[0].index);
    assert_int_equal(watched_pending[1], config[2].index);
    ot_arm_close(&arm);
}

static int64_t ask_first(optune_search_view *view)
{
    (void)view;
    return 0;
}

static int64_t ask_beyond(optune_search_view *view)
{
    return optune_space_size(view->space) + 5;
}

static int64_t ask_invalid(optune_search_view *view)
{
    (void)view;
    return 500;
}

/* What a plugin's search may get wrong ends it, and is told. */
static void a_search_that_asks_for_no_fresh_config_ends(void **state)
{
    (void)state;
    static const struct {
        optune_search search;
        const char *told;
    } wrong[] = {
        {{.name = "again", .ask = ask_first}, "config 0 of 'sparse.test', which was tried"},
        {{.name = "beyond", .ask = ask_beyond}, "which is beyond the last of its space"},
        {{.name = "invalid", .ask = ask_invalid}, "config 500 of 'sparse.test', which its"},
    };
    const optune_task task = {0};
    const ot_candidate candidate = {.impl = &sparse};
    for (int i = 0; i < OT_COUNT(wrong); i++) {
        optune_err err = {0};
        ot_arm arm;
        optune_config config;
        check_ok(ot_arm_open(&arm, &task, &candidate, &wrong[i].search, 1, &err));
        assert_true(ot_arm_next(&arm, &config)); /* the fallback */
        assert_false(ot_arm_next(&arm, &config));
        assert_true(arm.exhausted);
        check_contains(arm.slip, wrong[i].search.name);
        check_contains(arm.slip, wrong[i].told);
        ot_arm_close(&arm);
    }
}

static void from_3_to_34(const optune_task *task, optune_space *space)
{
    (void)task;
    int64_t value[32];
    for (int i = 0; i < 32; i++)
        value[i] = i + 3;
    for (int k = 0; k < 5; k++) {
        char name[8];
        snprintf(name, sizeof name, "k%d", k);
        optune_space_ints(space, name, 32, value);
    }
}

static const optune_impl sizes = {.op = "test", .name = "sizes.test", .space = from_3_to_34};

/* What a size leaves of vectors, lines and banks is known by its odd part. */
static double odd_parts(const optune_config *config)
{
    double cost = 1;
    for (int k = 0; k < config->n; k++) {
        int64_t odd = config->entity[k].v[0];
        while (odd % 2 == 0)
            odd /= 2;
        cost *= 1 + log2((double)odd);
    }
    return cost;
}

static void forest_sees_factors_of_two(void **state)
{
    (void)state;
    double sum = 0;
    for (uint64_t seed = 0; seed < 16; seed++) {
        walk w;
        explore(ot_search_find("forest"), &sizes, seed, 30, odd_parts, &w);
        sum += log2(w.best);
    }
    assert_true(sum / 16 < 1); /* 0.5; 1.6 where the odd parts are no features */
}

/* Of the first configs of a search, without the untuned one: factors of two from the sizes down to
 * powers of two, on the mean of 20 seeds. */
static double odd_at_first(const char *name, const optune_impl *impl)
{
    enum { SEEDS = 20, FIRST = 4 };
    static const optune_task task = {0};
    optune_space *space;
    optune_err err = {0};
    double sum = 0;
    check_ok(ot_space_open(&task, impl, &space, &err));
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        walk w;
        explore(ot_search_find(name), impl, seed, 1 + FIRST, bowl, &w);
        for (int i = 1; i <= FIRST; i++) {
            optune_config config;
            ot_space_nth(space, w.path[i], &config);
            for (int k = 0; k < config.n; k++) {
                int64_t odd = config.entity[k].v[0];
                while (odd % 2 == 0)
                    odd /= 2;
                sum += log2((double)odd) / (SEEDS * FIRST);
            }
        }
    }
    ot_space_close(space);
    return sum;
}

static void forest_begins_near_powers_of_two(void **state)
{
    (void)state;
    const double forest = odd_at_first("forest", &sizes);
    assert_true(forest <
                0.7 * odd_at_first("random", &sizes)); /* 0.57; 1.0 by distance alone */
}

static void one_to_seven(const optune_task *task, optune_space *space)
{
    (void)task;
    static const int64_t value[] = {1, 2, 4, 7};
    for (int k = 0; k < 5; k++) {
        char name[8];
        snprintf(name, sizeof name, "k%d", k);
        optune_space_ints(space, name, 4, value);
    }
}

static const optune_impl picked = {.op = "test", .name = "picked.test", .space = one_to_seven};

/* A number that somebody put among powers of two is as good as they are. */
static void forest_begins_with_what_was_picked(void **state)
{
    (void)state;
    const double forest = odd_at_first("forest", &picked);
    assert_true(forest > odd_at_first("random", &picked));
}

/* A third of the space fails, by a knob that says nothing about cost. */
static double third_fails(const optune_config *config)
{
    return config->entity[2].v[0] % 3 == 1 ? INFINITY : bowl(config);
}

static void forest_learns_failures(void **state)
{
    (void)state;
    static const optune_task task = {0};
    int failed = 0;
    for (uint64_t seed = 0; seed < 5; seed++) {
        walk w;
        optune_config config;
        optune_space *space;
        optune_err err = {0};
        explore(ot_search_find("forest"), &big, seed, 120, third_fails, &w);
        check_ok(ot_space_open(&task, &big, &space, &err));
        for (int i = 60; i < 120; i++) {
            ot_space_nth(space, w.path[i], &config);
            failed += isinf(third_fails(&config));
        }
        ot_space_close(space);
    }
    assert_true(failed < 300 / 6); /* by chance: 90 */
}

static void hints_start_first(void **state)
{
    (void)state;
    optune_err err = {0};
    const optune_task task = {0};
    const ot_candidate candidate = {.impl = &small};
    ot_arm arm;
    check_ok(ot_arm_open(&arm, &task, &candidate, ot_search_find("random"), 1, &err));
    optune_config hint, config, known;
    int64_t valid[3], n = 0;
    for (int64_t i = 1; n < 3; i++) {
        ot_space_nth(arm.space, i, &config);
        if (ot_space_valid(arm.space, &config, NULL))
            valid[n++] = i;
    }
    ot_space_nth(arm.space, valid[1], &hint);
    ot_space_nth(arm.space, valid[2], &known);
    ot_arm_know(&arm, &known, &(optune_told){.cost = 2.0});
    ot_arm_hint(&arm, &hint);
    ot_arm_hint(&arm, &known);
    assert_true(ot_arm_next(&arm, &config));
    assert_int_equal(config.index, 0); /* the fallback */
    assert_true(ot_arm_next(&arm, &config));
    assert_int_equal(config.index, valid[1]);
    assert_true(ot_arm_next(&arm, &config));
    assert_int_not_equal(config.index, valid[2]);
    assert_int_equal(arm.trials, 1);
    assert_true(arm.best == 2.0);
    ot_arm_close(&arm);
}

static void budget_starves_none(void **state)
{
    (void)state;
    ot_arm arm[3] = {{.best = INFINITY}, {.best = INFINITY}, {.best = INFINITY}};
    static const double cost[] = {1.0, 1.05, 20.0};
    for (int t = 0; t < 300; t++) {
        const int i = ot_budget_next(arm, 3, false);
        assert_in_range(i, 0, 2);
        arm[i].trials++;
        arm[i].best = cost[i];
    }
    assert_true(arm[0].trials > 120);
    assert_true(arm[1].trials > 90);
    assert_in_range(arm[2].trials, 2, 20);
    arm[0].exhausted = arm[1].exhausted = true;
    assert_int_equal(ot_budget_next(arm, 3, false), 2);
    arm[2].exhausted = true;
    assert_int_equal(ot_budget_next(arm, 3, false), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_are_out_as_are_worked_on),
        cmocka_unit_test(same_seed_same_path),
        cmocka_unit_test(ends_with_the_best),
        cmocka_unit_test(survives_failure),
        cmocka_unit_test(spaces_without_knobs),
        cmocka_unit_test(guided_beats_random),
        cmocka_unit_test(hints_start_first),
        cmocka_unit_test(budget_starves_none),
        cmocka_unit_test(draws_are_uniform),
        cmocka_unit_test(a_search_that_asks_for_no_fresh_config_ends),
        cmocka_unit_test(searches_see_what_is_out_and_how_it_ended),
        cmocka_unit_test(forest_sees_factors_of_two),
        cmocka_unit_test(forest_begins_near_powers_of_two),
        cmocka_unit_test(forest_begins_with_what_was_picked),
        cmocka_unit_test(forest_learns_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
