/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/matmul/gpu/matmul_gpu_mma.h declares. */
#include "kernels/matmul/gpu/matmul_gpu_mma.h"

matmul_gpu_mma matmul_gpu_mma_of(const optune_config *config)
{
    return (matmul_gpu_mma){
        .bm = optune_config_int(config, "block_m"),
        .bn = optune_config_int(config, "block_n"),
        .wm = optune_config_int(config, "warp_m"),
        .wn = optune_config_int(config, "warp_n"),
        .kb = optune_config_int(config, "block_k_bytes"),
        .stages = optune_config_int(config, "stages"),
        .group = optune_config_int(config, "group_m"),
        .splits = optune_config_int(config, "splits"),
    };
}

void matmul_gpu_mma_space(optune_space *space)
{
    static const int64_t sizes[] = {16, 32, 64, 128, 256};
    optune_space_ints(space, "block_m", 5, sizes);
    optune_space_ints(space, "block_n", 5, sizes);
    optune_space_ints(space, "warp_m", 3, sizes);
    optune_space_ints(space, "warp_n", 4, sizes);
    optune_space_ints(space, "block_k_bytes", 2, (const int64_t[]){64, 128});
    optune_space_ints(space, "stages", 4, (const int64_t[]){2, 3, 4, 5});
    optune_space_ints(space, "group_m", 3, (const int64_t[]){1, 4, 8});
    optune_space_ints(space, "splits", 5, (const int64_t[]){1, 2, 4, 8, 16});
}

/* ---- what it takes ----------------------------------------------------------------------- */

static bool matmul_gpu_mma_is(optune_dtype dtype, int code, int bits)
{
    return dtype.code == code && dtype.bits == bits && dtype.lanes == 1;
}

/* The word of kernels/common/mma_gpu.kernel.h; NULL: there is none for these types. */
static const char *matmul_gpu_mma_word(const optune_call *call)
{
    const optune_dtype in = call->input[0].type.dtype, out = call->output[0].dtype;
    const bool f32 = matmul_gpu_mma_is(out, OPTUNE_DTYPE_FLOAT, 32);
    if (matmul_gpu_mma_is(in, OPTUNE_DTYPE_INT, 8))
        return matmul_gpu_mma_is(out, OPTUNE_DTYPE_INT, 32) ? "mma_s8" : NULL;
    if (!f32 && !optune_dtype_equal(in, out))
        return NULL;
    return matmul_gpu_mma_is(in, OPTUNE_DTYPE_FLOAT, 16)    ? "mma_f16"
           : matmul_gpu_mma_is(in, OPTUNE_DTYPE_BFLOAT, 16) ? "mma_bf16"
           : matmul_gpu_mma_is(in, OPTUNE_DTYPE_FLOAT, 32)  ? "mma_tf32"
                                                            : NULL;
}

bool matmul_gpu_mma_takes(const optune_call *call, char *why)
{
    return (matmul_gpu_mma_word(call) &&
            optune_dtype_equal(call->input[0].type.dtype, call->input[1].type.dtype)) ||
           optune_refuse(why, "needs float16 or bfloat16 with sums of that type or float32, "
                              "int8 with int32, or float32");
}

bool matmul_gpu_mma_applies(const optune_task *task, const matmul_gpu *p, char *why)
{
    const optune_call *call = task->call;
    if (!gpu_is_cuda(task, 80, why) || !matmul_gpu_mma_takes(call, why))
        return false;
    if (call->input[0].type.dtype.bits == 32 &&
        strcmp(optune_call_word(call, "math"), "tf32") != 0)
        return optune_refuse(why, "tensor cores round float32 to tf32, the call asks for %s",
                             optune_call_word(call, "math"));
    if (call->input[0].type.dtype.bits != 16 && (p->x_along || p->y_along))
        return optune_refuse(why, "transposes operands of 16 bits only");
    if (p->x_along && p->m_varies)
        return optune_refuse(why, "rows of a transposed operand must be known");
    return (p->b > 0 && p->m > 0 && p->n > 0 && p->k > 0) ||
           optune_refuse(why, "needs dimensions of at least 1");
}

