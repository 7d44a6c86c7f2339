/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The factor by which quantised sums and products are rounded as by their quotient: for all pairs
 * of integers, with made-up scales.
 */
#include <math.h>

#include "kernels/quantized/pair.h"
#include "strategy/inside.h"
#include "support/check.h"

enum { CALLS = 60 };

static uint32_t state = 12345;

static double made_up(void)
{
    state = state * 1664525u + 1013904223u;
    return 0.01 + (double)(state >> 8) / (1 << 24) * 0.1;
}

static double byte_of(const qpair *p, float v)
{
    return quantized_rounded((double)v, &p->end);
}

/* Pairs that round otherwise by the factor. */
static int apart(const qpair *p, float factor)
{
    int n = 0;
    for (int a = 0; a < 256; a++)
        for (int b = 0; b < 256; b++) {
            volatile float x = (float)(a - p->zero[0]) * p->scale[0];
            volatile float y = (float)(b - p->zero[1]) * p->scale[1];
            volatile float all = p->times ? x * y : x + y, quotient = all / p->scale[2];
            volatile float product = all * factor;
            n += byte_of(p, quotient) != byte_of(p, product);
        }
    return n;
}

static void check_op(const char *op)
{
    static optune_call call;
    optune_err err = {0};
    char text[256];
    int found = 0, other = 0;
    for (int i = 0; i < CALLS; i++) {
        const double a = made_up(), b = made_up();
        const double most = strcmp(op, "quantized_add") == 0 ? a + b : a * b * 200;
        const double scale = most * (0.4 + 5 * made_up()); /* of no round part */
        snprintf(text, sizeof text,
                 "%s(u8[4], u8[4], a_scale=%.9g, a_zero=120, b_scale=%.9g, b_zero=9, "
                 "scale=%.9g)",
                 op, a, b, scale);
        check_ok(ot_call_parse(text, &call, &err));
        const qpair p = qpair_of(&call);
        const float factor = qpair_factor(&call);
        const bool plain = apart(&p, 1 / p.scale[2]) == 0;
        if (factor != 0 ? apart(&p, factor) != 0 : plain)
            fail_msg("%s: by %.9g", text, (double)factor);
        found += factor != 0;
        other += factor != 0 && !plain;
    }
    if (found < CALLS / 2 || !other)
        fail_msg("%s: %d of %d have a factor, %d another than the inverse", op, found, CALLS,
                 other);
}

static void test_all_pairs(void **unused)
{
    (void)unused;
    check_op("quantized_add");
    check_op("quantized_multiply");
}

/* What has no quotient has none, nor has one whose inverse is no normal float. */
static void test_none(void **unused)
{
    (void)unused;
    static optune_call call;
    optune_err err = {0};
    check_ok(ot_call_parse("quantized_add(u8[4], u8[4], scale=0.5, merged=true)", &call, &err));
    assert_true(qpair_factor(&call) == 0);
    check_ok(ot_call_parse("quantized_add(i8[4], u8[4], a_scale=1e38, b_scale=1e38, "
                           "scale=3e38, out_dtype=u8)",
                           &call, &err));
    assert_true(qpair_factor(&call) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_pairs),
        cmocka_unit_test(test_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
