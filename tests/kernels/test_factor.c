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

static int drawn(int n) /* from 0 on */
{
    state = state * 1664525u + 1013904223u;
    return (int)((state >> 8) % (uint32_t)n);
}

static double made_up(void)
{
    return 0.01 + (double)drawn(1 << 24) / (1 << 24) * 0.1;
}

static double byte_of(const qpair *p, float v)
{
    return quantized_rounded((double)v, &p->end);
}

static int least_of(const optune_call *call, int side)
{
    return call->input[side].type.dtype.code == OPTUNE_DTYPE_INT ? -128 : 0;
}

/* Pairs that round otherwise by the factor. */
static int apart(const optune_call *call, const qpair *p, float factor)
{
    const int from_a = least_of(call, 0), from_b = least_of(call, 1);
    int n = 0;
    for (int a = from_a; a < from_a + 256; a++)
        for (int b = from_b; b < from_b + 256; b++) {
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
    static const char *const dtype[] = {"u8", "i8"};
    char text[256];
    int found = 0, other = 0, limited = 0;
    for (int i = 0; i < CALLS; i++) {
        const double a = made_up(), b = made_up();
        const double most = strcmp(op, "quantized_add") == 0 ? a + b : a * b * 400;
        const double scale = most * (0.4 + 5 * made_up()); /* of no round part */
        const int least = i % 3 ? -128 : drawn(128), most_of = i % 3 ? 255 : least + drawn(100);
        const int of[] = {drawn(2), drawn(2), drawn(2)};
        snprintf(text, sizeof text,
                 "%s(%s[4], %s[4], a_scale=%.9g, a_zero=%d, b_scale=%.9g, b_zero=%d, "
                 "scale=%.9g, zero=%d, limits=[%d,%d], out_dtype=%s)",
                 op, dtype[of[0]], dtype[of[1]], a, drawn(256) - 128 * of[0], b,
                 drawn(256) - 128 * of[1], scale, 80 + drawn(96) - 128 * of[2], least, most_of,
                 dtype[of[2]]);
        check_ok(ot_call_parse(text, &call, &err));
        const qpair p = qpair_of(&call);
        const float factor = qpair_factor(&call);
        const bool plain = apart(&call, &p, 1 / p.scale[2]) == 0;
        if (factor != 0 ? apart(&call, &p, factor) != 0 : plain)
            fail_msg("%s: by %.9g", text, (double)factor);
        found += factor != 0;
        limited += factor != 0 && i % 3 == 0;
        other += factor != 0 && !plain;
    }
    if (found < CALLS / 2 || !other || !limited)
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
