/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates with their refusals, the policy of selection, and how a choice is explained. */
#include <math.h>

#include "strategy/fake.h"

/* ---- rows -------------------------------------------------------------------------------- */

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)task, (void)config, (void)plan;
}

static void space(const optune_task *task, optune_space *to)
{
    optune_space_split(to, "tile", task->call->input[0].type.dim[0].min, 2, NULL);
}

static bool small_tile(const optune_task *task, const optune_config *config, char *why)
{
    (void)task;
    return optune_config_split(config, "tile")[1] <= 8 || optune_refuse(why, "tile too large");
}

static void fallback(const optune_task *task, const optune_space *from, optune_config *config)
{
    (void)task;
    optune_config_choose_split(config, from, "tile", (int64_t[]){0, 4});
}

/* A tile of 2 would be slow, one of 1 is not known. */
static double estimate(const optune_task *task, const optune_config *config)
{
    (void)task;
    const int64_t tile = optune_config_split(config, "tile")[1];
    return tile == 1 ? NAN : tile == 2 ? 1000 : 64.0 / (double)tile;
}

static bool never_applies(const optune_task *task, char *why)
{
    (void)task;
    return optune_refuse(why, "it never does");
}

static bool bias_only(const optune_task *task, char *why)
{
    return task->call->n_inputs > 2 || optune_refuse(why, "there is no bias");
}

/* Two mistakes of an implementation, at m = 13 only, so that others are chosen elsewhere. */
static bool at_13(const optune_task *task, char *why)
{
    return task->call->input[0].type.dim[0].min == 13 || optune_refuse(why, "m is not 13");
}

static bool whole_only(const optune_task *task, const optune_config *config, char *why)
{
    (void)task;
    return optune_config_split(config, "tile")[1] == 13 || optune_refuse(why, "only 13");
}

static void foreign(const optune_task *task, const optune_space *from, optune_config *config)
{
    (void)task, (void)from;
    config->entity[0].v[1] = 5;
}

static const optune_impl impls[] = {
    {.op = "fake_mm",
     .name = "low",
     .plan = plan,
     .space = space,
     .valid = small_tile,
     .fallback = fallback,
     .estimate = estimate},
    {.op = "fake_mm", .name = "first", .plan = plan},
    {.op = "fake_mm", .name = "second", .plan = plan},
    {.op = "fake_mm", .name = "large", .plan = plan},
    {.op = "fake_mm", .name = "biased", .plan = plan},
    {.op = "fake_mm", .name = "never", .plan = plan, .applies = never_applies},
    {.op = "fake_mm",
     .name = "rough",
     .plan = plan,
     .math = "tf32 fast",
     .symbolic = "weight.1 data.0"},
    {.op = "fake_mm", .name = "vendor", .plan = plan, .library = "fakeblas"},
    {.op = "fake_mm",
     .name = "choosy",
     .plan = plan,
     .space = space,
     .applies = at_13,
     .valid = whole_only},
    {.op = "fake_mm",
     .name = "foreign",
     .plan = plan,
     .space = space,
     .applies = at_13,
     .fallback = foreign},
};
enum { LOW, FIRST, SECOND, LARGE, BIASED, NEVER, ROUGH, VENDOR, CHOOSY, FOREIGN };

static bool dim(const optune_call *call, const char *name, optune_dim *value)
{
    if (strcmp(name, "m") != 0)
        return false;
    *value = call->input[0].type.dim[0];
    return true;
}

static const optune_strategy_row rows[] = {
    {.impl = "low", .plevel = 5},
    {.impl = "first"},
    {.impl = "second", .plevel = 10},
    {.impl = "large", .plevel = 20, .when = "m > 16 && m % 8 == 0"},
    {.impl = "biased", .plevel = 30, .condition = bias_only},
    {.impl = "never", .plevel = 40},
    {.impl = "rough", .plevel = 50},
    {.impl = "vendor", .plevel = 60},
    {.impl = "choosy", .plevel = 70},
    {.impl = "foreign", .plevel = 65},
    {0},
};
static const optune_strategy strategy = {
    .op = "fake_mm", .key = "cpu", .rows = rows, .dim = dim};

static fake_task f;
static ot_choice choice;

/* ---- facts ------------------------------------------------------------------------------- */

