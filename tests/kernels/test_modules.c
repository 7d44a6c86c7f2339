/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What candidates of one search share: configs of direct convolutions that differ only in how large
 * blocks are and in what order they come have the same modules, so that a compiler runs once for
 * them. Winograd's are in test_winograd.c.
 */
#include "strategy/inside.h"
#include "support/check.h"
#include "target/target.h"

enum { MOST = 3, LOOPS = 1, TILE = 2 };

static const optune_device wide = {.key = "wide",
                                   .kind = "cpu",
                                   .cores = 2,
                                   .threads = 2,
                                   .vector_bytes = 64,
                                   .vector_registers = 32,
                                   .l1 = 48 << 10,
                                   .l2 = 1 << 20};
static const optune_target target = {.kind = "cpu", .n_keys = 1, .key = {"cpu"}};

/* The sources of the modules of a config as AutoTVM's logs write it; returns how many. */
static int sources(const char *name, const char *entities, ot_text source[MOST])
{
    static const char text[] = "conv2d(f32[1,256,14,14], const f32[256,256,3,3], padding=[1])";
    static optune_call call;
    static optune_plan plan;
    optune_err err = {0};
    optune_space *space;
    optune_config config;
    char why[OPTUNE_WHY_SIZE] = "";
    const optune_impl *impl = ot_impl_find(name);
    check_ok(ot_call_parse(text, &call, &err));
    const optune_task task = {&call, &target, &wide};
    check_ok(ot_space_open(&task, impl, &space, &err));
    check_ok(ot_config_parse(entities, &config, &err));
    if (ot_space_index_of(space, &config, &err) < 0)
        fail_msg("%s: %s: %s", name, entities, err.text);
    if (!ot_space_valid(space, &config, why))
        fail_msg("%s: %s: %s", name, entities, why);
    check_ok(ot_plan_make(&task, impl, &config, &plan, &err));
    ot_space_close(space);
    assert_in_range(plan.n_modules, 1, MOST);
    for (int i = 0; i < plan.n_modules; i++) {
        ot_text_clear(&source[i]);
        ot_plan_source(&task, &plan, i, &source[i]);
    }
    return plan.n_modules;
}

typedef struct pair {
    const char *a, *b;
    int same; /* modules: a bit for each */
} pair;

static void check_pairs(const char *name, const pair *of, int n)
{
    ot_text a[MOST] = {0}, b[MOST] = {0};
    for (int i = 0; i < n; i++) {
        const int modules = sources(name, of[i].a, a);
        assert_int_equal(sources(name, of[i].b, b), modules);
        for (int m = 0; m < modules; m++)
            if ((strcmp(ot_text_str(&a[m]), ot_text_str(&b[m])) == 0) != (of[i].same >> m & 1))
                fail_msg("%s: module %d of %s and %s should%s be the same", name, m, of[i].a,
                         of[i].b, of[i].same >> m & 1 ? "" : " not");
    }
    for (int m = 0; m < MOST; m++) {
        ot_text_release(&a[m]);
        ot_text_release(&b[m]);
    }
}

#define IM2COL(co, pixel, block, k, unroll)                                                    \
    "[[\"tile_co\",\"ot\"," #co "],[\"tile_pixel\",\"ot\"," #pixel                             \
    "],[\"block_pixel\",\"ot\"," #block "],[\"block_k\",\"ot\"," #k "],"                       \
    "[\"unroll\",\"ot\"," #unroll "]]"

static void test_im2col(void **state)
{
    (void)state;
    static const pair pairs[] = {
        {IM2COL(14, 1, 48, 128, 2), IM2COL(14, 1, 48, 512, 2), LOOPS | TILE},
        {IM2COL(14, 1, 48, 128, 2), IM2COL(14, 1, 96, 128, 2), LOOPS | TILE},
        {IM2COL(14, 1, 48, 128, 2), IM2COL(14, 1, 196, 128, 2), LOOPS | TILE},
        {IM2COL(14, 1, 48, 128, 2), IM2COL(14, 2, 48, 128, 2), LOOPS},
        {IM2COL(14, 1, 48, 128, 2), IM2COL(12, 1, 48, 128, 2), LOOPS},
        {IM2COL(14, 1, 48, 128, 2), IM2COL(14, 1, 48, 128, 4), LOOPS},
    };
    check_pairs("conv2d_im2col.cpu", pairs, OT_COUNT(pairs));
}

#define DIRECT(ov, ow, oh, block, ic, oc, prefetch, pad)                                       \
    "[[\"oc_vecs\",\"ot\"," #ov "],[\"tile_ow\",\"ot\"," #ow "],[\"tile_oh\",\"ot\"," #oh      \
    "],[\"oh_block\",\"ot\"," #block "],[\"ic_chunk\",\"ot\"," #ic                             \
    "],[\"oc_chunk\",\"ot\"," #oc "],[\"prefetch\",\"ot\"," #prefetch                          \
    "],[\"pad\",\"ot\",\"" #pad "\"]]"

