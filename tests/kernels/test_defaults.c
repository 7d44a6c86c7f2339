/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of every untuned answer: what selection chooses with nothing known computes random
 * calls of every operator right, by the same verification as trials. With OPTUNE_TEST_CONFIGS=1
 * every implementation that applies computes the call with a random valid config, too. The calls
 * are others in every run; the first line says which seed repeats them.
 *
 * `cpu` at one thread and at two; with the argument `opencl` or `cuda` there, where there is one.
 * OPTUNE_TEST_CALLS (default 1000 a target, 100 on OpenCL) and OPTUNE_TEST_SECONDS (default 20 a
 * target) say how much is done. With a target, a call, an implementation and a config, as a failure
 * prints them, only that is computed.
 */
#include "support/check.h"

#include "strategy/inside.h"
#include "support/batch.h"
#include "support/random_call.h"

static void submit(batch *b, const optune_call *call, const char *text, const optune_impl *impl,
                   const optune_config *config)
{
    batch_add(b, call, impl, config, &text, 1);
}

static void submit_default(batch *b, const optune_call *call, const char *text)
{
    const optune_task task = {call, &b->target, &b->device};
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

static void submit_random(batch *b, const optune_call *call, const char *text, uint64_t *rng)
{
    const optune_task task = {call, &b->target, &b->device};
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

static void defaults_are_right(const char *target)
{
    /* References take the time: most calls are small, a few are not. OpenCL may be a CPU's, and its
     * compiler told not to optimize: there what takes minutes must be what never ends. */
    const bool slow = strncmp(target, "opencl", 6) == 0;
    const random_limits limits[] = {{.elements = 3e4, .flops = 3e6},
                                    {.elements = slow ? 2e5 : 2e6, .flops = slow ? 1e7 : 2e8}};
    const int calls = random_asked("OPTUNE_TEST_CALLS", slow ? 100 : 1000);
    const double until = ot_now() + random_asked("OPTUNE_TEST_SECONDS", 20);
    const bool configs = random_asked("OPTUNE_TEST_CONFIGS", 0);
    uint64_t rng = random_seed();
    ot_text text = {0};
    batch b;
    if (!batch_open(&b, target))
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
    ot_text_release(&text);
    batch_judge(&b);
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

static void on_cuda(void **state)
{
    (void)state;
    defaults_are_right("cuda");
}

/* A row is asked for a plan only of calls that it takes. */
static bool computes(const batch *b, const optune_call *call, const optune_impl *impl)
{
    const optune_task task = {call, &b->target, &b->device};
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
    batch b;
    const optune_impl *impl = ot_impl_find(word[2]);
    if (!impl || ot_call_parse(word[1], &call, &err) < 0 ||
        ot_config_parse(word[3], &config, &err) < 0) {
        print_error("%s\n", impl ? err.text : "there is no such implementation");
        return 2;
    }
    if (!batch_open(&b, word[0]))
        return 2;
    b.usual = true;
    if (computes(&b, &call, impl)) {
        submit(&b, &call, word[1], impl, &config);
        batch_finish(&b);
    }
    print_message("%ld computed, %ld failed\n", b.computed, b.failed);
    batch_close(&b);
    return b.failed ? 1 : b.computed ? 0 : 2;
}

int main(int argc, char **argv)
{
    batch_inside(argc, argv);
    if (argc == 5)
        return compute_one(argv + 1);
    const struct CMUnitTest on_cpu[] = {cmocka_unit_test(one_thread),
                                        cmocka_unit_test(two_threads)};
    const struct CMUnitTest opencl[] = {cmocka_unit_test(on_opencl)};
    const struct CMUnitTest cuda[] = {cmocka_unit_test(on_cuda)};
    if (argc == 2 && strcmp(argv[1], "opencl") == 0)
        return cmocka_run_group_tests_name("opencl", opencl, NULL, NULL);
    if (argc == 2 && strcmp(argv[1], "cuda") == 0)
        return cmocka_run_group_tests_name("cuda", cuda, NULL, NULL);
    return argc > 1 ? 2 : cmocka_run_group_tests(on_cpu, NULL, NULL);
}
