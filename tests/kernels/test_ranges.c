/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of dims known at run time: one plan for a whole range computes every size in it
 * right, over guarded buffers. Calls that are to have a fast row are listed with it; then random
 * typed calls of any operator with ranges, fused or not, are computed by whatever selection says,
 * and with OPTUNE_TEST_CONFIGS=1 by every implementation that applies, with a random config.
 *
 * Nothing is timed: a process computes a batch of calls at several sizes each. `cpu` at one thread
 * and at two; with the argument `opencl` or `cuda` there. OPTUNE_TEST_CALLS (default 600, 60 on
 * OpenCL), OPTUNE_TEST_SECONDS (default 12 a target), OPTUNE_TEST_SEED and OPTUNE_TEST_OP as in
 * test_defaults. With a target and a call, or a file with one on each line, these are computed by
 * what selection says, and by every implementation with as many random configs as
 * OPTUNE_TEST_CONFIGS asks; with a target, a call, an implementation and a config, as a failure
 * prints them, by that one.
 */
#include "support/check.h"

#include "strategy/inside.h"
#include "support/batch.h"
#include "support/random_call.h"

enum { SIZES = 6 };

/* How large calls are drawn, and how large they are computed. */
static const random_limits drawn = {.elements = 2e4, .flops = 2e6, .empty = 0.05};
static const random_limits computed = {.elements = 4e5, .flops = 1e8};
/* Ranges so wide that no scratch is large enough: what a body would keep it computes again for each
 * that needs it. That is a product of sums, of which none has more terms than there are flops. */
static const random_limits of_wide = {.elements = 4e5, .flops = 1e6};
static const double WIDE = 1 << 26; /* elements of a tensor */

