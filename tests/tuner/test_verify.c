/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Winners measured once more. Older measurements are forged: a thousandth of what they were, an
 * interval as wide as that, by another digest; so no test depends on how fast anything is here.
 */
#include <math.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/forged.h"
#include "support/plugin.h"
#include "tuner/tune.h"

static const double MONTH_S = 30 * 86400.0, OFF = 1000;
#define OTHER "dense(f32[8,64], const f32[32,64])"

/* The result's document; fails the test unless it ended with `status`. NULL: there is none. */
static json_t *verify(optune *o, optune_verify_options how, int status, const char *part)
{
    optune_err err = {0};
    optune_result *result = NULL;
    how.size = sizeof how;
    how.seconds = how.seconds == 0 ? 240 : how.seconds;
    const int ended = optune_verify(o, &how, &result, &err);
    if (ended != status)
        print_error("ended with %d: %s\n", ended, err.text);
    assert_int_equal(ended, status);
    check_contains(err.text, part);
    json_t *json = result ? tuning_parse(optune_result_json(result)) : NULL;
    assert_true(!result || *optune_result_text(result));
    optune_result_free(result);
    return json;
}

static const json_t *winner(const json_t *json, size_t i)
{
    return json_array_get(json_object_get(json, "winners"), i);
}

static int n_records(const char *db)
{
    tuning_records all;
    tuning_read(db, &all);
    ot_arena_release(&all.arena);
    return all.n;
}

/* The fastest final of the run, of what may be selected: a library may be faster. */
static const optune_record *best_final(void)
{
    const optune_record *best = NULL;
    for (int i = 0; i < forged_run.n; i++) {
        const optune_record *r = &forged_run.record[i];
        const optune_impl *impl = ot_impl_find(r->impl);
        if (r->final && r->outcome == OPTUNE_OUTCOME_OK && impl && !impl->library &&
            (!best || r->cost < best->cost))
            best = r;
    }
    assert_non_null(best);
    return best;
}

static void older(optune_record *r)
{
    r->time -= MONTH_S;
}

static void with_samples(optune_record *r, double *sample, int n)
{
    const ot_interval interval = ot_median_interval(sample, n);
    r->sample = sample;
    r->n_samples = n;
    r->cost = interval.median;
    r->low = interval.low;
    r->high = interval.high;
}

/* As if what won had taken a thousandth then, under another kernel. */
static void forge_fast(optune_record *r)
{
    static double sample[16][7];
    static int used;
    const optune_record *best = best_final();
    older(r);
    if (strcmp(r->impl, best->impl) || !ot_config_equal(&r->config, &best->config) ||
        r->outcome != OPTUNE_OUTCOME_OK)
        return;
    double *mine = sample[used++ % OT_COUNT(sample)];
    for (int i = 0; i < 7; i++)
        mine[i] = best->cost / OFF;
    with_samples(r, mine, 7);
    r->inner = 1000000; /* so that a clock could tell it */
    r->host = "kernel=0.9.9\n";
}

/* Any figure from a thousandth to a thousand times is within the interval. */
static void forge_wide(optune_record *r)
{
    static double sample[64][7];
    static int used;
    older(r);
    if (r->outcome != OPTUNE_OUTCOME_OK)
        return;
    assert_true(used < OT_COUNT(sample));
    double *mine = sample[used++];
    for (int i = 0; i < 7; i++)
        mine[i] = r->cost * (i == 3 ? 1 : i < 3 ? 1 / OFF : OFF);
    r->inner = 1000000;
    with_samples(r, mine, 7);
}

static void forge_stale(optune_record *r)
{
    older(r);
    r->digest = "00000000000000000000000000000000";
}

typedef struct seen {
    optune *o;
    double best; /* when the search of the first workload began; 0: it did not */
    const char *stop_at;
} seen;

static void look(void *arg, const optune_progress *p)
{
    seen *s = arg;
    if (!s->best && p->workload == 1 && !strcmp(p->phase, "preparing"))
        s->best = p->best;
    if (s->stop_at && !strcmp(p->phase, s->stop_at))
        optune_interrupt(s->o);
}

