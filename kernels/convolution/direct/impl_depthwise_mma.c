/* SPDX-License-Identifier: Apache-2.0 */
/* depthwise_conv2d_mma.cuda: 16-bit floats by tensor cores, a band of a plane in shared memory. */
#include "kernels/convolution/conv2d.h"
#include "kernels/host/pattern_gpu.h"

/* A product takes 16 columns of the input for 8 of the output, 4 of them in front of these; a warp
 * has up to RUN beside each other. */
enum { WINDOW = 16, OUTPUTS = 8, AHEAD = 4, TILE_ROWS = 16, RUN = 2 };

typedef struct bands {
    conv2d_shape s;
    int64_t warps, team, tiles; /* of a block, of a band; tiles of 16 rows in a band */
    int64_t across, stride, rows;
} bands;

static bool shape_of(const optune_call *call, conv2d_shape *s)
{
    return optune_tensor_known(&call->output[0]) && conv2d_shape_of(call, s);
}

/* What follows from the shape and three knobs. */
static void lay_out(bands *b)
{
    b->across = host_ceil(b->s.ow, OUTPUTS);
    b->stride = (b->across + 1) / 2 * 2 * OUTPUTS + OUTPUTS; /* an odd number of vectors */
    b->rows = b->tiles * TILE_ROWS + b->s.kh - 1;
}

static bands bands_of(const optune_call *call, const optune_config *config)
{
    bands b;
    shape_of(call, &b.s);
    b.warps = optune_config_int(config, "threads") / 32;
    b.team = optune_config_int(config, "team");
    b.tiles = optune_config_int(config, "tiles");
    lay_out(&b);
    return b;
}

static int64_t shared_of(const bands *b)
{
    return b->warps / b->team * b->rows * b->stride * 2;
}

static int64_t blocks_of(const bands *b)
{
    return host_ceil(b->s.n * b->s.co * host_ceil(b->s.oh, b->tiles * TILE_ROWS),
                     b->warps / b->team);
}

static bool applies(const optune_task *task, char *why)
{
    const optune_call *call = task->call;
    const optune_dtype data = call->input[CONV2D_DATA].type.dtype, out = call->output[0].dtype;
    conv2d_shape s;
    if (!gpu_is_cuda(task, 80, why))
        return false;
    if (!shape_of(call, &s))
        return optune_refuse(why, "needs constant shapes");
    if (!conv2d_is_depthwise(&s))
        return optune_refuse(why, "it is not depthwise");
    if (s.data_block || s.out_block)
        return optune_refuse(why, "needs NCHW");
    if (!gpu_is_half(data) ||
        !optune_dtype_equal(data, call->input[CONV2D_WEIGHT].type.dtype) ||
        !pattern_is_real(out) || !gpu_stored_type(out) || out.bits == 64)
        return optune_refuse(why, "needs 16-bit floats");
    if (s.sh != 1 || s.sw != 1 || s.dh != 1 || s.dw != 1)
        return optune_refuse(why, "needs strides and dilation of 1");
    if (s.pl > AHEAD || s.kw - 1 - s.pl > WINDOW - AHEAD - OUTPUTS)
        return optune_refuse(why, "its windows reach more than %d columns to a side",
                             (int)AHEAD);
    if (s.kh > 16)
        return optune_refuse(why, "%" PRId64 " rows of a weight are too many to hold", s.kh);
    if (s.h * s.w >= INT32_MAX / 2 || s.oh * s.ow >= INT32_MAX / 2)
        return optune_refuse(why, "one plane is too large for 32-bit offsets");
    /* The least block: two warps with one band. */
    bands b = {.s = s, .warps = 2, .team = 2, .tiles = 1};
    lay_out(&b);
    return gpu_fits(task, (const int64_t[]){64, 1, 1}, shared_of(&b), 0, why);
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_ints(space, "threads", 4, (const int64_t[]){64, 128, 256, 512});
    optune_space_ints(space, "team", 4, (const int64_t[]){1, 2, 4, 8});
    optune_space_ints(space, "tiles", 5, (const int64_t[]){1, 2, 4, 7, 8});
}

static int64_t registers_of(const bands *b)
{
    return 48 + 2 * b->s.kh;
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    const bands b = bands_of(task->call, config);
    if (b.team > b.warps)
        return optune_refuse(why, "more warps for a band than in a block");
    if (b.tiles > 1 && b.tiles / 2 * TILE_ROWS >= b.s.oh)
        return optune_refuse(why, "half of a band's rows are none");
    if (b.team > b.tiles * b.across)
        return optune_refuse(why, "more warps than tiles");
    return gpu_grid_fits(blocks_of(&b), why) &&
           gpu_fits(task, (const int64_t[]){b.warps * 32, 1, 1}, shared_of(&b),
                    registers_of(&b), why);
}

