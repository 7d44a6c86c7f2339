/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantised convolutions by 16-bit pairs, as processors without VNNI compute them: every sample
 * with AVX2, some with SSE2 and with AVX-512, on machines that have VNNI, where the contract of
 * each implementation meets its bytes only.
 */
#include "strategy/inside.h"
#include "support/batch.h"
#include "support/check.h"
#include "target/target.h"

/* Elsewhere the contract computes these, or they cannot run. */
static bool has_vnni(void)
{
    optune_err err = {0};
    optune_target target;
    optune_device device = {0};
    check_ok(ot_target_parse("cpu", &target, &err));
    check_ok(ot_target_probe(&target, &device, &err));
    return device.vector_bytes == 64 && device.dots & OPTUNE_DOT_I8;
}

static void check(const char *name, const char *target, int thin)
{
    static batch many;
    static optune_call call;
    optune_err err = {0};
    int n = 0;
    if (!has_vnni() || !batch_open(&many, target))
        skip();
    const optune_impl *impl = ot_impl_find(name);
    for (const char *const *sample = ot_op_find("quantized_conv2d")->samples; *sample;
         sample++) {
        optune_space *space;
        optune_config config;
        check_ok(ot_call_parse(*sample, &call, &err));
        const optune_task task = {&call, &many.target, &many.device};
        if (!ot_impl_applies(impl, &task, NULL) || n++ % thin)
            continue;
        check_ok(ot_space_open(&task, impl, &space, &err));
        assert_true(ot_space_fallback(space, &config, NULL));
        batch_add(&many, &call, impl, &config, sample, 1);
        ot_space_close(space);
    }
    assert_true(n > 0);
    batch_judge(&many);
}

static const char direct[] = "quantized_conv2d_direct.cpu";

static void avx2(void **state)
{
    (void)state;
    check(direct, "cpu -threads=1 -mcpu=haswell", 1);
}

static void sse2(void **state)
{
    (void)state;
    check(direct, "cpu -threads=1 -mcpu=x86-64", 5);
}

static void avx512(void **state)
{
    (void)state;
    check(direct, "cpu -threads=1 -mcpu=skylake-avx512", 5);
}

int main(int argc, char **argv)
{
    batch_inside(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(avx2),
        cmocka_unit_test(sse2),
        cmocka_unit_test(avx512),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
