/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of narrow numbers, what is fused behind them, and what computes 16-bit floats in
 * float32, to the last bit: small whole numbers, whose sums all types hold, the ends of 8-bit
 * integers, numbers of all bits and sizes of float16, few enough for a sum that float32 holds,
 * and infinities and NaN where only some rows and columns meet them. Every implementation that
 * takes a call is asked, its fallback and some configs; those of tiles again where the system
 * refuses them.
 */
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/direct.h"
#include "support/refused_tiles.h"
#include "support/workbench.h"

#include "run/worker.h"
#include "strategy/inside.h"

enum { MOST_BYTES = 1 << 17 };

#define CHAIN "pointwise_depthwise_conv2d("

static const char *const calls[] = {
    "dense(i8[37,70], const i8[51,70], out_dtype=i32)",
    "dense(i8[17,128], var i8[40,128], i32[40], out_dtype=i32)",
    "dense(u8[5,67], const u8[33,67], out_dtype=i32)",
    "dense(bf16[35,33], const bf16[70,33], bf16[70])",
    "dense(bf16[50,64], var bf16[18,64], out_dtype=f32)",
    "dense(f16[50,37], const f16[70,37], f32[70], out_dtype=f32)",
    "conv2d(i8[2,37,9,11], const i8[19,37,3,3], padding=[1,1,1,1], out_dtype=i32)",
    "conv2d(i8[1,70,6,5], var i8[40,70,1,1], strides=[2,2], out_dtype=i32)",
    "conv2d(u8[1,5,7,8], const u8[6,5,2,3], dilation=[2,1], out_dtype=i32)",
    "conv2d(bf16[1,40,20,19], const bf16[34,20,3,2], strides=[2,1], padding=[0,1,2,1], "
    "groups=2)",
    "conv2d(bf16[1,33,5,40], const bf16[17,33,1,5], padding=[0,2,0,2], out_dtype=f32)",
    "conv2d(f16[1,21,13,18], const f16[36,21,2,3], strides=[2,3], padding=[3,3,3,3], "
    "out_dtype=f32)",
    "conv2d(i8[2,3,7,21], const i8[20,3,3,3], strides=[1,2], dilation=[1,2], "
    "padding=[2,5,0,7], out_dtype=i32)",
    "conv2d(f16[1,2,5,40], const f16[5,2,2,5], strides=[1,3], padding=[0,2,1,2], "
    "out_dtype=f32)",
    "conv2d(bf16[1,32,9,21], const bf16[18,32,3,3], strides=[2,2], padding=[1,1,1,1], "
    "out_dtype=f32)",
    "conv2d(f16[1,3,9,21], const f16[18,3,3,3], strides=[2,2], padding=[1,1,1,1], "
    "out_dtype=f32)",
    "conv2d(i8[1,20,5,7], const i8[40,20,1,1], out_dtype=i32)",
};

static const char *const fused_calls[] = {
    "dense(bf16[35,33], const bf16[70,33]) -> add(const bf16[70]) -> add(bf16[35,70]) -> "
    "relu()",
    "dense(f16[9,37], const f16[45,37]) -> multiply(f16[9,1]) -> clip(a_min=-3, a_max=7)",
    "dense(bf16[9,37], const bf16[45,37], out_dtype=f32) -> add(const f32[45]) -> relu()",
    "conv2d(bf16[1,40,7,7], const bf16[34,40,3,3], padding=[1,1,1,1]) -> add(const "
    "bf16[34,1,1]) "
    "-> add(bf16[1,34,7,7]) -> relu()",
    "conv2d(f16[2,5,9,20], const f16[20,5,1,1]) -> add(const f16[1,20,1,1]) -> "
    "add(f16[2,20,9,20])",
    "conv2d(bf16[1,8,6,40], const bf16[17,8,1,5], padding=[0,2,0,2]) -> add(bf16[40]) -> "
    "subtract(bf16[1,17,6,1])",
};

/* Those that tiles alone compute by narrow numbers; the first REFUSED are asked where the system
 * refuses these, too. */
