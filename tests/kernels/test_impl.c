/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of every implementation, present and future, on every target of this machine (cpu
 * at one thread and at two, opencl where there is a platform): on every sample of its operator
 * where it applies, its fallback and some random valid configs build, run and match the
 * reference. A library that is not installed is skipped by name. So do some samples with
 * operators fused behind them, where the operator's pattern allows it. Compilers take most of
 * the time, so it is spent where it tells most: every sample is computed with the fallback at
 * one thread and on OpenCL (`unoptimized`), every third one with random configs, too; two
 * threads and OpenCL's optimizing compiler see some samples of each implementation, its first
 * among them. Where OPTUNE_TEST_THIN asks for less, `unoptimized` leaves that one to it, and it
 * leaves random configs to `unoptimized` and to the run that looks for races. Generic
 * implementations, few bodies for all operators, are computed on one sample in twelve, their
 * first among them. Of what a row of a pattern makes for many operators OPTUNE_TEST_THIN asks
 * less (workbench_brief): the fallback on the first sample, where every sample is computed. On
 * CPUs and OpenCL many lie in one module (support/batch.h), but where races are looked for; other
 * targets, and the one that OPTUNE_TEST_IMPL names, have a trial each. `emulated` is the OpenCL of
 * tests/races, which has CUDA's words (tests/data/plugin_emulated.c): what plain OpenCL is refused,
 * and nothing else, is run there. OPTUNE_TEST_CONFIGS sets how many random configs (default 3),
 * OPTUNE_TEST_THIN how many times fewer samples (default 1); OPTUNE_TEST_IMPL narrows to one, with
 * all of its samples.
 * OPTUNE_TEST_PARTS and OPTUNE_TEST_PART (from 0 on) share the samples among so many processes,
 * OPTUNE_TEST_SEED draws other configs, OPTUNE_TEST_LIMIT is how many seconds a trial of a GPU may
 * take (60). OPTUNE_TEST_RANDOM computes random calls for so many seconds
 * in place of samples: of each the implementations that apply, with a random config each.
 */
#include "support/check.h"

#include <math.h>

#include "strategy/inside.h"
#include "support/batch.h"
#include "support/belongs.h"
#include "support/random_call.h"
#include "support/workbench.h"

typedef struct bench {
    workbench at;
    batch *many; /* NULL: each is a trial of its own */
    int configs;
    int thin;         /* one sample in so many */
    int generic_thin; /* and of these again, of a generic implementation */
    int turn;         /* counts samples that apply */
    bool first;       /* each implementation's first sample, whatever `thin` */
    int part, parts;
    int checked, skipped, failed;
} bench;

typedef struct pending {
    optune_config config;
    ot_job job;
} pending;

/* Its own word: an algorithm that does not serve the shape, a heuristic with fewer answers. What it
 * computes must be right all the same. */
static bool refused_by_library(const ot_trial_result *result)
{
    return result->outcome == OPTUNE_OUTCOME_RUNTIME && result->message &&
           (strncmp(result->message, "cudnn", 5) == 0 ||
            strncmp(result->message, "cublasLt", 8) == 0);
}

static void try_one(bench *b, const optune_task *task, const optune_impl *impl,
                    const pending *p, const char *sample)
{
    optune_err err = {0};
    ot_arena arena = {0};
    ot_trial_result result = {.outcome = p->job.outcome, .message = p->job.message};
    (void)task;
    if (p->job.outcome == OPTUNE_OUTCOME_OK) {
        const ot_trial trial = {.impl = impl,
                                .config = &p->config,
                                .job = &p->job,
                                .best = INFINITY,
                                .limit_s = random_asked("OPTUNE_TEST_LIMIT", 60)};
        check_ok(
            ot_worker_trial(b->at.worker, &trial, &workbench_quick, &arena, &result, &err));
    }
    const char *message = result.message ? result.message : "";
    if (result.outcome != OPTUNE_OUTCOME_OK && impl->library &&
        (strstr(message, "library") || refused_by_library(&result))) {
        b->skipped++;
    } else if (result.outcome != OPTUNE_OUTCOME_OK) {
        ot_text config = {0};
        ot_config_print_short(&p->config, &config);
        print_error("%s on %s %s\n    %s\n    %s: %s\n", impl->name, b->at.text, sample,
                    ot_text_str(&config), ot_outcome_name(result.outcome), message);
        ot_text_release(&config);
        b->failed++;
    } else {
        b->checked++;
        assert_true(result.error <= 1);
    }
    ot_arena_release(&arena);
}