bool matmul_gpu_mma_divides(const matmul_gpu *p, char *why)
{
    return (p->k % 16 == 0 &&
            ((p->m % 8 == 0 && p->n % 32 == 0) || (p->m % 16 == 0 && p->n % 16 == 0) ||
             (p->m % 32 == 0 && p->n % 8 == 0))) ||
           optune_refuse(why,
                         "m, n and k are no multiples of (8,32,16), (16,16,16) or (32,8,16)");
}

/* Sums, two steps of fragments, and what addresses take. */
static int64_t matmul_gpu_mma_registers(const matmul_gpu_mma *c)
{
    const int64_t mt = c->wm / 16, nt = c->wn / 8;
    return 4 * mt * nt + 2 * (4 * mt + 2 * nt) + 32;
}

bool matmul_gpu_mma_fits(const optune_task *task, const matmul_gpu *p, const matmul_gpu_mma *c,
                         char *why)
{
    const int64_t size = task->call->input[0].type.dtype.bits / 8;
    if (c->wm > c->bm || c->wn > c->bn)
        return optune_refuse(why, "a warp computes more than its block");
    if ((c->bm > 16 && c->bm / 2 >= p->m) || (c->bn > 16 && c->bn / 2 >= p->n))
        return optune_refuse(why, "half of the block lies outside the output");
    const int64_t threads = matmul_gpu_mma_threads(c), chunks = c->kb / 16;
    /* A row of a tile is copied by one line of threads. */
    if (threads < (p->x_along ? c->bm / 8 : chunks) ||
        threads < (p->y_along ? c->bn / 8 : chunks))
        return optune_refuse(why, "%" PRId64 " threads copy less than a row of a tile",
                             threads);
    if ((c->bm + c->bn) * chunks > 16 * threads) /* their addresses would spill */
        return optune_refuse(why, "a thread copies more than 16 chunks of a tile");
    const int64_t blocks_m = host_ceil(p->m, c->bm);
    if (c->group > 1 && c->group / 2 >= blocks_m)
        return optune_refuse(why, "%" PRId64 " rows of blocks make no groups of %" PRId64,
                             blocks_m, c->group);
    const int64_t depth = c->kb / size, tiles = host_ceil(p->k, depth);
    const int64_t each = host_ceil(tiles, c->splits);
    if (c->splits > 1 &&
        (each < 2 || each * (c->splits - 1) >= tiles || p->b * c->splits > 65535))
        return optune_refuse(why,
                             "%" PRId64 " tiles of depth do not divide into %" PRId64
                             " parts of two and more",
                             tiles, c->splits);
    if (c->splits > 1 && !matmul_scratch_fits(c->splits * matmul_gpu_outputs(p) * 4, why))
        return false;
    const int64_t block[3] = {threads, 1, 1};
    return gpu_fits(task, block, matmul_gpu_mma_shared(c), matmul_gpu_mma_registers(c), why);
}

/* ---- untuned ----------------------------------------------------------------------------- */

/* An estimate of a product's time in cycles, only good for comparing: tensor cores or shared
 * memory, whichever is busier, or the latency of tiles where a core holds too little to hide
 * it, and what sharing the depth costs. */
static double matmul_gpu_mma_cost(const optune_task *task, const matmul_gpu *p,
                                  const matmul_gpu_mma *c)
{
    enum {
        UNITS = 108,
        LATENCY = 800,
        PRODUCTS = 2048,
        BYTES = 128,
        TRAFFIC = 16,
        LAUNCH = 3000
    };
    const int64_t size = task->call->input[0].type.dtype.bits / 8;
    const int64_t units = task->device->cores > 0 ? task->device->cores : UNITS;
    const int64_t steps = host_ceil(host_ceil(p->k, c->kb / size), c->splits);
    const int64_t blocks = host_ceil(p->m, c->bm) * host_ceil(p->n, c->bn) * p->b * c->splits;
    const int64_t queue = host_ceil(blocks, units); /* blocks that one core computes */
    const int64_t warps = matmul_gpu_mma_threads(c) / 32;
    const int64_t by_shared = gpu_max_shared(task) / matmul_gpu_mma_shared(c);
    const int64_t resident = host_min(queue, by_shared < 1 ? 1 : by_shared);
    const double products = (double)(c->bm * c->bn * c->kb) / PRODUCTS;
    const double shared = (double)((warps * (c->wm + c->wn) + c->bm + c->bn) * c->kb) / BYTES;
    const double busy = (products > shared ? products : shared) * (double)queue;
    const double waiting = LATENCY * (double)queue / (double)(resident * (c->stages - 1));
    const double sharing =
        c->splits == 1 ? 0
                       : LAUNCH + (double)(matmul_gpu_outputs(p) * (2 * c->splits + 1) * 4) /
                                      (double)(units * TRAFFIC);
    return (double)steps * (busy > waiting ? busy : waiting) + sharing;
}

