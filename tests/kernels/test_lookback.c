/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bodies of <scan>_lookback.cuda and <scan>_lookback_across.cuda over the emulation
 * (tests/races), where other blocks are late or fail: a block that is not told in time scans what
 * is before its tile by itself, to the same bits. On a sound device that never happens.
 */
#include "support/check.h"

#include <math.h>

#include "base/base.h"
#include "support/words.h"

enum { OUTER = 2, THREADS = 64, SECTION = 32, LOOK = 32, HEAD = 8, WIDTH = 32 };
enum { UNTOLD, OWN, WHOLE };

/* One of the bodies, and a tensor around its axis. */
typedef struct body {
    int n, inner, tiles, span, groups; /* lines or groups of neighbours */
    const char *words;           /* what tests/data/lookback_words.cu is to define */
    const char *const *hasty, *const *patient;
} body;

static float in[OUTER * 27000], out[OT_COUNT(in)], want[OT_COUNT(in)];
static uint64_t told[HEAD + OUTER * 41 * 37], want_told[OT_COUNT(told)];

static body bodies[] = {
    {.n = 10245, .inner = 1, .tiles = 41, .span = 256, .groups = OUTER},
    {.n = 325, .inner = 37, .tiles = 41, .span = 8, .groups = OUTER * 2, .words = "across"},
    {.n = 25604, .inner = 1, .tiles = 101, .span = 256, .groups = OUTER, .words = "staged"},
};

static int setup(void **state)
{
    (void)state;
    static const char *files[OT_COUNT(bodies)][2][16];
    static char names[OT_COUNT(bodies)][64];
    for (int b = 0; b < OT_COUNT(bodies); b++) {
        snprintf(names[b], sizeof names[b], "tests/data/lookback_%s.cu", bodies[b].words);
        for (int patient = 0; patient < 2; patient++) {
            const char **to = files[b][patient];
            int n = 0;
            to[n++] = "kernels/common/gpu.kernel.h";
            if (bodies[b].words)
                to[n++] = names[b];
            to[n++] =
                patient ? "tests/data/lookback_patient.cu" : "tests/data/lookback_hasty.cu";
            to[n++] = "tests/data/lookback_words.cu";
            to[n++] = "kernels/common/turns_gpu.kernel.h";
            to[n++] = "kernels/common/warp_gpu.kernel.h";
            to[n++] = "kernels/common/counter_gpu.kernel.h";
            to[n++] = "kernels/common/mma_gpu.kernel.h";
            to[n++] = "kernels/common/team.kernel.h";
            to[n++] = "kernels/scan/body_gpu.kernel.h";
            to[n++] = "kernels/scan/lookback.kernel.h";
            to[n++] = bodies[b].inner > 1 ? "kernels/scan/impls_lookback_across.kernel.cu"
                                          : "kernels/scan/impls_lookback.kernel.cu";
        }
        bodies[b].hasty = files[b][0];
        bodies[b].patient = files[b][1];
    }
    return 0;
}

static size_t bytes_of(const body *b)
{
    return (size_t)OUTER * (size_t)b->n * (size_t)b->inner * sizeof(float);
}

/* Floats whose sums depend on the order of additions. */
static void fill(const body *b)
{
    uint64_t rng = 11;
    for (size_t i = 0; i < bytes_of(b) / sizeof(float); i++)
        in[i] = (float)optune_random_below(&rng, 1 << 20) / 1024 - 500;
}

static void run(words *w, const body *b, int blocks)
{
    w->blocks = blocks;
    memset(out, 0, sizeof out);
    words_run(w, "scan", THREADS,
              (const words_array[]){
                  {in, bytes_of(b), NULL}, {out, bytes_of(b), NULL}, {told, sizeof told, NULL}},
              3);
}

/* What all blocks of a launch write, those of an emulated one in orders of its own. */
static void expected(const body *b)
{
    words w;
    words_open(&w, "sm_80", b->patient);
    fill(b);
    memset(told, 0, sizeof told);
    run(&w, b, b->tiles * b->groups);
    words_close(&w);
    memcpy(want, out, bytes_of(b));
    memcpy(want_told, told, sizeof told);
    for (int o = 0; o < OUTER; o++)
        for (int i = 0; i < b->inner; i++) {
            double sum = 0;
            for (int k = 0; k < b->n; k++) {
                const int at = (o * b->n + k) * b->inner + i;
                sum += in[at];
                assert_true(fabs(want[at] - sum) < 1);
            }
        }
}

static void test_hasty(void **state)
{
    (void)state;
    for (int i = 0; i < OT_COUNT(bodies); i++) {
        const body *b = &bodies[i];
        words w;
        expected(b);
        words_open(&w, "sm_80", b->hasty);
        for (int launch = 0; launch < 3; launch++) {
            memset(told, 0, sizeof told);
            run(&w, b, b->tiles * b->groups);
            assert_memory_equal(out, want, bytes_of(b));
        }
        words_close(&w);
    }
}

/* Where what a tile of the first line or group tells begins, that others of its line wait for: of
 * all up to its end, which of a contiguous axis the last tile of a section alone tells. */
static int place_told(const body *b, int tile)
{
    if (b->inner > 1)
        return HEAD + tile * b->inner;
    return tile % SECTION == SECTION - 1 ? HEAD + b->tiles + tile / SECTION : -1;
}

/* A block, all before which went away: having told nothing, or no more than what their own tiles
 * amount to, when there are more of these than are gone back over, or than a section has. */
static void test_left_alone(void **state)
{
    (void)state;
    for (int i = 0; i < OT_COUNT(bodies); i++) {
        const body *b = &bodies[i];
        words w;
        expected(b);
        words_open(&w, "sm_80", b->patient);
        for (int kind = UNTOLD; kind <= OWN; kind++)
            for (int tile = kind == OWN ? LOOK + 1 : 1; tile < 41; tile += 15 - kind * 8) {
                memset(told, 0, sizeof told);
                const size_t tells = b->inner > 1 ? OT_COUNT(told) : (size_t)(HEAD + b->tiles);
                for (size_t n = HEAD; n < tells; n++)
                    told[n] = (uint64_t)kind << 32;
                told[0] = (uint64_t)tile * (uint64_t)b->groups;
                run(&w, b, 1);
                const int columns = b->inner < WIDTH ? b->inner : WIDTH;
                for (int k = 0; k < b->n * b->inner; k++) {
                    const bool written =
                        k / b->inner / b->span == tile && k % b->inner < columns;
                    assert_true(out[k] == (written ? want[k] : 0));
                }
                /* Those that wait for it are told. */
                const int from = place_told(b, tile);
                for (int k = from; from >= 0 && k < from + columns; k++) {
                    assert_int_equal(told[k] >> 32, WHOLE);
                    assert_int_equal(told[k], want_told[k]);
                }
            }
        words_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_hasty),
                                       cmocka_unit_test(test_left_alone)};
    return cmocka_run_group_tests(tests, setup, NULL);
}
