/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stand-in for OpenCL that looks for races (tests/races/races.h) can fail: of small bodies
 * with one fault each (tests/data/races_words.cu) it says what is wrong, and nothing of
 * those without. That all implementations pass it is asked by the contract tests, run over it
 * (tests/CMakeLists.txt). Where another OpenCL is loaded, or no clang is found, this is
 * skipped.
 */
#include "support/check.h"

#include <stdlib.h>

#include "support/words.h"
#include "target/target.h"

enum { N = 64, ROWS = 64, DEPTH = 6 * 64, RING = 256 };

static const char *const files[] = {
    "kernels/common/gpu.kernel.h",       "kernels/common/team.kernel.h",
    "kernels/common/mma_gpu.kernel.h",   "kernels/common/warp_gpu.kernel.h",
    "kernels/common/wgmma_gpu.kernel.h", "kernels/common/turns_gpu.kernel.h",
    "tests/data/races_words.cu",         NULL};
static words finder;
static char log_dir[4096], log_path[4200];

/* What was said since it was asked last. */
static void said(ot_text *to)
{
    optune_err err = {0};
    ot_text_clear(to);
    if (ot_exists(log_path))
        check_ok(ot_read_file(log_path, to, 1 << 20, &err));
    remove(log_path);
}

static int setup(void **state)
{
    (void)state;
    optune_err err = {0};
    check_ok(ot_temp_dir(log_dir, sizeof log_dir, &err));
    snprintf(log_path, sizeof log_path, "%s/reports", log_dir);
    setenv("OPTUNE_RACES", log_path, 1);
    words_open(&finder, "sm_90", files);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    words_close(&finder);
    ot_remove_tree(log_dir);
    return 0;
}

typedef struct planted {
    const char *kernel, *report; /* NULL: there is nothing to say */
} planted;

static void expect(const planted *p, int threads, const words_array *arrays, int n)
{
    optune_err err = {0};
    const char *kernel = p->kernel, *report = p->report;
    const bool ran = words_try(&finder, kernel, threads, arrays, n, &err) >= 0;
    ot_text text = {0};
    said(&text);
    if (ran != (report == NULL) || (report && !strstr(ot_text_str(&text), report)))
        fail_msg("'%s' %s, and what is said is \"%s\"", kernel, ran ? "passes" : "fails",
                 ot_text_str(&text));
    if (report)
        check_contains(ot_text_str(&text), kernel);
    else
        assert_int_equal(text.n, 0);
    ot_text_release(&text);
}

static void test_blocks(void **state)
{
    (void)state;
    static const planted table[] = {
        {"sound", NULL},
        {"no_barrier", "shared memory unordered with its"},
        {"barrier_of_a_part", "a barrier that some have left"},
        {"barriers_in_branches", "a barrier that is met at several places"},
        {"nobody_wrote", "a read of shared memory that nobody wrote"},
        {"across_warps", "shared memory unordered with its"},
        {"inside_a_warp", NULL},
        {"read_outside", "a read outside every buffer"},
        {"write_outside", "a write outside every buffer"},
        {"same_place", "two unordered writes of a buffer"},
        {"misaligned", "a misaligned read"},
    };
    static uint32_t in[N + 1], out[N];
    if (!finder.module)
        skip();
    for (int i = 0; i < OT_COUNT(table); i++) {
        const words_array arrays[] = {WORDS_ARRAY(in), WORDS_ARRAY(out)};
        expect(&table[i], N, arrays, 2);
    }
}

/* Operands are ones: a sum counts the depth. */
static void test_rings(void **state)
{
    (void)state;
    static const planted table[] = {
        {"ring_sound", NULL},
        {"ring_no_wait_for_full", "a product of what a copy has not brought yet"},
        {"ring_too_few_bytes", "nobody can go on"},
        {"ring_too_many_bytes", "nobody can go on"},
        {"ring_no_wait_for_empty", "more arrivals than an mbarrier expects"},
        {"ring_early_release", "a write to what a product still reads"},
        {"ring_no_wait_for_products", "left with products under way"},
        {"ring_no_release", "nobody can go on"},
    };
    static uint16_t x[ROWS][DEPTH], y[ROWS][DEPTH];
    static float d[128][32];
    const optune_tensor_map map = {.dtype = {OPTUNE_DTYPE_FLOAT, 16, 1},
                                   .rank = 2,
                                   .swizzle = 128,
                                   .dim = {DEPTH, ROWS},
                                   .stride = {0, DEPTH * 2},
                                   .box = {64, ROWS}};
    if (!finder.module)
        skip();
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < DEPTH; k++)
            x[i][k] = y[i][k] = 0x3C00;
    for (int i = 0; i < OT_COUNT(table); i++) {
        memset(d, 0, sizeof d);
        const words_array arrays[] = {{x, sizeof x, &map}, {y, sizeof y, &map}, WORDS_ARRAY(d)};
        expect(&table[i], RING, arrays, 3);
        for (int t = 0; t < 128 && !table[i].report; t++)
            for (int r = 0; r < 32; r++)
                assert_true(d[t][r] == DEPTH);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_rings),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