static void test_direct(void **state)
{
    (void)state;
    static const char one[] = DIRECT(2, 14, 1, 14, 256, 8, 128, clip);
    static const pair pairs[] = {
        {one, DIRECT(2, 14, 1, 3, 256, 8, 128, clip), LOOPS | TILE},
        {one, DIRECT(2, 14, 1, 14, 256, 2, 128, clip), LOOPS | TILE},
        {one, DIRECT(2, 14, 1, 14, 256, 8, 16, clip), LOOPS | TILE},
        {one, DIRECT(2, 14, 1, 14, 256, 8, 0, clip), LOOPS},
        {one, DIRECT(2, 14, 1, 14, 64, 8, 128, clip), LOOPS},
        {DIRECT(2, 14, 1, 14, 64, 8, 128, clip), DIRECT(2, 14, 1, 14, 128, 8, 128, clip), 3},
        {one, DIRECT(2, 14, 1, 14, 256, 8, 128, copy), LOOPS},
        {one, DIRECT(1, 14, 1, 14, 256, 8, 128, clip), LOOPS},
        {one, DIRECT(2, 7, 1, 14, 256, 8, 128, clip), LOOPS},
        {DIRECT(2, 7, 1, 14, 256, 8, 128, copy), DIRECT(2, 7, 2, 14, 256, 8, 128, copy), LOOPS},
        /* No single rows are left of 14 by tiles of 2; some are by tiles of 3. */
        {DIRECT(2, 7, 2, 14, 256, 8, 128, copy), DIRECT(2, 7, 2, 4, 256, 8, 128, copy), 3},
        {DIRECT(1, 7, 3, 3, 256, 8, 128, copy), DIRECT(1, 7, 3, 6, 256, 8, 128, copy), 3},
    };
    check_pairs("conv2d_direct.cpu", pairs, OT_COUNT(pairs));
}

#define NCHWC(ic, oc, ow, kw)                                                                  \
    "[[\"tile_ic\",\"sp\",[-1," #ic "]],[\"tile_oc\",\"sp\",[-1," #oc "]],"                    \
    "[\"tile_ow\",\"sp\",[-1," #ow "]],[\"unroll_kw\",\"ot\"," #kw "]]"

static void test_nchwc(void **state)
{
    (void)state;
    static const pair pairs[] = {
        {NCHWC(16, 32, 14, true), NCHWC(64, 32, 14, true), LOOPS | TILE},
        {NCHWC(16, 32, 14, true), NCHWC(16, 16, 14, true), LOOPS},
        {NCHWC(16, 32, 14, true), NCHWC(16, 32, 7, true), LOOPS},
        {NCHWC(16, 32, 14, true), NCHWC(16, 32, 14, false), LOOPS},
        {NCHWC(16, 32, 14, true), NCHWC(16, 8, 14, true), 0}, /* narrower vectors */
    };
    check_pairs("conv2d_NCHWc.x86", pairs, OT_COUNT(pairs));
}

#define DNNL(algo, layout)                                                                     \
    "[[\"algo\",\"ot\",\"" #algo "\"],[\"layout\",\"ot\",\"" #layout "\"]]"

/* A tile's loops are unrolled whole while the compiler still sees loops, or not at all: what it
 * unrolls later on, for counts that only a run knows, is 31 copies that nobody asked for. */
static void test_unrolled_once(void **state)
{
    (void)state;
    static const char *const config[][2] = {
        {"conv2d_direct.cpu", DIRECT(2, 14, 1, 14, 256, 8, 128, clip)},
        {"conv2d_direct.cpu", DIRECT(1, 1, 1, 14, 256, 8, 0, clip)},
        {"conv2d_direct.cpu", DIRECT(1, 7, 3, 3, 256, 8, 128, copy)},
        {"conv2d_NCHWc.x86", NCHWC(16, 32, 7, true)},
        {"conv2d_NCHWc.x86", NCHWC(16, 8, 14, false)},
    };
    char cc[4096], dir[2048], path[2100], version[128];
    optune_err err = {0};
    check_ok(ot_cpu_compiler_version(version, sizeof version, &err));
    if (strncmp(version, "gcc ", 4) != 0)
        skip(); /* others have no such report */
    check_ok(ot_cpu_compiler(cc, sizeof cc, &err));
    check_ok(ot_temp_dir(dir, sizeof dir, &err));
    snprintf(path, sizeof path, "%s/tile.c", dir);
    for (int i = 0; i < OT_COUNT(config); i++) {
        ot_text source[MOST] = {0}, said = {0};
        optune_argv argv = {0};
        assert_int_equal(sources(config[i][0], config[i][1], source), 2);
        check_ok(ot_write_file(path, source[1].s, source[1].n, &err));
        const char *const words[] = {cc, "-S", "-O1", "-fexpensive-optimizations", "-w",
                                     "-fopt-info-loop-optimized", "-o", "/dev/null", path};
        for (int w = 0; w < OT_COUNT(words); w++)
            optune_argv_add(&argv, words[w]);
        check_ok(ot_run_program(argv.word, 60, &said, &err));
        if (strstr(ot_text_str(&said), "loop unrolled"))
            fail_msg("%s: %s: %s", config[i][0], config[i][1], said.s);
        optune_argv_release(&argv);
        ot_text_release(&said);
        for (int m = 0; m < MOST; m++)
            ot_text_release(&source[m]);
    }
    ot_remove_tree(dir);
}

/* What oneDNN is asked for is told at run time. */
static void test_dnnl(void **state)
{
    (void)state;
    static const pair pairs[] = {
        {DNNL(auto, any), DNNL(winograd, any), 1},
        {DNNL(auto, any), DNNL(direct, plain), 1},
    };
    check_pairs("conv2d_dnnl.x86", pairs, OT_COUNT(pairs));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_im2col),
        cmocka_unit_test(test_direct),
        cmocka_unit_test(test_nchwc),
        cmocka_unit_test(test_unrolled_once),
        cmocka_unit_test(test_dnnl),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