enum { REFUSED = 3 };
static const char *const tile_calls[] = {
    "batch_matmul(i8[1,20,70], i8[3,70,40], transpose_b=false, out_dtype=i32)",
    CHAIN "bf16[1,9,7,7], const bf16[20,9,1,1], const bf16[20,1,3,3], padding=[1,1,1,1]) -> "
          "add(const bf16[20,1,1]) -> add(bf16[1,20,7,7]) -> relu()",
    CHAIN "f16[1,6,19,6], const f16[20,6,1,1], const f16[20,1,3,3], const f16[20,1,1], "
          "strides=[1,1], padding=[2,2,2,2], dilation=[2,2], between=relu)",
    "batch_matmul(bf16[2,35,64], bf16[2,20,64]) -> add(bf16[2,35,20]) -> relu()",
    "batch_matmul(f16[2,37,50], const f16[2,37,20], transpose_a=true, transpose_b=false, "
    "out_dtype=f32)",
    CHAIN "bf16[2,40,9,20], const bf16[35,40,1,1], const bf16[35,1,3,3], const bf16[35,1,1], "
          "padding=[1,1,1,1], between=relu6)",
    CHAIN "bf16[1,33,14,15], var bf16[17,33,1,1], var bf16[17,1,5,5], var bf16[17,1,1], "
          "strides=[2,3], padding=[2,0,1,3], between=relu6)",
};

/* By what computes in float32. */
static const char *const wide_calls[] = {
    "batch_matmul(bf16[3,7,9], bf16[3,20,9]) -> add(bf16[3,7,20]) -> relu()",
    "batch_matmul(f16[2,17,5], f16[1,5,33], transpose_b=false)",
    "dense(f16[9,37], const f16[45,37], f16[45]) -> add(const f16[45]) -> relu()",
    "conv2d(bf16[2,5,9,20], const bf16[20,5,3,3], padding=[1,1,1,1]) -> add(const "
    "bf16[20,1,1])",
    "conv2d(f16[1,12,9,9], const f16[12,1,3,3], groups=12) -> relu()",
    "conv2d(bf16[1,2,9,9,8], bf16[16,1,3,3], groups=16, padding=[1,1,1,1], data_layout=NCHW8c)",
    "conv2d(bf16[1,3,13,67], const bf16[6,1,3,4], groups=3, strides=[2,2], padding=[1,1,2,3]) "
    "-> add(bf16[1,6,7,34]) -> relu()",
    "conv2d(f16[2,3,11,40], f16[3,1,3,3], groups=3, padding=[2,3,2,3], dilation=[2,3])",
    "avg_pool2d(f16[2,3,8,34], pool_size=[2,2], strides=[2,2])",
    "global_avg_pool2d(bf16[3,20,4,4])",
    "sum(bf16[9,70], axis=[1])",
    "sum(f16[9,70], axis=[0])",
    "cast(f32[77], dtype=bf16)",
    "cast(f16[77], dtype=f32)",
    "max_pool2d(bf16[1,5,9,20], pool_size=[3,3], strides=[2,2], padding=[1,1,1,1])",
    "add(f16[5,33], f16[33]) -> relu()",
    "multiply(bf16[5,33], bf16[5,1])",
    "cast(i32[77], dtype=f16)",
    "cast(bf16[77], dtype=i32)",
    "less(f16[40], f16[3,40])",
    "max_pool2d(f16[1,2,7,9,8], pool_size=[2,2], layout=NCHW8c)",
    "where(f16[5,33], f32[33], f32[5,33])",
    "where(u8[5,33], bf16[33], bf16[5,33])",
};

/* Numbers that every type has exactly: -2 .. 2, and of 8-bit integers now and then an end. */
static void fill(const optune_tensor *t, int turn, void *to)
{
    uint64_t rng = 77 + (uint64_t)turn;
    const int64_t n = optune_tensor_elements(t);
    for (int64_t i = 0; i < n; i++) {
        const int x = (int)optune_random_below(&rng, 5) - 2;
        const bool end = optune_random_below(&rng, 4) == 0;
        if (t->dtype.bits == 8)
            ((signed char *)to)[i] = (signed char)(end ? (x < 0 ? -128 : 127) : x);
        else if (t->dtype.code == OPTUNE_DTYPE_INT)
            ((int32_t *)to)[i] = x;
        else
            ot_elements_set(t->dtype, to, i, 1, &(double){x});
    }
}

