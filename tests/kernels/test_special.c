/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NaN, infinities and ties: what an operator's header says of them holds for its reference, and
 * for every implementation on cpu and on opencl, on inputs that are full of them. Random
 * samples never are. OPTUNE_TEST_THIN and OPTUNE_TEST_IMPL are as in test_impl; random configs are
 * so many times fewer, too.
 */
#include "support/check.h"

#include <math.h>
#include <string.h>

#include "answer/answer.h"
#include "run/run.h"
#include "run/worker.h"
#include "support/workbench.h"

/* ---- references -------------------------------------------------------------------------- */

enum { MOST = 128 };

/* The reference's output for float32 inputs. */
static void refer(const char *text, const float *first, const float *second, double *out)
{
    optune_err err = {0};
    static optune_call call;
    check_ok(ot_call_parse(text, &call, &err));
    optune_region whole;
    ot_region_whole(&call.output[0], &whole);
    double magnitude[MOST];
    const void *const in[OPTUNE_MAX_INPUTS] = {first, second};
    assert_true(optune_tensor_elements(&call.output[0]) <= MOST);
    call.op->reference(&call, in, 0, &whole, out, magnitude);
}

static void test_softmax(void **state)
{
    (void)state;
    double out[MOST];
    refer("softmax(f32[2,4])", (float[]){0, -INFINITY, 0, -INFINITY, 1, NAN, 2, 3}, NULL, out);
    const double want[] = {0.5, 0, 0.5, 0};
    for (int i = 0; i < 4; i++) {
        assert_true(out[i] == want[i]);
        assert_true(isnan(out[4 + i]));
    }
    refer("softmax(f32[2,2])", (float[]){-INFINITY, -INFINITY, INFINITY, 0}, NULL, out);
    for (int i = 0; i < 4; i++)
        assert_true(isnan(out[i]));
}

/* Three queries of one number, two keys 1 and 2, values 10 and 20. */
static void attend(const char *attrs, const float *q, const void *mask, const char *mask_type,
                   double *out)
{
    static optune_call call;
    optune_err err = {0};
    char text[160];
    snprintf(text, sizeof text, "attention(f32[1,1,3,1], f32[1,1,2,1], f32[1,1,2,1]%s%s)",
             mask_type, attrs);
    check_ok(ot_call_parse(text, &call, &err));
    optune_region whole;
    ot_region_whole(&call.output[0], &whole);
    double magnitude[3];
    const void *const in[OPTUNE_MAX_INPUTS] = {q, (float[]){1, 2}, (float[]){10, 20}, mask};
    call.op->reference(&call, in, 0, &whole, out, magnitude);
}

static void test_attention(void **state)
{
    (void)state;
    double out[3];
    attend("", (float[]){0, 1, NAN}, NULL, "", out);
    assert_true(out[0] == 15 && isnan(out[2]));
    assert_true(fabs(out[1] - (10 + 20 * exp(1)) / (1 + exp(1))) < 1e-12);
    /* the first of three queries sees no key of two, the last both */
    attend(", causal=true", (float[]){NAN, INFINITY, 0}, NULL, "", out);
    assert_true(out[0] == 0 && isnan(out[1]) && out[2] == 15);
    attend("", (float[]){0, 0, 0}, (bool[]){1, 1, 0, 1, 0, 0}, ", bool[1,1,3,2]", out);
    assert_true(out[0] == 15 && out[1] == 20 && out[2] == 0);
    attend("", (float[]){0, 0, NAN}, (float[]){-INFINITY, 0, INFINITY, 0, -INFINITY, -INFINITY},
           ", f32[1,1,3,2]", out);
    assert_true(out[0] == 20 && isnan(out[1]) && out[2] == 0);
    attend("", (float[]){0, 1, 2}, (float[]){0, -INFINITY}, ", f32[1,1,1,2]", out);
    assert_true(out[0] == 10 && out[1] == 10 && out[2] == 10);
}

static void test_max_pool(void **state)
{
    (void)state;
    double out[MOST];
    refer("max_pool2d(f32[1,1,2,4], pool_size=[2,2], strides=[2,2])",
          (float[]){1, 2, 5, 5, NAN, 3, -INFINITY, 4}, NULL, out);
    assert_true(isnan(out[0]));
    assert_true(out[1] == 5);
    /* the last window of ceil_mode may hold nothing */
    refer("max_pool2d(f32[1,1,1,3], pool_size=[1,1], strides=[1,4], padding=[0,2,0,2], "
          "ceil_mode=true)",
          (float[]){1, 2, 3}, NULL, out);
    assert_true(out[0] == -INFINITY);
    assert_true(out[1] == 3);
}

