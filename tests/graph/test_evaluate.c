/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What graphs mean: values by the references, dtypes kept, dims bound by the data given, and
 * shapes that depend on values settled by an operator's shape function.
 */
#include "strategy/strategy.h"
#include "support/check.h"

#include "graph/graph.h"
#include "support/graphs.h"

#include <math.h>

/* Indices of what is not 0, in order: how many there are is in the values. */
static int nonzero_types(optune_call *call, optune_err *err)
{
    const optune_dtype i64 = {OPTUNE_DTYPE_INT, 64, 1};
    optune_dtype want = i64;
    (void)err;
    if (!optune_tensor_set_rank(&call->input[0].type, 1) ||
        !optune_tensor_set_rank(&call->output[0], 1) ||
        !optune_dtype_unify(&call->output[0].dtype, &want))
        return optune_fail(err, OPTUNE_ETYPE, "nonzero: 'data' is a vector");
    return optune_tensor_known(&call->output[0]) ? OPTUNE_OK : 1;
}

static int nonzero_shape(optune_call *call, const void *const *in, optune_err *err)
{
    (void)err;
    int64_t n = 0;
    double value;
    for (int64_t i = 0; i < call->input[0].type.dim[0].min; i++) {
        ot_elements(call->input[0].type.dtype, in[0], i, 1, &value);
        n += value != 0;
    }
    call->output[0].dim[0] = optune_dim_of(n);
    return OPTUNE_OK;
}

static void nonzero_reference(const optune_call *call, const void *const *in, int out_index,
                              const optune_region *region, double *out, double *magnitude)
{
    (void)out_index;
    int64_t n = 0;
    double value;
    for (int64_t i = 0; i < call->input[0].type.dim[0].min; i++) {
        ot_elements(call->input[0].type.dtype, in[0], i, 1, &value);
        if (value != 0 && n >= region->lo[0] && n < region->hi[0]) {
            out[n - region->lo[0]] = (double)i;
            magnitude[n - region->lo[0]] = (double)i;
        }
        n += value != 0;
    }
}

static const optune_op nonzero = {
    .name = "nonzero",
    .summary = "indices of what is not 0",
    .inputs = (const optune_op_input[]){{.name = "data", .type = "tensor [N]"}, {0}},
    .n_outputs = 1,
    .pattern = OPTUNE_OPAQUE,
    .types = nonzero_types,
    .shape = nonzero_shape,
    .reference = nonzero_reference,
    .samples = (const char *const[]){"nonzero(f32[4])", NULL},
};

static void values_and_dtypes(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_graph *g = graph_of("x = var f32[4]\n"
                               "y = multiply(x, const f32[] {2})\n"
                               "i = cast(y, dtype=i8)\n"
                               "h = cast(y, dtype=f16)\n"
                               "output y, i, h, x\n");
    const float x[4] = {1, -2.5f, 0.25f, 7};
    optune_values *values = NULL;
    check_ok(optune_graph_evaluate(g, (const void *const[]){x}, NULL, &values, &err));
    const float *y = optune_values_data(values, 0);
    const int8_t *i = optune_values_data(values, 1);
    assert_true(y[0] == 2 && y[1] == -5 && y[2] == 0.5f && y[3] == 14);
    assert_true(i[0] == 2 && i[1] == -5 && i[3] == 14);
    double h[4];
    assert_int_equal(optune_values_type(values, 2)->dtype.bits, 16);
    ot_elements(optune_values_type(values, 2)->dtype, optune_values_data(values, 2), 0, 4, h);
    assert_true(h[0] == 2 && h[1] == -5 && h[2] == 0.5 && h[3] == 14);
    assert_ptr_equal(optune_values_data(values, 3), x);
    assert_null(optune_values_data(values, 4));
    optune_values_free(values);
    optune_graph_close(g);
}

static void a_wide_copy_is_exact(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_graph *g = graph_of("x = var f32[1]\ny = add(x, const f32[1] {1e-9})\noutput y\n");
    optune_graph *wide = NULL;
    check_ok(optune_graph_copy(g, true, &wide, &err));
    const double x = 1;
    optune_values *values = NULL;
    check_ok(optune_graph_evaluate(wide, (const void *const[]){&x}, NULL, &values, &err));
    const double *y = optune_values_data(values, 0);
    assert_true(fabs(*y - 1 - 1e-9) < 1e-15);
    optune_values_free(values);
    optune_graph_close(wide);
    optune_graph_close(g);
}

static void long_integers_are_exact(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_graph *g = graph_of("x = var u64[2]\nz = var i64[2]\ny = multiply(add(x, x), x)\n"
                               "m = max(z)\nc = cumprod(x)\noutput y, m, c\n");
    const uint64_t x[] = {(1ull << 60) + 1, UINT64_MAX - 4};
    const int64_t z[] = {-(1ll << 60), -(1ll << 60) + 1};
    optune_values *values = NULL;
    check_ok(optune_graph_evaluate(g, (const void *const[]){x, z}, NULL, &values, &err));
    const uint64_t *y = optune_values_data(values, 0), *c = optune_values_data(values, 2);
    assert_true(y[0] == 2 * x[0] * x[0] && y[1] == 50);
    assert_true(*(const int64_t *)optune_values_data(values, 1) == z[1]);
    assert_true(c[0] == x[0] && c[1] == x[0] * x[1]);
    optune_values_free(values);
    optune_graph_close(g);
}

