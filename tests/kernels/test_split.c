/* SPDX-License-Identifier: Apache-2.0 */
/*
 * float32 by tiles of bfloat16: as accurate as float32's own sums, and right where parts of numbers
 * are not: infinity, NaN, operands near both ends of the exponents, and where the system refuses
 * tiles.
 */
#include <math.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/batch.h"
#include "support/check.h"
#include "support/direct.h"
#include "support/refused_tiles.h"
#include "support/workbench.h"

#include "strategy/inside.h"

enum { MOST = 1 << 18, INPUTS = 3, BETWEEN = 7, PANELS = 8 };

static const char *const calls[] = {
    "dense(f32[37,70], const f32[51,70], f32[51])",
    "dense(f32[33,1300], const f32[48,1300])",
    "dense(f32[65,33], f32[17,33])",
    "conv2d(f32[1,64,9,11], const f32[40,64,1,1])",
    "conv2d(f32[2,70,7,9], const f32[33,70,1,1], strides=[2,2])",
    "conv2d(f32[1,32,13,7], const f32[19,32,3,3], padding=[1,1,1,1])",
    "conv2d(f32[1,10,12,15], const f32[24,5,3,2], padding=[0,1,2,1], strides=[2,3], "
    "dilation=[2,1], groups=2)",
    /* A panel of pixels lies wholly between two rows. */
    "conv2d(f32[1,5,6,64], const f32[9,5,1,3], dilation=[1,16])",
    /* Several panels of channels and of pixels, and steps of depth. */
    "conv2d(f32[1,200,5,41], const f32[70,200,1,3])",
};

static double uniform(uint64_t *rng)
{
    return (double)optune_random_below(rng, 1 << 24) / (1 << 23) - 1;
}

static double power(uint64_t *rng, int low, int high)
{
    return uniform(rng) *
           pow(10, low + (double)optune_random_below(rng, 64) * (high - low) / 64);
}

static const double odd[] = {INFINITY, -INFINITY, NAN, 3.4028234e38};

/* What data and weight hold: each a number of its own. */
static float plain(uint64_t *rng, int input)
{
    (void)input;
    return (float)uniform(rng);
}

/* Sums of large terms that leave little. */
static float cancelling(uint64_t *rng, int input)
{
    return (float)(input == 0                         ? 1000 + uniform(rng)
                   : optune_random_below(rng, 2) == 0 ? 1 + uniform(rng) / 1e3
                                                      : -1 - uniform(rng) / 1e3);
}

static float odd_data(uint64_t *rng, int input)
{
    return input == 0 && optune_random_below(rng, 300) == 0
               ? (float)odd[optune_random_below(rng, 4)]
               : (float)uniform(rng) / 4;
}

static float odd_weights(uint64_t *rng, int input)
{
    return odd_data(rng, input != 1);
}

static float tiny_data(uint64_t *rng, int input)
{
    return (float)(input == 0 ? power(rng, -44, -30) : power(rng, 20, 30));
}

static float tiny_weights(uint64_t *rng, int input)
{
    return tiny_data(rng, input != 1);
}

/* Whose products lose parts, though they themselves have all. */
static float tiny_sums(uint64_t *rng, int input)
{
    return (float)(input == 0 ? power(rng, -24, -23) : power(rng, -14, -10));
}

static float all_sizes(uint64_t *rng, int input)
{
    (void)input;
    return optune_random_below(rng, 5) == 0 ? 0 : (float)power(rng, -44, 17);
}

static const struct {
    const char *name;
    float (*of)(uint64_t *rng, int input);
} kinds[] = {
    {"plain", plain},         {"cancelling", cancelling},
    {"odd data", odd_data},   {"odd weights", odd_weights},
    {"tiny data", tiny_data}, {"tiny weights", tiny_weights},
    {"tiny sums", tiny_sums}, {"all sizes", all_sizes},
};

static float memory[INPUTS + 1][MOST] __attribute__((aligned(64)));