/* Emulated, the words for which the body asks for CUDA are what is in question. */
static bool applies(const bench *b, const optune_impl *impl, const char *sample,
                    optune_call *call)
{
    optune_err err = {0};
    char why[OPTUNE_WHY_SIZE];
    check_ok(ot_call_parse(sample, call, &err));
    optune_device plain = b->at.device;
    plain.cc_major = plain.cc_minor = 0;
    const optune_task task = {call, &b->at.target, &b->at.device};
    const optune_task portable = {call, &b->at.target, &plain};
    if (b->at.emulated && /* only what asks for an architecture of CUDA's */
        (impl->library || !impl->applies || impl->applies(&portable, NULL)))
        return false;
    return ot_impl_applies(impl, &task, why) && ot_epilogue_applies(&task, why);
}

/* The fallback and some random configs; nothing when the implementation does not apply. */
static void try_sample(bench *b, const optune_impl *impl, const char *sample, int configs,
                       uint64_t *rng)
{
    optune_err err = {0};
    static optune_call call;
    if (!applies(b, impl, sample, &call))
        return;
    const optune_task task = {&call, &b->at.target, &b->at.device};
    optune_space *space;
    check_ok(ot_space_open(&task, impl, &space, &err));
    enum { MOST = 64 };
    char why[OPTUNE_WHY_SIZE] = "";
    pending *list = ot_alloc(MOST * sizeof *list);
    if (!ot_space_fallback(space, &list[0].config, why)) {
        print_error("%s on %s %s\n    its fallback config is refused: %s\n", impl->name,
                    b->at.text, sample, why);
        b->failed++;
        free(list);
        ot_space_close(space);
        return;
    }
    optune_plan *plan = ot_alloc(sizeof *plan);
    int n = 1;
    for (int t = 0; t < 200 && n <= configs && n < MOST; t++) {
        ot_space_nth(space, ot_space_random(space, rng), &list[n].config);
        n += ot_space_valid(space, &list[n].config, NULL);
    }
    for (int i = 0; i < n && b->many; i++)
        batch_add(b->many, &call, impl, &list[i].config, &sample, 1);
    if (b->many) {
        b->checked += n;
        free(list);
        free(plan);
        ot_space_close(space);
        return;
    }
    for (int i = 0; i < n; i++) {
        check_ok(ot_plan_make(&task, impl, &list[i].config, plan, &err));
        const int status = ot_builder_submit(b->at.builder, &task, plan, &list[i].job, &err);
        if (status == OPTUNE_ETOOL && impl->library)
            n = 0; /* no compiler for its body */
        else
            check_ok(status);
    }
    b->skipped += n == 0;
    check_ok(ot_worker_workload(b->at.worker, sample, 11, &err));
    for (int i = 0; i < n; i++) {
        while (!list[i].job.done)
            ot_builder_wait(b->at.builder, &list[i].job, 1);
        try_one(b, &task, impl, &list[i], sample);
    }
    free(list);
    free(plan);
    ot_space_close(space);
}

static void first_sample(bench *b, const optune_op *op, const optune_impl *impl, uint64_t *rng)
{
    static optune_call call;
    const char *const *sample = op->samples;
    while (*sample && !applies(b, impl, *sample, &call))
        sample++;
    if (*sample && b->turn++ % b->parts == b->part)
        try_sample(b, impl, *sample, 0, rng);
}