double matmul_gpu_mma_estimate(const optune_task *task, const matmul_gpu *p,
                               const optune_config *config)
{
    const matmul_gpu_mma c = matmul_gpu_mma_of(config);
    return matmul_gpu_mma_cost(task, p, &c);
}

void matmul_gpu_mma_fallback(const optune_task *task, const matmul_gpu *p,
                             const optune_space *space, optune_config *config)
{
    static const struct {
        int64_t bm, bn, wm, wn;
    } tiles[] = {
        {128, 256, 64, 64}, {256, 128, 64, 64}, {128, 128, 64, 64}, {128, 128, 64, 32},
        {64, 128, 32, 64},  {128, 64, 64, 32},  {64, 64, 32, 32},   {32, 64, 16, 32},
        {64, 32, 32, 16},   {32, 32, 16, 16},   {16, 128, 16, 32},  {16, 64, 16, 16},
        {64, 16, 16, 16},   {16, 32, 16, 16},   {32, 16, 16, 16},
    };
    matmul_gpu_mma best = {16, 16, 16, 16, 64, 2, 1, 1};
    double cost = INFINITY;
    for (size_t i = 0; i < sizeof tiles / sizeof tiles[0]; i++)
        for (int64_t stages = 4; stages >= 3; stages--)
            for (int64_t splits = 1; splits <= 16; splits *= 2) {
                matmul_gpu_mma c = {tiles[i].bm, tiles[i].bn, tiles[i].wm, tiles[i].wn,
                                    64,          stages,      1,           splits};
                if (!matmul_gpu_mma_fits(task, p, &c, NULL))
                    continue;
                const double here = matmul_gpu_mma_cost(task, p, &c);
                if (here < cost) {
                    cost = here;
                    best = c;
                }
            }
    best.group = host_ceil(p->m, best.bm) >= 8 ? 8 : 1;
    optune_config_choose_int(config, space, "block_m", best.bm);
    optune_config_choose_int(config, space, "block_n", best.bn);
    optune_config_choose_int(config, space, "warp_m", best.wm);
    optune_config_choose_int(config, space, "warp_n", best.wn);
    optune_config_choose_int(config, space, "block_k_bytes", best.kb);
    optune_config_choose_int(config, space, "stages", best.stages);
    optune_config_choose_int(config, space, "group_m", best.group);
    optune_config_choose_int(config, space, "splits", best.splits);
}

/* ---- plan -------------------------------------------------------------------------------- */

/* How many bytes of a row may be copied at once: 16, 8, 4, or an element. */
static int64_t matmul_gpu_mma_copy(const matmul_gpu *p, int64_t size)
{
    const int64_t x = (p->x_along ? p->m : p->k) * size, y = (p->y_along ? p->n : p->k) * size;
    for (int64_t copy = 16; copy >= 4; copy /= 2)
        if (x % copy == 0 && y % copy == 0)
            return copy;
    return size;
}

