/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of every row of the table `op`, present and future: its texts parse and are
 * canonical, its types settle, and its reference is deterministic, finite, and the same whether
 * asked for all of the output or for a part.
 */
#include <math.h>

#include "strategy/strategy.h"
#include "support/check.h"

static void (*visit)(const optune_op *op, const char *text, const optune_call *call);

static void for_all_samples(void (*what)(const optune_op *, const char *, const optune_call *))
{
    int n;
    const optune_op *const *ops = ot_ops(&n);
    visit = what;
    for (int i = 0; i < n; i++) {
        assert_non_null(ops[i]->samples);
        assert_non_null(ops[i]->samples[0]);
        for (const char *const *text = ops[i]->samples; *text; text++) {
            optune_err err = {0};
            optune_call call;
            check_ok(ot_call_parse(*text, &call, &err));
            assert_ptr_equal(call.op, ops[i]);
            visit(ops[i], *text, &call);
        }
    }
}

static void check_row(const optune_op *op)
{
    assert_non_null(op->name);
    assert_non_null(op->summary);
    assert_non_null(op->types);
    assert_non_null(op->reference);
    assert_in_range(op->n_outputs, 1, OPTUNE_MAX_OUTPUTS);
    bool optional = false;
    for (const optune_op_input *input = op->inputs; input->name; input++) {
        assert_non_null(input->type);
        assert_non_null(input->description);
        assert_true(input->optional || !optional); /* optional ones only at the end */
        optional = input->optional;
    }
    for (const optune_op_attr *attr = op->attrs; attr && attr->name; attr++) {
        assert_non_null(attr->description);
        assert_string_not_equal(attr->name, "math");
    }
}

static void test_rows(void **state)
{
    (void)state;
    int n;
    const optune_op *const *ops = ot_ops(&n);
    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        check_row(ops[i]);
        assert_ptr_equal(ot_op_find(ops[i]->name), ops[i]);
    }
}

/* ---- texts ------------------------------------------------------------------------------- */

static void check_round_trip(const optune_call *call)
{
    optune_err err = {0};
    optune_call again;
    ot_text first = {0}, second = {0};
    ot_call_print(call, &first);
    check_ok(ot_call_parse(ot_text_str(&first), &again, &err));
    ot_call_print(&again, &second);
    assert_string_equal(ot_text_str(&first), ot_text_str(&second));
    assert_int_equal(call->n_inputs, again.n_inputs);
    for (int i = 0; i < call->n_inputs; i++)
        assert_int_equal(call->input[i].is_const, again.input[i].is_const);
    ot_text_release(&first);
    ot_text_release(&second);
}

static void sample_text(const optune_op *op, const char *text, const optune_call *parsed)
{
    optune_err err = {0};
    optune_call call = *parsed;
    const int status = ot_call_infer(&call, &err);
    if (status != OPTUNE_OK || !ot_call_static(&call))
        print_error("%s: not all types are known\n", text);
    assert_int_equal(status, OPTUNE_OK);
    assert_true(ot_call_static(&call));
    check_round_trip(&call);
    assert_true(!op->flops || ot_call_flops(&call) > 0);
    assert_true(ot_call_bytes(&call) > 0);
    assert_true(!op->terms || op->terms(&call) >= 1);
}

static void test_samples(void **state)
{
    (void)state;
    for_all_samples(sample_text);
}

static double flops_of(const char *text)
{
    optune_err err = {0};
    optune_call call;
    check_ok(ot_call_parse(text, &call, &err));
    assert_int_equal(ot_call_infer(&call, &err), OPTUNE_OK);
    return ot_call_flops(&call);
}

/* A key that no query sees is no work: 6 pairs of 3 queries and 3 keys, 12 where 5 keys end with
 * them, 3 where 2 keys do, of which the first query sees none. */
static void test_causal_work(void **state)
{
    (void)state;
    static const struct {
        int keys;
        double pairs;
    } known[] = {{3, 6}, {5, 12}, {2, 3}};
    const double each = flops_of("attention(f32[1,1,1,8], f32[1,1,1,8], f32[1,1,1,8])");
    for (int i = 0; i < OT_COUNT(known); i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "attention(f32[1,1,3,8], f32[1,1,%d,8], f32[1,1,%d,8], causal=true)",
                 known[i].keys, known[i].keys);
        assert_true(flops_of(text) == known[i].pairs * each);
    }
}

static void test_presets(void **state)
{
    (void)state;
    int n;
    const optune_op *const *ops = ot_ops(&n);
    for (int i = 0; i < n; i++)
        for (const optune_preset *p = ops[i]->presets; p && p->name; p++)
            for (const char *const *text = p->workloads; *text; text++) {
                optune_err err = {0};
                optune_call call;
                check_ok(ot_call_parse(*text, &call, &err));
                assert_ptr_equal(call.op, ops[i]);
                assert_true(ot_call_static(&call));
                check_round_trip(&call);
                for (const char *const *other = p->workloads; other < text; other++)
                    assert_string_not_equal(*other, *text);
            }
}

