/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of softmax_across.gpu as CUDA has it, where threads of a warp meet by shuffles and warps
 * in shared memory, over the emulation (tests/races). OpenCL's, without shuffles, is verified by
 * the contract tests.
 */
#include "support/check.h"

#include <math.h>

#include "base/base.h"
#include "support/words.h"

enum { OUTER = 2, ALONG = 8, ACROSS = 16, MOST = OUTER * 48 * 64 };

/* A file of tests/data, and what it defines. */
typedef struct shape {
    const char *file;
    int axis, inner, vector;
} shape;

static void check(const shape *s)
{
    static float in[MOST], out[MOST];
    const char *files[] = {"kernels/common/gpu.kernel.h",
                           s->file,
                           "kernels/common/scalar_gpu.kernel.h",
                           "kernels/common/team.kernel.h",
                           "kernels/softmax/impl_across.kernel.cu",
                           NULL};
    uint64_t rng = 3;
    words w;
    words_open(&w, "sm_80", files);
    for (int i = 0; i < MOST; i++) {
        in[i] = (float)optune_random_below(&rng, 4000) / 200 - 10;
        out[i] = -1;
    }
    in[5 * s->inner + 3] = NAN;       /* of column 3, which all of it becomes */
    in[7 * s->inner + 4] = -INFINITY; /* of which nothing is left */
    const int columns = ALONG * s->vector;
    w.blocks = OUTER * ((s->inner + columns - 1) / columns);
    const size_t bytes = (size_t)(OUTER * s->axis * s->inner) * sizeof(float);
    words_run(&w, "softmax", ALONG * ACROSS,
              (const words_array[]){{in, bytes, NULL}, {out, bytes, NULL}}, 2);
    for (int o = 0; o < OUTER; o++)
        for (int c = 0; c < s->inner; c++) {
            double sum = 0;
            for (int i = 0; i < s->axis; i++)
                sum += exp((double)in[(o * s->axis + i) * s->inner + c]);
            for (int i = 0; i < s->axis; i++) {
                const int at = (o * s->axis + i) * s->inner + c;
                if (isnan(sum))
                    assert_true(isnan(out[at]));
                else
                    assert_true(fabs(out[at] - exp((double)in[at]) / sum) < 1e-6);
            }
        }
    words_close(&w);
}

static void test_shuffles(void **state)
{
    (void)state;
    check(&(shape){"tests/data/softmax_across_held.cu", 37, 40, 4});
    check(&(shape){"tests/data/softmax_across_even.cu", 48, 64, 2});
    check(&(shape){"tests/data/softmax_across_read.cu", 37, 23, 1});
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shuffles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