void matmul_gpu_mma_types(const optune_call *call, optune_plan *plan, int m)
{
    const optune_dtype in = call->input[0].type.dtype, out = call->output[0].dtype;
    const bool whole = in.code == OPTUNE_DTYPE_INT, half = out.bits == 16;
    const bool brain = half && out.code == OPTUNE_DTYPE_BFLOAT;
    const struct {
        const char *macro, *text;
    } table[] = {
        {"MMA", matmul_gpu_mma_word(call)},
        {"SUM", whole ? "int" : "float"},
        {"ELEM", in.bits == 8    ? "byte"
                 : in.bits == 16 ? "u16"
                                 : "u32"},
        {"OUT", whole  ? "int"
                : half ? "u16"
                       : "float"},
        {"ROUND", brain  ? "bfloat_of_float"
                  : half ? "half_of_float"
                         : "(OUT)"},
        {"PAIR", brain ? "bfloats_of_floats" : "halves_of_floats"},
        {"VALUE", brain  ? "float_of_bfloat"
                  : half ? "float_of_half"
                         : "(SUM)"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        optune_plan_define_text(plan, m, table[i].macro, table[i].text);
    optune_plan_define(plan, m, "TF32", in.bits == 32);
    optune_plan_define(plan, m, "SIZE", in.bits / 8);
    optune_plan_define(plan, m, "OUT_BYTES", out.bits / 8);
}

static int matmul_gpu_mma_module(const optune_call *call, const matmul_gpu *p,
                                 const matmul_gpu_mma *c, optune_plan *plan)
{
    const int m = optune_plan_module(plan);
    const int64_t size = call->input[0].type.dtype.bits / 8;
    const bool wide = p->m * p->k > INT32_MAX / 2 || p->n * p->k > INT32_MAX / 2 ||
                      matmul_gpu_outputs(p) > INT32_MAX / 2;
    const struct {
        const char *macro;
        int64_t value;
    } table[] = {
        {"BM", c->bm},
        {"BN", c->bn},
        {"WM", c->wm},
        {"WN", c->wn},
        {"KB", c->kb},
        {"STAGES", c->stages},
        {"GROUP", c->group},
        {"SPLITS", c->splits},
        {"DEPTH", c->kb / size},
        {"COPY", matmul_gpu_mma_copy(p, size)},
        {"B", p->b},
        {"M", p->m},
        {"N", p->n},
        {"K", p->k},
        {"A_ACROSS", p->x_along},
        {"B_ACROSS", p->y_along},
        {"B_VARIES", p->b_varies},
        {"M_VARIES", p->m_varies},
        {"A_SHARED", p->x_shared},
        {"B_SHARED", p->y_shared},
        {"BIAS", p->has_bias},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        optune_plan_define(plan, m, table[i].macro, table[i].value);
    optune_plan_define_text(plan, m, "INDEX", wide ? "i64" : "int");
    matmul_gpu_mma_types(call, plan, m);
    return m;
}

void matmul_gpu_mma_plan(const optune_task *task, const matmul_gpu *p,
                         const optune_config *config, optune_plan *plan)
{
    enum { FINISH_THREADS = 256 };
    const matmul_gpu_mma c = matmul_gpu_mma_of(config);
    const int m = matmul_gpu_mma_module(task->call, p, &c, plan);
    optune_stage stage = {
        .phase = OPTUNE_TIMED,
        .module = m,
        .function = "product",
        .n_args = 3,
        .arg = {optune_input_arg(0), optune_input_arg(1), optune_output_arg(0)},
        .grid = {host_ceil(p->m, c.bm) * host_ceil(p->n, c.bn), 1, p->b * c.splits},
        .block = {matmul_gpu_mma_threads(&c), 1, 1},
        .shared = matmul_gpu_mma_shared(&c),
    };
    optune_stage finish = {
        .phase = OPTUNE_TIMED,
        .module = m,
        .function = "finish",
        .n_args = 2,
        .arg = {{0}, optune_output_arg(0)},
        .grid = {host_ceil(matmul_gpu_outputs(p), FINISH_THREADS), 1, 1},
        .block = {FINISH_THREADS, 1, 1},
    };
    optune_stage *last = c.splits > 1 ? &finish : &stage;
    if (c.splits > 1)
        stage.arg[2] = finish.arg[0] = optune_scratch_arg(
            optune_plan_scratch(plan, "parts", c.splits * matmul_gpu_outputs(p) * 4, false));
    if (c.splits > 1)
        matmul_gpu_dims(&stage, p, false);
    matmul_gpu_dims(last, p, true);
    optune_plan_fuse(task, plan, last, 0);
    optune_plan_stage(plan, &stage);
    if (c.splits > 1)
        optune_plan_stage(plan, &finish);
}
