/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a workload: who is measured once more, that a candidate which is right for one
 * seed and wrong for the next is taken back for good, and runs that end before their finals.
 */
#include "support/tuning.h"
#include "tuner/tune.h"

#include "run/worker/worker_keeper.h"
#include "support/check.h"
#include "support/plugin.h"

#include <math.h>

#define WORKLOAD "dense(f32[4,24], const f32[8,24])"

static const char *const one[] = {WORKLOAD, NULL};
static char plugin[1200];

/* A dense that is wrong as soon as its first datum is negative; it takes the place of dense's
 * strategy, beside one honest implementation. */
static const char liar[] =
    "#include \"optune/define.h\"\n"
    "static const char body[] = \"void dense(void *const *arg) {\\n\"\n"
    "    \"const float *d = arg[0], *w = arg[1]; float *out = arg[2];\\n\"\n"
    "    \"for (int i = 0; i < 4; i++) for (int j = 0; j < 8; j++) { float s = 0;\\n\"\n"
    "    \"for (int k = 0; k < 24; k++) s += d[i * 24 + k] * w[j * 24 + k];\\n\"\n"
    "    \"out[i * 8 + j] = s; }\\n\"\n"
    "    \"if (d[0] < 0) out[31] += 1;\\n}\\n\";\n"
    "static void plan(const optune_task *task, const optune_config *config,\n"
    "                 optune_plan *plan)\n"
    "{\n"
    "    (void)task, (void)config;\n"
    "    optune_plan_stage(plan, &(optune_stage){.phase = OPTUNE_TIMED,\n"
    "        .module = optune_plan_module(plan), .function = \"dense\", .n_args = 3,\n"
    "        .arg = {optune_input_arg(0), optune_input_arg(1), optune_output_arg(0)}});\n"
    "}\n"
    "static const optune_impl impl = {.op = \"dense\", .name = \"dense_liar.cpu\",\n"
    "    .summary = \"wrong half of the time\", .plan = plan, .source = body};\n"
    "static const optune_impl *const impls[] = {&impl, 0};\n"
    "static const optune_strategy_row rows[] = {{.impl = \"dense_nopack.x86\"},\n"
    "    {.impl = \"dense_liar.cpu\", .plevel = 5}, {0}};\n"
    "static const optune_strategy strategy = {.op = \"dense\", .key = \"cpu\", .rows = rows};\n"
    "static const optune_strategy *const strategies[] = {&strategy, 0};\n"
    "OPTUNE_PLUGIN = {.abi = OPTUNE_ABI, .name = \"liar\", .impls = impls,\n"
    "    .strategies = strategies};\n";

static int setup(void **state)
{
    tuning_setup(state);
    snprintf(plugin, sizeof plugin, "%s", tuning_path("liar.so"));
    plugin_build_text(liar, plugin);
    return 0;
}

static optune *open_liar(const char *db)
{
    return tuning_open_with(db,
                            (optune_options){.plugins = (const char *const[]){plugin, NULL}});
}

/* The least first element of the inputs that a trial with this seed is verified with. */
static float first_datum(uint64_t seed)
{
    optune_err err = {0};
    ot_inputs in;
    char path[1200];
    snprintf(path, sizeof path, "%s/reference-%llu", tuning_dir, (unsigned long long)seed);
    check_ok(ot_inputs_open(&in, WORKLOAD, seed, path, 1, NULL, &err));
    float least = INFINITY;
    for (int set = 0; set < OT_SETS; set++)
        least = fminf(least, *(const float *)in.kept[set][0]);
    ot_inputs_close(&in);
    return least;
}

/* A seed with which the liar passes its trial; the finals' seed is known from a record. */
static uint64_t seed_that_passes(void)
{
    uint64_t seed = 1;
    for (;; seed++)
        if (first_datum(seed) > 0 && first_datum(ot_hash64(&seed, sizeof seed)) < 0)
            return seed;
}