static void samples_of(bench *b, const optune_op *op, const optune_impl *impl, uint64_t *rng)
{
    ot_text fused = {0};
    int applied = 0;
    bool first = true;
    const int thin = b->thin * (impl->generic ? b->generic_thin : 1);
    for (const char *const *sample = op->samples; *sample; sample++) {
        static optune_call call;
        if (!applies(b, impl, *sample, &call))
            continue;
        const int turn = b->turn++;
        const bool takes = first ? b->first : turn % thin == 0;
        first = false;
        if (!takes)
            continue;
        const bool fuses = op->pattern == OPTUNE_OUT_FUSABLE && applied % 2 == 0;
        const int variant = applied++ / 2;
        if (turn / thin % b->parts != b->part)
            continue;
        try_sample(b, impl, *sample, turn / thin % 3 ? 0 : b->configs, rng);
        if (fuses) {
            random_call_fuse(*sample, variant, &fused);
            const bool config = b->configs > 0 && (b->thin == 1 || variant % 2 == 0);
            try_sample(b, impl, ot_text_str(&fused), config, rng);
        }
    }
    ot_text_release(&fused);
}

/* Calls that no sample is, until the time is over. */
static void random_calls(bench *b, int seconds)
{
    const random_limits limits = {.elements = 6e4, .flops = 4e6};
    const double until = ot_now() + seconds;
    uint64_t rng = random_seed();
    ot_text text = {0};
    int n;
    const optune_impl *const *impl = ot_impls(&n);
    while (ot_now() < until) {
        static optune_call call;
        const optune_op *op = random_op(&rng);
        if (!random_call(&rng, op, &limits, &call, &text))
            continue;
        for (int i = 0; i < n && ot_now() < until; i++)
            if (!strcmp(impl[i]->op, op->name) && workbench_wants(impl[i]->name) &&
                impl_belongs(impl[i], &b->at.target))
                try_sample(b, impl[i], ot_text_str(&text), 1, &rng);
    }
    ot_text_release(&text);
}

static bool tested[1024]; /* by position in the table: it was checked or skipped somewhere */

static void every_impl(const char *target, int configs, int thin, bool first)
{
    bench b = {.first = first,
               .configs = workbench_asked("OPTUNE_TEST_CONFIGS", 3),
               .thin = workbench_thin(thin),
               .part = workbench_asked("OPTUNE_TEST_PART", 0),
               .parts = workbench_asked("OPTUNE_TEST_PARTS", 1)};
    if (b.parts < 1)
        b.parts = 1;
    if (b.configs > configs)
        b.configs = configs;
    if (!workbench_find(&b.at, target))
        skip();
    static batch many;
    const int random = random_asked("OPTUNE_TEST_RANDOM", 0);
    if (batch_serves(&many, target)) {
        b.many = &many;
        if (strcmp(target, "opencl") == 0) /* its optimizing compiler is what is in question */
            many.usual = true;
    } else {
        workbench_start(&b.at);
    }
    const char *only = getenv("OPTUNE_TEST_IMPL");
    b.generic_thin = only ? 1 : 12;
    uint64_t rng = workbench_seed(12345);
    int n;
    const optune_impl *const *impl = ot_impls(&n);
    if (random)
        random_calls(&b, random);
    for (int i = 0; i < n && !random; i++) {
        const optune_op *op = ot_op_find(impl[i]->op);
        assert_non_null(op);
        if (!workbench_wants(impl[i]->name) || !impl_belongs(impl[i], &b.at.target))
            continue;
        const int before = b.checked + b.skipped + b.failed;
        if (!workbench_brief(impl, i))
            samples_of(&b, op, impl[i], &rng);
        else if (thin == 1)
            first_sample(&b, op, impl[i], &rng);
        tested[i] = tested[i] || b.checked + b.skipped + b.failed > before;
    }
    print_message("%d checked, %d skipped (no library), %d failed on %s\n", b.checked,
                  b.skipped, b.failed, target);
    if (b.many)
        batch_judge(b.many);
    workbench_close(&b.at);
    assert_int_equal(b.failed, 0);
    assert_true(b.checked > 0 || only);
}