static void test_moved(void **state)
{
    (void)state;
    const double forged = best_final()->cost / OFF;
    forged_db("moved", forge_fast, NULL);
    const int before = n_records("moved");
    optune *o = tuning_open("moved");
    char *answer = tuning_answer(o, FORGED_WORKLOAD);
    const double claimed = strtod(strrchr(answer, ' '), NULL);
    free(answer);
    assert_float_equal(claimed / forged, 1, 1e-6);

    json_t *json = verify(o, (optune_verify_options){0}, OPTUNE_OK, "");
    const json_t *w = winner(json, 0);
    assert_string_equal(tuning_text(w, "status"), "moved");
    assert_string_equal(tuning_text(w, "call"), best_final()->call);
    assert_string_equal(tuning_text(w, "impl"), best_final()->impl);
    check_contains(tuning_text(w, "reason"), "kernel was 0.9.9, is ");
    assert_true(json_number_value(json_object_get(w, "factor")) > OFF / 20);
    assert_true(json_is_object(json_object_get(w, "then")) &&
                json_is_object(json_object_get(w, "now")));
    const int measured = (int)json_array_size(json_object_get(json, "winners"));
    assert_int_equal(n_records("moved"), before + measured);
    json_decref(json);

    /* Selection answers from what was measured now, whoever it is. */
    answer = tuning_answer(o, FORGED_WORKLOAD);
    assert_true(strtod(strrchr(answer, ' '), NULL) > 20 * forged);
    free(answer);
    tuning_records all;
    tuning_read("moved", &all);
    int now = 0;
    for (int i = 0; i < all.n; i++) {
        const optune_record *r = &all.record[i];
        now +=
            r->final && r->time > best_final()->time && r->host && strstr(r->host, "kernel=");
    }
    assert_int_equal(now, measured);
    ot_arena_release(&all.arena);

    /* The next search begins at the same configs, with what they cost now. */
    seen s = {.o = o};
    json = tuning_run(
        o,
        (optune_run_options){.op = "dense",
                             .workloads = (const char *const[]){FORGED_WORKLOAD, NULL},
                             .trials = 1,
                             .progress = look,
                             .progress_arg = &s},
        OPTUNE_OK);
    assert_int_equal(tuning_int(json, "new_trials"), 0);
    assert_true(isfinite(s.best) && s.best > 20 * forged);
    json_decref(json);
    optune_close(o);
}

/* Likewise, by a clock that was a century ahead. */
static void forge_ahead(optune_record *r)
{
    forge_fast(r);
    r->time += 1200 * MONTH_S;
}

/* What is measured now counts, though what was measured before says that it came later. */
static void test_clock_was_ahead(void **state)
{
    (void)state;
    const double forged = best_final()->cost / OFF;
    forged_db("ahead", forge_ahead, NULL);
    optune *o = tuning_open("ahead");
    optune_selection *s = NULL;
    optune_err err = {0};
    check_ok(optune_select(o, FORGED_WORKLOAD, &s, &err));
    check_contains(optune_selection_text(s, true), "days ahead");
    optune_selection_free(s);
    for (int i = 0; i < 2; i++) { /* and again */
        json_t *json = verify(o, (optune_verify_options){0}, OPTUNE_OK, "");
        if (i == 0)
            assert_string_equal(tuning_text(winner(json, 0), "status"), "moved");
        json_decref(json);
        char *answer = tuning_answer(o, FORGED_WORKLOAD);
        assert_true(strtod(strrchr(answer, ' '), NULL) > 20 * forged);
        free(answer);
    }
    optune_close(o);
}

static void test_holds(void **state)
{
    (void)state;
    forged_db("holds", forge_wide, NULL);
    const int before = n_records("holds");
    optune *o = tuning_open("holds");
    /* Nothing that was measured within the last hundred days is measured again. */
    verify(o, (optune_verify_options){.max_age = 100}, OPTUNE_ENOENT,
           "within the last 100 days");
    verify(o, (optune_verify_options){.what = (const char *const[]){"conv2d", NULL}},
           OPTUNE_ENOENT, "that was asked for");
    verify(o, (optune_verify_options){.what = (const char *const[]){"dence", NULL}},
           OPTUNE_ENOENT, "did you mean 'dense'");
    assert_int_equal(n_records("holds"), before);
    json_t *json = verify(
        o,
        (optune_verify_options){.what = (const char *const[]){"conv2d", FORGED_WORKLOAD, NULL},
                                .max_age = 10},
        OPTUNE_OK, "");
    assert_string_equal(tuning_text(winner(json, 0), "status"), "holds");
    assert_true(json_is_null(json_object_get(winner(json, 0), "reason")));
    assert_int_equal(tuning_int(json, "moved"), 0);
    json_decref(json);
    optune_close(o);
}

static void test_stale(void **state)
{
    (void)state;
    forged_db("stale", forge_stale, NULL);
    const int before = n_records("stale");
    optune *o = tuning_open("stale");
    json_t *json = verify(o, (optune_verify_options){0}, OPTUNE_OK, "");
    const json_t *w = winner(json, 0);
    assert_int_equal(json_array_size(json_object_get(json, "winners")), 1);
    assert_string_equal(tuning_text(w, "status"), "stale");
    check_contains(tuning_text(w, "reason"), "has changed: digest was 00000000");
    assert_true(json_is_null(json_object_get(w, "now")));
    json_decref(json);
    optune_close(o);
    assert_int_equal(n_records("stale"), before);
}