static double estimate(const optune_task *task, const optune_config *config)
{
    const bands b = bands_of(task->call, config);
    const int64_t blocks = host_max(blocks_of(&b), 1), planes = b.warps / b.team;
    const double tiles = (double)(b.tiles * b.across) / (double)b.team;       /* of a warp */
    const double run = (double)host_ceil(b.across, host_ceil(b.across, RUN)); /* at once */
    const double staged = (double)(b.rows * b.stride) / 4 / (double)(b.team * 32);
    const gpu_work w = {
        .blocks = blocks,
        .threads = b.warps * 32,
        .registers = registers_of(&b),
        .shared = shared_of(&b),
        .instructions = staged * 14 + 12 * (double)b.s.kh + tiles * (2 * (double)b.s.kh + 40),
        .bytes = 2 * (double)planes * (double)b.tiles * TILE_ROWS * (double)(b.s.w + b.s.ow),
        .cached = 2 * (double)planes * (double)(b.rows * b.s.w + b.tiles * TILE_ROWS * b.s.ow),
        .waits = 2,
        .barriers = 1,
        /* Rows of 8 columns come from shared memory in two turns, of which a run has one more than
         * products. */
        .pipe = (double)b.warps * (tiles * (double)b.s.kh * 2 * (run + 1) / run + staged * 4),
    };
    return gpu_cost(task, &w);
}

/* A whole plane, or as much of it as leaves room for others; a few tiles for a warp. */
static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    conv2d_shape s;
    shape_of(task->call, &s);
    const int64_t most = gpu_max_shared(task) / 4;
    int64_t tiles = 1, team = 1, threads = gpu_threads(task, 128);
    while (tiles < 4 && tiles * TILE_ROWS < s.oh)
        tiles *= 2;
    while (team < 4 && tiles * host_ceil(s.ow, OUTPUTS) >= 4 * 2 * team)
        team *= 2;
    for (;; tiles /= 2) {
        optune_config_choose_int(config, space, "tiles", tiles);
        for (int64_t n = threads; n >= 64; n /= 2) {
            optune_config_choose_int(config, space, "threads", n);
            optune_config_choose_int(config, space, "team", host_min(team, n / 32));
            const bands b = bands_of(task->call, config);
            if (valid(task, config, NULL) && (shared_of(&b) <= most || (tiles == 1 && n == 64)))
                return;
        }
        if (tiles == 1)
            break;
    }
    optune_config_nearest(config, space);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    const optune_call *call = task->call;
    const bands b = bands_of(call, config);
    const optune_dtype data = call->input[CONV2D_DATA].type.dtype;
    const int m = optune_plan_module(plan);
    conv2d_define(plan, m, &b.s);
    gpu_define_index(plan, m, call);
    gpu_define_stored(plan, m, call);
    optune_plan_define_text(plan, m, "SCALAR", "float");
    optune_plan_define_text(plan, m, "MMA",
                            data.code == OPTUNE_DTYPE_BFLOAT ? "mma_bf16" : "mma_f16");
    optune_plan_define(plan, m, "WARPS", b.warps);
    optune_plan_define(plan, m, "TEAM", b.team);
    optune_plan_define(plan, m, "TILES", b.tiles);
    optune_plan_define(plan, m, "PIECE", b.s.w % 4 == 0 ? 4 : b.s.w % 2 == 0 ? 2 : 1);
    optune_stage stage = {.phase = OPTUNE_TIMED,
                          .module = m,
                          .function = "depthwise",
                          .n_args = 3,
                          .arg = {optune_input_arg(CONV2D_DATA),
                                  optune_input_arg(CONV2D_WEIGHT), optune_output_arg(0)},
                          .grid = {blocks_of(&b)},
                          .block = {b.warps * 32},
                          .shared = shared_of(&b)};
    if (optune_dtype_equal(data, call->output[0].dtype))
        optune_plan_fuse(task, plan, &stage, 0);
    optune_plan_stage(plan, &stage);
}

OPTUNE_IMPL(convolution_direct, depthwise_mma) = {
    .op = "conv2d",
    .name = "depthwise_conv2d_mma.cuda",
    .summary = "16-bit floats by tensor cores, bands of a plane in shared memory",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .estimate = estimate,
};
