/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of every fallback: whatever the call and the device, an implementation that applies
 * accepts its own untuned config and makes a plan of it, and selection passes nobody over. Calls
 * and devices are drawn at random, another draw every time; the first line says which seed. All is
 * arithmetic: no device is needed and nothing is compiled.
 *
 * OPTUNE_TEST_SEED repeats a draw, OPTUNE_TEST_CALLS (default 4000) says how many calls, each asked
 * of one device of every kind, OPTUNE_TEST_SECONDS ends it earlier. With two arguments, a device
 * and a call as a failure prints them, only that is asked.
 */
#include <setjmp.h>
#include <signal.h>

#include "strategy/inside.h"
#include "support/belongs.h"
#include "support/check.h"
#include "support/random_call.h"
#include "support/random_device.h"

enum { MOST_SAID = 3 }; /* failures of one implementation that are printed */

typedef struct tally {
    long calls, candidates, failed;
    double slowest;
    char slowest_of[OPTUNE_NAME_SIZE];
    int said[1024]; /* by position in the table */
} tally;

static tally sum;
static char program[1024];
/* How to repeat what is being asked. */
static char asked[RANDOM_DEVICE_TEXT + OPTUNE_TEXT_SIZE + 1024];

static sigjmp_buf after_crash;

static void crashed(int sig)
{
    siglongjmp(after_crash, sig);
}

static void complain(int which, const char *impl, const char *why)
{
    sum.failed++;
    if (which < OT_COUNT(sum.said) && sum.said[which]++ >= MOST_SAID)
        return;
    print_error("%s: %s\n    %s\n", impl, why, asked);
}

static bool same_bytes(const optune_config *a, const optune_config *b)
{
    return a && a->n == b->n && a->index == b->index &&
           !memcmp(a->entity, b->entity, (size_t)a->n * sizeof *a->entity);
}

/* Spaces of selection lie in memory of those before them, of other calls and devices: they say what
 * one of its own says, of the fallback and of any config. NULL: they do. */
static const char *kept_differs(const optune_task *task, const optune_impl *impl,
                                const optune_space *space, const optune_config *fallback,
                                bool valid)
{
    static uint64_t rng = 3;
    optune_config config, room;
    char why[OPTUNE_WHY_SIZE] = "";
    if (ot_task_fallback(task, impl, &config, why) != valid || !same_bytes(&config, fallback))
        return "its fallback is another one in memory of a space before it";
    ot_space_nth(space, optune_random_below(&rng, optune_space_size(space)), &config);
    const int64_t index = config.index;
    const bool fits = ot_space_valid(space, &config, NULL);
    const optune_config *found = ot_space_has(task, impl, &config, &room);
    if (fits ? found != &config || config.index != index : found != NULL)
        return "a config of its space is none in memory of a space before it";
    config.index = -1;
    found = ot_space_has(task, impl, &config, &room);
    config.index = index;
    return !fits || same_bytes(found, &config) ? NULL
                                               : "a config got another index, or none, in "
                                                 "memory of a space before it";
}

static void check_impl(const optune_task *task, const optune_impl *impl, int which)
{
    optune_err err = {0};
    optune_space *space;
    optune_config config;
    char why[OPTUNE_WHY_SIZE] = "no reason given";
    if (!ot_impl_applies(impl, task, NULL) || !ot_epilogue_applies(task, NULL))
        return;
    sum.candidates++;
    const double started = ot_now();
    if (ot_space_open(task, impl, &space, &err) < 0) {
        complain(which, impl->name, err.text);
        return;
    }
    const bool valid = ot_space_fallback(space, &config, why);
    const double took = ot_now() - started;
    if (took > sum.slowest) {
        sum.slowest = took;
        snprintf(sum.slowest_of, sizeof sum.slowest_of, "%s", impl->name);
    }
    optune_plan *plan = ot_alloc(sizeof *plan);
    if (!valid)
        complain(which, impl->name, why);
    else if (ot_plan_make(task, impl, &config, plan, &err) < 0)
        complain(which, impl->name, err.text);
    const char *differs = kept_differs(task, impl, space, &config, valid);
    if (differs)
        complain(which, impl->name, differs);
    free(plan);
    ot_space_close(space);
}

/* A row that divides by nothing or reads outside is a failure, too, and not the last one. */
static void check_impl_alive(const optune_task *task, const optune_impl *impl, int which)
{
    const int sig = sigsetjmp(after_crash, 1);
    if (sig == 0)
        check_impl(task, impl, which);
    else
        complain(which, impl->name, strsignal(sig));
}