/* Who has to be selected, by the start of the name. */
static const struct {
    const char *call, *impl;
} fast[] = {
    {"conv2d(f32[1,16,?h:8..64,32], const f32[32,16,3,3], padding=[1,1,1,1])", "conv2d_direct"},
    {"conv2d(f32[?n:1..3,5,?h:5..19,11], const f32[7,5,3,2], strides=[2,1], padding=[1,0,0,1])",
     "conv2d_direct"},
    {"conv2d(f32[?n:1..3,6,?h:3..20,?w:4..23], const f32[10,3,3,3], padding=[1,1,1,1], "
     "groups=2)",
     "conv2d_im2col"},
    {"conv2d(f32[?n:1..3,8,?h:1..12,?w:1..13], const f32[9,8,1,1])", "conv2d_1x1"},
    {"conv2d(f32[1,12,?h:7..40,200], const f32[12,1,3,3], strides=[2,2], padding=[1,1,1,1], "
     "groups=12)",
     "depthwise_conv2d_planes"},
    {"conv2d(f32[?n:1..4,8,14,14], const f32[16,8,3,3], padding=[1,1,1,1]) -> "
     "add(f32[16,1,1]) -> relu()",
     "conv2d_direct"},
    {"conv2d(f32[?n:1..4,8,?h:6..15,?w:6..15], const f32[16,8,3,3]) -> add(f32[1,16,1,1]) -> "
     "relu()",
     "conv2d_im2col"},
    {"conv2d(f32[?n:1..4,8,?h:2..15,9], const f32[16,8,3,3], padding=[1,1,1,1]) -> "
     "add(f32[?n:1..4,16,?h:2..15,9])",
     "conv2d_direct"},
    /* A batch may have no image. */
    {"conv2d(f32[?n:0..3,8,14,14], const f32[16,8,3,3], padding=[1,1,1,1]) -> relu()",
     "conv2d_direct"},
    {"conv2d(f32[?n:0..3,6,?h:3..20,?w:4..23], const f32[10,3,3,3], padding=[1,1,1,1], "
     "groups=2)",
     "conv2d_im2col"},
    {"conv2d(f32[?n:0..3,8,?h:1..12,?w:1..13], const f32[9,8,1,1])", "conv2d_1x1"},
    {"max_pool2d(f32[?n:0..3,4,?h:5..21,17], pool_size=[3,3], strides=[2,2])",
     "max_pool2d_direct"},
    {"dense(f32[?m:1..40,48], const f32[64,48]) -> add(f32[64]) -> sigmoid()", "dense"},
    {"dense(f32[?m:1..40,48], const f32[20,48]) -> multiply(f32[?m:1..40,1])", "dense"},
    {"concatenate(f32[?n:1..9,12], f32[3,12])", "concatenate_rows"},
    {"concatenate(f32[?n:1..9,?m:1..7], f32[?n:1..9,5], axis=1) -> relu()", "concatenate_rows"},
    {"pad(f32[?n:1..9,?m:1..33], before=[1,2], after=[0,3], value=2.5)", "pad_rows"},
    {"strided_slice(f32[?n:1..9,40], begin=[0,3], end=[1000,20], strides=[1,2])",
     "strided_slice_rows"},
    /* What is cut off at some sizes only is no polynomial, even where one turn is left: the body
     * computes it. */
    {"strided_slice(i8[?n:1..9,5,17], begin=[0,1], end=[2,5])", "strided_slice_rows"},
    {"strided_slice(f64[13,?n:1..47], begin=[0,21], end=[10,22])", "strided_slice_rows"},
    {"strided_slice(f32[?n:1..200000], begin=[3], end=[150000])", "strided_slice_rows"},
    {"strided_slice(u16[?n:1..40000,?m:1..60000], begin=[8], end=[-10], strides=[-3])",
     "strided_slice_rows"},
    {"strided_slice(i32[?a:1..9,?b:1..9,?c:0..9,?d:1..5,3,?e:0..5], begin=[3,1,-2], "
     "end=[7,-1,4], strides=[2,1,1]) -> abs() -> add(i32[?e:0..5])",
     "strided_slice_loops.generic"},
    {"strided_slice(f16[?a:0..6,5,?b:2..9,4], begin=[1,0,-3], end=[-1,5,9])",
     "strided_slice_rows"},
    {"strided_slice(i64[?a:0..9,?b:1..7], begin=[-2,5], end=[-9,-100], strides=[-1,-2])",
     "strided_slice_rows"},
    {"strided_slice(f32[?a:1..3,?b:1..3,?c:1..3,?d:1..3,?e:1..3,?f:1..3,?g:1..3,?h:1..9], "
     "begin=[0,0,0,0,0,1,0,2], end=[2,9,9,9,9,9,9,7], strides=[1,1,1,1,1,1,1,2])",
     "strided_slice_rows"},
    {"strided_slice(f32[?a:1..3,?b:1..3,?c:1..3,?d:1..3,?e:1..3,?f:1..3,?g:1..3], "
     "begin=[1,1,1,1,1,1,1], end=[2,2,2,2,2,2,2])",
     "strided_slice_loops.generic"},
    {"reverse(u16[?n:1..3,?n:1..3,?k:7..13,?n:1..3,?n:1..3,?n:1..3,?n:1..3,?k/3-2:0..2], "
     "axis=2)",
     "reverse_loops.generic"},
    {"concatenate(u8[?a:1..3,?b:1..20,?c:1..4,?d:1..3,?b:1..20], "
     "u8[?e:0..2,?b:1..20,?c:1..4,?d:1..3,?b:1..20])",
     "concatenate_rows"},
    {"concatenate(f32[?b:0..3,4,?p:0..40,8], f32[?b:0..3,4,?t:1..9,8], axis=2)",
     "concatenate_rows"},
    {"concatenate(i16[?a:1..4,?b:0..3,?c:1..3,?d:1..5,?e:1..4], "
     "i16[?a:1..4,?b:0..3,2,?d:1..5,?e:1..4], i16[?a:1..4,?b:0..3,?f:0..9,?d:1..5,?e:1..4], "
     "axis=-3)",
     "concatenate_rows"},
    {"take(f32[?n:1..60,33], i64[?b:0..4,?t:1..9])", "take_rows"},
    {"take(i8[?b:1..3,?n:1..9,?k:0..20], i32[?t:1..5], axis=1)", "take_rows"},
    {"take(f64[7,?n:2..9], i64[], axis=1)", "take_rows"},
    {"take(f32[5,33], i64[?t:0..9])", "take_rows"},
    {"take(f32[?n:0..3,33], i64[?n:0..3])", "take_rows"},
    {"take(i16[?b:0..3,7,9], i32[3], axis=1)", "take_rows"},
    {"layout_transform(f32[?n:1..2,?c:1..4,?h:1..5,?w:1..4,8], src_layout=NCHW8c, "
     "dst_layout=NHWC16c)",
     "layout_transform_loops.generic"},
    {"pad(f16[?a:1..3,?b:1..5,?c:5..9,?d:1..3,?e:2..4], before=[1,0,-2,1,3], "
     "after=[0,2,-3,1,-1], value=1e9)",
     "pad_loops.generic"},
    /* As long at every size as at 1, but at 0. */
    {"reverse(i32[2,1,?n:0..1], axis=2)", "reverse_"},
    {"strided_slice(i32[?n:0..9], begin=[-1], end=[1000])", "strided_slice_"},
    {"strided_slice(i32[?n:0..2], begin=[0], end=[1000], strides=[3])", "strided_slice_"},
    {"strided_slice(f32[?n:0..9,?m:0..70], begin=[0,-3], end=[1,1000])", "strided_slice_"},
    {"layout_transform(i32[?n:0..1,2,2,4], src_layout=NHC4c, dst_layout=CNH)",
     "layout_transform_"},
    {"concatenate(i32[?n:2..4,?m:0..1,?k:3..9], axis=2)", "concatenate_"},
    {"pad(i32[7,?n:0..1], before=[0,1], after=[3,1], value=7.0)", "pad_"},
    {"reshape(i32[?n:0..1,2,?m:3..5], newshape=[-1])", "reshape_"},
    {"their_slice(i32[?n:0..9], begin=[-1], end=[1000])", "their_slice_"},
    {"their_slice(i32[?n:0..9,?m:0..5], begin=[0,-2], end=[1,1000])", "their_slice_"},
    {"their_slice(i8[?n:0..9,5,17], begin=[0,1], end=[2,5])", "their_slice_"},
    {"their_transpose(i32[?n:0..1,?m:0..3,2], axes=[1,0,2])", "their_transpose_"},
    {"transpose(f32[?n:1..9,?h:1..6,40], axes=[1,0,2])", "transpose_rows"},
    {"reshape(f32[?n:1..9,40], newshape=[-1,10])", "reshape_rows"},
    {"max_pool2d(f32[?n:1..3,4,?h:5..21,17], pool_size=[3,3], strides=[2,2], "
     "padding=[1,1,1,1]) "
     "-> relu()",
     "max_pool2d_direct"},
    {"avg_pool2d(f32[2,4,?h:5..21,17], pool_size=[3,2], strides=[2,1], padding=[1,0,0,1], "
     "ceil_mode=true)",
     "avg_pool2d_direct"},
    /* Nothing or one. */
    {"reshape(bf16[?n:0..1], newshape=[-1])", "reshape_rows"},
    {"layout_transform(u32[2,12,?h:0..1,2], src_layout=NCHW, dst_layout=NHWC)",
     "layout_transform_rows"},
    {"pad(f32[?n:0..1,?m:1..33], before=[1,2], after=[0,3], value=2.5)", "pad_rows"},
    {"concatenate(f32[?n:0..1,12], f32[?m:0..9,12], f32[?k:0..2,12])", "concatenate_rows"},
    {"their_transpose(f32[?a:0..1,?b:0..1,?c:1..3], axes=[2,0,1])", "their_transpose"},
    {"their_slice(f32[?n:0..1,?m:0..40], begin=[0,3], end=[1000,20], strides=[1,2])",
     "their_slice"},
    /* Two names of one dim. */
    {"concatenate(f32[?a:1..4,5], f32[?b:1..4,3], axis=1)", "concatenate_rows"},
    /* More inputs and sizes than moves by polynomials have; what is fused may be broadcast or not,
     * which generic ones ask. */
    {"concatenate(f32[?a:0..3,?x:1..4], f32[?b:1..4,?x:1..4], f32[?c:0..2,?x:1..4], "
     "f32[?d:0..3,?x:1..4], f32[?e:0..3,?x:1..4], f32[?f:1..4,?x:1..4], f32[?g:0..2,?x:1..4], "
     "f32[?h:0..3,?x:1..4], f32[?i:0..3,?x:1..4], f32[?j:1..4,?x:1..4], f32[?k:0..2,?x:1..4], "
     "f32[?l:0..3,?x:1..4], f32[?m:0..3,?x:1..4], f32[?n:1..4,?x:1..4], f32[?o:0..2,?x:1..4]) "
     "-> add(f32[?y:1..4]) -> relu()",
     "concatenate_loops.generic"},
/* More inputs and sizes than a stage has arguments: as many inputs as a call can have, of as many
 * sizes. */
#define FEW(k)                                                                                 \
    "f32[?a" #k ":0..3,?x:1..4], f32[?b" #k ":1..4,?x:1..4], f32[?c" #k ":0..2,?x:1..4], "     \
    "f32[?d" #k ":1..2,?x:1..4]"
#define MORE(k) FEW(k##0) ", " FEW(k##1) ", " FEW(k##2) ", " FEW(k##3)
    {"concatenate(" MORE(0) ", " MORE(1) ", " MORE(2) ", " MORE(3) ")",
     "concatenate_loops.generic"},
    {"concatenate(" MORE(0) ", " MORE(1) ", " MORE(2) ") -> multiply(f32[?x:1..4]) -> "
                                                      "add(f32[]) -> relu()",
     "concatenate_loops.generic"},
#undef FEW
#undef MORE
    /* More dims than may be tabled; and of a flat copy next to no sizes that fit. */
    {"transpose(f32[?a:1..3,?b:1..3,?c:1..3,?d:1..3,?e:1..3,?f:1..3], axes=[4,3,5,2,1,0])",
     "transpose_loops.generic"},
    {"pad(f32[?a:1..3,?b:1..3,?c:1..3,?d:1..3,?e:1..4], before=[1,1,0,1,1], "
     "after=[1,1,0,1,1])",
     "pad_loops.generic"},
    {"reshape(f32[?a:1..5,?b:1..9,?c:7..11], newshape=[21,3])", "reshape_loops.generic"},
    /* In float32, between stages that convert. */
    {"softmax(f16[?n:1..40,33])", "softmax_rows"},
    {"dense(bf16[?m:1..64,40], const bf16[33,40]) -> add(const bf16[33]) -> relu()", "dense_"},
    /* Not where a constant has no one size, too many dims are open, or floats take too much. */
    {"add(f16[?n:1..4,3], const f16[?n:1..4,3])", "add_loops.generic"},
    {"concatenate(f16[?a:1..2,?b:2..3,?c:2..3,?d:2..3], f16[1,?b:2..3,?c:2..3,?d:2..3]) -> "
     "exp()",
     "concatenate_loops.generic"},
    {"relu(f16[?n:0..2,?m:1..1000000000])", "relu_loops.generic"},
    /* Behind a rounding that may go either way nothing is known of what has a domain. */
    {"batch_matmul(bf16[1,10,55], bf16[129,?n:1..5,10], transpose_a=true) -> round() -> "
     "add(bf16[?n:1..5], _) -> asin() -> relu()",
     "batch_matmul_gemm"},
    {"batch_matmul(f32[2,3,?k:1..90], const f32[2,?k:1..90,?n:1..40])", "batch_matmul_gemm"},
    {"softmax(f32[?n:1..9,?m:1..140])", "softmax_rows"},
    {"add(f32[?b:1..3,4,?s:1..40,?t:1..70], f32[?b:1..3,1,1,?t:1..70]) -> relu()",
     "add_vector"},
    {"multiply(f32[?b:0..3,?s:0..9,4,?t:0..40], f32[?s:0..9,1,1]) -> add(f32[4,1])",
     "multiply_vector"},
    {"subtract(i32[?n:1..60,1], i32[?m:1..50])", "subtract_vector"},
    {"where(bool[?a:1..9,1,?b:1..30], f16[?a:1..9,3,1], f16[3,?b:1..30])", "where_vector"},
    {"softmax(f32[3,?m:1..5])", "softmax_rows"},
    {"softmax(f16[?n:1..9,2,?m:1..70])", "softmax_rows"},
    {"softmax(f64[5,?m:0..40])", "softmax_rows"},
    /* So many lines of nothing are passed over, not visited. */
    {"sort(i64[?n:1..9,?m:0..1,99999999999,?k:9..10], axis=1)", "sort_loops.generic"},
    {"softmax(f32[?n:1..9,?m:0..1,99999999999,?k:9..10], axis=1)", "softmax_loops.generic"},
    {"cumsum(i32[?n:1..9,?m:0..1,99999999999,?k:9..10], axis=1)", "cumsum_loops.generic"},
    {"attention(f32[?b:0..3,4,?s:1..40,12], f32[?b:0..3,2,?k:1..150,12], "
     "f32[?b:0..3,2,?k:1..150,20], causal=true)",
     "attention_tiles"},
    {"attention(f32[2,3,?s:0..9,17], f32[2,3,?k:1..200,17], f32[2,3,?k:1..200,19], "
     "f32[1,1,?s:0..9,?k:1..200])",
     "attention_tiles"},
    {"attention(f32[?b:1..4,2,?s:1..140,32], f32[?b:1..4,2,?s:1..140,32], "
     "f32[?b:1..4,2,?s:1..140,32], bool[?b:1..4,1,1,?s:1..140], nan=true)",
     "attention_tiles"},
    {"attention(f64[1,2,?s:1..20,8], f64[1,1,?k:0..33,8], f64[1,1,?k:0..33,8], "
     "f64[1,2,1,?k:0..33], scale=0.5)",
     "attention_tiles"},
    {"attention(f16[?b:1..2,2,?s:1..30,16], f16[?b:1..2,2,?s:1..30,16], "
     "f16[?b:1..2,2,?s:1..30,18], f16[1,1,?s:1..30,?s:1..30])",
     "attention_tiles"},
    {"attention(f32[1,2,3,?d:1..9], f32[1,2,7,?d:1..9], f32[1,2,7,5])",
     "attention_loops.generic"},
    /* Operators that are not of the room of moves, known by their pieces alone. */
    {"their_slice(i8[?n:1..9,5,17], begin=[0,1], end=[2,5])", "their_slice_loops.generic"},
    {"their_slice(f64[13,?n:1..47], begin=[0,21], end=[10,22])", "their_slice_loops.generic"},
    {"their_slice(f32[?n:1..9,40], begin=[0,3], end=[1000,20], strides=[1,2])",
     "their_slice_rows"},
    {"their_layout(f32[?n:1..2,?c:1..4,?h:1..5,3,8], src_layout=NCHW8c, dst_layout=NHWC16c)",
     "their_layout_loops.generic"},
    {"their_transpose(f32[?a:1..3,?b:1..3,?c:1..3,?d:1..3,?e:1..3,?f:1..3], "
     "axes=[4,3,5,2,1,0])",
     "their_transpose_loops.generic"},
    /* Lanes behind the last column are never read. */
    {"dense_nbits(f32[2,1], const u8[2,1], f32[2,1], bits=8, group=32)", "dense_nbits_gemv"},
    {"dense_nbits(bf16[3,1], const i8[3,1], const bf16[3,1], bits=8)", "dense_nbits_gemv"},
    /* Batches that may be 1, and are then everybody's, are computed by a body that asks. */
    {"batch_matmul(f32[?b:1..5,9,16], f32[13,7,16])", "batch_matmul_loops.generic"},
    {"batch_matmul(f32[13,9,16], f32[?b:1..20,7,16])", "batch_matmul_loops.generic"},
    {"batch_matmul(f32[?b:1..5,9,16], f32[1,7,16])", "batch_matmul_gemm"},
    {"batch_matmul(f32[?b:1..5,?m:1..9,16], f32[?b:1..5,7,16]) -> add(f32[7])",
     "batch_matmul_gemm"},
    {"batch_matmul(f32[?b:1..5,?m:1..70,16], f32[?b:1..5,?n:1..140,16], transpose_b=true) -> "
     "add(f32[?b:1..5,1,?n:1..140])",
     "batch_matmul_gemm"},
    {"batch_matmul(f32[3,?m:1..70,?k:1..90], f32[3,?k:1..90,24]) -> relu()",
     "batch_matmul_gemm"},
    {"batch_matmul(f64[2,?k:1..50,?m:1..33], f64[1,?k:1..50,?n:1..60], transpose_a=true)",
     "batch_matmul_gemm"},
};