/* What numbers are: FULL all bits of float16, NOT_FINITE infinities and NaN among them. */
enum { FULL = 1, NOT_FINITE = 2, KINDS = 4 };

/* Numbers of 11 significant bits and less times a power of two from the least denormal to 65504,
 * one power for each slice of dimension 0. All of data; four of a slice of a weight: four
 * products of 22 bits are added without rounding. What is added to sums is zero. */
static void fill_full(const optune_tensor *t, int turn, void *to)
{
    static const double size[] = {0x1p-24, 32, 0x1p-10, 1};
    static const int number[] = {2047, -1025, 1027, 3, -1023, 1536, 1};
    uint64_t rng = 770 + (uint64_t)turn;
    const int64_t slices = t->dim[0].min, n = optune_tensor_elements(t) / slices;
    memset(to, 0, (size_t)optune_tensor_bytes(t));
    for (int64_t s = 0; s < slices && turn < 2; s++)
        for (int64_t i = 0; i < (turn == 0 ? n : 4); i++) {
            const int64_t at = turn == 0 ? i : (int64_t)optune_random_below(&rng, (uint64_t)n);
            const double x = number[optune_random_below(&rng, OT_COUNT(number))];
            ot_elements_set(t->dtype, to, s * n + at, 1, &(double){x * size[s % 4]});
        }
}

/* An infinity in one slice of dimension 0, two that may meet in another, a NaN in the last: each of
 * the smallest fraction, which is in no leading bits of it. */
static void spoil(const optune_tensor *t, int turn, void *to)
{
    const int64_t slices = t->dim[0].min, n = optune_tensor_elements(t) / slices;
    const int64_t mid = slices > 3 ? slices / 2 : 0;
    unsigned short *const x = to;
    const unsigned short infinity = t->dtype.code == OPTUNE_DTYPE_BFLOAT ? 0x7f80 : 0x7c00;
    x[n - 1 - turn] = infinity;
    x[mid * n + n / 2] = infinity;
    x[mid * n + n / 3] = infinity | 0x8000;
    if (turn == 0)
        x[slices * n - 1] = infinity + 1;
}

/* Whether what was computed is the reference's, which is exact here, rounded once. */
static void judge(const char *name, const optune_call *call, const void *const *in,
                  const void *out)
{
    const optune_tensor *t = &call->output[0];
    const int64_t n = optune_tensor_elements(t);
    double *want = ot_alloc((size_t)n * sizeof *want),
           *size = ot_alloc((size_t)n * sizeof *size);
    optune_region all = {.lo = {0}};
    for (int d = 0; d < t->rank; d++)
        all.hi[d] = t->dim[d].min;
    all.rank = t->rank;
    call->op->reference(call, in, 0, &all, want, size);
    ot_reference_fused(call, in, &all, want, size);
    for (int64_t i = 0; i < n; i++) {
        char right[8] = {0};
        ot_elements_set(t->dtype, right, 0, 1, &want[i]);
        const int bytes = t->dtype.bits / 8;
        const char *const got = (const char *)out + i * bytes;
        double is;
        ot_elements(t->dtype, got, 0, 1, &is);
        if (memcmp(got, right, (size_t)bytes) != 0 && !(isnan(is) && isnan(want[i])))
            fail_msg("%s: element %ld of %s is not %g", name, (long)i, call->op->name, want[i]);
    }
    free(want);
    free(size);
}

/* Numbers of a kind for one input. */
static void fill_kind(const optune_call *call, int k, int kind, void *to)
{
    const optune_tensor *t = &call->input[k].type;
    if (kind & FULL)
        fill_full(t, k, to);
    else
        fill(t, k, to);
    if (kind & NOT_FINITE && k < 2)
        spoil(t, k, to);
}

static bool has_name(const char *of, const char *const *word)
{
    while (*word && !strstr(of, *word))
        word++;
    return *word != NULL;
}

/* Whether what computes the call by narrow numbers is asked about a kind. A second product of all
 * bits would round. */
