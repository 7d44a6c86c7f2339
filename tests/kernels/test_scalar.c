/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of scalar expressions as CPU bodies compute them: within their bounds of the C
 * library's, in both precisions, and right for NaN, infinities, zeros and denormals.
 */
#include "support/check.h"

#include <math.h>

#define RESULT_BY (SCALAR)
#define OT_VEC_BYTES 16
#define OT_THREADS 1
#define SCALAR_REAL 1
#define SCALAR float
#define DTYPE float
#define SCALAR_BITS 32
#include "kernels/common/scalar_cpu.kernel.h"

#define FUNCTIONS(X) X(exp) X(log) X(tanh) X(sigmoid) X(sqrt) X(floor) X(round) X(abs) X(erf)
#define AS_DOUBLE(name)                                                                        \
    static double f_##name(double x)                                                           \
    {                                                                                          \
        return s_##name((float)x);                                                             \
    }
FUNCTIONS(AS_DOUBLE)

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* In units of the last place of a float. */
static double ulps(double got, double want)
{
    int exponent;
    frexp(want, &exponent);
    return fabs(got - want) / fmax(ldexp(1, exponent - 24), 0x1p-149);
}

static void check_range(double (*ours)(double), double (*theirs)(double), double low,
                        double high, double most)
{
    for (int i = 0; i <= 20000; i++) {
        const double x = (float)(low + (high - low) * i / 20000);
        const double off = ulps(ours(x), theirs(x));
        if (off > most)
            print_error("%.9g: got %.9g, want %.9g\n", x, ours(x), theirs(x));
        assert_true(off <= most);
    }
}

static void test_errors(void **state)
{
    (void)state;
    check_range(f_exp, exp, -87, 88.7, 1.5);
    check_range(f_exp, exp, -103, -87, 1.5);
    check_range(f_log, log, 1e-3, 2, 1.5);
    check_range(f_log, log, 1e-44, 1e-37, 1.5);
    check_range(f_log, log, 1, 1e30, 1.5);
    check_range(f_tanh, tanh, -12, 12, 3);
    check_range(f_tanh, tanh, -1e-3, 1e-3, 3);
    check_range(f_sigmoid, sigmoid, -80, 80, 3);
    check_range(f_erf, erf, -5, 5, 3);
    check_range(f_erf, erf, -1e-3, 1e-3, 2);
    check_range(f_sqrt, sqrt, 0, 100, 1);
}

static void test_edges(void **state)
{
    (void)state;
    const double inf = INFINITY;
    assert_true(isnan(f_exp(NAN)) && f_exp(inf) == inf && f_exp(-inf) == 0 && f_exp(0) == 1);
    assert_true(isnan(f_log(NAN)) && isnan(f_log(-1)) && f_log(0) == -inf && f_log(inf) == inf);
    assert_true(isnan(f_tanh(NAN)) && f_tanh(inf) == 1 && f_tanh(-inf) == -1);
    assert_true(signbit(f_tanh(-0.0)) && f_tanh(-0.0) == 0);
    assert_true(isnan(f_sigmoid(NAN)) && f_sigmoid(inf) == 1 && f_sigmoid(-inf) == 0);
    assert_true(isnan(s_max(NAN, 1)) && isnan(s_max(1, NAN)) && s_max(-inf, 2) == 2);
    assert_true(isnan(s_min(NAN, 1)) && isnan(s_min(1, NAN)) && s_min(inf, 2) == 2);
    assert_true(f_abs(-2) == 2 && !signbit(f_abs(-0.0)) && isnan(f_abs(NAN)));
    assert_true(f_floor(-1.5) == -2);
    assert_true(f_round(2.5) == 2 && f_round(-3.5) == -4 && f_round(0.49) == 0);
    assert_true(isnan(f_erf(NAN)) && f_erf(inf) == 1 && f_erf(-inf) == -1 && f_erf(4) == 1);
    assert_true(signbit(f_erf(-0.0)) && f_erf(-0.0) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