static void judge(const char *what, const optune_call *call, int64_t terms)
{
    static double want[MOST], size[MOST];
    const optune_tensor *t = &call->output[0];
    const int64_t n = optune_tensor_elements(t);
    const void *const in[] = {memory[0], memory[1], memory[2]};
    optune_region all = {.lo = {0}};
    all.rank = t->rank;
    for (int d = 0; d < t->rank; d++)
        all.hi[d] = t->dim[d].min;
    assert_true(n <= MOST);
    call->op->reference(call, in, 0, &all, want, size);
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const double got = memory[INPUTS][i];
        const float right = (float)want[i];
        if (isnan(right) ? !isnan(got) : isinf(right) && !(got == right))
            fail_msg("%s: element %ld of %s is %g, not %g", what, (long)i, call->op->name, got,
                     want[i]);
        if (!isfinite(right))
            continue;
        const double error = fabs(got - want[i]);
        if (!(error <= ldexp(size[i], -20) + ldexp((double)terms, -148)))
            fail_msg("%s: element %ld of %s is %.9g, not %.9g, of %.3g", what, (long)i,
                     call->op->name, got, want[i], size[i]);
        sum += error * error / (size[i] * size[i]);
    }
    /* One by one each addition rounds what is there so far: a walk of as many steps, over sums that
     * are for these numbers about size / sqrt(terms). */
    const double one_by_one = ldexp(1, -24);
    if (strncmp(what, "plain", 5) == 0 && sqrt(sum / (double)n) > one_by_one)
        fail_msg("%s of %s: %.3g of the terms' sizes, one by one %.3g", what, call->op->name,
                 sqrt(sum / (double)n), one_by_one);
}

/* Whether a module has this macro with this value. */
static bool has(const optune_plan *plan, const char *name, const char *value)
{
    for (int i = 0; i < plan->n_modules; i++)
        for (int k = 0; k < plan->module[i].n_defines; k++)
            if (!strcmp(ot_plan_text(plan, plan->module[i].define[k].name), name) &&
                !strcmp(ot_plan_text(plan, plan->module[i].define[k].value), value))
                return true;
    return false;
}

/* Of convolutions: lines asked for ahead; parts, and depth in chunks. */
static bool expects(const optune_plan *plan)
{
    return has(plan, "EXPECT", "1");
}

static bool parts(const optune_plan *plan)
{
    const bool chunks = has(plan, "DIRECT", "0"); /* what is split once has none */
    return has(plan, "PARTS", "2") && (!chunks || has(plan, "CHUNK", "16"));
}

/* How often implementations of split numbers were asked, of every `step`-th call. */
static int try_all(int step)
{
    int n, asked = 0;
    const optune_impl *const *impl = ot_impls(&n);
    for (int k = 0; k < OT_COUNT(calls); k += step)
        for (int i = 0; i < n; i++) {
            const size_t op = strcspn(calls[k], "(");
            if (!impl[i]->op || strncmp(impl[i]->op, calls[k], op) || impl[i]->op[op] ||
                !strstr(impl[i]->name, "_split"))
                continue;
            for (int c = 0; c < (k == 1 && step == 1 ? 3 : 1); c++) {
                direct *d = direct_open_where(impl[i], calls[k], c,
                                              k == BETWEEN  ? expects
                                              : k == PANELS ? parts
                                                            : NULL);
                if (!d)
                    break;
                const optune_call *call = direct_call(d);
                const void *const in[] = {memory[0], memory[1], memory[2]};
                const optune_tensor *weight = &call->input[1].type;
                const int64_t terms = optune_tensor_elements(weight) / weight->dim[0].min + 1;
                for (int kind = 0; kind < OT_COUNT(kinds); kind++) {
                    uint64_t rng = 99 + (uint64_t)kind;
                    for (int x = 0; x < call->n_inputs; x++) {
                        const int64_t elements = optune_tensor_elements(&call->input[x].type);
                        assert_true(elements <= MOST);
                        for (int64_t e = 0; e < elements; e++)
                            memory[x][e] = x < 2 ? kinds[kind].of(&rng, x) : 0;
                    }
                    memset(memory[INPUTS], 0xee, sizeof memory[INPUTS]);
                    direct_run(d, in, (void *[]){memory[INPUTS]});
                    judge(kinds[kind].name, call, terms);
                }
                direct_close(d);
                asked++;
            }
        }
    return asked;
}

/* Of the processor, and its compiler. */
static optune_target target;
static optune_device device;
static bool tiles_here(void)
{
    return ot_target_parse("cpu", &target, NULL) >= 0 &&
           ot_target_probe(&target, &device, NULL) >= 0 &&
           (device.dots & OPTUNE_DOT_TILE_BF16) != 0;
}

/* One number that tiles take for zero, or whose parts they do, changes no bit of sums that lose
 * nothing by it: no block is made anew for it. */