static bool takes_kind(const optune_call *call, int kind)
{
    const optune_dtype in = call->input[0].type.dtype;
    if (in.bits != 16)
        return kind == 0;
    return !(kind & FULL) || (in.code == OPTUNE_DTYPE_FLOAT && call->n_epilogues == 0 &&
                              !has_name(call->op->name, (const char *[]){"depthwise", NULL}));
}

/* Runs what was opened on numbers of a kind. */
static void try_kind(direct *d, const char *name, int kind)
{
    static char memory[OPTUNE_MAX_INPUTS + 1][MOST_BYTES] __attribute__((aligned(64)));
    const optune_call *call = direct_call(d);
    const void *in[OPTUNE_MAX_INPUTS] = {NULL};
    for (int x = 0; x < optune_call_inputs(call); x++) {
        assert_true(optune_tensor_bytes(&call->input[x].type) <= MOST_BYTES);
        fill_kind(call, x, kind, memory[x]);
        in[x] = memory[x];
    }
    memset(memory[OPTUNE_MAX_INPUTS], 0xee, MOST_BYTES);
    direct_run(d, in, (void *[]){memory[OPTUNE_MAX_INPUTS]});
    judge(name, call, in, memory[OPTUNE_MAX_INPUTS]);
}

/* How often implementations whose name holds one of the words were asked. */
static int try_calls(const char *const *list, int n_calls, const char *const *word, int configs,
                     int kinds)
{
    int n, asked = 0;
    const optune_impl *const *impl = ot_impls(&n);
    for (int k = 0; k < n_calls; k++)
        for (int i = 0; i < n; i++) {
            const size_t op = strcspn(list[k], "(");
            if (!impl[i]->op || strncmp(impl[i]->op, list[k], op) || impl[i]->op[op] ||
                !has_name(impl[i]->name, word) || strstr(impl[i]->name, ".generic"))
                continue;
            for (int c = 0; c < configs; c++) {
                direct *d = direct_open(impl[i], list[k], c);
                if (!d)
                    break;
                for (int kind = 0; kind < kinds; kind++)
                    if (takes_kind(direct_call(d), kind))
                        try_kind(d, impl[i]->name, kind);
                direct_close(d);
                asked++;
            }
        }
    return asked;
}

/* Of what the machine, its compiler and its assembler have. */
static bool has_tiles(int of)
{
    optune_target target;
    optune_device device;
    return ot_target_parse("cpu", &target, NULL) >= 0 &&
           ot_target_probe(&target, &device, NULL) >= 0 && device.dots & of;
}

static void test_exact(void **state)
{
    (void)state;
    static const char *const words[] = {"_dot.", "_amx.", NULL};
    const int asked = try_calls(calls, OT_COUNT(calls), words, 2, KINDS);
    const int fused = try_calls(fused_calls, OT_COUNT(fused_calls), words, 1, KINDS);
    print_message("%d configs, %d with what is fused\n", asked, fused);
    assert_true(asked >= 2 * OT_COUNT(calls) && fused >= OT_COUNT(fused_calls));
}

static void test_tiles(void **state)
{
    (void)state;
    static const char *const words[] = {"_amx.", NULL};
    const int asked = try_calls(tile_calls, OT_COUNT(tile_calls), words, 1, KINDS);
    if (!has_tiles(OPTUNE_DOT_TILE_BF16) || !has_tiles(OPTUNE_DOT_TILE_I8))
        skip();
    assert_true(asked >= OT_COUNT(tile_calls));
}

static void test_wide(void **state)
{
    (void)state;
    static const char *const words[] = {"_gemm.",  "_pack.",     "_1x1.",     "_im2col.",
                                        "_direct", "depthwise_", "_rows.cpu", "_vector.",
                                        "_NCHWc.", "_inner.",    "_outer.",   "_plain.",
                                        "_flat.",  "_block.",    "global_",   NULL};
    for (int k = 0; k < OT_COUNT(wide_calls); k++)
        if (try_calls(&wide_calls[k], 1, words, 1, 1) == 0)
            fail_msg("nobody computes %s", wide_calls[k]);
}

/* Zeros, and the least numbers of bfloat16 added to their sums: those that are too small for its
 * instructions are the output's all the same. */
