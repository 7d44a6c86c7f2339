/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machine code as nvdisasm lists it: control flow, the hottest loop and its figures, from listings
 * of kernels in tests/data/sass and from a few lines that are written here; texts that are none;
 * and what nvdisasm itself prints, where it is.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"

#include "target/cuda.h"
#include "target/sass/sass.h"

static ot_text stored(const char *name)
{
    ot_text text = {0};
    optune_err err = {0};
    char path[512];
    snprintf(path, sizeof path, "%s/tests/data/sass/%s.txt", OT_SOURCE_DIR, name);
    check_ok(ot_read_file(path, &text, 1 << 20, &err));
    return text;
}

static ot_sass_figures figures_of(const char *listing)
{
    ot_sass_figures f;
    ot_sass_code code = {0};
    assert_true(ot_sass_read(&listing, &code));
    ot_sass_figures_of(&code, &f);
    ot_sass_release(&code);
    return f;
}

static ot_sass_figures stored_figures(const char *name)
{
    ot_text text = stored(name);
    const ot_sass_figures f = figures_of(ot_text_str(&text));
    ot_text_release(&text);
    return f;
}

#define SAME(a, b) assert_float_equal(a, b, 1e-9)
#define NONE(a) assert_true(isnan(a))

/* The compiler sank the load of the next tile behind the loop's head: 14 cycles in front of its
 * use, whatever the source says. */
static void test_tile(void **state)
{
    (void)state;
    const ot_sass_figures f = stored_figures("tile");
    SAME(f.loop, 19);
    SAME(f.math, 4);
    SAME(f.share, 4 / 19.0);
    SAME(f.load_16, 1);
    SAME(f.shared_16, 2);
    SAME(f.store_16, 1);
    SAME(f.store_4, 0);
    SAME(f.local, 0);
    SAME(f.global_least, 14);
    SAME(f.shared_least, 10);
    SAME(f.shared_median, 12);
    SAME(f.cycles, 16);
    SAME(f.conflicts, 4); /* R8, R16, R20 and so on: no two differ */
    NONE(f.per_barrier);
    NONE(f.copies_in_flight);
}

static void test_pipe(void **state)
{
    (void)state;
    const ot_sass_figures f = stored_figures("pipe");
    SAME(f.tensor, 2);
    SAME(f.math, 2);
    SAME(f.copy_16, 1);
    SAME(f.copies_in_flight, 1);
    SAME(f.per_barrier, 2);
    SAME(f.shared_16, 1);
    SAME(f.shared_less, 1); /* `@!PT LDS` is no load */
    SAME(f.store_4, 4);
    NONE(f.global_least);
    NONE(f.products_in_flight);
}

/* The loop of three products is the hottest; the other one, and what is around both, are not in
 * it. */
static void test_nest(void **state)
{
    (void)state;
    const ot_sass_figures f = stored_figures("nest");
    ot_text text = stored("nest");
    const char *listing = ot_text_str(&text);
    ot_sass_code code = {0};
    ot_sass_flow flow;
    int deepest = 0;
    SAME(f.math, 3);
    SAME(f.loop, 8);
    SAME(f.load_4, 1);
    assert_true(ot_sass_read(&listing, &code));
    assert_true(code.timed);
    assert_true(ot_sass_flow_open(&code, &flow));
    for (int l = 0; l < flow.n_loops; l++)
        deepest = flow.loop[l].depth > deepest ? flow.loop[l].depth : deepest;
    assert_int_equal(deepest, 2);
    ot_sass_flow_close(&flow);
    assert_false(ot_sass_read(&listing, &code));
    ot_sass_release(&code);
    ot_text_release(&text);
}

/* ---- written here -------------------------------------------------------------------------- */

#define SECTION "\t.section\t.text.f,\"ax\",@progbits\n"

/* A copy that stands behind the end belongs to the loop that it leads back into, and a padding
 * that jumps to itself is nobody's. */