/* Where a range is computed: texts of calls. */
typedef struct places {
    int n;
    ot_text at[SIZES];
} places;

static uint64_t rng;

static bool is_wide(const optune_call *range)
{
    bool wide = false;
    for (int i = 0; i < optune_call_inputs(range); i++) {
        const optune_tensor *type = &range->input[i].type;
        double most = 1;
        for (int d = 0; d < type->rank; d++)
            most *= (double)type->dim[d].max;
        wide = wide || most > WIDE;
    }
    return wide;
}

static void draw_places(const optune_call *range, places *to)
{
    static optune_call at;
    const random_limits *limits = is_wide(range) ? &of_wide : &computed;
    *to = (places){0};
    for (int turn = 0; turn < SIZES; turn++)
        if (random_sizes(&rng, range, turn, limits, &at))
            ot_call_print(&at, &to->at[to->n++]);
}

static bool has_places(const char *text, const places *all)
{
    if (!all->n)
        print_error("%s: no size of it is small enough\n", text);
    return all->n > 0;
}

static void release_places(places *all)
{
    for (int i = 0; i < all->n; i++)
        ot_text_release(&all->at[i]);
}

static void submit(batch *b, const optune_call *call, const places *all,
                   const optune_impl *impl, const optune_config *config)
{
    const char *at[SIZES];
    for (int i = 0; i < all->n; i++)
        at[i] = ot_text_str(&all->at[i]);
    if (all->n)
        batch_add(b, call, impl, config, at, all->n);
}