static void test_denormal(void **state)
{
    (void)state;
    enum { M = 9, N = 45, K = 37 };
    static const char *const denormal_calls[] = {
        "dense(bf16[9,37], const bf16[45,37], bf16[45])",
        "dense(bf16[9,37], const bf16[45,37]) -> add(const bf16[45])",
    };
    static unsigned short zero[N * K], add[N], out[M * N];
    int n, asked = 0;
    const optune_impl *const *impl = ot_impls(&n);
    for (int j = 0; j < N; j++)
        add[j] = (unsigned short)(1 + j * 2 + (j % 2 << 15));
    for (int c = 0; c < OT_COUNT(denormal_calls); c++)
        for (int i = 0; i < n; i++) {
            const char *const name = impl[i]->name;
            direct *d = strcmp(name, "dense_dot.cpu") == 0 || strcmp(name, "dense_amx.x86") == 0
                            ? direct_open(impl[i], denormal_calls[c], 0)
                            : NULL;
            if (!d)
                continue;
            direct_run(d, (const void *[]){zero, zero, add}, (void *[]){out});
            for (int o = 0; o < M * N; o++)
                if (out[o] != add[o % N])
                    fail_msg("%s: element %d is 0x%x, not 0x%x", name, o, out[o], add[o % N]);
            direct_close(d);
            asked++;
        }
    assert_true(asked >= OT_COUNT(denormal_calls));
}

/* ---- where the system refuses tiles ------------------------------------------------------ */

#ifdef __x86_64__
/* Before the other test, whose process has been granted them. */
static void test_refused(void **state)
{
    (void)state;
    if (!has_tiles(OPTUNE_DOT_TILE_BF16 | OPTUNE_DOT_TILE_I8))
        skip();
    const pid_t child = fork();
    if (child == 0) {
        if (!refuse_tiles())
            _exit(77);
        static const char *const words[] = {"_amx.", NULL};
        const int n = try_calls(calls, OT_COUNT(calls), words, 2, KINDS);
        _exit(n + try_calls(tile_calls, REFUSED, words, 1, KINDS) > 0 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}
#else
static void test_refused(void **state)
{
    (void)state;
    skip();
}
#endif

/* 2049 is a tie of float16, and of bfloat16 so is 257: with 1 behind it neither is rounded but
 * once, as the number that follows. */
static void test_once(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        unsigned short one, large, want;
        int factor; /* large times it, and 1 */
    } all[] = {{"f16", 0x3c00, 0x6400, 0x6801, 2}, {"bf16", 0x3f80, 0x4300, 0x4381, 2}};
    static const char *const names[] = {"dense_nbits_gemv.cpu", "dense_nbits_gemm.cpu"};
    enum { ROWS = 3, COLUMNS = 19, DEPTH = 2 };
    for (int t = 0; t < OT_COUNT(all); t++)
        for (int i = 0; i < OT_COUNT(names); i++) {
            unsigned short data[ROWS * DEPTH], scale[COLUMNS], add[COLUMNS];
            unsigned short out[ROWS * COLUMNS];
            signed char weight[COLUMNS * DEPTH];
            char text[160];
            snprintf(text, sizeof text,
                     "dense_nbits(%s[3,2], const i8[19,2], const %s[19,1], bits=8) -> "
                     "add(%s[19])",
                     all[t].type, all[t].type, all[t].type);
            for (int k = 0; k < ROWS * DEPTH; k++)
                data[k] = k % DEPTH ? all[t].one : all[t].large;
            for (int k = 0; k < COLUMNS * DEPTH; k++)
                weight[k] = (signed char)(k % DEPTH ? 1 : all[t].factor);
            for (int k = 0; k < COLUMNS; k++)
                scale[k] = add[k] = all[t].one;
            direct *d = direct_open(ot_impl_find(names[i]), text, 0);
            assert_non_null(d);
            direct_run(d, (const void *const[]){data, weight, scale, add}, (void *[]){out});
            for (int k = 0; k < ROWS * COLUMNS; k++)
                if (out[k] != all[t].want)
                    fail_msg("%s, %s: %#x, not %#x", names[i], text, out[k], all[t].want);
            direct_close(d);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused), cmocka_unit_test(test_exact),
        cmocka_unit_test(test_tiles),   cmocka_unit_test(test_denormal),
        cmocka_unit_test(test_wide),    cmocka_unit_test(test_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