static void test_moved_behind(void **state)
{
    (void)state;
    const ot_sass_figures f = figures_of(SECTION ".L_x_0:\n"
                                                 "/*0000*/ FFMA R4, R5, R6, R4 ;\n"
                                                 "/*0010*/ @P0 BRA `(.L_x_2) ;\n"
                                                 ".L_x_1:\n"
                                                 "/*0020*/ FFMA R4, R5, R7, R4 ;\n"
                                                 "/*0030*/ @P1 BRA `(.L_x_0) ;\n"
                                                 "/*0040*/ STG.E.64 [R2.64], R4 ;\n"
                                                 "/*0050*/ EXIT ;\n"
                                                 ".L_x_2:\n"
                                                 "/*0060*/ LDG.E.U16 R5, [R8.64] ;\n"
                                                 "/*0070*/ BRA 0x20 ;\n"
                                                 ".L_x_3:\n"
                                                 "/*0080*/ BRA `(.L_x_3);\n");
    SAME(f.loop, 6);
    SAME(f.math, 2);
    SAME(f.load_less, 1);
    SAME(f.store_8, 1);
    NONE(f.cycles); /* a listing without encodings has no stalls */
    NONE(f.global_least);
    SAME(f.share, 2 / 6.0);
}

/* Of three registers of one bank two may come from what the FFMA before left in the caches. */
static void test_conflicts(void **state)
{
    (void)state;
    const ot_sass_figures f = figures_of(SECTION ".L_a:\n"
                                                 "/*0000*/ FFMA R4, R6.reuse, R8, R4 ;\n"
                                                 "/*0010*/ FFMA R10, R6, R12.reuse, R10 ;\n"
                                                 "/*0020*/ FFMA R5, -R7, R9, |R5| ;\n"
                                                 "/*0030*/ FFMA R4, R6, R12, R4 ;\n"
                                                 "/*0040*/ FFMA R4, R6, RZ, R4 ;\n"
                                                 "/*0050*/ FFMA R4, R6.reuse, 2, R4 ;\n"
                                                 "/*0060*/ MOV R8, R2 ;\n"
                                                 "/*0070*/ FFMA R4, R6, R8, R4 ;\n"
                                                 "/*0080*/ FFMA R4, R6, R7, R4 ;\n"
                                                 "/*0090*/ @P0 BRA `(.L_a) ;\n"
                                                 "/*00a0*/ EXIT ;\n");
    SAME(f.math, 8);
    SAME(f.conflicts, 4); /* the first, third, fourth and seventh */
}

/* Threads part in the loop and join where its opening says, past the join itself. */
static void test_joins(void **state)
{
    (void)state;
    const ot_sass_figures f = figures_of(SECTION ".L_a:\n"
                                                 "/*0000*/ BSSY B0, `(.L_c) ;\n"
                                                 "/*0010*/ @P0 BRA `(.L_b) ;\n"
                                                 "/*0020*/ FADD R1, R1, R2 ;\n"
                                                 "/*0030*/ BSYNC B0 ;\n"
                                                 "/*0040*/ EXIT ;\n"
                                                 ".L_b:\n"
                                                 "/*0050*/ FMUL R1, R1, R3 ;\n"
                                                 "/*0060*/ BSYNC B0 ;\n"
                                                 "/*0070*/ EXIT ;\n"
                                                 ".L_c:\n"
                                                 "/*0080*/ @P1 BRA `(.L_a) ;\n"
                                                 "/*0090*/ EXIT ;\n");
    SAME(f.loop, 7);
    SAME(f.math, 2);
}

/* Waiting for a barrier is a loop of its own and a part of the one around it; a loop without any
 * math is the hottest only where there is none with some. */