/* What is unknown is found, from the output backwards too, or left unknown. */
static void sample_partial(const optune_op *op, const char *text, const optune_call *full)
{
    (void)op, (void)text;
    for (int i = 0; i < full->n_inputs; i++) {
        optune_err err = {0};
        optune_call call = *full;
        const optune_tensor type = call.input[i].type;
        call.input[i].type = (optune_tensor){.rank = -1};
        assert_in_range(ot_call_infer(&call, &err), OPTUNE_OK, 1);
        const optune_tensor *found = &call.input[i].type;
        assert_true(found->rank < 0 || found->rank == type.rank);
        for (int d = 0; d < found->rank; d++) {
            assert_true(found->dim[d].min <= type.dim[d].min);
            assert_true(found->dim[d].max >= type.dim[d].max);
        }
    }
}

static void test_partial_types(void **state)
{
    (void)state;
    for_all_samples(sample_partial);
}

/* ---- reference --------------------------------------------------------------------------- */

static void fill(const optune_tensor *type, uint64_t *rng, void *to)
{
    const int64_t n = optune_tensor_elements(type);
    for (int64_t i = 0; i < n; i++) {
        const double value = 2 * optune_random_unit(rng) - 1;
        const bool real = type->dtype.code == OPTUNE_DTYPE_FLOAT;
        if (real && type->dtype.bits == 32)
            ((float *)to)[i] = (float)value;
        else if (real && type->dtype.bits == 64)
            ((double *)to)[i] = value;
        else if (type->dtype.bits ==
                 16) /* ordinary numbers as float16, bfloat16 and integers */
            ((uint16_t *)to)[i] = (uint16_t)(0x3c00 | (optune_random(rng) & 0xff));
        else if (type->dtype.bits == 64)
            ((int64_t *)to)[i] = optune_random_below(rng, 100);
        else if (type->dtype.bits == 32)
            ((int32_t *)to)[i] = (int32_t)optune_random_below(rng, 100);
        else
            ((uint8_t *)to)[i] = (uint8_t)optune_random_below(rng, 2);
    }
}

static int64_t volume(const optune_region *r)
{
    int64_t n = 1;
    for (int i = 0; i < r->rank; i++)
        n *= r->hi[i] - r->lo[i];
    return n;
}

/* Element `k` of a region as an offset in the whole output. */
static int64_t offset(const optune_tensor *type, const optune_region *r, int64_t k)
{
    int64_t place = 0, stride = 1;
    for (int i = r->rank - 1; i >= 0; i--) {
        const int64_t size = r->hi[i] - r->lo[i];
        place += (r->lo[i] + k % size) * stride;
        k /= size;
        stride *= type->dim[i].min;
    }
    return place;
}

static void check_region(const optune_call *call, const void *const *in, int out,
                         const optune_region *region, const double *whole, const double *scale)
{
    const int64_t n = volume(region);
    double *value = ot_alloc((size_t)n * sizeof(*value));
    double *magnitude = ot_alloc((size_t)n * sizeof(*value));
    memset(value, 0xff, (size_t)n * sizeof(*value));
    memset(magnitude, 0xff, (size_t)n * sizeof(*value));
    call->op->reference(call, in, out, region, value, magnitude);
    for (int64_t k = 0; k < n; k++) {
        const int64_t at = offset(&call->output[out], region, k);
        if (isnan(whole[at]))
            assert_true(isnan(value[k]));
        else
            assert_true(fabs(value[k] - whole[at]) <= 1e-12 * scale[at]);
        if (!isnan(whole[at]))
            assert_true(fabs(magnitude[k] - scale[at]) <= 1e-12 * scale[at]);
    }
    free(value);
    free(magnitude);
}

static void random_region(const optune_tensor *type, uint64_t *rng, optune_region *region)
{
    ot_region_whole(type, region);
    for (int i = 0; i < region->rank; i++) {
        region->lo[i] = optune_random_below(rng, type->dim[i].min);
        region->hi[i] =
            region->lo[i] + 1 + optune_random_below(rng, type->dim[i].min - region->lo[i]);
    }
}

static void check_output(const optune_call *call, const void *const *in, int out, uint64_t *rng)
{
    const optune_tensor *type = &call->output[out];
    optune_region region;
    ot_region_whole(type, &region);
    const int64_t n = optune_tensor_elements(type);
    const size_t bytes = (size_t)n * sizeof(double);
    double *whole = ot_alloc(bytes), *scale = ot_alloc(bytes), *again = ot_alloc(bytes);
    memset(whole, 0xff, bytes);
    memset(scale, 0xff, bytes);
    call->op->reference(call, in, out, &region, whole, scale);
    for (int64_t i = 0; i < n; i++) {
        if (call->op->scalar && isnan(whole[i])) /* the root of a negative value */
            continue;
        assert_true(isfinite(whole[i]));
        assert_true(isfinite(scale[i]) && scale[i] >= 0);
        assert_true(fabs(whole[i]) <= scale[i] * (1 + 1e-9));
    }
    double *unused = ot_alloc(bytes);
    call->op->reference(call, in, out, &region, again, unused);
    assert_memory_equal(whole, again, bytes);
    free(unused);
    free(again);
    for (int i = 0; i < 6; i++) {
        random_region(type, rng, &region);
        check_region(call, in, out, &region, whole, scale);
    }
    /* the last element alone */
    ot_region_whole(type, &region);
    for (int i = 0; i < region.rank; i++)
        region.lo[i] = region.hi[i] - 1;
    check_region(call, in, out, &region, whole, scale);
    free(whole);
    free(scale);
}