static void one_thread(void **state)
{
    (void)state;
    every_impl("cpu -threads=1", 60, 1, true);
}

static void two_threads(void **state)
{
    (void)state;
    every_impl("cpu -threads=2", 1, 3, true);
}

/* GPUs are tests of their own. */
static const workbench_contract contracts[] = {
    {"opencl", "opencl", 1, 4}, /* PoCL takes half a second for each */
    {"unoptimized", "opencl -cflags='-cl-std=CL1.2 -cl-opt-disable'", 1, 1}, /* a third of it */
    {"emulated", "emulated", 1, 1},
    {"cuda", "cuda", 60, 1},
};

static void as_asked(void **state)
{
    const workbench_contract *c = *state;
    const bool shares = workbench_shares() && !getenv("OPTUNE_RACES");
    const int configs = shares && strcmp(c->word, "opencl") == 0 ? 0 : c->configs;
    every_impl(c->target, configs, c->thin, !shares || strcmp(c->word, "unoptimized") != 0);
}

/* An x86 that has everything. */
static const optune_device tiles = {.name = "x86",
                                    .cores = 1,
                                    .threads = 1,
                                    .vector_bytes = 64,
                                    .vector_registers = 32,
                                    .dots = 15};

/* Where no device of this machine runs it, one that its target can assume must be in question. */
static bool applies_somewhere(const optune_impl *impl)
{
    static const char *const assumed[] = {"cuda -arch=sm_75", "cuda -arch=sm_80",
                                          "cuda -arch=sm_90", "cuda -arch=sm_100", "cpu"};
    const optune_op *op = ot_op_find(impl->op);
    bool yes = false;
    for (int k = 0; k < OT_COUNT(assumed) && !yes; k++) {
        optune_err err = {0};
        optune_target target;
        optune_device device = {0};
        static optune_call call;
        if (ot_target_parse(assumed[k], &target, &err) < 0)
            return false;
        if (strcmp(target.kind, "cpu") == 0)
            device = tiles;
        else
            check_ok(ot_target_find("cuda")->assume(&target, &device, &err));
        const optune_task task = {&call, &target, &device};
        for (const char *const *sample = op->samples; *sample && !yes; sample++) {
            check_ok(ot_call_parse(*sample, &call, &err));
            yes = ot_impl_applies(impl, &task, NULL);
        }
    }
    return yes;
}

/* A pattern's row is in question when one of the implementations made from it is. */
static bool in_question(const optune_impl *const *impl, int n, int which)
{
    const optune_impl *row = ot_pattern_row(impl[which]);
    bool yes = tested[which] || applies_somewhere(impl[which]);
    for (int i = 0; i < n && !yes && row != impl[which]; i++)
        yes = ot_pattern_row(impl[i]) == row && (tested[i] || applies_somewhere(impl[i]));
    return yes;
}

/* An implementation that applies to no sample would never be tested. */
static void none_is_forgotten(void **state)
{
    (void)state;
    const char *only = getenv("OPTUNE_TEST_IMPL");
    int n;
    const optune_impl *const *impl = ot_impls(&n);
    assert_true(n < OT_COUNT(tested));
    if (random_asked("OPTUNE_TEST_RANDOM", 0))
        skip(); /* random calls are of whatever was drawn */
    for (int i = 0; i < n; i++)
        if ((!only || !strcmp(only, impl[i]->name)) && !in_question(impl, n, i))
            fail_msg("'%s' applies to no sample of '%s'", impl[i]->name, impl[i]->op);
}

int main(int argc, char **argv)
{
    batch_inside(argc, argv);
    const struct CMUnitTest on_cpu[] = {
        cmocka_unit_test(one_thread),
        cmocka_unit_test(two_threads),
        cmocka_unit_test(none_is_forgotten),
    };
    const int code =
        workbench_contract_run(argc, argv, contracts, OT_COUNT(contracts), as_asked);
    if (code >= 0)
        return code;
    return cmocka_run_group_tests(on_cpu, NULL, NULL);
}
