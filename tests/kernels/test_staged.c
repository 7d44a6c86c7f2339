/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies that stage memory in shared memory, as CUDA has them, by asynchronous copies whatever a
 * run's alignment, over the emulation (tests/races), which sees what is read before it is there.
 * OpenCL's, through registers, is verified by the contract tests.
 */
#include "support/check.h"

#include <math.h>

#include "base/base.h"
#include "support/words.h"

enum { PLANES = 300, PIXELS = 50, OUTER = 5, AXIS = 1003 };

/* `last` is what the bodies do not share: one file, or two. */
static void open_body(words *w, const char *defines, const char *last, const char *behind)
{
    const char *files[] = {"kernels/common/gpu.kernel.h",
                           defines,
                           "kernels/common/scalar_gpu.kernel.h",
                           "kernels/common/team.kernel.h",
                           "kernels/common/mma_gpu.kernel.h",
                           "kernels/common/staged.kernel.h",
                           last,
                           behind,
                           NULL};
    words_open(w, "sm_90", files);
}

static void check_planes(const char *defines, int planes, int pixels, int threads, int rows)
{
    static float in[PLANES * PIXELS], out[PLANES];
    uint64_t rng = 5;
    words w;
    open_body(&w, defines, "kernels/common/staged_rows.kernel.h",
              "kernels/pool/global/impl_staged.kernel.cu");
    for (int i = 0; i < planes * pixels; i++)
        in[i] = (float)optune_random_below(&rng, 4000) / 200 - 10;
    for (int p = 0; p < planes; p++)
        out[p] = -1000;
    w.blocks = (planes + rows - 1) / rows;
    words_run(&w, "means", threads,
              (const words_array[]){{in, (size_t)(planes * pixels) * sizeof *in, NULL},
                                    {out, (size_t)planes * sizeof *out, NULL}},
              2);
    for (int p = 0; p < planes; p++) {
        double sum = 0;
        for (int i = 0; i < pixels; i++)
            sum += (double)in[p * pixels + i];
        assert_true(fabs(out[p] - sum / pixels) < 1e-5);
    }
    words_close(&w);
}

static void test_planes(void **state)
{
    (void)state;
    check_planes("tests/data/staged_alone.cu", 300, 49, 128, 128);
    check_planes("tests/data/staged_even.cu", 150, 50, 64, 64);
    check_planes("tests/data/staged_team.cu", 45, 49, 64, 2);
}

static float of_bfloat(uint16_t x)
{
    const uint32_t bits = (uint32_t)x << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint16_t to_bfloat(float f) /* cut off */
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)(bits >> 16);
}

static void check_rows(const char *defines, bool half)
{
    static float in[OUTER * AXIS], out[OUTER * AXIS];
    static uint16_t in_half[OUTER * AXIS], out_half[OUTER * AXIS];
    uint64_t rng = 3;
    words w;
    open_body(&w, defines, "kernels/softmax/impl_shared.kernel.cu", NULL);
    for (int i = 0; i < OUTER * AXIS; i++)
        in[i] = (float)optune_random_below(&rng, 4000) / 200 - 10;
    in[AXIS + 1002] = -INFINITY; /* the last of row 1 */
    in[2 * AXIS] = NAN;          /* the first of row 2, which all of it becomes */
    for (int i = 0; i < AXIS; i++)
        in[3 * AXIS + i] = -INFINITY;
    for (int i = 0; i < OUTER * AXIS; i++) {
        in_half[i] = to_bfloat(in[i]);
        in[i] = half ? of_bfloat(in_half[i]) : in[i];
        out_half[i] = to_bfloat(-1);
        out[i] = -1;
    }
    w.blocks = OUTER;
    if (half)
        words_run(&w, "softmax", 128,
                  (const words_array[]){WORDS_ARRAY(in_half), WORDS_ARRAY(out_half)}, 2);
    else
        words_run(&w, "softmax", 128, (const words_array[]){WORDS_ARRAY(in), WORDS_ARRAY(out)},
                  2);
    for (int o = 0; o < OUTER; o++) {
        double sum = 0;
        for (int i = 0; i < AXIS; i++)
            sum += exp((double)in[o * AXIS + i]);
        for (int i = 0; i < AXIS; i++) {
            const int at = o * AXIS + i;
            const double is = half ? of_bfloat(out_half[at]) : out[at];
            const double want = exp((double)in[at]) / sum;
            if (o == 2 || o == 3)
                assert_true(isnan(is));
            else
                assert_true(fabs(is - want) <= (half ? 0.004 : 1e-5) * want + 1e-30);
        }
    }
    words_close(&w);
}

static void test_rows(void **state)
{
    (void)state;
    check_rows("tests/data/staged_kept.cu", false);
    check_rows("tests/data/staged_twice.cu", true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_planes),
        cmocka_unit_test(test_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