static ot_fact fact(int impl, double cost, double width)
{
    ot_fact made = {.record = {.impl = impls[impl].name,
                               .cost = cost,
                               .low = cost * (1 - width),
                               .high = cost * (1 + width),
                               .n_samples = 20,
                               .time = ot_unix_time() - 7200,
                               .source = "run",
                               .config = {.index = -1}}};
    if (impl == LOW) {
        made.record.config.n = 1;
        made.record.config.entity[0] = (optune_entity){.name = "tile", .n = 2, .v = {-1, 2}};
    }
    return made;
}

static void choose(const ot_fact *facts, int n)
{
    optune_err err = {0};
    ot_choice_release(&choice);
    check_ok(ot_select(&f.task, facts, n, &choice, &err));
}

static void check_winner(int impl, ot_tier tier)
{
    assert_string_equal(choice.row[choice.winner].candidate.impl->name, impls[impl].name);
    assert_int_equal(choice.tier, tier);
    assert_true(choice.row[choice.winner].winner);
}

static char *explained(void)
{
    static ot_text text;
    ot_text_clear(&text);
    ot_choice_text(&f.task, &choice, true, &text);
    for (const char *line = text.s; *line;) {
        const size_t n = strcspn(line, "\n");
        assert_in_range(n, 0, 96);
        line += n + (line[n] == '\n');
    }
    return text.s;
}

/* ---- candidates -------------------------------------------------------------------------- */

static void test_refusals(void **state)
{
    (void)state;
    fake_task_set(&f, "fake_mm(f32[8,8], f32[16,8])");
    ot_candidate candidate[OT_MAX_CANDIDATES];
    optune_err err = {0};
    int n;
    check_ok(ot_candidates(&f.task, candidate, &n, &err));
    static const struct {
        ot_refusal refusal;
        const char *why;
    } expected[] = {
        {OT_VALID, ""},
        {OT_VALID, ""},
        {OT_VALID, ""},
        {OT_REFUSED_WHEN, "clause 'm > 16' is false (m=8)"},
        {OT_REFUSED_CONDITION, "there is no bias"},
        {OT_REFUSED_APPLIES, "it never does"},
        {OT_REFUSED_MATH, "its arithmetic is tf32 fast, the call asks for ieee"},
        {OT_REFUSED_LIBRARY, "library 'fakeblas' is not named in -libs"},
        {OT_REFUSED_APPLIES, "m is not 13"},
        {OT_REFUSED_APPLIES, "m is not 13"},
    };
    assert_int_equal(n, OT_COUNT(expected));
    for (int i = 0; i < n; i++) {
        assert_int_equal(candidate[i].refusal, expected[i].refusal);
        assert_string_equal(candidate[i].why, expected[i].why);
        assert_int_equal(candidate[i].order, i);
    }
    assert_int_equal(candidate[FIRST].plevel, OPTUNE_PLEVEL);
}

static void test_symbolic_dims_must_hold_for_every_size(void **state)
{
    (void)state;
    ot_candidate candidate[OT_MAX_CANDIDATES];
    optune_err err = {0};
    int n;
    fake_task_set(&f, "fake_mm(f32[?m:1..64,8], f32[16,8], math=tf32)");
    check_ok(ot_candidates(&f.task, candidate, &n, &err));
    assert_int_equal(candidate[LARGE].refusal, OT_REFUSED_WHEN);
    assert_string_equal(candidate[LARGE].why,
                        "clause 'm > 16' does not hold for every size (m=?m:1..64)");
    assert_int_equal(candidate[ROUGH].refusal, OT_VALID);
    assert_int_equal(candidate[FIRST].refusal, OT_REFUSED_APPLIES);
    assert_string_equal(candidate[FIRST].why, "needs dim 0 of 'data' to be a constant");
    fake_task_set(&f, "fake_mm(f32[?m:1..64,8], f32[?n:1..4,8], math=tf32)");
    check_ok(ot_candidates(&f.task, candidate, &n, &err));
    assert_int_equal(candidate[ROUGH].refusal, OT_REFUSED_APPLIES);
    fake_task_set(&f, "fake_mm(f32[?m,8], f32[16,8], math=tf32)");
    check_ok(ot_candidates(&f.task, candidate, &n, &err));
    assert_string_equal(candidate[ROUGH].why, "needs an upper bound of dim 0 of 'data'");
    fake_task_set(&f, "fake_mm(f32[24,8], f32[16,8], f32[16])");
    f.target.n_libs = 1;
    strcpy(f.target.lib[0], "fakeblas");
    check_ok(ot_candidates(&f.task, candidate, &n, &err));
    assert_int_equal(candidate[LARGE].refusal, OT_VALID);
    assert_int_equal(candidate[BIASED].refusal, OT_VALID);
    assert_int_equal(candidate[VENDOR].refusal, OT_VALID);
}