static void test_tiny(void **state)
{
    (void)state;
    static float was[MOST];
    static const struct {
        int call;
        const char *impl;
    } tried[] = {
        {0, "dense_split.x86"}, {3, "conv2d_split.x86"}, {5, "conv2d_split_planes.x86"}};
    if (!tiles_here())
        skip();
    for (int i = 0; i < OT_COUNT(tried); i++) {
        direct *d = direct_open(ot_impl_find(tried[i].impl), calls[tried[i].call], 0);
        const void *const in[] = {memory[0], memory[1], memory[2]};
        const size_t bytes =
            (size_t)optune_tensor_elements(&direct_call(d)->output[0]) * sizeof(float);
        uint64_t rng = 5;
        assert_non_null(d);
        for (int e = 0; e < MOST; e++) {
            memory[0][e] = (float)uniform(&rng);
            memory[1][e] = (float)uniform(&rng);
            memory[2][e] = 1;
        }
        memory[0][5] = memory[1][7] = 0;
        direct_run(d, in, (void *[]){was});
        for (int which = 0; which < 2; which++)
            for (int small = 0; small < 2; small++) {
                memory[which][which == 0 ? 5 : 7] = small ? 1e-41F : -1e-35F;
                direct_run(d, in, (void *[]){memory[INPUTS]});
                assert_memory_equal(was, memory[INPUTS], bytes);
                memory[which][which == 0 ? 5 : 7] = 0;
            }
        direct_close(d);
    }
}

static void test_split(void **state)
{
    (void)state;
    if (!tiles_here())
        skip();
    assert_true(try_all(1) >= OT_COUNT(calls));
}

static const char *const fused[] = {
    "dense(f32[70,40], const f32[50,40]) -> add(const f32[50]) -> relu()",
    "conv2d(f32[1,40,9,11], const f32[40,40,3,3], padding=[1,1]) -> add(const f32[40,1,1]) -> "
    "relu()",
    "conv2d(f32[2,40,9,11], const f32[40,40,3,3], padding=[1,1], strides=[2,2]) -> "
    "add(const f32[40,1,1]) -> relu()",
};

/* What is fused behind them, by a team of two, of panels that are not full. */
static void test_fused(void **state)
{
    (void)state;
    batch b;
    if (!tiles_here() || !batch_open(&b, "cpu -threads=2"))
        skip();
    for (int i = 0; i < OT_COUNT(fused); i++) {
        static optune_call call;
        optune_err err = {0};
        optune_space *space;
        optune_config config;
        const optune_impl *impl = ot_impl_find(i == 0   ? "dense_split.x86"
                                               : i == 1 ? "conv2d_split.x86"
                                                        : "conv2d_split_planes.x86");
        check_ok(ot_call_parse(fused[i], &call, &err));
        const optune_task task = {&call, &b.target, &b.device};
        check_ok(ot_space_open(&task, impl, &space, &err));
        assert_true(ot_space_fallback(space, &config, NULL));
        ot_space_close(space);
        batch_add(&b, &call, impl, &config, &fused[i], 1);
    }
    batch_judge(&b);
}

/* Rows that are longer than a thread's stack should hold, which only strided ones lie on. */
static void test_long_rows(void **state)
{
    (void)state;
    static const struct {
        const char *call;
        bool taken;
    } row[] = {
        {"conv2d(f32[1,1,3,131071], const f32[4,1,3,3], strides=[1,2])", true},
        {"conv2d(f32[1,1,3,262200], const f32[4,1,3,3], strides=[1,2])", false},
        {"conv2d(f32[1,1,3,262200], const f32[4,1,3,3])", true},
    };
    const optune_impl *const impl = ot_impl_find("conv2d_split_planes.x86");
    if (!tiles_here())
        skip();
    for (int i = 0; i < OT_COUNT(row); i++) {
        static optune_call call;
        optune_err err = {0};
        char why[OPTUNE_WHY_SIZE] = "";
        check_ok(ot_call_parse(row[i].call, &call, &err));
        const optune_task task = {&call, &target, &device};
        assert_int_equal(impl->applies(&task, why), row[i].taken);
        if (!row[i].taken)
            check_contains(why, "stack");
    }
}

/* Before the other test, whose process has been granted them. */
static void test_refused(void **state)
{
    (void)state;
#ifdef __x86_64__
    if (!tiles_here())
        skip();
    const pid_t child = fork();
    if (child == 0) {
        if (!refuse_tiles())
            _exit(77);
        _exit(try_all(3) > 0 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
#else
    skip();
#endif
}

int main(int argc, char **argv)
{
    batch_inside(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused), cmocka_unit_test(test_split),
        cmocka_unit_test(test_tiny), cmocka_unit_test(test_fused),
        cmocka_unit_test(test_long_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
