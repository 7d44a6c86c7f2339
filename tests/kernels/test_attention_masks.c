/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Masks that random samples never have, in the body of attention_mma.cuda over the emulation
 * (tests/races): tiles of which a row sees nothing, and the lowest float that models add to what is
 * to be left out, which is a score like any other where a row has no other.
 */
#include "support/check.h"

#include <float.h>
#include <math.h>

#include "base/base.h"
#include "support/words.h"

enum { ROWS = 16, KEYS = 32, D = 16, TILE = 16 };

/* Value d of key j is j, in bfloat16; all keys weigh the same in what a row sees. */
static void attend(const char *mask_file, const void *mask, size_t mask_bytes, double *out)
{
    static uint16_t q[ROWS][D], k[KEYS][D], v[KEYS][D], got[ROWS][D];
    const char *files[] = {"kernels/common/gpu.kernel.h",
                           "tests/data/attention_shape.cu",
                           mask_file,
                           "kernels/attention/gpu/attention_gpu.kernel.h",
                           "kernels/attention/gpu/hide_gpu.kernel.h",
                           "kernels/common/mma_gpu.kernel.h",
                           "kernels/common/team.kernel.h",
                           "kernels/common/warp_gpu.kernel.h",
                           "kernels/common/pairs_gpu.kernel.h",
                           "kernels/attention/gpu/impl_mma.kernel.cu",
                           NULL};
    const optune_dtype brain = {.code = OPTUNE_DTYPE_BFLOAT, .bits = 16, .lanes = 1};
    for (int j = 0; j < KEYS; j++)
        for (int d = 0; d < D; d++)
            ot_elements_set(brain, v[j], d, 1, &(double){j});
    words w;
    words_open(&w, "sm_80", files);
    words_run(&w, "attention", 32,
              (const words_array[]){WORDS_ARRAY(q),
                                    WORDS_ARRAY(k),
                                    WORDS_ARRAY(v),
                                    WORDS_ARRAY(got),
                                    {(void *)mask, mask_bytes, NULL}},
              5);
    words_close(&w);
    for (int r = 0; r < ROWS; r++)
        ot_elements(brain, got[r], 3, 1, &out[r]);
}

static void test_added(void **state)
{
    (void)state;
    static float mask[ROWS][KEYS];
    double out[ROWS];
    for (int j = 0; j < KEYS; j++) {
        mask[1][j] = -FLT_MAX;                        /* all alike */
        mask[2][j] = -INFINITY;                       /* nothing */
        mask[3][j] = j < TILE ? -FLT_MAX : -INFINITY; /* half of it */
        mask[4][j] = j < TILE ? -INFINITY : -FLT_MAX; /* the other half, later */
        mask[5][j] = j < TILE ? -FLT_MAX : 0;         /* nothing of the first tile */
        mask[6][j] = j < TILE ? 0 : -FLT_MAX;         /* nothing of the last one */
        mask[7][j] = j == 5 ? -1e38F : -FLT_MAX;      /* one */
        mask[8][j] = j == 20 ? NAN : -FLT_MAX;
    }
    attend("tests/data/attention_lowest.cu", mask, sizeof mask, out);
    static const double want[] = {15.5, 15.5, 0, 7.5, 23.5, 23.5, 7.5, 5, NAN};
    for (int r = 0; r < OT_COUNT(want); r++)
        if (!(isnan(want[r]) ? isnan(out[r]) : out[r] == want[r]))
            fail_msg("row %d is %g, not %g", r, out[r], want[r]);
}

static void test_kept(void **state)
{
    (void)state;
    static uint8_t mask[ROWS][KEYS];
    double out[ROWS];
    for (int j = 0; j < KEYS; j++) {
        mask[1][j] = j >= TILE;
        mask[2][j] = j < TILE;
        mask[3][j] = 1;
    }
    attend("tests/data/attention_hidden.cu", mask, sizeof mask, out);
    static const double want[] = {0, 23.5, 7.5, 15.5};
    for (int r = 0; r < OT_COUNT(want); r++)
        if (out[r] != want[r])
            fail_msg("row %d is %g, not %g", r, out[r], want[r]);
}

/* One mask for all rows, which a warp reads once: nothing of the first tile, some of it. */
static void test_shared(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        int gap;
    } table[] = {{"tests/data/attention_shared.cu", 1}, {"tests/data/attention_apart.cu", 3}};
    static const int kept[][4] = {{3, 12, 17, 30}, {20, 25, 31, 31}, {0, 1, 6, 15}};
    for (int i = 0; i < OT_COUNT(table); i++)
        for (int k = 0; k < OT_COUNT(kept); k++) {
            uint8_t mask[3 * KEYS] = {0};
            double out[ROWS];
            for (int n = 0; n < 4; n++)
                mask[kept[k][n] * table[i].gap] = 1;
            double sum = 0, count = 0;
            for (int j = 0; j < KEYS; j++) {
                sum += mask[j * table[i].gap] ? j : 0;
                count += mask[j * table[i].gap];
            }
            attend(table[i].file, mask, (size_t)(KEYS * table[i].gap), out);
            for (int r = 0; r < ROWS; r++)
                if (fabs(out[r] - sum / count) > 0.01 * sum / count)
                    fail_msg("%s, mask %d: row %d is %g, not %g", table[i].file, k, r, out[r],
                             sum / count);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_added),
                                       cmocka_unit_test(test_kept),
                                       cmocka_unit_test(test_shared)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