/* ---- policy ------------------------------------------------------------------------------ */

/* Of a log of others: tile is [-1, inner]. */
static ot_fact hint(int inner, double cost)
{
    ot_fact made = fact(LOW, cost, 0);
    made.currency = OT_HINT;
    made.record.source = "others.log";
    made.record.device = "autotvm:llvm";
    made.record.config.entity[0].v[1] = inner;
    return made;
}

/* Hints decide where nothing was measured, in their own order, if their config means something. */
static void test_hints(void **state)
{
    (void)state;
    fake_task_set(&f, "fake_mm(f32[8,8], f32[16,8])");
    const ot_fact two[] = {hint(3, 1e-9), hint(8, 2e-9), hint(4, 1e-9)};
    choose(two, 3);
    check_winner(LOW, OT_TIER_HINTED); /* though `second` has the higher plevel */
    assert_int_equal(choice.config->entity[0].v[1], 8); /* 3 is no divisor; 4 comes later */
    assert_null(choice.row[LOW].fact);
    assert_true(choice.config->index >= 0);
    check_contains(explained(), "hinted by others.log");
    check_contains(explained(), "autotvm:llvm");
    /* A cost of this machine goes before, however dear, and the hint is still told. */
    const ot_fact measured[] = {fact(FIRST, 1, 0.01), hint(8, 1e-9)};
    choose(measured, 2);
    check_winner(FIRST, OT_TIER_TUNED);
    check_contains(explained(), "hint: ");
    /* What fits nowhere is told, and the fallback of the highest plevel stays. */
    const ot_fact unfit[] = {hint(3, 1e-9)};
    choose(unfit, 1);
    check_winner(FIRST, OT_TIER_PLEVEL);
    check_contains(explained(), "not in the present space");
    fake_task_set(&f, "fake_mm(f32[64,8], f32[16,8])");
    const ot_fact invalid[] = {hint(16, 1e-9)};
    choose(invalid, 1);
    check_winner(LARGE, OT_TIER_PLEVEL);
    check_contains(explained(), "tile too large");
    /* Arithmetic knows better than one, nothing of the other. */
    fake_task_set(&f, "fake_mm(f32[8,8], f32[16,8])");
    const ot_fact slow[] = {hint(2, 1e-9), hint(1, 2e-9)};
    choose(slow, 1);
    check_winner(FIRST, OT_TIER_PLEVEL);
    check_contains(explained(),
                   "estimated to take 62.5 times what the fallback config takes here");
    choose(slow, 2);
    check_winner(LOW, OT_TIER_HINTED);
    assert_int_equal(choice.config->entity[0].v[1], 1);
    /* It failed here whenever it was tried. */
    fake_task_set(&f, "fake_mm(f32[8,8], f32[16,8])");
    ot_fact failed[] = {hint(8, 1e-9), fact(LOW, 1, 0)};
    failed[1].record.outcome = OPTUNE_OUTCOME_WRONG;
    choose(failed, 2);
    check_winner(FIRST, OT_TIER_PLEVEL);
    json_t *json = ot_choice_json(&f.task, &choice);
    const json_t *row = json_array_get(json_object_get(json, "candidates"), LOW);
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(row, "hint"), "currency")), "hint");
    json_decref(json);
}

static void test_plevel_when_nothing_is_known(void **state)
{
    (void)state;
    fake_task_set(&f, "fake_mm(f32[8,8], f32[16,8])");
    choose(NULL, 0);
    check_winner(FIRST, OT_TIER_PLEVEL); /* not `second`: equal plevel, added later */
    assert_int_equal(ot_choice_default(&f.task, &choice), FIRST);
    fake_task_set(&f, "fake_mm(f32[24,8], f32[16,8])");
    choose(NULL, 0);
    check_winner(LARGE, OT_TIER_PLEVEL);
    check_contains(explained(), "by plevel 20, with its fallback config");
    check_contains(explained(), "never measured");
}

