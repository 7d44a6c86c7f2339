/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of kernels/common/team.kernel.h as CUDA computes them, by shuffles, which the emulation
 * has (tests/races), against plain loops. For CUDA the same kernels must compile. The tree that
 * OpenCL builds otherwise is verified with every body that uses it.
 */
#include "support/check.h"

#include "base/base.h"
#include "support/words.h"

enum { ALL = 128, COUNT = 3 };

static const char *const files[] = {"kernels/common/gpu.kernel.h",
                                    "kernels/common/team.kernel.h", "tests/data/team_words.cu",
                                    NULL};

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
    static words w;
    words_open(&w, "sm_80", files);
    check_team(&w, "team_1", 1, 1);
    check_team(&w, "team_8", 8, 1);
    check_team(&w, "team_32", 32, 1);
    check_team(&w, "team_64", 64, 1);
    check_team(&w, "team_128", 128, 1);
    check_team(&w, "team_across", 8, 16);
    words_close(&w);
}

static void test_cuda(void **state)
{
    (void)state;
    words_compile_cuda("cuda -arch=sm_75", files);
    words_compile_cuda("cuda -arch=sm_90", files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shuffles),
        cmocka_unit_test(test_cuda),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