/* What selection says; `name`: and it is called so. */
static void submit_default(batch *b, const optune_call *call, const places *all,
                           const char *name)
{
    const optune_task task = {call, &b->target, &b->device};
    ot_choice *choice = ot_alloc(sizeof *choice);
    optune_err err = {0};
    if (ot_select(&task, NULL, 0, choice, &err) < 0) {
        ot_text text = {0};
        ot_call_print(call, &text);
        b->failed++;
        print_error("%s: %s\n", ot_text_str(&text), err.text);
        ot_text_release(&text);
    } else {
        const optune_impl *impl = choice->row[choice->winner].candidate.impl;
        if (name && strncmp(impl->name, name, strlen(name)) != 0) {
            b->failed++;
            print_error("%s serves what %s has to\n", impl->name, name);
        }
        submit(b, call, all, impl, choice->config);
    }
    ot_choice_free(choice);
}

/* `only`: whoever's name begins so; NULL: everybody. */
static void submit_random(batch *b, const optune_call *call, const places *all,
                          const char *only)
{
    const optune_task task = {call, &b->target, &b->device};
    int n;
    const optune_impl *const *impl = ot_impls(&n);
    for (int i = 0; i < n; i++) {
        optune_err err = {0};
        optune_space *space;
        optune_config config;
        bool valid = false;
        if (strcmp(impl[i]->op, call->op->name) != 0 || impl[i]->library ||
            (only && strncmp(impl[i]->name, only, strlen(only)) != 0) ||
            !ot_impl_applies(impl[i], &task, NULL) ||
            !(impl[i]->generic ? ot_generic_epilogue_applies(&task, NULL)
                               : ot_epilogue_applies(&task, NULL)))
            continue;
        check_ok(ot_space_open(&task, impl[i], &space, &err));
        for (int t = 0; t < 300 && !valid; t++) {
            ot_space_nth(space, ot_space_random(space, &rng), &config);
            valid = ot_space_valid(space, &config, NULL);
        }
        ot_space_close(space);
        if (valid)
            submit(b, call, all, impl[i], &config);
    }
}