/* Whoever refuses its own fallback is passed over and named; a record of its own is believed. */
static void test_no_config_that_is_refused(void **state)
{
    (void)state;
    fake_task_set(&f, "fake_mm(f32[13,8], f32[16,8])");
    choose(NULL, 0);
    check_winner(FIRST, OT_TIER_PLEVEL);
    assert_int_equal(ot_choice_default(&f.task, &choice), choice.winner);
    check_contains(choice.row[CHOOSY].fallback_why, "only 13");
    check_contains(choice.row[FOREIGN].fallback_why, "not in its own space");
    check_contains(explained(), "warning: choosy is passed over");
    check_contains(explained(), "its fallback config is refused: only 13");
    ot_text warnings = {0};
    ot_choice_warnings(&choice, &warnings);
    check_contains(ot_text_str(&warnings), "choosy (plevel 70) is passed over");
    check_contains(ot_text_str(&warnings), "foreign (plevel 65) is passed over");
    ot_text_release(&warnings);
    json_t *json = ot_choice_json(&f.task, &choice);
    assert_int_equal(json_array_size(json_object_get(json, "warnings")), 2);
    json_decref(json);

    ot_fact facts[] = {fact(CHOOSY, 3e-6, 0.01), fact(CHOOSY, 2e-6, 0.01)};
    for (int i = 0; i < OT_COUNT(facts); i++) {
        facts[i].record.config.n = 1;
        facts[i].record.config.entity[0] =
            (optune_entity){.name = "tile", .n = 2, .v = {-1, i ? 1 : 13}};
    }
    choose(facts, OT_COUNT(facts)); /* the faster one is no longer valid */
    check_winner(CHOOSY, OT_TIER_TUNED);
    assert_int_equal(optune_config_split(choice.config, "tile")[1], 13);
    choose(&facts[1], 1);
    check_winner(FIRST, OT_TIER_PLEVEL);
    check_contains(choice.row[CHOOSY].unfit_why, "no longer valid");
}

static void test_lowest_cost(void **state)
{
    (void)state;
    fake_task_set(&f, "fake_mm(f32[8,8], f32[16,8])");
    const ot_fact facts[] = {fact(FIRST, 5e-6, 0.01), fact(LOW, 3e-6, 0.01),
                             fact(LOW, 4e-6, 0.01), fact(SECOND, 6e-6, 0.01)};
    choose(facts, OT_COUNT(facts));
    check_winner(LOW, OT_TIER_TUNED);
    assert_ptr_equal(choice.row[LOW].fact, &facts[1]);
    assert_int_equal(ot_choice_default(&f.task, &choice), FIRST);
    assert_int_equal(choice.config->index, 1);
    assert_int_equal(optune_config_split(choice.config, "tile")[0], 4); /* -1 resolved */
    const char *text = explained();
    check_contains(text, "3.000 us");
    check_contains(text, "2 h old");
    check_contains(text, "runner-up first: +66.7 %");
    check_contains(text, "by plevel alone: first (10)");
    check_contains(text, "refused (specialization): clause 'm > 16' is false (m=8)");
}

static void test_ties(void **state)
{
    (void)state;
    fake_task_set(&f, "fake_mm(f32[8,8], f32[16,8])");
    /* low is fastest; second overlaps it, first does not; second has the higher plevel */
    const ot_fact facts[] = {fact(LOW, 3e-6, 0.02), fact(FIRST, 3.2e-6, 0.01),
                             fact(SECOND, 3.05e-6, 0.02)};
    choose(facts, OT_COUNT(facts));
    check_winner(SECOND, OT_TIER_TUNED);
    assert_true(choice.row[LOW].tied);
    assert_true(choice.row[SECOND].tied);
    assert_false(choice.row[FIRST].tied);
    check_contains(explained(), "2 implementations are tied");
    check_contains(explained(), "runner-up low: -1.6 %");
    /* equal plevels: the first added */
    const ot_fact equal[] = {fact(SECOND, 3e-6, 0.02), fact(FIRST, 3.01e-6, 0.02)};
    choose(equal, OT_COUNT(equal));
    check_winner(FIRST, OT_TIER_TUNED);
    /* a record without an interval ties only when its cost lies in the other's */
    ot_fact bare[] = {fact(LOW, 3e-6, 0.02), fact(FIRST, 3.2e-6, 0.02)};
    bare[1].record.low = bare[1].record.high = 0;
    choose(bare, 2);
    check_winner(LOW, OT_TIER_TUNED);
}

