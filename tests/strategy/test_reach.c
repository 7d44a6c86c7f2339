/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of a generic implementation for every operator: whatever call its types admit, with
 * constant dims or ranges, somebody computes it. Random typed calls are asked of random devices;
 * the shares of those that are answered are printed by operator, and one that is not is a failure.
 * All is arithmetic.
 *
 * OPTUNE_TEST_SEED, OPTUNE_TEST_CALLS (default 20000), OPTUNE_TEST_SECONDS and OPTUNE_TEST_OP as in
 * test_fallbacks.
 */
#include <string.h>
#include <time.h>

#include "strategy/inside.h"
#include "support/check.h"
#include "support/random_call.h"
#include "support/random_device.h"

enum { CPU, OPENCL, KINDS, CONSTANT = 0, RANGES, CLASSES };

typedef struct reach {
    long asked[KINDS][CLASSES], answered[KINDS][CLASSES];
    long failed;
    double slowest; /* selection, in seconds of the processor */
    char slowest_call[2048];
} reach;

static const char *const kind_name[KINDS] = {"cpu", "opencl"};
static const char *const class_name[CLASSES] = {"constant", "ranges"};

static double share(const reach *r, int kind, int class)
{
    const long asked = r->asked[kind][class];
    return asked ? 100.0 * (double)r->answered[kind][class] / (double)asked : 100;
}

static void say(const char *kind, const optune_call *call, const char *why)
{
    ot_text text = {0};
    ot_call_print(call, &text);
    print_error("%s %s\n    %s\n", kind, ot_text_str(&text), why);
    ot_text_release(&text);
}

static double spent(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void ask(uint64_t *rng, const optune_call *call, int class, reach *r)
{
    for (int kind = 0; kind < KINDS; kind++) {
        optune_target target;
        optune_device device;
        optune_err err = {0};
        random_device(rng, kind_name[kind], &target, &device);
        const optune_task task = {call, &target, &device};
        ot_choice *choice = ot_alloc(sizeof *choice);
        bool doubles = false; /* what a device leaves out is no operator's concern */
        for (int i = 0; i < optune_call_inputs(call); i++)
            doubles = doubles || call->input[i].type.dtype.bits == 64;
        for (int o = 0; o < call->n_outputs; o++)
            doubles = doubles || call->output[o].dtype.bits == 64;
        if (!(doubles && device.no_float64)) {
            r->asked[kind][class]++;
            const double started = spent();
            const bool answered = ot_select(&task, NULL, 0, choice, &err) >= 0;
            const double took = spent() - started;
            if (took > r->slowest) {
                ot_text text = {0};
                ot_call_print(call, &text);
                snprintf(r->slowest_call, sizeof r->slowest_call, "%s %s", kind_name[kind],
                         ot_text_str(&text));
                r->slowest = took;
                ot_text_release(&text);
            }
            r->answered[kind][class] += answered;
            r->failed += !answered;
            if (!answered)
                say(kind_name[kind], call, err.text);
        }
        ot_choice_free(choice);
    }
}

static void print_shares(const char *name, const reach *r)
{
    print_message("%-24s", name);
    for (int kind = 0; kind < KINDS; kind++)
        for (int class = 0; class < CLASSES; class ++)
            print_message(" %6.1f%% of %-5ld", share(r, kind, class), r->asked[kind][class]);
    print_message(" %7.1f ms\n", r->slowest * 1e3);
}

static void test_reach(void **state)
{
    (void)state;
    static const random_limits limits[] = {{.elements = 1e4, .flops = 1e9, .empty = 0.1},
                                           {.elements = 3e6, .flops = 1e12}};
    const int calls = random_asked("OPTUNE_TEST_CALLS", 20000);
    const double until = ot_now() + random_asked("OPTUNE_TEST_SECONDS", 1 << 20);
    uint64_t rng = random_seed();
    int n;
    const optune_op *const *ops = ot_ops(&n);
    reach *of = ot_alloc((size_t)n * sizeof *of), all = {0};
    ot_text text = {0};
    for (int i = 0; i < calls && ot_now() < until; i++) {
        static optune_call call, range, fused;
        const optune_op *op = random_op(&rng);
        if (!random_call(&rng, op, &limits[optune_random_below(&rng, 2)], &call, &text))
            continue;
        int which = 0;
        while (ops[which] != op)
            which++;
        ask(&rng, &call, CONSTANT, &of[which]);
        if (random_range(&rng, &call, &range)) {
            ask(&rng, &range, RANGES, &of[which]);
            if (random_chance(&rng, 0.25) && random_call_chain(&rng, &range, &fused))
                ask(&rng, &fused, RANGES, &of[which]);
        }
    }
    print_message("%-24s", "share with an answer");
    for (int kind = 0; kind < KINDS; kind++)
        for (int class = 0; class < CLASSES; class ++)
            print_message(" %s %-9s", kind_name[kind], class_name[class]);
    print_message(" slowest selection\n");
    for (int i = 0; i < n; i++) {
        if (of[i].slowest > all.slowest) {
            all.slowest = of[i].slowest;
            memcpy(all.slowest_call, of[i].slowest_call, sizeof all.slowest_call);
        }
        print_shares(ops[i]->name, &of[i]);
        all.failed += of[i].failed;
        for (int kind = 0; kind < KINDS; kind++)
            for (int class = 0; class < CLASSES; class ++) {
                all.asked[kind][class] += of[i].asked[kind][class];
                all.answered[kind][class] += of[i].answered[kind][class];
            }
    }
    print_shares("all", &all);
    print_message("the slowest selection: %s\n", all.slowest_call);
    ot_text_release(&text);
    free(of);
    assert_int_equal(all.failed, 0);
}

/* How many dims squeeze leaves where some may be 1 depends on their sizes: the axes have to be
 * named, and whoever does not is told so, as of any type error. */
static void test_no_type(void **state)
{
    (void)state;
    uint64_t rng = 1;
    optune_call call;
    optune_target target;
    optune_device device;
    optune_err err = {0};
    static ot_choice choice;
    random_device(&rng, "cpu", &target, &device);
    const optune_task task = {&call, &target, &device};
    check_ok(ot_call_parse("squeeze(f32[?n:1..5,7])", &call, &err));
    assert_int_equal(ot_select(&task, NULL, 0, &choice, &err), OPTUNE_ETYPE);
    check_contains(err.text, "how many dims");
    ot_choice_release(&choice);
    check_ok(ot_call_parse("squeeze(f32[?n:2..5,1,7])", &call, &err));
    check_ok(ot_select(&task, NULL, 0, &choice, &err));
    ot_choice_release(&choice);
    check_ok(ot_call_parse("squeeze(f32[?n:1..5,1,7], axis=[1])", &call, &err));
    check_ok(ot_select(&task, NULL, 0, &choice, &err));
    ot_choice_release(&choice);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reach),
                                       cmocka_unit_test(test_no_type)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