/* What doubles have as one number. */
static void long_integers_are_compared_exactly(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_graph *g = graph_of("x = var i64[3]\nz = var i64[3]\ne = equal(x, z)\n"
                               "l = less(x, z)\nc = cast(x, dtype=i32)\noutput e, l, c\n");
    const int64_t x[] = {(1ll << 53) + 1, -(1ll << 62) - 1, (1ll << 60) + 7};
    const int64_t z[] = {1ll << 53, -(1ll << 62), (1ll << 60) + 7};
    optune_values *values = NULL;
    check_ok(optune_graph_evaluate(g, (const void *const[]){x, z}, NULL, &values, &err));
    const bool *equal = optune_values_data(values, 0), *less = optune_values_data(values, 1);
    const int32_t *low = optune_values_data(values, 2);
    assert_true(!equal[0] && !equal[1] && equal[2]);
    assert_true(!less[0] && less[1] && !less[2]);
    assert_true(low[0] == 1 && low[1] == -1 && low[2] == 7);
    optune_values_free(values);
    optune_graph_close(g);
}

static void open_dims_are_bound_by_the_data(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_graph *g = graph_of("x = var f32[?m:1..8,2]\n"
                               "y = sum(x, axis=[1])\n"
                               "output y\n");
    const float x[6] = {1, 2, 3, 4, 5, 6};
    optune_tensor type = *optune_graph_input_type(g, 0);
    optune_values *values = NULL;
    assert_int_equal(optune_graph_evaluate(g, (const void *const[]){x}, NULL, &values, &err),
                     OPTUNE_ETYPE);
    check_contains(err.text, "node 'x': its type is not known");
    type.dim[0] = optune_dim_of(3);
    check_ok(optune_graph_evaluate(g, (const void *const[]){x}, &type, &values, &err));
    assert_int_equal(optune_values_type(values, 0)->dim[0].min, 3);
    assert_true(((const float *)optune_values_data(values, 0))[2] == 11);
    optune_values_free(values);
    type.dim[0] = optune_dim_of(9);
    assert_int_equal(optune_graph_evaluate(g, (const void *const[]){x}, &type, &values, &err),
                     OPTUNE_ETYPE);
    check_contains(err.text, "node 'x': f32[9,2] is not f32[?m:1..8,2]: 'm' (dim 0) is 9, "
                             "not 1 to 8");
    type.dim[1] = optune_dim_of(3);
    assert_int_equal(optune_graph_evaluate(g, (const void *const[]){x}, &type, &values, &err),
                     OPTUNE_ETYPE);
    check_contains(err.text, "f32[9,3] is not f32[?m:1..8,2]: 'm' (dim 0) is 9, not 1 to 8: "
                             "dim 1 is 3, not 2\n");
    type.rank = 1;
    assert_int_equal(optune_graph_evaluate(g, (const void *const[]){x}, &type, &values, &err),
                     OPTUNE_ETYPE);
    check_contains(err.text, "f32[9] is not f32[?m:1..8,2]");
    optune_graph_close(g);
}

static void shapes_may_depend_on_values(void **state)
{
    (void)state;
    optune_err err = {0};
    check_ok(ot_op_add(&nonzero, &err));
    optune_graph *g = graph_of("x = var f32[6]\n"
                               "i = nonzero(x)\n"
                               "d = add(i, i)\n"
                               "output d, i\n");
    check_contains(optune_graph_text(g, true), "d : i64[?] = add(i, i)");
    const float x[6] = {0, 1, 0, 0, 3, 4};
    optune_values *values = NULL;
    check_ok(optune_graph_evaluate(g, (const void *const[]){x}, NULL, &values, &err));
    assert_int_equal(optune_values_type(values, 0)->dim[0].min, 3);
    const int64_t *d = optune_values_data(values, 0);
    assert_true(d[0] == 2 && d[1] == 8 && d[2] == 10);
    optune_values_free(values);
    const float none[6] = {0};
    check_ok(optune_graph_evaluate(g, (const void *const[]){none}, NULL, &values, &err));
    assert_int_equal(optune_values_type(values, 1)->dim[0].min, 0);
    optune_values_free(values);
    optune_graph_close(g);
}

static void what_is_missing_is_said(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_graph *g = graph_of("x = var f32[2]\ny = add(x, const f32[2])\noutput y\n");
    optune_values *values = NULL;
    const float x[2] = {1, 2};
    assert_int_equal(optune_graph_evaluate(g, (const void *const[]){x}, NULL, &values, &err),
                     OPTUNE_EUSAGE);
    check_contains(err.text, "test:2:12: node 'c': it has no data");
    const int c = optune_graph_find(g, "c");
    check_ok(optune_graph_set_data(g, c, x, &err));
    check_ok(optune_graph_evaluate(g, (const void *const[]){x}, NULL, &values, &err));
    assert_true(((const float *)optune_values_data(values, 0))[1] == 4);
    optune_values_free(values);
    assert_int_equal(optune_graph_set_data(g, 0, x, &err), OPTUNE_EUSAGE);
    optune_graph_close(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_and_dtypes),
        cmocka_unit_test(a_wide_copy_is_exact),
        cmocka_unit_test(long_integers_are_exact),
        cmocka_unit_test(long_integers_are_compared_exactly),
        cmocka_unit_test(open_dims_are_bound_by_the_data),
        cmocka_unit_test(shapes_may_depend_on_values),
        cmocka_unit_test(what_is_missing_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
