/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of every untuned answer: what selection chooses with nothing known computes random
 * calls of every operator right, by the same verification as trials. With OPTUNE_TEST_CONFIGS=1
 * every implementation that applies computes the call with a random valid config, too. The calls
 * are others in every run; the first line says which seed repeats them.
 *
 * `cpu` at one thread and at two; with the argument `opencl` on OpenCL, where there is a platform.
 * OPTUNE_TEST_CALLS (default 60 a target) and OPTUNE_TEST_SECONDS (default 20 a target) say how
 * much is done. With a target, a call, an implementation and a config, as a failure
 * prints them, only that is computed.
 */
#include "support/check.h"

#include <math.h>

#include "strategy/inside.h"
#include "support/belongs.h"
#include "support/random_call.h"
#include "support/workbench.h"

enum { BATCH = 24, SEED = 11 };

typedef struct pending {
    optune_call call;
    ot_text text;
    const optune_impl *impl;
    optune_config config;
    ot_job job;
} pending;

typedef struct bench {
    workbench at;
    const char *program;
    pending *list; /* BATCH */
    optune_plan *plan;
    int n;
    bool opened;
    long done, skipped, late, failed;
} bench;

static void say(const bench *b, const pending *p, int outcome, const char *message)
{
    ot_text config = {0};
    ot_config_print(&p->config, &config);
    print_error("%s: %s\n    %s \"%s\" '%s' %s '%s'\n", ot_outcome_name(outcome), message,
                b->program, b->at.text, ot_text_str(&p->text), p->impl->name,
                ot_text_str(&config));
    ot_text_release(&config);
}

static void judge(bench *b, const pending *p)
{
    optune_err err = {0};
    ot_arena arena = {0};
    ot_trial_result result = {.outcome = p->job.outcome, .message = p->job.message};
    if (p->job.outcome == OPTUNE_OUTCOME_OK) {
        const ot_trial trial = {.impl = p->impl,
                                .config = &p->config,
                                .job = &p->job,
                                .best = INFINITY,
                                .limit_s = 120};
        check_ok(ot_worker_workload(b->at.worker, ot_text_str(&p->text), SEED, &err));
        check_ok(
            ot_worker_trial(b->at.worker, &trial, &workbench_quick, &arena, &result, &err));
    }
    const char *message = result.message ? result.message : "";
    if (result.outcome == OPTUNE_OUTCOME_OK)
        b->done++;
    else if (p->impl->library)
        b->skipped++; /* it may not be there, and serves what it wants */
    else if (result.outcome == OPTUNE_OUTCOME_BUILD_TIMEOUT)
        b->late++; /* says how busy the machine is */
    else {
        b->failed++;
        say(b, p, result.outcome, message);
    }
    ot_arena_release(&arena);
}

/* Compilers work on all of a batch at a time. */
static void finish(bench *b)
{
    for (int i = 0; i < b->n; i++) {
        while (!b->list[i].job.done)
            ot_builder_wait(b->at.builder, &b->list[i].job, 1);
        judge(b, &b->list[i]);
        ot_text_release(&b->list[i].text);
    }
    b->n = 0;
}

static void submit(bench *b, const optune_call *call, const char *text, const optune_impl *impl,
                   const optune_config *config)
{
    optune_err err = {0};
    pending *p = &b->list[b->n];
    *p = (pending){.call = *call, .impl = impl, .config = *config};
    ot_text_add(&p->text, text);
    const optune_task task = {&p->call, &b->at.target, &b->at.device};
    int status = ot_plan_make(&task, impl, config, b->plan, &err);
    if (status >= 0)
        status = ot_builder_submit(b->at.builder, &task, b->plan, &p->job, &err);
    if (status >= 0) {
        b->n++;
    } else {
        b->failed++;
        say(b, p, OPTUNE_OUTCOME_INSTANTIATION, err.text);
        ot_text_release(&p->text);
    }
    if (b->n == BATCH)
        finish(b);
}

static void submit_default(bench *b, const optune_call *call, const char *text)
{
    const optune_task task = {call, &b->at.target, &b->at.device};
    ot_choice *choice = ot_alloc(sizeof *choice);
    optune_err err = {0};
    if (ot_select(&task, NULL, 0, choice, &err) >= 0)
        submit(b, call, text, choice->row[choice->winner].candidate.impl, choice->config);
    else {
        b->failed++;
        print_error("%s\n    %s\n", text, err.text);
    }
    ot_choice_free(choice);
}

static void submit_random(bench *b, const optune_call *call, const char *text, uint64_t *rng)
{
    const optune_task task = {call, &b->at.target, &b->at.device};
    int n;
    const optune_impl *const *impl = ot_impls(&n);
    for (int i = 0; i < n; i++) {
        optune_err err = {0};
        optune_space *space;
        optune_config config;
        bool valid = false;
        if (strcmp(impl[i]->op, call->op->name) != 0 || impl[i]->library ||
            !ot_impl_applies(impl[i], &task, NULL) || !ot_epilogue_applies(&task, NULL))
            continue;
        check_ok(ot_space_open(&task, impl[i], &space, &err));
        for (int t = 0; t < 300 && !valid; t++) {
            ot_space_nth(space, ot_space_random(space, rng), &config);
            valid = ot_space_valid(space, &config, NULL);
        }
        ot_space_close(space);
        if (valid)
            submit(b, call, text, impl[i], &config);
    }
}