static void check_call(const optune_call *call, const char *text, const optune_target *target,
                       const optune_device *device)
{
    const optune_task task = {call, target, device};
    char word[RANDOM_DEVICE_TEXT];
    random_device_print(device, word);
    snprintf(asked, sizeof asked, "%s %s '%s'", program, word, text);
    sum.calls++;
    int n;
    const optune_impl *const *impl = ot_impls(&n);
    for (int i = 0; i < n; i++)
        if (strcmp(impl[i]->op, call->op->name) == 0 && impl_belongs(impl[i], target))
            check_impl_alive(&task, impl[i], i);
    optune_err err = {0};
    ot_choice *choice = ot_alloc(sizeof *choice);
    const int sig = sigsetjmp(after_crash, 1);
    if (sig)
        complain(OT_COUNT(sum.said), "selection", strsignal(sig));
    else if (ot_select(&task, NULL, 0, choice, &err) >= 0) {
        ot_text warnings = {0};
        ot_choice_warnings(choice, &warnings);
        if (warnings.n)
            complain(OT_COUNT(sum.said), "selection", ot_text_str(&warnings));
        ot_text_release(&warnings);
    }
    ot_choice_free(choice);
}

/* cmocka has its own for every test, so this comes in the test. */
static void catch_crashes(void)
{
    static const int signals[] = {SIGSEGV, SIGFPE, SIGABRT, SIGILL, SIGBUS};
    for (int i = 0; i < OT_COUNT(signals); i++)
        signal(signals[i], crashed);
}

static void test_fallbacks_are_valid(void **state)
{
    (void)state;
    catch_crashes();
    static const char *const kinds[] = {"cpu", "opencl", "cuda"};
    /* Small calls are where rules contradict each other, large ones where scratch ends. */
    static const random_limits limits[] = {{.elements = 1e4, .flops = 1e9},
                                           {.elements = 3e6, .flops = 1e12},
                                           {.elements = 1e10, .flops = 1e17}};
    const int calls = random_asked("OPTUNE_TEST_CALLS", 4000);
    const double until = ot_now() + random_asked("OPTUNE_TEST_SECONDS", 1 << 20);
    uint64_t rng = random_seed();
    int n_ops, drawn[1024] = {0}, never = 0;
    const optune_op *const *ops = ot_ops(&n_ops);
    ot_text text = {0};
    for (int i = 0; i < calls && ot_now() < until; i++) {
        static optune_call call;
        const optune_op *op = random_op(&rng);
        if (!random_call(&rng, op, &limits[optune_random_below(&rng, OT_COUNT(limits))], &call,
                         &text))
            continue;
        for (int k = 0; k < n_ops; k++)
            drawn[k] += ops[k] == op;
        for (int k = 0; k < OT_COUNT(kinds); k++) {
            optune_target target;
            optune_device device;
            random_device(&rng, kinds[k], &target, &device);
            check_call(&call, ot_text_str(&text), &target, &device);
        }
    }
    ot_text_release(&text);
    for (int i = 0; i < n_ops; i++)
        if (!drawn[i] && calls >= 60 * n_ops && ot_now() < until && !getenv("OPTUNE_TEST_OP")) {
            print_error("no call of %s was drawn\n", ops[i]->name);
            never++;
        }
    print_message("%ld calls, %ld candidates, %ld failed; the slowest took %.1f ms (%s)\n",
                  sum.calls, sum.candidates, sum.failed, sum.slowest * 1e3, sum.slowest_of);
    assert_int_equal(sum.failed, 0);
    assert_int_equal(never, 0);
}

/* Outputs so high, or so many images of so many channels, that few tiles make a grid short enough;
 * on devices of all sizes. */
static void test_grids_are_short(void **state)
{
    (void)state;
    catch_crashes();
    static const char *const tall[] = {
        "conv2d(f32[1,8,87617,3], const f32[7,8,1,1])", /* 41 x 2137 */
        "conv2d(f32[2,3,87619,40], const f32[59,3,3,3])",
        "conv2d(f32[1,16,131070,1], const f32[16,16,1,1])",
        "conv2d(f32[1770,32,50,225], const f32[590,32,3,64])",
        "conv2d(f32[65536,4,5,5], const f32[8,4,3,3])",
    };
    uint64_t rng = 7;
    const long failed = sum.failed, asked_before = sum.candidates;
    for (int i = 0; i < OT_COUNT(tall); i++)
        for (int k = 0; k < 24; k++) {
            static optune_call call;
            optune_target target;
            optune_device device;
            optune_err err = {0};
            check_ok(ot_call_parse(tall[i], &call, &err));
            random_device(&rng, k % 2 ? "cuda" : "opencl", &target, &device);
            check_call(&call, tall[i], &target, &device);
        }
    assert_int_equal(sum.failed, failed);
    assert_true(sum.candidates > asked_before);
}

static int check_one(const char *word, const char *text)
{
    optune_err err = {0};
    static optune_call call;
    optune_target target;
    optune_device device;
    if (!random_device_parse(word, &target, &device) || ot_call_parse(text, &call, &err) < 0) {
        print_error("%s\n", err.text[0] ? err.text : "that is no device");
        return 2;
    }
    check_call(&call, text, &target, &device);
    print_message("%ld candidates, %ld failed\n", sum.candidates, sum.failed);
    return sum.failed > 0;
}

int main(int argc, char **argv)
{
    snprintf(program, sizeof program, "%s", argv[0]);
    if (argc == 3)
        return check_one(argv[1], argv[2]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_grids_are_short),
                                       cmocka_unit_test(test_fallbacks_are_valid)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
