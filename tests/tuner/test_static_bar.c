/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine code of GPU templates, with the configs that they fall back to, against a bar that
 * needs no GPU (docs/results/gpu-static.md). What meets it must go on to; what does not is named
 * with what it has, which it may only better. Skips where NVRTC or nvdisasm is missing, or NVRTC
 * is not the one whose code these figures are of.
 */
#include <math.h>

#include "support/check.h"
#include "support/disassembler.h"
#include "support/tuning.h"
#include "tuner/static_bar.h"

#include "target/cuda.h"

/* A compiler's next version moves a figure a little. */
static const double SLACK = 0.1;

static double part(const json_t *code, const char *of, const char *name)
{
    return json_number_value(json_object_get(json_object_get(code, of), name));
}

/* NaN: it has none. */
static double figure(const json_t *impl, const json_t *kernel, const char *name)
{
    const json_t *code = json_object_get(kernel, "machine_code");
    if (strcmp(name, "warned") == 0)
        return (double)tuning_int(impl, name);
    if (strcmp(name, "spilled") == 0)
        return (double)tuning_int(kernel, name);
    if (strcmp(name, "narrow") == 0)
        return part(code, "stores", "8") + part(code, "stores", "4") +
               part(code, "stores", "less");
    if (strcmp(name, "narrow_loads") == 0)
        return part(code, "loads", "8") + part(code, "loads", "4") +
               part(code, "loads", "less");
    const bool copies = part(code, "copies", "16") + part(code, "copies", "less") > 0;
    if (strcmp(name, "asynchronous") == 0 && copies)
        return INFINITY;
    char of[32];
    const char *point = strchr(name, '.');
    if (strcmp(name, "asynchronous") == 0)
        return part(code, "global", "least");
    if (point) {
        snprintf(of, sizeof of, "%.*s", (int)(point - name), name);
        return part(code, of, point + 1);
    }
    const json_t *value = json_object_get(code, name);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static bool meets(double value, sense which, double bar)
{
    return which == AT_LEAST ? value >= bar : value <= bar;
}

/* Of the kernel that computes most; of those without a loop the one with most registers. */
static const json_t *main_kernel(const json_t *impl)
{
    size_t i;
    const json_t *kernel, *best = NULL;
    int64_t registers = 0;
    const json_t *fallback = json_array_get(json_object_get(impl, "configs"), 0);
    double most = -1;
    assert_true(json_is_true(json_object_get(fallback, "fallback")));
    json_array_foreach(json_object_get(fallback, "kernels"), i, kernel)
    {
        const json_t *code = json_object_get(kernel, "machine_code");
        assert_true(json_is_object(code));
        const double math = json_number_value(json_object_get(code, "math"));
        const int64_t here = tuning_int(kernel, "registers");
        if (math > most || (math == most && here > registers)) {
            most = math;
            registers = here;
            best = kernel;
        }
    }
    assert_non_null(best);
    return best;
}

static int hold(const row *r, const json_t *impl)
{
    const json_t *kernel = main_kernel(impl);
    int broken = 0;
    for (const limit *l = r->limit; l->name; l++) {
        const double value = figure(impl, kernel, l->name);
        const double allowed = !l->today              ? l->bar
                               : l->sense == AT_LEAST ? l->today * (1 - SLACK)
                                                      : l->today * (1 + SLACK);
        if (!meets(value, l->sense, allowed)) {
            print_error("%s, %s, %s: %s is %g, %s %g\n", r->impl, r->call, r->arch, l->name,
                        value, l->sense == AT_LEAST ? "at least" : "at most", allowed);
            broken++;
        } else if (!meets(value, l->sense, l->bar)) {
            print_message("%s, %s, %s: below the bar: %s is %g, the bar is %g\n", r->impl,
                          r->call, r->arch, l->name, value, l->bar);
        } else if (l->today) {
            print_message("%s, %s, %s: %s meets the bar now: its row can say so\n", r->impl,
                          r->call, r->arch, l->name);
        }
    }
    return broken;
}

static void test_bar(void **state)
{
    (void)state;
    optune_err err = {0};
    char version[OPTUNE_TEXT_SIZE];
    int broken = 0;
    if (!disassembler_here())
        skip();
    check_ok(ot_cuda_ask_version(NULL, version, sizeof version, &err));
    if (strncmp(version, "nvrtc=13.", 9) != 0) {
        print_message("these figures are of NVRTC 13, this is %s", version);
        skip();
    }
    for (int i = 0; i < OT_COUNT(rows); i++) {
        const row *r = &rows[i];
        const char *const calls[] = {r->call, NULL}, *const only[] = {r->impl, NULL};
        char target[OPTUNE_NAME_SIZE];
        snprintf(target, sizeof target, "cuda -arch=%s", r->arch);
        optune *o = tuning_open_with("bar", (optune_options){.target = target});
        json_t *run = tuning_run(o,
                                 (optune_run_options){.op = r->op,
                                                      .workloads = calls,
                                                      .impls = only,
                                                      .trials = 1,
                                                      .compile_only = true},
                                 OPTUNE_OK);
        const json_t *impls = json_object_get(tuning_workload(run, 0), "impls");
        const json_t *impl;
        size_t k;
        bool found = false;
        json_array_foreach(impls, k, impl)
        {
            if (found || strcmp(tuning_text(impl, "impl"), r->impl) != 0 ||
                tuning_int(impl, "built") == 0)
                continue;
            found = true;
            broken += hold(r, impl);
        }
        if (!found)
            fail_msg("%s is not built for %s", r->impl, r->arch);
        json_decref(run);
        optune_close(o);
    }
    assert_int_equal(broken, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bar)};
    return cmocka_run_group_tests(tests, tuning_setup, tuning_teardown);
}