static void ranges_are_right(const char *target)
{
    const bool slow = strncmp(target, "opencl", 6) == 0;
    const int calls = random_asked("OPTUNE_TEST_CALLS", slow ? 60 : 600);
    const double until = ot_now() + random_asked("OPTUNE_TEST_SECONDS", 12);
    const bool configs = random_asked("OPTUNE_TEST_CONFIGS", 0);
    static optune_call call, range;
    ot_text text = {0};
    optune_err err = {0};
    batch b;
    if (!batch_open(&b, target))
        skip();
    rng = random_seed();
    for (int i = 0; i < calls && ot_now() < until; i++) {
        const optune_op *op = random_op(&rng);
        if (!random_call(&rng, op, &drawn, &call, &text))
            continue;
        if (optune_random_below(&rng, 3) == 0 && !call.n_epilogues &&
            random_call_fuses(&call)) {
            ot_text fused = {0};
            random_call_fuse(ot_text_str(&text), (int)optune_random_below(&rng, 4), &fused);
            if (ot_call_parse(ot_text_str(&fused), &range, &err) >= 0 && ot_call_static(&range))
                call = range;
            ot_text_release(&fused);
        }
        if (!random_range(&rng, &call, &range))
            continue;
        if (random_chance(&rng, 0.2) && random_call_chain(&rng, &range, &call))
            range = call;
        places all;
        draw_places(&range, &all);
        if (all.n && configs)
            submit_random(&b, &range, &all, NULL);
        else if (all.n)
            submit_default(&b, &range, &all, NULL);
        release_places(&all);
    }
    ot_text_release(&text);
    batch_judge(&b);
}