static void open_bench(bench *b, const char *target, const char *program)
{
    *b = (bench){.program = program};
    if (!workbench_find(&b->at, target))
        return;
    workbench_start(&b->at);
    b->opened = true;
    b->list = ot_alloc(BATCH * sizeof *b->list);
    b->plan = ot_alloc(sizeof *b->plan);
}

static void close_bench(bench *b)
{
    free(b->list);
    free(b->plan);
    workbench_close(&b->at);
}

static const char *program;

static void defaults_are_right(const char *target)
{
    /* References take the time: most calls are small, a few are not. OpenCL may be a CPU's, and its
     * compiler told not to optimize: there what takes minutes must be what never ends. */
    const bool slow = strncmp(target, "opencl", 6) == 0;
    const random_limits limits[] = {{.elements = 3e4, .flops = 3e6},
                                    {.elements = slow ? 2e5 : 2e6, .flops = slow ? 1e7 : 2e8}};
    const int calls = random_asked("OPTUNE_TEST_CALLS", 60);
    const double until = ot_now() + random_asked("OPTUNE_TEST_SECONDS", 20);
    const bool configs = random_asked("OPTUNE_TEST_CONFIGS", 0);
    uint64_t rng = random_seed();
    ot_text text = {0};
    bench b;
    open_bench(&b, target, program);
    if (!b.opened)
        skip();
    for (int i = 0; i < calls && ot_now() < until; i++) {
        static optune_call call;
        const optune_op *op = random_op(&rng);
        if (!random_call(&rng, op, &limits[optune_random_below(&rng, 12) == 0], &call, &text))
            continue;
        if (configs)
            submit_random(&b, &call, ot_text_str(&text), &rng);
        else
            submit_default(&b, &call, ot_text_str(&text));
    }
    finish(&b);
    ot_text_release(&text);
    print_message("%ld computed on %s, %ld skipped (libraries), %ld not compiled in time, "
                  "%ld failed\n",
                  b.done, target, b.skipped, b.late, b.failed);
    close_bench(&b);
    assert_int_equal(b.failed, 0);
    assert_true(b.done + b.late > 0);
}

static void one_thread(void **state)
{
    (void)state;
    defaults_are_right("cpu -threads=1");
}

static void two_threads(void **state)
{
    (void)state;
    defaults_are_right("cpu -threads=2");
}

static void on_opencl(void **state)
{
    (void)state;
    defaults_are_right("opencl -cflags='-cl-std=CL1.2 -cl-opt-disable'");
}

/* A row is asked for a plan only of calls that it takes. */
static bool computes(const bench *b, const optune_call *call, const optune_impl *impl)
{
    const optune_task task = {call, &b->at.target, &b->at.device};
    char why[OPTUNE_WHY_SIZE] = "it is another operator's";
    const bool yes = strcmp(impl->op, call->op->name) == 0 && ot_call_static(call) &&
                     ot_impl_applies(impl, &task, why) && ot_epilogue_applies(&task, why);
    if (!yes)
        print_error("%s does not compute this call: %s\n", impl->name, why);
    return yes;
}

static int compute_one(char **word)
{
    optune_err err = {0};
    static optune_call call;
    optune_config config;
    bench b;
    const optune_impl *impl = ot_impl_find(word[2]);
    if (!impl || ot_call_parse(word[1], &call, &err) < 0 ||
        ot_config_parse(word[3], &config, &err) < 0) {
        print_error("%s\n", impl ? err.text : "there is no such implementation");
        return 2;
    }
    open_bench(&b, word[0], program);
    if (!b.opened)
        return 2;
    if (!computes(&b, &call, impl)) {
        close_bench(&b);
        return 2;
    }
    submit(&b, &call, word[1], impl, &config);
    finish(&b);
    print_message("%ld computed, %ld failed\n", b.done, b.failed);
    close_bench(&b);
    return b.failed > 0;
}

int main(int argc, char **argv)
{
    program = argv[0];
    if (argc == 5)
        return compute_one(argv + 1);
    const struct CMUnitTest on_cpu[] = {cmocka_unit_test(one_thread),
                                        cmocka_unit_test(two_threads)};
    const struct CMUnitTest opencl[] = {cmocka_unit_test(on_opencl)};
    if (argc == 2 && strcmp(argv[1], "opencl") == 0)
        return cmocka_run_group_tests_name("opencl", opencl, NULL, NULL);
    return argc > 1 ? 2 : cmocka_run_group_tests(on_cpu, NULL, NULL);
}
