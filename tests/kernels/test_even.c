/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops that threads share, untuned: all are done at about the same time, and where cores are of
 * unlike speed a slower one does less.
 */
#include <math.h>

#include "bench/made_up_cpu.h"
#include "kernels/host/host.h"
#include "support/check.h"
#include "support/untuned.h"
#include "target/target.h"

static optune_device wide(int threads)
{
    optune_device device = made_up_cpu(threads);
    device.dots = OPTUNE_DOT_I8;
    return device;
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* ---- tasks of unlike threads ---------------------------------------------------------------- */

enum { MOST_TASKS = 4096, MOST_THREADS = 8 };

/* What a loop's tasks take. */
typedef struct tasks {
    int n;
    double of[MOST_TASKS], all;
} tasks;

static void add(tasks *t, int64_t time)
{
    assert_true(t->n < MOST_TASKS);
    t->of[t->n++] = (double)time;
    t->all += (double)time;
}

/* When the last is done by a team (target/cpu_team.c), in which every second thread takes `slow`
 * times as long. */
static double done(const tasks *t, int threads, double slow)
{
    enum { EACH = OT_TEAM_PARTS };
    const int parts = threads * EACH;
    bool taken[MOST_THREADS * EACH] = {false};
    double clock[MOST_THREADS] = {0}, last = 0;
    for (int left = parts; left > 0; left--) {
        int who = 0, part = -1;
        for (int i = 1; i < threads; i++)
            if (clock[i] < clock[who])
                who = i;
        for (int i = 0; i < EACH && part < 0; i++)
            if (!taken[who * EACH + i])
                part = who * EACH + i;
        for (int i = 0; i < parts && part < 0; i++) {
            const int at = ((who + 1 + i / EACH) % threads + 1) * EACH - 1 - i % EACH;
            if (!taken[at])
                part = at;
        }
        taken[part] = true;
        const int q = t->n / parts, r = t->n % parts;
        const int from = part * q + (part < r ? part : r), to = from + q + (part < r);
        for (int i = from; i < to; i++)
            clock[who] += t->of[i] * (who % 2 ? slow : 1);
        last = fmax(last, clock[who]);
    }
    return last;
}

/* Of threads as fast as each other, and where every second one takes 1.5 times as long, the time
 * is near what even shares would take; two threads have two tasks each at least, by which the
 * latter is 1.25. Of many threads some have no whole task less than others. */
static void check_shared(const tasks *t, const char *what, int threads)
{
    const double most = threads == 2 ? 1.1 : 1.35, most_unlike = threads == 2 ? 1.26 : 1.6;
    const double fast = (double)((threads + 1) / 2), slow = (double)(threads / 2);
    const double even = done(t, threads, 1) * threads / t->all;
    const double unlike = done(t, threads, 1.5) * (fast + slow / 1.5) / t->all;
    if (even > most || unlike > most_unlike || (threads == 2 && t->n < 4))
        fail_msg("%s, %d threads, %d tasks: %.3f and %.3f of even shares", what, threads, t->n,
                 even, unlike);
}

/* Pixels by panels. */
static void quantized_tasks(const optune_plan *p, const optune_device *device, tasks *t)
{
    const int64_t oh = untuned_macro(p, "OH"), ow = untuned_macro(p, "OW"),
                  n = untuned_macro(p, "N");
    const bool direct = untuned_macro(p, "UNITS") > 0;
    const int64_t panels = ceil_div(untuned_macro(p, "CO_G") * 4,
                                    untuned_macro(p, "DOT_NV") * device->vector_bytes);
    const int64_t parts = untuned_macro(p, "PARTS"), blocks = untuned_macro(p, "BLOCKS");
    const int64_t all = direct ? oh * ow : n * oh * ow;
    const int64_t each = !direct   ? untuned_macro(p, "ROWS")
                         : oh == 1 ? untuned_macro(p, "TILE_COLS")
                                   : untuned_macro(p, "TILE_ROWS") * ow;
    const int64_t units = ceil_div(all, each);
    if (direct)
        assert_int_equal(units, untuned_macro(p, "UNITS"));
    *t = (tasks){0};
    for (int64_t apart = 0; apart < untuned_macro(p, "GROUPS") * (direct ? n : 1); apart++)
        for (int64_t part = 0; part < parts; part++)
            for (int64_t b = 0; b < blocks; b++) {
                const int64_t end = (b + 1) * units / blocks * each;
                add(t, ((end < all ? end : all) - b * units / blocks * each) *
                           ((part + 1) * panels / parts - part * panels / parts));
            }
}

static void test_quantized(void **state)
{
    (void)state;
    static const char *const rows[] = {"quantized_conv2d_direct.cpu",
                                       "quantized_conv2d_gemm.cpu"};
    static const char *const more[] = {
        "quantized_conv2d(u8[1,28,28,512], i8[128,512,1,1], i32[128], f32[128])",
        "quantized_conv2d(u8[1,14,14,256], i8[1024,256,1,1], i32[1024], f32[1024])",
        "quantized_conv2d(u8[1,7,7,2048], i8[512,2048,1,1], i32[512], f32[512])",
        "quantized_conv2d(u8[1,56,56,256], i8[512,256,1,1], i32[512], f32[512], "
        "strides=[2,2])",
        "quantized_conv2d(u8[4,7,7,512], i8[512,512,3,3], i32[512], f32[512], padding=[1,1])",
        NULL};
    static tasks t;
    static optune_plan plan;
    optune_config config;
    char what[256];
    const optune_op *op = ot_op_find("quantized_conv2d");
    for (int i = 0; i < OT_COUNT(rows) * 2 * 3; i++) {
        const int which = i % 3;
        const char *const *text = which < 2 ? op->presets[which].workloads : more;
        for (; *text; text++)
            for (int threads = 2; threads <= MOST_THREADS && !strstr(*text, "groups");
                 threads *= 2) {
                optune_device device = wide(threads);
                if (i / 3 % 2) {
                    device.vector_bytes = 32;
                    device.vector_registers = 16;
                }
                assert_true(untuned_plan(rows[i / 6], *text, &device, &config, &plan));
                quantized_tasks(&plan, &device, &t);
                snprintf(what, sizeof what, "%s of vectors of %d bytes, %s", rows[i / 6],
                         device.vector_bytes, *text);
                check_shared(&t, what, threads);
            }
    }
}

/* Each value of the knob shares otherwise, whatever the threads. */
static void test_blocks(void **state)
{
    (void)state;
    static const char *const rows[] = {"quantized_conv2d_direct.cpu",
                                       "quantized_conv2d_gemm.cpu"};
    static const optune_target target = {.kind = "cpu", .n_keys = 1, .key = {"cpu"}};
    static optune_plan plan;
    static optune_call call;
    const char *const *text = ot_op_find("quantized_conv2d")->presets[1].workloads;
    for (; *text; text++)
        for (int i = 0; i < 2 * 4; i++) {
            optune_err err = {0};
            optune_space *space;
            const optune_device device = wide(1 << i / 2);
            check_ok(ot_call_parse(*text, &call, &err));
            const optune_task task = {&call, &target, &device};
            const optune_impl *impl = ot_impl_find(rows[i % 2]);
            check_ok(ot_space_open(&task, impl, &space, &err));
            int64_t seen[64][3];
            int n = 0;
            for (int64_t k = 0; k < optune_space_size(space); k++) {
                optune_config config;
                ot_space_nth(space, k, &config);
                if (!ot_space_valid(space, &config, NULL))
                    continue;
                check_ok(ot_plan_make(&task, impl, &config, &plan, &err));
                const int64_t now[3] = {untuned_macro(&plan, "BLOCKS"),
                                        untuned_macro(&plan, "PARTS"),
                                        untuned_macro(&plan, "PAIRS")};
                for (int j = 0; j < n; j++)
                    if (!memcmp(seen[j], now, sizeof now))
                        fail_msg("%s, %d threads: two plans of %lld blocks, %lld parts", *text,
                                 device.threads, (long long)now[0], (long long)now[1]);
                assert_true(n < OT_COUNT(seen));
                memcpy(seen[n++], now, sizeof now);
            }
            assert_true(n > 0);
            ot_space_close(space);
        }
}

/* A block of a lone line is copied as long as it is, whatever the line. */
static void test_lone_lines(void **state)
{
    (void)state;
    static optune_plan plan;
    const optune_device one = wide(1);
    optune_config config;
    assert_true(
        untuned_plan("quantized_conv2d_direct.cpu",
                     "quantized_conv2d(i8[1,1,300000,64], i8[64,64,1,3], i32[64], f32[64])",
                     &one, &config, &plan));
    const int64_t cols =
        ceil_div(untuned_macro(&plan, "UNITS"), untuned_macro(&plan, "BLOCKS")) *
        untuned_macro(&plan, "TILE_COLS");
    assert_int_equal(untuned_macro(&plan, "COLUMNS"), cols + 2);
    assert_true(untuned_macro(&plan, "COPY") * 4 <= 2 << 20);
}

/* Planes by bands of rows. */
static void test_pools(void **state)
{
    (void)state;
    static const int size[][2] = {{1, 512}, {2, 512}, {3, 112}, {5, 40}, {64, 112}, {192, 7}};
    static tasks t;
    static optune_plan plan;
    optune_config config;
    for (int i = 0; i < OT_COUNT(size) * 3; i++) {
        const int threads = 2 << i % 3;
        const int planes = size[i / 3][0], side = size[i / 3][1];
        const optune_device device = wide(threads);
        char text[96];
        snprintf(text, sizeof text, "max_pool2d(f32[1,%d,%d,%d], pool_size=[3,3])", planes,
                 side, side);
        assert_true(untuned_plan("max_pool2d_direct.cpu", text, &device, &config, &plan));
        t = (tasks){0};
        const int64_t oh = untuned_macro(&plan, "OH"), bands = untuned_macro(&plan, "BANDS");
        assert_true(bands > 0);
        for (int64_t task = 0; task < planes * bands; task++)
            add(&t, (task / planes + 1) * oh / bands - task / planes * oh / bands);
        check_shared(&t, text, threads);
    }
}

/* Columns of a plane: SqueezeNet's first layer has five blocks by its config. */
static void test_columns(void **state)
{
    (void)state;
    static optune_plan plan;
    optune_config config;
    const optune_device device = wide(2);
    assert_true(untuned_plan("conv2d_im2col.cpu",
                             "conv2d(f32[1,3,224,224], const f32[64,3,3,3], strides=[2,2])",
                             &device, &config, &plan));
    const optune_stage *timed = &plan.stage[plan.n_stages - 1];
    const int64_t panels = ceil_div(111 * 111, timed->arg[8].value);
    const int64_t least = ceil_div(panels, timed->arg[9].value);
    const int64_t n = even_pieces(2, 1, least, panels);
    assert_true(n >= least && n <= least + 1 && n % 2 == 0);
}

/* ---- even pieces ---------------------------------------------------------------------------- */

static void test_even_pieces(void **state)
{
    (void)state;
    static const int64_t known[][5] = {
        /* threads, turns, pieces, most; how many */
        {2, 1, 5, 100, 6}, {2, 1, 5, 5, 5},   {2, 3, 1, 9, 2},   {2, 2, 5, 100, 5},
        {4, 2, 5, 100, 6}, {4, 1, 5, 6, 6},   {4, 1, 5, 5, 5},   {3, 2, 1, 2, 1},
        {1, 7, 5, 100, 5}, {2, 0, 5, 100, 5}, {2, 1, 0, 100, 0},
    };
    for (int i = 0; i < OT_COUNT(known); i++)
        assert_int_equal(even_pieces(known[i][0], known[i][1], known[i][2], known[i][3]),
                         known[i][4]);
    assert_int_equal(even_pieces(64, INT64_MAX, 3, INT64_MAX), 3);
    assert_int_equal(even_pieces(64, 3, INT64_MAX, INT64_MAX), INT64_MAX);
    for (int i = 0; i < 8 * 9 * 12 * 24; i++) {
        const int threads = i % 8 + 2, turns = i / 8 % 9 + 1;
        const int pieces = i / 72 % 12 + 1, most = i / 864 + 1;
        const int n = (int)even_pieces(threads, turns, pieces, most);
        assert_true(n == pieces || (n > pieces && n <= most));
        const double share = (double)ceil_div(turns * n, threads) / n;
        for (int other = pieces; other <= most && other < pieces + threads; other++) {
            const double its = (double)ceil_div(turns * other, threads) / other;
            assert_true(share <= its + 1e-9 && (other >= n || share < its - 1e-9));
        }
    }
}

/* Tasks of a thread are as many as the team takes at once parts of a loop. */
static void test_parts(void **state)
{
    (void)state;
    assert_int_equal(HOST_THREAD_TASKS, OT_TEAM_PARTS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantized),  cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_lone_lines), cmocka_unit_test(test_pools),
        cmocka_unit_test(test_columns),    cmocka_unit_test(test_even_pieces),
        cmocka_unit_test(test_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