static void test_waiting(void **state)
{
    (void)state;
    const ot_sass_figures f =
        figures_of(SECTION ".L_0:\n"
                           "/*0000*/ SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4+0x8], R3 ;\n"
                           "/*0010*/ @!P0 BRA `(.L_0) ;\n"
                           ".L_1:\n"
                           "/*0020*/ WARPGROUP.ARRIVE ;\n"
                           "/*0030*/ HGMMA.64x256x16.F32.BF16 R24, gdesc[UR4], R24 ;\n"
                           "/*0040*/ HGMMA.64x256x16.F32.BF16 R24, gdesc[UR8], R24, gsb0 ;\n"
                           "/*0050*/ WARPGROUP.DEPBAR.LE gsb0, 0x1 ;\n"
                           ".L_2:\n"
                           "/*0060*/ SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4+0x8], R3 ;\n"
                           "/*0070*/ @!P0 BRA `(.L_2) ;\n"
                           "/*0080*/ @P1 BRA `(.L_1) ;\n"
                           "/*0090*/ UTMASTG.3D [UR4], [UR6] ;\n"
                           "/*00a0*/ EXIT ;\n");
    SAME(f.loop, 7);
    SAME(f.tensor, 2);
    SAME(f.per_commit, 2);
    SAME(f.per_barrier, 2);
    SAME(f.products_in_flight, 1);
    SAME(f.store_tensor, 1);
    NONE(f.copies_in_flight);
}

/* The products are in the loop inside, however much becomes of their sums around it. */
static void test_way_out(void **state)
{
    (void)state;
#define FOUR(op) op op op op
#define SCALED FOUR(FOUR("/*0050*/ FMUL R24, R24, R8 ;\n"))
    const ot_sass_figures f =
        figures_of(SECTION ".L_0:\n"
                           "/*0000*/ MOV R5, RZ ;\n"
                           ".L_1:\n"
                           "/*0010*/ IGMMA.64x256x32.U8.S8 R24, gdesc[UR4], R24, gsb0 ;\n"
                           "/*0020*/ WARPGROUP.DEPBAR.LE gsb0, 0x1 ;\n"
                           "/*0030*/ @P1 BRA `(.L_1) ;\n" SCALED "/*0060*/ @P2 BRA `(.L_0) ;\n"
                           "/*0070*/ EXIT ;\n");
    SAME(f.tensor, 1);
    SAME(f.math, 1);
    SAME(f.loop, 3);
    SAME(f.products_in_flight, 1);
}

/* A tile of four steps that are not unrolled is one tile: the loop around it is looked at, and a
 * load's distance goes through all four, whichever way the compiler leaves the inner loop. */
static void test_steps(void **state)
{
    (void)state;
#define STEP(end)                                                                              \
    SECTION                                                                                    \
    "/*0000*/ MOV R161, RZ ;  /* 0x0 */\n/* 0x000fe20000000800 */\n"                           \
    ".L_1:\n"                                                                                  \
    "/*0010*/ LDG.E R8, [R2.64] ;  /* 0x0 */\n/* 0x000fe20000000800 */\n"                      \
    ".L_3:\n"                                                                                  \
    "/*0020*/ IADD3 R161, R161, 0x8, RZ ;  /* 0x0 */\n/* 0x000fe20000000800 */\n"              \
    "/*0030*/ ISETP.NE.AND P0, PT, R161, 0x20, PT ; /* 0x0 */\n"                               \
    "/* 0x000fe20000000800 */\n"                                                               \
    "/*0040*/ FFMA R181, R144, R148, R140 ;  /* 0x0 */\n/* 0x000fe40000000800 */\n" end        \
    ".L_2:\n"                                                                                  \
    "/*0070*/ STS [R9], R8 ;  /* 0x0 */\n/* 0x000fe20000000800 */\n"                           \
    "/*0080*/ @P1 BRA `(.L_1) ;  /* 0x0 */\n/* 0x000fe20000000800 */\n"                        \
    "/*0090*/ EXIT ;  /* 0x0 */\n/* 0x000fe20000000800 */\n"
    const ot_sass_figures around = figures_of(
        STEP("/*0050*/ @!P0 CALL.REL.NOINC `(.L_2) ;  /* 0x0 */\n/* 0x000fe20000000800 */\n"
             "/*0060*/ BRA `(.L_3) ;  /* 0x0 */\n/* 0x000fe20000000800 */\n"));
    SAME(around.math, 4);
    SAME(around.loop, 4 * 5 + 3);
    SAME(around.load_4, 1);
    SAME(around.global_least, 1 + 4 * 6);
    const ot_sass_figures back =
        figures_of(STEP("/*0050*/ @P0 BRA `(.L_3) ;  /* 0x0 */\n/* 0x000fe20000000800 */\n"));
    SAME(back.math, 4);
    SAME(back.loop, 4 * 4 + 3);
    SAME(back.cycles, (4 * 5 + 3) / 4.0);
    const ot_sass_figures unknown =
        figures_of(STEP("/*0050*/ @P2 BRA `(.L_3) ;  /* 0x0 */\n/* 0x000fe20000000800 */\n"));
    SAME(unknown.math, 1);
    NONE(unknown.global_least);
}

