/* SPDX-License-Identifier: Apache-2.0 */
/* Targets in the forms that TVM 0.6 to 0.19 write, and ours in the form that 0.19 takes. */
#include "support/check.h"

#include "target/target.h"

static void note(void *arg, const char *option)
{
    ot_text_printf(arg, "%s ", option);
}

static void test_forms(void **state)
{
    (void)state;
    static const struct {
        const char *theirs, *ours, *ignored;
    } forms[] = {
        {"llvm", "cpu", ""},
        {"llvm -keys=cpu -link-params=0 -mattr=+avx2,+fma -mcpu=core-avx2 "
         "-mtriple=x86_64-linux-gnu",
         "cpu -mcpu=core-avx2", "keys link-params mattr mtriple "},
        {"llvm -keys=cpu -mtriple=x86_64-pc-linux-gnu -num-cores=4", "cpu -threads=4",
         "keys mtriple "},
        {"llvm -mcpu=skylake-avx512 -model=platinum-8124m", /* TopHub */
         "cpu -mcpu=skylake-avx512 -model=platinum-8124m", ""},
        {"llvm -device=arm_cpu -model=rk3399 -target=aarch64-linux-gnu -mattr=+neon", /* 0.6 */
         "cpu -model=rk3399", "device target mattr "},
        {"llvm -libs=cblas,mkl -libs=dnnl", "cpu", ""},
        {"cuda -keys=cuda,gpu -arch=sm_75 -max_num_threads=1024 -model=t4 -thread_warp_size=32",
         "cuda -arch=sm_75 -model=t4", "keys max_num_threads thread_warp_size "},
        {"cuda -keys=cuda,gpu -max_shared_memory_per_block=49152 -registers_per_block=65536 "
         "-libs=cudnn -system-lib -runtime=c",
         "cuda", "keys max_shared_memory_per_block registers_per_block system-lib runtime "},
        {"opencl -keys=opencl,gpu -max_num_threads=256 -texture_spatial_limit=16384 "
         "-thread_warp_size=1",
         "opencl", "keys max_num_threads texture_spatial_limit thread_warp_size "},
        {"opencl -device=mali -max_threads_per_block 256", "opencl",
         "device max_threads_per_block "},
        {"nvidia/geforce-rtx-3090", "cuda", ""},
        {"aws/cpu/c5.large", "cpu", ""},
        {"raspberry-pi/4b-aarch64", "cpu", ""},
        {"{\"kind\": \"llvm\", \"mcpu\": \"skylake-avx512\", \"keys\": [\"cpu\"], \"tag\": "
         "\"\", "
         "\"num-cores\": 2, \"mattr\": [\"+avx2\", \"+fma\"], \"host\": {\"kind\": \"llvm\"}}",
         "cpu -threads=2 -mcpu=skylake-avx512", "keys tag mattr host "},
        {"{\"kind\":\"cuda\",\"arch\":\"sm_90\",\"max_num_threads\":1024,\"link-params\":"
         "false}",
         "cuda -arch=sm_90", "max_num_threads link-params "},
        {"{\"tag\":\"nvidia/nvidia-a100\"}", "cuda", ""},
        {"llvm -num-cores=many -mcpu='a b' word -", "cpu", "num-cores mcpu word  "},
        {"cpu -threads=2 -cflags='-O1 -g'", "cpu -threads=2 -cflags='-O1 -g'", ""}, /* ours */
    };
    for (int i = 0; i < OT_COUNT(forms); i++) {
        optune_err err = {0};
        optune_target target;
        ot_text is = {0}, ignored = {0};
        check_ok(ot_target_from_tvm(forms[i].theirs, &target, note, &ignored, &err));
        ot_target_print(&target, true, &is);
        assert_string_equal(is.s, forms[i].ours);
        assert_string_equal(ot_text_str(&ignored), forms[i].ignored);
        ot_text_release(&is);
        ot_text_release(&ignored);
    }
}

static void test_none(void **state)
{
    (void)state;
    static const char *const none[] = {"",
                                       " ",
                                       "hexagon -mcpu=v68",
                                       "metal",
                                       "no/such-tag",
                                       "{\"mcpu\":\"x\"}",
                                       "{\"kind\":",
                                       "{\"kind\":5}",
                                       "{}"};
    for (int i = 0; i < OT_COUNT(none); i++) {
        optune_err err = {0};
        optune_target target;
        assert_true(ot_target_from_tvm(none[i], &target, NULL, NULL, &err) < 0);
        assert_true(strlen(err.text) > 0);
    }
}

static void test_writing(void **state)
{
    (void)state;
    static const struct {
        const char *ours, *arch, *theirs;
    } rows[] = {
        {"cpu -threads=2", "x86-64-v4", "llvm -mcpu=x86-64-v4 -num-cores=2"},
        {"cpu -threads=2 -mcpu=znver4 -cflags=-O1", "x86-64-v4",
         "llvm -mcpu=znver4 -num-cores=2"},
        {"cpu -threads=8", "aarch64", "llvm -num-cores=8"}, /* no processor's name */
        {"cpu", "", "llvm"},
        {"cuda", "sm_90", "cuda -arch=sm_90"},
        {"cuda -arch=sm_80 -model=a100", "sm_90", "cuda -arch=sm_80 -model=a100"},
        {"opencl -model='two words'", "gfx90a", "opencl"},
    };
    for (int i = 0; i < OT_COUNT(rows); i++) {
        optune_err err = {0};
        optune_target target;
        optune_device device = {0};
        ot_text is = {0};
        ot_copy(device.arch, sizeof device.arch, rows[i].arch);
        check_ok(ot_target_parse(rows[i].ours, &target, &err));
        assert_true(ot_target_to_tvm(&target, &device, &is));
        assert_string_equal(is.s, rows[i].theirs);
        /* And nothing in it is foreign to our own reading. */
        ot_text ignored = {0};
        check_ok(ot_target_from_tvm(is.s, &target, note, &ignored, &err));
        assert_int_equal(ignored.n, 0);
        ot_text_release(&is);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_writing),
    };
    return cmocka_run_group_tests_name("target/tvm", tests, NULL, NULL);
}
