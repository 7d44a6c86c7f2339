/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Winograd convolutions whose threads share channels: where there are fewer vectors of input
 * channels than threads they share rows of tiles, too, and what they transform is what one alone
 * would.
 */
#include <math.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/counted.h"
#include "target/target.h"

enum { LANES = 8 };

/* A convolution by 3x3, padded by 1, of a square. */
static const struct shape {
    int n, ci, co, side, block_rows;
    int pieces; /* in which threads transform inputs, of tiles of four rows */
} shapes[] = {
    {3, 8, 16, 14, 12, 2}, /* one vector, one block of all images: half of its rows each */
    {1, 24, 8, 28, 3, 15}, /* three vectors: rows in 2, 2 and, of the last block's one, 1 */
    {1, 16, 8, 14, 4, 2},  /* a vector each */
};

/* What parts have written of the transformed inputs. */
typedef struct written {
    const float *now;
    float *before;
    size_t count;
    int pieces;
} written;

static void look(void *context)
{
    written *w = context;
    const size_t bytes = w->count * sizeof(float);
    w->pieces += memcmp(w->now, w->before, bytes) != 0;
    memcpy(w->before, w->now, bytes);
}

static float expected(const struct shape *s, const float *data, const float *weight, int at)
{
    const int area = s->side * s->side;
    const int n = at / area / s->co, c = at / area % s->co, y = at / s->side % s->side,
              x = at % s->side;
    double sum = 0;
    for (int i = 0; i < s->ci * 9; i++) {
        const int from = i / 9, sy = y + i % 9 / 3 - 1, sx = x + i % 3 - 1;
        if (sy >= 0 && sy < s->side && sx >= 0 && sx < s->side)
            sum += (double)data[(n * s->ci + from) * area + sy * s->side + sx] *
                   weight[c * s->ci * 9 + i];
    }
    return (float)sum;
}

static float *drawn(int n, uint64_t *rng)
{
    float *to = ot_alloc((size_t)n * sizeof(float));
    for (int i = 0; i < n; i++)
        to[i] = (float)optune_random_below(rng, 2001) / 1000 - 1;
    return to;
}

/* The widest register tile that suits the block. */
static void choose(optune_space *space, const struct shape *s, optune_config *config)
{
    const struct {
        const char *knob;
        int64_t value;
    } knobs[] = {{"tile_h", 4}, {"tile_w", 4}, {"block_rows", s->block_rows}, {"tile_co", 1}};
    char why[OPTUNE_WHY_SIZE] = "";
    ot_space_nth(space, 0, config);
    for (int i = 0; i < OT_COUNT(knobs); i++) {
        optune_config_choose_int(config, space, knobs[i].knob, knobs[i].value);
        assert_int_equal(optune_config_int(config, knobs[i].knob), knobs[i].value);
    }
    for (int tile_p = 14; tile_p > 0; tile_p--) {
        optune_config_choose_int(config, space, "tile_p", tile_p);
        if (ot_space_valid(space, config, why))
            return;
    }
    fail_msg("%s", why);
}

static void check(const struct shape *s, const optune_task *task, const optune_plan *plan)
{
    enum { V = 3 }; /* of the arguments */
    const int area = s->side * s->side, all = s->n * s->co * area;
    uint64_t rng = 7;
    float *data = drawn(s->n * s->ci * area, &rng), *weight = drawn(s->co * s->ci * 9, &rng);
    float *out = drawn(all, &rng);
    counted c;
    counted_open(&c, task, plan);
    const int v = plan->stage[plan->n_stages - 1].arg[V].index;
    written w = {.now = (const float *)c.scratch[v],
                 .count = (size_t)plan->scratch[v].bytes / sizeof(float)};
    w.before = ot_alloc(w.count * sizeof(float));
    memset(c.scratch[v], 0x5a, w.count * sizeof(float));
    memcpy(w.before, w.now, w.count * sizeof(float));
    counted_compute(&c, (void *[]){data, weight}, out, true, look, &w);
    assert_int_equal(w.pieces, s->pieces);
    for (int i = 0; i < all; i++)
        assert_true(fabsf(out[i] - expected(s, data, weight, i)) < 1e-3f);
    counted_close(&c);
    free(w.before);
    free(out);
    free(weight);
    free(data);
}

static void test_rows_of_few_channels(void **state)
{
    (void)state;
    static optune_call call;
    static optune_plan plan;
    static const optune_device device = {.kind = "cpu",
                                         .threads = 2,
                                         .cores = 2,
                                         .vector_bytes = LANES * 4,
                                         .vector_registers = 16,
                                         .l1 = 32 << 10,
                                         .l2 = 512 << 10};
    const optune_impl *impl = ot_impl_find("conv2d_winograd.cpu");
    optune_target target;
    optune_err err = {0};
    check_ok(ot_target_parse("cpu", &target, &err));
    for (int i = 0; i < OT_COUNT(shapes); i++) {
        const struct shape *s = &shapes[i];
        char text[128];
        optune_space *space;
        optune_config config;
        snprintf(text, sizeof text,
                 "conv2d(f32[%d,%d,%d,%d], const f32[%d,%d,3,3], padding=[1])", s->n, s->ci,
                 s->side, s->side, s->co, s->ci);
        check_ok(ot_call_parse(text, &call, &err));
        const optune_task task = {&call, &target, &device};
        check_ok(ot_space_open(&task, impl, &space, &err));
        choose(space, s, &config);
        check_ok(ot_plan_make(&task, impl, &config, &plan, &err));
        ot_space_close(space);
        check(s, &task, &plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows_of_few_channels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