static void test_avg_pool(void **state)
{
    (void)state;
    double out[MOST];
    const float data[] = {1, 2, 3, 4, 5};
    refer("avg_pool2d(f32[1,1,1,5], pool_size=[1,2], strides=[1,2], padding=[0,1])", data, NULL,
          out);
    assert_true(out[0] == 1 && out[1] == 2.5 && out[2] == 4.5);
    refer("avg_pool2d(f32[1,1,1,5], pool_size=[1,2], strides=[1,2], padding=[0,1], "
          "count_include_pad=true)",
          data, NULL, out);
    assert_true(out[0] == 0.5 && out[1] == 2.5 && out[2] == 4.5);
    /* beyond the padding nothing counts */
    refer("avg_pool2d(f32[1,1,1,5], pool_size=[1,4], strides=[1,3], ceil_mode=true, "
          "count_include_pad=true)",
          data, NULL, out);
    assert_true(out[0] == 2.5 && out[1] == 4.5);
}

/* The first of equals, in row-major order; the first NaN. */
static void test_max_pool_grad(void **state)
{
    (void)state;
    double out[MOST];
    refer("max_pool2d_grad(f32[1,1,1,2], f32[1,1,2,4], pool_size=[2,2], strides=[2,2])",
          (float[]){10, 20}, (float[]){7, 7, 1, 2, 7, 7, NAN, NAN}, out);
    const double want[] = {10, 0, 0, 0, 0, 0, 20, 0};
    for (int i = 0; i < 8; i++)
        assert_true(out[i] == want[i]);
    refer("max_pool2d_grad(f32[1,1,1,3], f32[1,1,1,4], pool_size=[1,2])", (float[]){1, 2, 4},
          (float[]){-INFINITY, -INFINITY, 5, 5}, out);
    assert_true(out[0] == 1 && out[1] == 0 && out[2] == 6 && out[3] == 0);
}

/* Both gradients of a convolution against the convolution itself: for any x, w and y,
 * y . conv(x, w) = x . transpose(y, w) = w . backward_weight(y, x), exactly in small integers. */
static void test_convolution_gradients(void **state)
{
    (void)state;
    float x[2 * 7 * 6], w[3 * 2 * 3 * 2], y[3 * 2 * 6];
    uint64_t rng = 5;
    for (int i = 0; i < OT_COUNT(x); i++)
        x[i] = (float)optune_random_below(&rng, 9) - 4;
    for (int i = 0; i < OT_COUNT(w); i++)
        w[i] = (float)optune_random_below(&rng, 9) - 4;
    for (int i = 0; i < OT_COUNT(y); i++)
        y[i] = (float)optune_random_below(&rng, 9) - 4;
    double forward[MOST], data[MOST], weight[MOST], dots[3] = {0};
    refer("conv2d(f32[1,2,7,6], f32[3,2,3,2], strides=[3,1], padding=[1,0,0,1])", x, w,
          forward);
    refer("conv2d_transpose(f32[1,3,2,6], f32[3,2,3,2], strides=[3,1], padding=[1,0,0,1], "
          "output_padding=[2,0])",
          y, w, data);
    refer("conv2d_backward_weight(f32[1,3,2,6], f32[1,2,7,6], kernel_size=[3,2], "
          "strides=[3,1], padding=[1,0,0,1])",
          y, x, weight);
    for (int i = 0; i < OT_COUNT(y); i++)
        dots[0] += y[i] * forward[i];
    for (int i = 0; i < OT_COUNT(x); i++)
        dots[1] += x[i] * data[i];
    for (int i = 0; i < OT_COUNT(w); i++)
        dots[2] += w[i] * weight[i];
    assert_true(dots[0] != 0);
    assert_true(dots[0] == dots[1]);
    assert_true(dots[0] == dots[2]);
}

/* ---- implementations --------------------------------------------------------------------- */

typedef struct bench {
    ot_session session;
    ot_builder *builder;
    char dir[2048];
    int checked, random;
} bench;