static void test_finalists_are_preferred(void **state)
{
    (void)state;
    fake_task_set(&f, "fake_mm(f32[8,8], f32[16,8])");
    ot_fact facts[] = {fact(LOW, 1e-6, 0.01), fact(LOW, 3e-6, 0.01), fact(FIRST, 2e-6, 0.01)};
    facts[1].record.final = facts[2].record.final = true;
    choose(facts, OT_COUNT(facts));
    check_winner(FIRST, OT_TIER_TUNED);
    assert_ptr_equal(choice.row[LOW].fact, &facts[1]);
}

static void test_bad_facts_are_not_used(void **state)
{
    (void)state;
    fake_task_set(&f, "fake_mm(f32[8,8], f32[16,8])");
    ot_fact facts[] = {fact(FIRST, 1e-6, 0.01), fact(SECOND, 1e-6, 0.01),
                       fact(LOW, 9e-6, 0.01)};
    facts[0].currency = OT_STALE;
    optune_refuse(facts[0].why, "compiler was gcc 11");
    facts[1].record.outcome = OPTUNE_OUTCOME_WRONG;
    facts[1].record.cost = INFINITY;
    facts[1].record.message = "element 3 is off";
    choose(facts, OT_COUNT(facts));
    check_winner(LOW, OT_TIER_TUNED);
    assert_null(choice.row[FIRST].fact);
    assert_ptr_equal(choice.row[FIRST].stale, &facts[0]);
    assert_ptr_equal(choice.row[SECOND].failed, &facts[1]);
    const char *text = explained();
    check_contains(text, "compiler was gcc 11");
    check_contains(text, "1 trials failed, the last as 'wrong': element 3 is off");
    check_contains(text, "first was not compared: stale only");
    check_contains(text, "second was not compared: failed only");
}

/* Nothing usable is known, and what plevel would take is known to fail. */
static void test_what_only_failed_yields(void **state)
{
    (void)state;
    ot_fact bad[2] = {fact(FIRST, INFINITY, 0), fact(SECOND, INFINITY, 0)};
    bad[0].record.outcome = bad[1].record.outcome = OPTUNE_OUTCOME_WRONG;
    choose(bad, 1);
    check_winner(SECOND, OT_TIER_PLEVEL);
    assert_ptr_equal(choice.row[ot_choice_default(&f.task, &choice)].candidate.impl,
                     &impls[FIRST]);
    choose(bad, 2);
    check_winner(LOW, OT_TIER_PLEVEL);
}

static void test_unverifiable_is_used_and_labelled(void **state)
{
    (void)state;
    fake_task_set(&f, "fake_mm(f32[8,8], f32[16,8])");
    ot_fact facts[] = {fact(FIRST, 1e-6, 0.01)};
    facts[0].currency = OT_UNVERIFIABLE;
    optune_refuse(facts[0].why, "no compiler on this host");
    choose(facts, 1);
    check_winner(FIRST, OT_TIER_UNVERIFIED);
    check_contains(explained(), "unverified: no compiler on this host");
}

static void test_configs_must_fit_the_present_space(void **state)
{
    (void)state;
    fake_task_set(&f, "fake_mm(f32[32,8], f32[16,8])");
    ot_fact facts[] = {fact(LOW, 1e-6, 0.01), fact(LOW, 2e-6, 0.01), fact(LOW, 3e-6, 0.01)};
    facts[0].record.config.entity[0].v[1] = 5;  /* no divisor */
    facts[1].record.config.entity[0].v[1] = 16; /* in the space, but not valid */
    choose(facts, OT_COUNT(facts));
    check_winner(LOW, OT_TIER_TUNED);
    assert_ptr_equal(choice.row[LOW].fact, &facts[2]);
    assert_ptr_equal(choice.row[LOW].stale, &facts[0]);
    check_contains(choice.row[LOW].unfit_why, "knob 'tile' has no entity");
    choose(facts, 2);
    check_winner(LARGE, OT_TIER_PLEVEL);
    assert_null(choice.row[LOW].fact);
    choose(&facts[1], 1);
    check_contains(choice.row[LOW].unfit_why, "no longer valid: tile too large");
}