static void test_no_loop(void **state)
{
    (void)state;
    const ot_sass_figures f = figures_of(SECTION "/*0000*/ STG.E.U8 [R2.64], R4 ;\n"
                                                 "/*0010*/ EXIT ;\n");
    SAME(f.store_less, 1);
    NONE(f.loop);
    NONE(f.share);
    NONE(f.local);
    ot_text text = {0};
    ot_sass_figures_print(&f, &text);
    check_contains(ot_text_str(&text), " loop=null");
    check_contains(ot_text_str(&text), " stores.less=1");
    ot_text_release(&text);
}

/* ---- any text ------------------------------------------------------------------------------ */

static void read_all(const char *listing)
{
    ot_sass_code code = {0};
    ot_text text = {0};
    while (ot_sass_read(&listing, &code)) {
        ot_sass_figures f;
        ot_sass_figures_of(&code, &f);
        ot_sass_figures_print(&f, &text);
        assert_true(isnan(f.share) || (f.share > 0 && f.share <= 1));
        assert_true(isnan(f.cycles) || f.cycles >= 1);
        assert_true(isnan(f.global_least) || f.global_least <= f.global_median);
    }
    assert_true(*listing == '\0');
    ot_sass_release(&code);
    ot_text_release(&text);
}

/* Pieces of listings cut, doubled, exchanged and spoiled. */
static void test_any_text(void **state)
{
    (void)state;
    static const char *const names[] = {"tile", "pipe", "nest"};
    static const char spoil[] = "\n;`(.L_x_0)[R]{}@!P/*0x\t :,\"\\\x80\xff";
    uint64_t rng = 7;
    for (int round = 0; round < 600; round++) {
        ot_text text = stored(names[round % 3]);
        char *s = text.s;
        for (int k = 0; k < 1 + round % 40; k++) {
            const size_t at = optune_random(&rng) % text.n, from = optune_random(&rng) % text.n;
            size_t n = optune_random(&rng) % 120;
            if (n > text.n - (at > from ? at : from))
                n = text.n - (at > from ? at : from);
            switch (optune_random(&rng) % 3) {
            case 0:
                memmove(s + at, s + from, n);
                break;
            case 1:
                s[at] = spoil[optune_random(&rng) % (sizeof spoil - 1)];
                break;
            default:
                if (round % 7 == 0)
                    s[at] = '\0';
            }
        }
        read_all(s);
        ot_text_release(&text);
    }
    read_all("");
    read_all("\n\n");
    read_all(SECTION);
    read_all(SECTION "x:");
    read_all(SECTION "/**/ BRA `(.L_x_0) ;\n/*0*/ BRA `(.L_x_0) ;\n.L_x_0:\n");
    read_all(SECTION "/*0000*/ @ ;\n/*0010*/ ;\n/*0020*/");
}

/* More loops, blocks and instructions than are looked at have no figures, and do not take long. */
static void test_too_large(void **state)
{
    (void)state;
    ot_text text = {0};
    ot_text_add(&text, SECTION);
    for (int i = 0; i < OT_SASS_MOST_LOOPS + 1; i++)
        ot_text_printf(&text, "/*%x*/ FFMA R1, R1, R1, R1 ;\n/*%x*/ @P0 BRA 0x%x ;\n", 2 * i,
                       2 * i + 1, 2 * i);
    NONE(figures_of(ot_text_str(&text)).loop);
    ot_text_clear(&text);
    ot_text_add(&text, SECTION);
    for (int i = 0; i < OT_SASS_MOST_BLOCKS + 1; i++)
        ot_text_printf(&text, "/*%x*/ @P0 BRA 0x%x ;\n", i, i);
    NONE(figures_of(ot_text_str(&text)).loop);
    ot_text_clear(&text);
    ot_text_add(&text, SECTION);
    for (int i = 0; i < OT_SASS_MOST + 1; i++)
        ot_text_printf(&text, "/*%x*/ STG R1 ;\n", i);
    NONE(figures_of(ot_text_str(&text)).store_4);
    ot_text_release(&text);
}