static void test_refuted(void **state)
{
    (void)state;
    optune *o = open_liar("liar");
    const optune_run_options options = {
        .op = "dense", .workloads = one, .trials = 4, .seed = seed_that_passes()};
    json_t *json = tuning_run(o, options, OPTUNE_OK);
    const json_t *winner = json_object_get(tuning_workload(json, 0), "winner");
    assert_string_equal(tuning_text(winner, "impl"), "dense_nopack.x86");
    assert_int_equal(json_array_size(json_object_get(tuning_workload(json, 0), "ties")), 0);
    json_decref(json);

    tuning_records all;
    tuning_read("liar", &all);
    int passed = 0, failed = 0;
    for (int i = 0; i < all.n; i++) {
        const optune_record *r = &all.record[i];
        if (strcmp(r->impl, "dense_liar.cpu"))
            continue;
        passed += r->outcome == OPTUNE_OUTCOME_OK && !r->final && r->seed == options.seed;
        failed += r->outcome == OPTUNE_OUTCOME_WRONG && r->final && r->seed != options.seed;
    }
    assert_int_equal(passed, 1);
    assert_int_equal(failed, 1);
    ot_arena_release(&all.arena);

    optune_selection *s = NULL;
    optune_err err = {0};
    check_ok(optune_select(o, WORKLOAD, &s, &err));
    check_contains(optune_selection_text(s, true), "failed when verified again");
    optune_selection_free(s);

    /* The next run knows: no trial, no finals, and the failure is counted. */
    json = tuning_run(o, options, OPTUNE_OK);
    assert_int_equal(tuning_int(json, "new_trials"), 0);
    const json_t *failures = json_object_get(tuning_workload(json, 0), "failures");
    assert_int_equal(tuning_int(failures, "wrong"), 1);
    json_decref(json);
    tuning_records same;
    tuning_read("liar", &same);
    assert_int_equal(same.n, all.n);
    ot_arena_release(&same.arena);
    optune_close(o);
}

/* ---- who is measured once more ----------------------------------------------------------- */

static void test_finalists(void **state)
{
    (void)state;
    optune *o = open_liar("finalists");
    json_t *json = tuning_run_one(o, "dense", WORKLOAD, "dense_nopack.x86", 8);
    const json_t *w = tuning_workload(json, 0);
    assert_true(json_is_true(json_object_get(json_object_get(w, "winner"), "final")));
    assert_true(json_is_true(json_object_get(json_object_get(w, "default"), "final")));
    json_decref(json);
    tuning_records all;
    tuning_read("finalists", &all);
    const optune_record *best = NULL;
    for (int i = 0; i < all.n; i++)
        if (!all.record[i].final && (!best || all.record[i].cost < best->cost))
            best = &all.record[i];
    int repeated = 0;
    for (int i = 0; i < all.n; i++)
        if (all.record[i].final) {
            repeated += ot_config_equal(&all.record[i].config, &best->config);
            assert_true(all.record[i].seed != best->seed);
            assert_true(all.record[i].n_samples >= 6);
        }
    assert_int_equal(repeated, 1);
    ot_arena_release(&all.arena);
    optune_close(o);
}

/* ---- runs that end early ----------------------------------------------------------------- */

typedef struct stopper {
    optune *o;
    const char *phase;
} stopper;

static void stop_in(void *arg, const optune_progress *p)
{
    const stopper *s = arg;
    if (strcmp(p->phase, s->phase) == 0)
        optune_interrupt(s->o);
}

static void test_stopped_before_the_first(void **state)
{
    (void)state;
    optune *o = open_liar("before");
    stopper s = {o, "preparing"};
    json_t *json = tuning_run(o,
                              (optune_run_options){.op = "dense",
                                                   .workloads = one,
                                                   .trials = 4,
                                                   .progress = stop_in,
                                                   .progress_arg = &s},
                              OPTUNE_EINTERRUPTED);
    assert_int_equal(tuning_int(json, "new_trials"), 0);
    assert_true(json_is_true(json_object_get(json, "interrupted")));
    assert_true(json_is_null(json_object_get(tuning_workload(json, 0), "winner")));
    json_decref(json);
    optune_close(o);
}