static void test_libraries_win_only_when_named(void **state)
{
    (void)state;
    fake_task_set(&f, "fake_mm(f32[8,8], f32[16,8])");
    const ot_fact facts[] = {fact(VENDOR, 1e-6, 0.01), fact(FIRST, 2e-6, 0.01)};
    choose(facts, OT_COUNT(facts));
    check_winner(FIRST, OT_TIER_TUNED);
    assert_ptr_equal(choice.row[VENDOR].fact, &facts[0]);
    assert_false(choice.row[VENDOR].tied);
    check_contains(explained(), "vendor would be 2.00 times as fast");
    check_contains(explained(), "-libs=fakeblas");
    f.target.n_libs = 1;
    strcpy(f.target.lib[0], "fakeblas");
    choose(facts, OT_COUNT(facts));
    check_winner(VENDOR, OT_TIER_TUNED);
    choose(NULL, 0);
    check_winner(VENDOR, OT_TIER_PLEVEL);
}

/* ---- words ------------------------------------------------------------------------------- */

static void test_log_sentences(void **state)
{
    (void)state;
    fake_task_set(&f, "fake_mm(f32[8,8], f32[16,8])");
    const ot_fact facts[] = {fact(FIRST, 5e-6, 0.01), fact(LOW, 3e-6, 0.01),
                             fact(VENDOR, 1e-6, 0.01)};
    ot_text text = {0};
    choose(facts, OT_COUNT(facts));
    ot_choice_log(&f.task, &choice, &text);
    assert_string_equal(ot_text_str(&text),
                        "Implementation low for fake_mm has cost 3.00e-06\n"
                        "Implementation first for fake_mm has cost 5.00e-06\n"
                        "Using low for fake_mm based on lowest cost (3.00e-06)\n");
    ot_text_clear(&text);
    choose(NULL, 0);
    ot_choice_log(&f.task, &choice, &text);
    assert_string_equal(ot_text_str(&text),
                        "Using first for fake_mm based on highest priority (10)\n");
    ot_text_release(&text);
}

static const char *string_at(const json_t *json, const char *key)
{
    const char *text = json_string_value(json_object_get(json, key));
    assert_non_null(text);
    return text;
}

static void test_json(void **state)
{
    (void)state;
    fake_task_set(&f, "fake_mm(f32[8,8], f32[16,8])");
    ot_fact facts[] = {fact(FIRST, 5e-6, 0.01), fact(LOW, 3e-6, 0.01),
                       fact(SECOND, 1e-6, 0.01)};
    facts[2].record.outcome = OPTUNE_OUTCOME_COMPILE;
    facts[2].record.message = "not \xff utf-8";
    choose(facts, OT_COUNT(facts));
    json_t *json = ot_choice_json(&f.task, &choice);
    assert_non_null(json);
    assert_string_equal(string_at(json, "tier"), "tuned");
    assert_string_equal(string_at(json, "impl"), "low");
    assert_string_equal(string_at(json_object_get(json, "runner_up"), "impl"), "first");
    assert_string_equal(string_at(json_object_get(json, "by_plevel"), "impl"), "first");
    const json_t *config = json_object_get(json, "config");
    assert_int_equal(json_array_size(config), 1);
    const json_t *list = json_object_get(json, "candidates");
    assert_int_equal(json_array_size(list), OT_COUNT(impls));
    const json_t *low = json_array_get(list, LOW), *large = json_array_get(list, LARGE);
    const json_t *second = json_array_get(list, SECOND);
    assert_true(json_is_true(json_object_get(low, "winner")));
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(low, "record"), "samples")), 20);
    assert_string_equal(string_at(large, "refusal"), "specialization");
    assert_true(json_is_null(json_object_get(large, "record")));
    assert_string_equal(string_at(json_object_get(second, "failed"), "last"), "compile");
    json_decref(json);
}