/* The operators of another room are ours under other names. */
static void add_theirs(void)
{
    static optune_op op[3];
    static const char *const name[][2] = {{"strided_slice", "their_slice"},
                                          {"layout_transform", "their_layout"},
                                          {"transpose", "their_transpose"}};
    optune_err err = {0};
    for (int i = 0; i < OT_COUNT(op) && !ot_op_find(name[i][1]); i++) {
        op[i] = *ot_op_find(name[i][0]);
        op[i].name = name[i][1];
        check_ok(ot_op_add(&op[i], &err));
    }
}

static void listed_rows(const char *target, bool generic)
{
    const bool configs = random_asked("OPTUNE_TEST_CONFIGS", 0);
    static optune_call call;
    optune_err err = {0};
    int none = 0;
    batch b;
    if (!batch_open(&b, target))
        skip();
    b.usual = true;
    rng = 5;
    for (int i = 0; i < OT_COUNT(fast); i++) {
        const size_t length = strlen(fast[i].impl);
        const bool any = fast[i].impl[length - 1] == '_'; /* whoever it is */
        if (generic && !any && !strstr(fast[i].impl, ".generic"))
            continue;
        check_ok(ot_call_parse(fast[i].call, &call, &err));
        places all;
        draw_places(&call, &all);
        none += !has_places(fast[i].call, &all);
        submit_default(&b, &call, &all, fast[i].impl);
        if (configs)
            submit_random(&b, &call, &all, fast[i].impl);
        release_places(&all);
    }
    assert_true(none <= 1); /* of the reshape, mostly */
    batch_judge(&b);
}