static void test_nothing(void **state)
{
    (void)state;
    optune *o = tuning_open("empty");
    assert_null(verify(o, (optune_verify_options){0}, OPTUNE_ENOENT, ""));
    optune_close(o);
}

static void test_interrupted(void **state)
{
    (void)state;
    forged_db("stopped", older, NULL);
    const int before = n_records("stopped");
    optune *o = tuning_open("stopped");
    seen s = {.o = o, .stop_at = "finals"};
    json_t *json = verify(o, (optune_verify_options){.progress = look, .progress_arg = &s},
                          OPTUNE_EINTERRUPTED, "what was measured so far is stored");
    assert_non_null(json);
    json_decref(json);
    assert_int_equal(n_records("stopped"), before);
    /* The handle goes on, and so does verifying. */
    json_decref(verify(o, (optune_verify_options){0}, OPTUNE_OK, ""));
    assert_true(n_records("stopped") > before);
    optune_close(o);
}

/* Two workloads, one older: a sample of one is the older one, or drawn by a seed. */
static void test_sample(void **state)
{
    (void)state;
    optune *o = tuning_open("other");
    json_decref(tuning_run_one(o, "dense", OTHER, NULL, 2));
    optune_close(o);
    tuning_records all;
    tuning_read("other", &all);
    for (int i = 0; i < all.n; i++)
        all.record[i].time -= 2 * MONTH_S;
    forged_put("sample", all.record, all.n, NULL);
    ot_arena_release(&all.arena);
    forged_db("sample", older, NULL);
    o = tuning_open("sample");
    bool drawn[2] = {false, false};
    json_t *json = verify(o, (optune_verify_options){.sample = 1}, OPTUNE_OK, "");
    assert_string_equal(tuning_text(winner(json, 0), "call"), OTHER);
    json_decref(json);
    for (uint64_t seed = 1; seed < 40 && !(drawn[0] && drawn[1]); seed++) {
        /* No time is left, so that who is drawn is told and nothing measured. */
        json = verify(o, (optune_verify_options){.sample = 1, .seed = seed, .seconds = 1e-6},
                      OPTUNE_OK, "");
        assert_string_equal(tuning_text(winner(json, 0), "status"), "not measured");
        drawn[!strcmp(tuning_text(winner(json, 0), "call"), OTHER)] = true;
        json_decref(json);
    }
    assert_true(drawn[0] && drawn[1]);
    optune_close(o);
}

/* ---- who fails now ----------------------------------------------------------------------- */

/* A dense that is always wrong, before all others. */
static const char liar[] =
    "#include \"optune/define.h\"\n"
    "static const char body[] = \"void dense(void *const *arg) { *(float *)arg[2] = 7; "
    "}\\n\";\n"
    "static void plan(const optune_task *task, const optune_config *config,\n"
    "                 optune_plan *plan)\n"
    "{\n"
    "    (void)task, (void)config;\n"
    "    optune_plan_stage(plan, &(optune_stage){.phase = OPTUNE_TIMED,\n"
    "        .module = optune_plan_module(plan), .function = \"dense\", .n_args = 3,\n"
    "        .arg = {optune_input_arg(0), optune_input_arg(1), optune_output_arg(0)}});\n"
    "}\n"
    "static const optune_impl impl = {.op = \"dense\", .name = \"dense_liar.cpu\",\n"
    "    .summary = \"wrong\", .plan = plan, .source = body};\n"
    "static const optune_impl *const impls[] = {&impl, 0};\n"
    "static const optune_strategy_row rows[] = {{.impl = \"dense_nopack.x86\"},\n"
    "    {.impl = \"dense_liar.cpu\", .plevel = 5}, {0}};\n"
    "static const optune_strategy strategy = {.op = \"dense\", .key = \"cpu\", .rows = rows};\n"
    "static const optune_strategy *const strategies[] = {&strategy, 0};\n"
    "OPTUNE_PLUGIN = {.abi = OPTUNE_ABI, .name = \"liar\", .impls = impls,\n"
    "    .strategies = strategies};\n";

static optune *open_liar(const char *db)
{
    static char plugin[1200];
    snprintf(plugin, sizeof plugin, "%s", tuning_path("liar.so"));
    if (access(plugin, R_OK) != 0)
        plugin_build_text(liar, plugin);
    return tuning_open_with(db,
                            (optune_options){.plugins = (const char *const[]){plugin, NULL}});
}