/* ---- around it ----------------------------------------------------------------------------- */

static void test_lines(void **state)
{
    (void)state;
    ot_text listing = stored("tile"), lines = {0};
    ot_cuda_add_figures("kernel=tile registers=27 spilled=0\nwarning=one\nkernel=other "
                        "registers=9\n",
                        ot_text_str(&listing), &lines);
    check_contains(ot_text_str(&lines),
                   "kernel=tile registers=27 spilled=0 machine_code loop=19");
    check_contains(ot_text_str(&lines), "\nwarning=one\nkernel=other registers=9\n");
    ot_text_release(&listing);
    ot_text_release(&lines);
}

/* As the CUDA occupancy calculator has them. */
static void test_occupancy(void **state)
{
    (void)state;
    const optune_device sm_80 = {.cc_major = 8}, sm_86 = {.cc_major = 8, .cc_minor = 6};
    const optune_device sm_90 = {.cc_major = 9}, unknown = {.cc_major = 3};
    SAME(ot_gpu_occupancy(&sm_80, 256, 32, 0), 1);
    SAME(ot_gpu_occupancy(&sm_80, 256, 128, 0), 0.25);
    SAME(ot_gpu_occupancy(&sm_80, 256, 33, 0), 0.75);
    SAME(ot_gpu_occupancy(&sm_80, 256, 32, 98304), 0.125);
    SAME(ot_gpu_occupancy(&sm_86, 1024, 32, 0), 2 / 3.0);
    SAME(ot_gpu_occupancy(&sm_90, 384, 168, 230528), 12 / 64.0);
    SAME(ot_gpu_occupancy(&sm_90, 32, 16, 0), 0.5);
    SAME(ot_gpu_occupancy(&sm_80, 256, 32, 200000), -1);
    SAME(ot_gpu_occupancy(&unknown, 256, 32, 0), -1);
}

/* A program that is named and is none is said so, and one that is none of nvdisasm's kind, too. */
static void test_disassembler(void **state)
{
    (void)state;
    optune_err err = {0};
    char path[4096];
    ot_text listing = {0};
    const char *named = getenv("OPTUNE_NVDISASM");
    char *kept = named ? ot_strdup(named) : NULL;
    setenv("OPTUNE_NVDISASM", "/nowhere/nvdisasm", 1);
    assert_int_equal(ot_cuda_disassembler(path, sizeof path, &err), OPTUNE_ETOOL);
    check_contains(err.text, "/nowhere/nvdisasm");
    setenv("OPTUNE_NVDISASM", "/bin/false", 1);
    assert_int_equal(ot_cuda_listing("x", 1, &listing, &err), OPTUNE_ETOOL);
    check_contains(err.text, "fails on this module");
    if (kept)
        setenv("OPTUNE_NVDISASM", kept, 1);
    else
        unsetenv("OPTUNE_NVDISASM");
    if (ot_cuda_disassembler(path, sizeof path, &err) >= 0)
        assert_int_equal(ot_cuda_listing("no cubin", 8, &listing, &err), OPTUNE_ETOOL);
    ot_text_release(&listing);
    free(kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tile),         cmocka_unit_test(test_pipe),
        cmocka_unit_test(test_nest),         cmocka_unit_test(test_moved_behind),
        cmocka_unit_test(test_conflicts),    cmocka_unit_test(test_joins),
        cmocka_unit_test(test_waiting),      cmocka_unit_test(test_way_out),
        cmocka_unit_test(test_steps),        cmocka_unit_test(test_no_loop),
        cmocka_unit_test(test_any_text),     cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_lines),        cmocka_unit_test(test_occupancy),
        cmocka_unit_test(test_disassembler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