static void fast_rows(void **state)
{
    (void)state;
    listed_rows("cpu -threads=1", false);
}

static void cuda_rows(void **state)
{
    (void)state;
    listed_rows("cuda", true);
}

static void generic_rows(void **state)
{
    (void)state;
    listed_rows("opencl -cflags='-cl-std=CL1.2 -cl-opt-disable'", true);
}

static void one_thread(void **state)
{
    (void)state;
    ranges_are_right("cpu -threads=1");
}

static void two_threads(void **state)
{
    (void)state;
    ranges_are_right("cpu -threads=2");
}

static void on_opencl(void **state)
{
    (void)state;
    ranges_are_right("opencl -cflags='-cl-std=CL1.2 -cl-opt-disable'");
}

static void on_cuda(void **state)
{
    (void)state;
    ranges_are_right("cuda");
}

/* For what is arithmetic alone. */
static const optune_target one_core_target = {.kind = "cpu", .n_keys = 1, .key = {"cpu"}};
static const optune_device one_core = {.kind = "cpu",
                                       .cores = 1,
                                       .threads = 1,
                                       .vector_bytes = 32,
                                       .vector_registers = 16,
                                       .l1 = 32 << 10,
                                       .l2 = 1 << 20};

/* No scratch is as large as an operand whose largest size nobody may have. */
static void wide_operands(void **state)
{
    (void)state;
    static const struct {
        const char *impl, *call, *knob;
        const char *word; /* or NULL: a flag */
    } packed[] = {
        {"batch_matmul_gemm.cpu",
         "batch_matmul(f32[?b:4..11,3,257], f32[?b:4..11,?n:6..2097158,257])", "pack_y",
         "before"},
        {"batch_matmul_gemm.cpu",
         "batch_matmul(f32[2,3,?k:1..900000], f32[2,640,?k:1..900000])", "pack_y", "before"},
        {"dense_gemm.cpu", "dense(f32[?m:1..2097158,257], const f32[64,257])", "pack_data",
         NULL},
    };
    static optune_call call;
    const optune_task task = {&call, &one_core_target, &one_core};
    for (int i = 0; i < OT_COUNT(packed); i++) {
        optune_space *space;
        optune_config config;
        optune_err err = {0};
        char why[OPTUNE_WHY_SIZE] = "";
        check_ok(ot_call_parse(packed[i].call, &call, &err));
        check_ok(ot_space_open(&task, ot_impl_find(packed[i].impl), &space, &err));
        assert_true(ot_space_fallback(space, &config, NULL));
        if (packed[i].word)
            optune_config_choose_word(&config, space, packed[i].knob, packed[i].word);
        else
            optune_config_choose_int(&config, space, packed[i].knob, 1);
        if (ot_space_valid(space, &config, why))
            fail_msg("%s, %s packed before: valid", packed[i].call, packed[i].impl);
        check_contains(why, "more than 1 GiB");
        ot_space_close(space);
    }
}