static void test_wrong(void **state)
{
    (void)state;
    optune *o = open_liar("liar");
    json_decref(tuning_run_one(o, "dense", OTHER, NULL, 2));
    optune_close(o);
    tuning_records all;
    tuning_read("liar", &all);
    int lies = 0;
    static double sample[7];
    for (int i = 0; i < all.n; i++) {
        optune_record *r = &all.record[i];
        older(r);
        if (strcmp(r->impl, "dense_liar.cpu"))
            continue;
        assert_int_equal(r->outcome, OPTUNE_OUTCOME_WRONG);
        for (int k = 0; k < 7; k++)
            sample[k] = 1e-9;
        with_samples(r, sample, 7);
        r->outcome = OPTUNE_OUTCOME_OK;
        r->message = NULL;
        r->error = 0.5;
        r->inner = 1000;
        r->final = true;
        lies++;
    }
    assert_int_equal(lies, 1);
    forged_put("lied", all.record, all.n, NULL);
    ot_arena_release(&all.arena);

    o = open_liar("lied");
    json_t *json = verify(o, (optune_verify_options){0}, OPTUNE_EPARTIAL,
                          "1 stored winners no longer compute the right thing");
    assert_string_equal(tuning_text(winner(json, 0), "impl"), "dense_liar.cpu");
    assert_string_equal(tuning_text(winner(json, 0), "status"), "wrong");
    check_contains(tuning_text(winner(json, 0), "reason"), "wrong: ");
    /* Who is selected now was measured, too. */
    assert_string_equal(tuning_text(winner(json, 1), "impl"), "dense_nopack.x86");
    assert_string_equal(tuning_text(json_object_get(winner(json, 1), "selected"), "impl"),
                        "dense_nopack.x86");
    json_decref(json);
    char *answer = tuning_answer(o, OTHER);
    check_contains(answer, "dense_nopack.x86");
    free(answer);
    optune_close(o);
}

/* ---- where nothing can be written -------------------------------------------------------- */

static int verify_read_only(void)
{
    optune_err err = {0};
    optune_result *result = NULL;
    const optune_verify_options how = {.size = sizeof how};
    optune *o = tuning_open("locked");
    const int status = optune_verify(o, &how, &result, &err);
    const bool told = status < 0 && status != OPTUNE_ENOENT && !result &&
                      strstr(err.text, "locked") && strstr(err.text, "ermission");
    if (!told)
        print_error("ended with %d: %s\n", status, err.text);
    optune_close(o);
    return told ? 0 : 3;
}

static void test_read_only(void **state)
{
    (void)state;
    int status;
    forged_db("locked", older, NULL);
    assert_int_equal(chmod(tuning_dir, 0755), 0);
    if (geteuid() != 0)
        assert_int_equal(chmod(tuning_path("locked"), 0555), 0);
    const pid_t child = fork();
    if (child == 0)
        _exit(geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0) ? 99
                                                                         : verify_read_only());
    assert_int_equal(waitpid(child, &status, 0), child);
    chmod(tuning_path("locked"), 0755);
    assert_int_equal(status, 0);
}

/* ---- idle -------------------------------------------------------------------------------- */

static void test_idle(void **state)
{
    (void)state;
    /* The machine of this file does nothing: its counters stand still. */
    optune *o = tuning_open("idle");
    ot_run *run = ot_alloc(sizeof *run);
    const optune_run_options options = {.size = sizeof options};
    optune_err err = {0};
    char proc[1200];
    run->o = o;
    run->options = &options;
    run->end = INFINITY;
    run->watch.root = proc;
    snprintf(proc, sizeof proc, "%s", tuning_path("still"));
    check_ok(ot_make_dirs(tuning_path("still/proc"), &err));
    ot_text stat = {0};
    for (int i = 0; i < 512; i++)
        ot_text_printf(&stat, "cpu%d 5 0 5 90 0 0 0 0 0 0\n", i);
    check_ok(ot_write_file(tuning_path("still/proc/stat"), stat.s, stat.n, &err));
    ot_text_release(&stat);
    check_ok(ot_watch_idle(run, &err));
    optune_interrupt(o);
    assert_int_equal(ot_watch_idle(run, &err), OPTUNE_EINTERRUPTED);
    free(run);
    optune_close(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moved),
        cmocka_unit_test(test_holds),
        cmocka_unit_test(test_clock_was_ahead),
        cmocka_unit_test(test_stale),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_sample),
        cmocka_unit_test(test_read_only),
        cmocka_unit_test(test_idle),
        cmocka_unit_test(test_wrong), /* its plugin takes dense's strategy for good */
    };
    return cmocka_run_group_tests(tests, forged_setup, forged_teardown);
}