static void sample_reference(const optune_op *op, const char *text, const optune_call *call)
{
    (void)op, (void)text;
    void *in[OPTUNE_MAX_INPUTS] = {NULL};
    uint64_t rng = 42;
    for (int i = 0; i < call->n_inputs; i++) {
        in[i] = ot_alloc((size_t)optune_tensor_bytes(&call->input[i].type));
        fill(&call->input[i].type, &rng, in[i]);
    }
    for (int i = 0; i < call->n_outputs; i++)
        check_output(call, (const void *const *)in, i, &rng);
    for (int i = 0; i < call->n_inputs; i++)
        free(in[i]);
}

static void test_reference(void **state)
{
    (void)state;
    for_all_samples(sample_reference);
}

/* Products of 8-bit integers have 32-bit sums, and a call that asks for less is told so. */
static void test_narrow_sums(void **state)
{
    (void)state;
    static const char *const good[] = {
        "dense(i8[3,5], i8[2,5], out_dtype=i32)",
        "batch_matmul(i8[2,3,5], i8[2,4,5], out_dtype=i32)",
        "conv2d(i8[1,3,8,8], i8[4,3,3,3], out_dtype=i32)",
        "dense(bf16[3,5], bf16[2,5], f32[2], out_dtype=f32)",
        "dense(float16[3,5], float16[2,5])",
    };
    static const char *const bad[] = {
        "dense(i8[3,5], i8[2,5])",
        "batch_matmul(i8[2,3,5], i8[2,4,5], out_dtype=i16)",
        "conv2d(u8[1,3,8,8], u8[4,3,3,3])",
    };
    for (int i = 0; i < OT_COUNT(good); i++) {
        optune_err err = {0};
        optune_call call;
        check_ok(ot_call_parse(good[i], &call, &err));
    }
    for (int i = 0; i < OT_COUNT(bad); i++) {
        optune_err err = {0};
        optune_call call;
        assert_int_equal(ot_call_parse(bad[i], &call, &err), OPTUNE_ETYPE);
        check_contains(err.text, "out_dtype=i32");
    }
}

/* What is padded is the zero, so that it is a number that the data can hold. */
static void test_zeros_of_bytes(void **state)
{
    static const struct {
        const char *type;
        int zero;
        const char *why;
    } all[] = {
        {"i8", -128, NULL}, {"i8", 127, NULL},          {"u8", 0, NULL},
        {"u8", 255, NULL},  {"i8", 128, "-128 .. 127"}, {"u8", -1, "0 .. 255"},
    };
    (void)state;
    for (int i = 0; i < OT_COUNT(all); i++) {
        char text[160];
        optune_err err = {0};
        optune_call call;
        snprintf(text, sizeof text,
                 "quantized_conv2d(%s[1,4,4,8], i8[8,8,3,3], i32[8], f32[8], padding=[1,1], "
                 "zero=%d)",
                 all[i].type, all[i].zero);
        const int status = ot_call_parse(text, &call, &err);
        assert_int_equal(status < 0 ? status : 0, all[i].why ? OPTUNE_ETYPE : 0);
        if (all[i].why)
            check_contains(err.text, all[i].why);
    }
}

/* Types in a relation's messages are as a workload writes them. */
static void test_types_are_told(void **state)
{
    static const struct {
        const char *text, *told;
    } all[] = {
        {"dense(f32x4[3,4], f32[5,4])", "data f32x4[3,4]"},
        {"softmax(f32[?m:1..8,?k:2..,?,?(m+1)/2], axis=4)",
         "f32[?m:1..8,?k:2..,?,?(m+1)/2:1..4]"},
        {"gather(bool[?n,3], i32[2,5])", "u1[?n,3]"},
        {"softmax(f32[?the_first_named:1..1099511627776,?the_second_name:2..1099511627776,"
         "?the_third_named:3..1099511627776,?the_fourth_name:4..1099511627776,"
         "?the_fifth_named:5..1099511627776,?the_sixth_named:6..1099511627776,7], axis=7)",
         ",...] has no axis 7"},
    };
    (void)state;
    for (int i = 0; i < OT_COUNT(all); i++) {
        optune_err err = {0};
        optune_call call;
        assert_int_equal(ot_call_parse(all[i].text, &call, &err), OPTUNE_ETYPE);
        check_contains(err.text, all[i].told);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),           cmocka_unit_test(test_samples),
        cmocka_unit_test(test_causal_work),    cmocka_unit_test(test_presets),
        cmocka_unit_test(test_partial_types),  cmocka_unit_test(test_reference),
        cmocka_unit_test(test_narrow_sums),    cmocka_unit_test(test_zeros_of_bytes),
        cmocka_unit_test(test_types_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
