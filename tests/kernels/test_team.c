/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of kernels/common/team.kernel.h as CUDA computes them, by shuffles, and those of
 * warp_gpu.kernel.h and turns_gpu.kernel.h, all of which the emulation has (tests/races), against
 * plain loops. For CUDA the same kernels must compile. The tree that OpenCL builds otherwise is
 * verified with every body that uses it.
 */
#include "support/check.h"

#include "base/base.h"
#include "support/words.h"

enum { ALL = 128, COUNT = 3 };

static const char *const files[] = {
    "kernels/common/gpu.kernel.h",      "kernels/common/team.kernel.h",
    "kernels/common/warp_gpu.kernel.h", "kernels/common/turns_gpu.kernel.h",
    "tests/data/team_words.cu",         NULL};

static words emulation;

static int setup(void **state)
{
    (void)state;
    words_open(&emulation, "sm_80", files);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    words_close(&emulation);
    return 0;
}

static void check_team(words *w, const char *kernel, int n, int step)
{
    static float in[COUNT][ALL], sums[COUNT][ALL], most[ALL];
    uint64_t rng = 3;
    for (int i = 0; i < COUNT; i++)
        for (int t = 0; t < ALL; t++) /* small integers: sums are exact in any order */
            in[i][t] = (float)optune_random_below(&rng, 1000) - 500;
    words_run(w, kernel, ALL,
              (const words_array[]){WORDS_ARRAY(in), WORDS_ARRAY(sums), WORDS_ARRAY(most)}, 3);
    for (int t = 0; t < ALL; t++) {
        const int first = step == 1 ? t / n * n : t % step;
        float greatest = in[0][first];
        for (int k = 1; k < n; k++)
            greatest = in[0][first + k * step] > greatest ? in[0][first + k * step] : greatest;
        assert_true(most[t] == greatest);
        for (int i = 0; i < COUNT && step == 1; i++) {
            float sum = 0;
            for (int k = 0; k < n; k++)
                sum += in[i][first + k];
            assert_true(sums[i][t] == sum);
        }
    }
}

static void test_shuffles(void **state)
{
    (void)state;
    check_team(&emulation, "team_1", 1, 1);
    check_team(&emulation, "team_8", 8, 1);
    check_team(&emulation, "team_32", 32, 1);
    check_team(&emulation, "team_64", 64, 1);
    check_team(&emulation, "team_128", 128, 1);
    check_team(&emulation, "team_across", 8, 16);
}

static void test_votes(void **state)
{
    (void)state;
    static uint32_t in[ALL], bits[ALL];
    static int32_t lowest[ALL];
    uint64_t rng = 5;
    for (int t = 0; t < ALL; t++)
        in[t] = t < 32 ? 0 : t < 64 ? t == 63 : optune_random_below(&rng, 2) != 0;
    words_run(&emulation, "votes", ALL,
              (const words_array[]){WORDS_ARRAY(in), WORDS_ARRAY(bits), WORDS_ARRAY(lowest)},
              3);
    for (int t = 0; t < ALL; t++) {
        uint32_t want = 0;
        for (int i = 0; i < 32; i++)
            want |= in[t / 32 * 32 + i] << i;
        assert_int_equal(bits[t], want);
        assert_int_equal(lowest[t], want ? __builtin_ctz(want) : -1);
    }
}

/* Every thread has a turn of its own, and all have what the others told. */
static void test_turns(void **state)
{
    (void)state;
    static uint64_t told[1 + ALL], heard[ALL];
    bool seen[ALL] = {false};
    words_run(&emulation, "turns", ALL,
              (const words_array[]){WORDS_ARRAY(told), WORDS_ARRAY(heard)}, 2);
    assert_int_equal(told[0], ALL);
    for (int t = 0; t < ALL; t++) {
        const uint64_t turn = told[1 + t] & 0xFFFFFFFF;
        assert_true(turn < ALL && !seen[turn]);
        seen[turn] = true;
        assert_int_equal(told[1 + t] >> 32, t + 1);
        assert_int_equal(heard[t], told[1 + (t + 1) % ALL]);
    }
}

static void test_cuda(void **state)
{
    (void)state;
    words_compile_cuda("cuda -arch=sm_75", files); /* the oldest that NVRTC 13 compiles for */
    words_compile_cuda("cuda -arch=sm_90", files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shuffles),
        cmocka_unit_test(test_votes),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_cuda),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