/* Only rows on which the choice hangs are asked, the others when somebody wants to read of them. */
static void test_rows_are_asked_when_needed(void **state)
{
    (void)state;
    fake_task_set(&f, "fake_mm(f32[24,8], f32[16,8])");
    choose(NULL, 0);
    check_winner(LARGE, OT_TIER_PLEVEL);
    assert_int_equal(choice.row[NEVER].candidate.refusal, OT_REFUSED_APPLIES);
    assert_int_equal(choice.row[SECOND].candidate.refusal, OT_UNASKED);
    assert_int_equal(ot_choice_refusal(&f.task, &choice, SECOND), OT_VALID);
    assert_int_equal(ot_choice_refusal(&f.task, &choice, NEVER), OT_REFUSED_APPLIES);

    fake_task_set(&f, "fake_mm(f32[24,8], f32[16,8], math=tf32)");
    const ot_fact slow = fact(SECOND, 1, 0);
    choose(&slow, 1);
    check_winner(SECOND, OT_TIER_TUNED);
    assert_int_equal(choice.row[SECOND].candidate.refusal, OT_VALID);
    assert_ptr_equal(choice.row[ot_choice_default(&f.task, &choice)].candidate.impl,
                     &impls[ROUGH]);
    assert_int_equal(choice.row[NEVER].candidate.refusal, OT_UNASKED);
    assert_int_equal(choice.row[BIASED].candidate.refusal, OT_UNASKED);
    char why[OPTUNE_WHY_SIZE];
    ot_choice_why(&f.task, &choice, BIASED, why);
    assert_string_equal(why, "there is no bias");
    const char *text = explained();
    check_contains(text, "refused (applies): it never does");
    check_contains(text, "refused (condition): there is no bias");
    json_t *json = ot_choice_json(&f.task, &choice);
    const json_t *list = json_object_get(json, "candidates");
    assert_string_equal(string_at(json_array_get(list, NEVER), "refusal"), "applies");
    assert_string_equal(string_at(json_array_get(list, LARGE), "refusal"), "valid");
    json_decref(json);
    assert_int_equal(choice.row[NEVER].candidate.refusal, OT_UNASKED); /* it is shared */
}

static void test_nothing_valid(void **state)
{
    (void)state;
    static const optune_strategy_row none[] = {
        {.impl = "never"}, {.impl = "vendor"}, {.impl = "large", .when = "m > 16"}, {0}};
    static const optune_strategy other = {
        .op = "fake_mm", .key = "other", .rows = none, .dim = dim};
    optune_err err = {0};
    check_ok(ot_strategy_add(&other, &err));
    fake_task_set(&f, "fake_mm(f32[8,8], f32[16,8])");
    strcpy(f.target.key[0], "other");
    ot_choice_release(&choice);
    assert_int_equal(ot_select(&f.task, NULL, 0, &choice, &err), OPTUNE_ENOENT);
    check_contains(err.text, "no valid implementation of 'fake_mm'");
    check_contains(err.text, "never: it never does");
    check_contains(err.text, "vendor: library 'fakeblas' is not named in -libs");
    check_contains(err.text, "large: clause 'm > 16' is false (m=8)");
    strcpy(f.target.key[0], "unheard");
    ot_choice_release(&choice);
    assert_int_equal(ot_select(&f.task, NULL, 0, &choice, &err), OPTUNE_ENOENT);
    check_contains(err.text, "has no strategy");
}

static int add_rows(void **state)
{
    (void)state;
    optune_err err = {0};
    int status = ot_op_add(&fake_op, &err);
    for (int i = 0; status >= 0 && i < OT_COUNT(impls); i++)
        status = ot_impl_add(&impls[i], &err);
    status = status < 0 ? status : ot_strategy_add(&strategy, &err);
    if (status < 0)
        print_error("%s\n", err.text);
    return status;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_symbolic_dims_must_hold_for_every_size),
        cmocka_unit_test(test_hints),
        cmocka_unit_test(test_plevel_when_nothing_is_known),
        cmocka_unit_test(test_no_config_that_is_refused),
        cmocka_unit_test(test_lowest_cost),
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_finalists_are_preferred),
        cmocka_unit_test(test_bad_facts_are_not_used),
        cmocka_unit_test(test_what_only_failed_yields),
        cmocka_unit_test(test_unverifiable_is_used_and_labelled),
        cmocka_unit_test(test_configs_must_fit_the_present_space),
        cmocka_unit_test(test_libraries_win_only_when_named),
        cmocka_unit_test(test_log_sentences),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_rows_are_asked_when_needed),
        cmocka_unit_test(test_nothing_valid),
    };
    return cmocka_run_group_tests(tests, add_rows, NULL);
}