/* Few different values, so that there are ties; here and there a NaN or an infinity. */
static void fill(const optune_tensor *type, bool special, uint64_t *rng, void *to)
{
    static const double rare[] = {NAN, INFINITY, -INFINITY, -INFINITY};
    for (int64_t i = 0, n = optune_tensor_elements(type); i < n; i++) {
        double v = (double)optune_random_below(rng, 5) - 2;
        if (special && optune_random_below(rng, 24) == 0)
            v = rare[optune_random_below(rng, OT_COUNT(rare))];
        if (type->dtype.code == OPTUNE_DTYPE_BOOL)
            ((bool *)to)[i] = v > 0;
        else if (type->dtype.bits == 8)
            ((uint8_t *)to)[i] = (uint8_t)optune_random(rng);
        else if (type->dtype.bits == 64)
            ((double *)to)[i] = v;
        else if (type->dtype.bits == 16)
            ot_elements_set(type->dtype, to, i, 1, &v);
        else
            ((float *)to)[i] = (float)v;
    }
}

static void *input_of(const ot_session *s, int i)
{
    optune_err err = {0};
    void *copy = ot_alloc((size_t)s->in_bytes[i] + 1);
    check_ok(s->row->read(s->state, s->in[OT_ALIGNED][i], copy, s->in_bytes[i]));
    return copy;
}

static void compare(bench *b, const optune_impl *impl, const ot_loaded *loaded)
{
    ot_session *s = &b->session;
    optune_err err = {0};
    const optune_call *call = &s->call;
    const int64_t n = optune_tensor_elements(&call->output[0]);
    const double factor = ot_error_bound(call, impl, 0);
    double *want = ot_alloc((size_t)n * sizeof *want), *got = ot_alloc((size_t)n * sizeof *got);
    double *magnitude = ot_alloc((size_t)n * sizeof *magnitude);
    const void *in[OPTUNE_MAX_INPUTS] = {NULL};
    void *data[OPTUNE_MAX_INPUTS];
    optune_region whole;
    ot_region_whole(&call->output[0], &whole);
    for (int i = 0; i < call->n_inputs; i++)
        in[i] = data[i] = input_of(s, i);
    call->op->reference(call, in, 0, &whole, want, magnitude);
    check_ok(s->row->read(s->state, s->out[OT_ALIGNED][0], s->host, s->out_bytes[0]));
    ot_elements(call->output[0].dtype, s->host, 0, n, got);
    for (int64_t i = 0; i < n; i++) {
        const bool right = (isnan(want[i]) && isnan(got[i])) || want[i] == got[i] ||
                           fabs(want[i] - got[i]) <= factor * magnitude[i] + 1e-37;
        if (!right) {
            ot_text config = {0};
            ot_config_print_short(&loaded->config, &config);
            print_error("%s %s: element %lld is %g, not %g\n", impl->name, ot_text_str(&config),
                        (long long)i, got[i], want[i]);
            ot_text_release(&config);
        }
        assert_true(right);
    }
    for (int i = 0; i < call->n_inputs; i++)
        free(data[i]);
    free(want);
    free(got);
    free(magnitude);
}

static void try_config(bench *b, const optune_impl *impl, const optune_config *config)
{
    ot_session *s = &b->session;
    optune_err err = {0};
    optune_plan *plan = ot_alloc(sizeof *plan);
    ot_job *job = ot_alloc(sizeof *job);
    ot_loaded *loaded;
    ot_bound *bound;
    int outcome;
    check_ok(ot_plan_make(&s->task, impl, config, plan, &err));
    check_ok(ot_builder_submit(b->builder, &s->task, plan, job, &err));
    while (!job->done)
        ot_builder_wait(b->builder, job, 1);
    assert_int_equal(job->outcome, OPTUNE_OUTCOME_OK);
    const ot_built built = ot_built_of(job, impl, config);
    check_ok(ot_loaded_open(s, &built, &loaded, &outcome, &err));
    check_ok(ot_session_poison(s, OT_ALIGNED, &err));
    check_ok(ot_bound_open(s, loaded, OT_ALIGNED, &bound, &err));
    check_ok(ot_bound_prepack(bound, &err));
    check_ok(s->row->run(s->state, bound->launch[OPTUNE_TIMED], bound->n[OPTUNE_TIMED], &err));
    compare(b, impl, loaded);
    b->checked++;
    ot_bound_close(bound);
    ot_loaded_close(s, loaded);
    ot_builder_forget(b->builder, job);
    free(job);
    free(plan);
}