/* A step over a long cache packs nothing, however long it may be; more rows would. */
static void few_rows(void **state)
{
    (void)state;
    static const char text[] = "attention(f32[1,8,%d,128], f32[1,8,?k:1..270000,128], "
                               "f32[1,8,?k:1..270000,128])";
    static optune_call call;
    const optune_task task = {&call, &one_core_target, &one_core};
    const optune_impl *impl = ot_impl_find("attention_tiles.cpu");
    optune_plan *plan = ot_alloc(sizeof *plan);
    for (int rows = 1; rows <= 3; rows++) {
        optune_space *space;
        optune_config config;
        optune_err err = {0};
        char of[160], why[OPTUNE_WHY_SIZE] = "";
        snprintf(of, sizeof of, text, rows);
        check_ok(ot_call_parse(of, &call, &err));
        assert_int_equal(ot_impl_applies(impl, &task, why), rows < 3);
        if (rows == 3) {
            check_contains(why, "more than 1 GiB");
            break;
        }
        check_ok(ot_space_open(&task, impl, &space, &err));
        assert_true(ot_space_fallback(space, &config, NULL));
        check_ok(ot_plan_make(&task, impl, &config, plan, &err));
        assert_int_equal(plan->n_scratch, 0);
        ot_space_close(space);
    }
    free(plan);
}

/* One call: by what selection says and, as OPTUNE_TEST_CONFIGS asks, by everybody. */
static bool compute_call(batch *b, const char *text)
{
    static optune_call call;
    optune_err err = {0};
    if (ot_call_parse(text, &call, &err) < 0) {
        print_error("%s\n", err.text);
        return false;
    }
    places all;
    draw_places(&call, &all);
    const bool any = has_places(text, &all);
    if (any)
        submit_default(b, &call, &all, NULL);
    for (int i = 0; any && i < random_asked("OPTUNE_TEST_CONFIGS", 0); i++)
        submit_random(b, &call, &all, NULL);
    release_places(&all);
    return any;
}

static bool compute_with(batch *b, char **word)
{
    static optune_call call;
    optune_err err = {0};
    optune_config config;
    const optune_impl *impl = ot_impl_find(word[1]);
    if (!impl || ot_call_parse(word[0], &call, &err) < 0 ||
        ot_config_parse(word[2], &config, &err) < 0) {
        print_error("%s\n", impl ? err.text : "there is no such implementation");
        return false;
    }
    places all;
    draw_places(&call, &all);
    const bool any = has_places(word[0], &all);
    if (any)
        submit(b, &call, &all, impl, &config);
    release_places(&all);
    return any;
}

/* TARGET CALL, TARGET FILE with a call a line, or TARGET CALL IMPLEMENTATION CONFIG. */
static int compute(int n, char **word)
{
    optune_err err = {0};
    ot_text file = {0};
    char *rest = NULL, nothing[] = "";
    bool good = true;
    batch b;
    if (!batch_open(&b, word[0]))
        return 2;
    b.usual = true;
    rng = random_seed();
    if (n == 4)
        good = compute_with(&b, word + 1);
    else if (!ot_exists(word[1]))
        good = compute_call(&b, word[1]);
    else if (ot_read_file(word[1], &file, 1 << 24, &err) < 0)
        good = false;
    else
        for (char *line = strtok_r(file.n ? file.s : nothing, "\n", &rest); line;
             line = strtok_r(NULL, "\n", &rest))
            good = compute_call(&b, line) && good;
    batch_finish(&b);
    print_message("%ld computed, %ld failed\n", b.computed, b.failed);
    good = good && !b.failed && (b.computed > 0 || !b.plans);
    ot_text_release(&file);
    batch_close(&b);
    return !good;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest on_cpu[] = {cmocka_unit_test(wide_operands),
                                        cmocka_unit_test(few_rows), cmocka_unit_test(fast_rows),
                                        cmocka_unit_test(one_thread),
                                        cmocka_unit_test(two_threads)};
    const struct CMUnitTest opencl[] = {cmocka_unit_test(generic_rows),
                                        cmocka_unit_test(on_opencl)};
    const struct CMUnitTest cuda[] = {cmocka_unit_test(cuda_rows), cmocka_unit_test(on_cuda)};
    add_theirs(); /* here and in the process that computes */
    batch_inside(argc, argv);
    if (argc == 2 && strcmp(argv[1], "opencl") == 0)
        return cmocka_run_group_tests_name("opencl", opencl, NULL, NULL);
    if (argc == 2 && strcmp(argv[1], "cuda") == 0)
        return cmocka_run_group_tests_name("cuda", cuda, NULL, NULL);
    if (argc == 3 || argc == 5)
        return compute(argc - 1, argv + 1);
    return argc > 1 ? 2 : cmocka_run_group_tests(on_cpu, NULL, NULL);
}