static void test_stopped_in_finals(void **state)
{
    (void)state;
    optune *o = open_liar("within");
    stopper s = {o, "finals"};
    optune_run_options options = {.op = "dense",
                                  .workloads = one,
                                  .impls = (const char *const[]){"dense_nopack.x86", NULL},
                                  .trials = 4,
                                  .progress = stop_in,
                                  .progress_arg = &s};
    json_t *json = tuning_run(o, options, OPTUNE_EINTERRUPTED);
    assert_int_equal(tuning_int(json, "new_trials"), 4);
    const json_t *winner = json_object_get(tuning_workload(json, 0), "winner");
    assert_true(json_is_false(json_object_get(winner, "final")));
    json_decref(json);
    /* The next run has only its finals to do. */
    options.progress = NULL;
    json = tuning_run(o, options, OPTUNE_OK);
    assert_int_equal(tuning_int(json, "new_trials"), 0);
    winner = json_object_get(tuning_workload(json, 0), "winner");
    assert_true(json_is_true(json_object_get(winner, "final")));
    json_decref(json);
    optune_close(o);
}

/* As when finals take longer than foreseen: the clock is put forward. */
static void time_is_over_in(void *arg, const optune_progress *p)
{
    ot_run *run = (ot_run *)((char *)p - offsetof(ot_run, progress));
    int *times = arg;
    if (strcmp(p->phase, "finals") != 0)
        return;
    assert_true(run->until > ot_now()); /* finals have a limit */
    run->until = ot_now();
    ++*times;
}

static void test_late_finals(void **state)
{
    (void)state;
    optune *o = open_liar("late");
    int times = 0;
    optune_run_options options = {.op = "dense",
                                  .workloads = one,
                                  .impls = (const char *const[]){"dense_nopack.x86", NULL},
                                  .trials = 4,
                                  .seconds = 300,
                                  .progress = time_is_over_in,
                                  .progress_arg = &times};
    json_t *json = tuning_run(o, options, OPTUNE_OK);
    assert_int_equal(times, 1);
    assert_int_equal(tuning_int(json, "new_trials"), 4);
    assert_int_equal(tuning_int(json, "failures"), 0);
    assert_true(json_is_false(json_object_get(json, "interrupted")));
    const json_t *winner = json_object_get(tuning_workload(json, 0), "winner");
    assert_true(json_is_false(json_object_get(winner, "final"))); /* what trials said stands */
    json_decref(json);
    options.progress = NULL; /* and nobody has failed: the next run has its finals */
    json = tuning_run(o, options, OPTUNE_OK);
    assert_int_equal(tuning_int(json, "new_trials"), 0);
    winner = json_object_get(tuning_workload(json, 0), "winner");
    assert_true(json_is_true(json_object_get(winner, "final")));
    json_decref(json);
    optune_close(o);
}

static void test_no_time(void **state)
{
    (void)state;
    optune *o = open_liar("no-time");
    json_t *json = tuning_run(
        o, (optune_run_options){.op = "dense", .workloads = one, .trials = 4, .seconds = 1e-6},
        OPTUNE_EPARTIAL);
    assert_int_equal(tuning_int(json, "new_trials"), 0);
    check_contains(tuning_text(tuning_workload(json, 0), "problem"), "--time");
    assert_true(json_is_null(json_object_get(tuning_workload(json, 0), "winner")));
    assert_true(json_is_false(json_object_get(json, "interrupted")));
    json_decref(json);
    optune_close(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refuted),
        cmocka_unit_test(test_finalists),
        cmocka_unit_test(test_stopped_before_the_first),
        cmocka_unit_test(test_stopped_in_finals),
        cmocka_unit_test(test_late_finals),
        cmocka_unit_test(test_no_time),
    };
    return cmocka_run_group_tests(tests, setup, tuning_teardown);
}