/* The fallback and two other configs of every generated implementation of the sample's op. */
static void try_sample(bench *b, const char *sample, unsigned special)
{
    ot_session *s = &b->session;
    optune_err err = {0};
    char path[2100];
    uint64_t rng = 77;
    snprintf(path, sizeof path, "%s/reference%d", b->dir, b->checked);
    check_ok(ot_session_workload(s, sample, 3, path, &err));
    for (int i = 0; i < s->call.n_inputs; i++) {
        const optune_tensor *type = &s->call.input[i].type;
        fill(type, special >> i & 1, &rng, s->host);
        check_ok(s->row->write(s->state, s->in[OT_ALIGNED][i], s->host, s->in_bytes[i]));
    }
    int n;
    const optune_impl *const *impls = ot_impls(&n);
    const char *only = getenv("OPTUNE_TEST_IMPL");
    for (int i = 0; i < n; i++) {
        if ((only && strcmp(impls[i]->name, only) != 0) || impls[i]->library ||
            strcmp(impls[i]->op, s->call.op->name) != 0 ||
            !ot_impl_runs_on(impls[i], s->task.device, NULL) ||
            (impls[i]->applies && !impls[i]->applies(&s->task, NULL)))
            continue;
        optune_space *space;
        optune_config config;
        check_ok(ot_space_open(&s->task, impls[i], &space, &err));
        assert_true(ot_space_fallback(space, &config, NULL));
        try_config(b, impls[i], &config);
        for (int k = 0, tries = 0; k < b->random && tries < 100; tries++) {
            ot_space_nth(space, ot_space_random(space, &rng), &config);
            if (!ot_space_valid(space, &config, NULL))
                continue;
            try_config(b, impls[i], &config);
            k++;
        }
        ot_space_close(space);
    }
}

/* `every`: of the samples of an operator, each that many is tried. */
static void try_target(const char *text, int random, int every)
{
    static const struct {
        const char *op;
        unsigned special; /* which inputs may hold NaN and infinities */
        int thin;         /* at most one sample in so many: its bodies are long to compile */
    } ops[] = {{"softmax", 1, 1},         {"max_pool2d", 1, 1},
               {"avg_pool2d", 1, 1},      {"global_avg_pool2d", 1, 1},
               {"max_pool2d_grad", 2, 1}, {"avg_pool2d_grad", 2, 1},
               {"attention", 11, 1},      {"pointwise_depthwise_conv2d", 1, 1},
               {"dense_nbits", 1, 3}};
    static bench b;
    optune_err err = {0};
    optune_target target;
    optune_device device;
    b = (bench){.random = random};
    check_ok(ot_target_parse(text, &target, &err));
    const int status = ot_target_probe(&target, &device, &err);
    if (status == OPTUNE_ENODEV)
        skip();
    check_ok(status);
    check_ok(ot_temp_dir(b.dir, sizeof b.dir, &err));
    const ot_build_options options = {.target = &target,
                                      .device = &device,
                                      .row = ot_target_find(target.kind),
                                      .cache_dir = b.dir,
                                      .limit_s = 600};
    check_ok(ot_builder_open(&options, &b.builder, &err));
    check_ok(ot_session_open(&b.session, &target, &device, &err));
    for (int i = 0; i < OT_COUNT(ops); i++) {
        const int before = b.checked;
        const char *const *samples = ot_op_find(ops[i].op)->samples;
        for (int k = 0; samples[k]; k++)
            if (k % (ops[i].thin > every ? ops[i].thin : every) == 0)
                try_sample(&b, samples[k], ops[i].special);
        assert_true(getenv("OPTUNE_TEST_IMPL") || b.checked > before);
    }
    ot_session_close(&b.session);
    ot_builder_close(b.builder);
    ot_remove_tree(b.dir);
}

static void test_implementations(void **state)
{
    (void)state;
    try_target("cpu -threads=1", 2 / workbench_thin(1), workbench_thin(1));
}

static void test_on_opencl(void **state)
{
    (void)state;
    try_target("opencl", 0, workbench_thin(3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_softmax),         cmocka_unit_test(test_attention),
        cmocka_unit_test(test_max_pool),        cmocka_unit_test(test_avg_pool),
        cmocka_unit_test(test_max_pool_grad),   cmocka_unit_test(test_convolution_gradients),
        cmocka_unit_test(test_implementations), cmocka_unit_test(test_on_opencl),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
