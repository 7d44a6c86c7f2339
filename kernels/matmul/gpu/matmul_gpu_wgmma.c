/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/matmul/gpu/matmul_gpu_wgmma.h declares. */
#include "kernels/matmul/gpu/matmul_gpu_wgmma.h"

#include <math.h>

enum {
    MATMUL_GPU_WGMMA_CORES = 132,   /* where a device does not tell: those of most of them */
    MATMUL_GPU_WGMMA_SLACK = 1024,  /* WARPGROUP_SLACK of kernels/common/wgmma_gpu.kernel.h */
    MATMUL_GPU_WGMMA_BARRIERS = 32, /* bytes of a stage's two */
    MATMUL_GPU_WGMMA_OUT = 16384,   /* of a warpgroup's boxes on their way out */
};

matmul_gpu_wgmma matmul_gpu_wgmma_of(const optune_config *config)
{
    return (matmul_gpu_wgmma){
        .bm = optune_config_int(config, "block_m"),
        .bn = optune_config_int(config, "block_n"),
        .kb = optune_config_int(config, "block_k_bytes"),
        .stages = optune_config_int(config, "stages"),
        .consumers = optune_config_int(config, "consumers"),
        .group = optune_config_int(config, "group_m"),
        .cluster = optune_config_int(config, "cluster"),
        .producer = strcmp(optune_config_word(config, "copies"), "warpgroup") == 0,
        .persistent = optune_config_int(config, "persistent") != 0,
        .boxes = strcmp(optune_config_word(config, "stores"), "boxes") == 0,
    };
}

static void tiles_space(optune_space *space)
{
    optune_space_ints(space, "block_m", 3, (const int64_t[]){64, 128, 256});
    optune_space_ints(space, "block_n", 4, (const int64_t[]){64, 128, 192, 256});
    optune_space_ints(space, "block_k_bytes", 2, (const int64_t[]){128, 256});
    optune_space_ints(space, "stages", 6, (const int64_t[]){2, 3, 4, 5, 6, 8});
    optune_space_ints(space, "consumers", 2, (const int64_t[]){1, 2});
    optune_space_words(space, "copies", 2, (const char *const[]){"warpgroup", "thread"});
    optune_space_ints(space, "group_m", 4, (const int64_t[]){4, 8, 16, 32});
    optune_space_ints(space, "cluster", 2, (const int64_t[]){1, 2});
    optune_space_ints(space, "persistent", 2, (const int64_t[]){0, 1});
}

void matmul_gpu_wgmma_space(optune_space *space)
{
    tiles_space(space);
    optune_space_words(space, "stores", 2, (const char *const[]){"boxes", "pairs"});
}

void matmul_gpu_wgmma_space_of_bytes(optune_space *space)
{
    tiles_space(space);
    optune_space_words(space, "stores", 1, (const char *const[]){"pairs"});
}

/* ---- what it takes ----------------------------------------------------------------------- */

/* What a product of these types is made of; `type` NULL: there is none. The names are macros of
 * the body. */
typedef struct matmul_gpu_wgmma_kind {
    const char *type, *sum, *out, *out_of, *sum_of, *bits_of;
    int64_t element;
} matmul_gpu_wgmma_kind;

static matmul_gpu_wgmma_kind matmul_gpu_wgmma_kind_of(const optune_call *call,
                                                      const matmul_gpu *p)
{
    const optune_dtype in = call->input[0].type.dtype, out = call->output[0].dtype;
    const bool wide = out.code == OPTUNE_DTYPE_FLOAT && out.bits == 32;
    const bool half = in.bits == 16 && (wide || optune_dtype_equal(in, out));
    matmul_gpu_wgmma_kind k = {
        .sum = "float",
        .out = "float",
        .out_of = "",
        .sum_of = "",
        .bits_of = "FLOAT_BITS",
        .element = in.bits / 8,
    };
    if (in.lanes != 1 || out.lanes != 1)
        return k;
    if (p->to_bytes) {
        k.type = in.code == OPTUNE_DTYPE_INT ? "s8" : "u8s8";
        k.sum = "int";
        k.out = "unsigned char";
    } else if (in.code == OPTUNE_DTYPE_INT && in.bits == 8 && out.code == OPTUNE_DTYPE_INT &&
               out.bits == 32) {
        k.type = "s8";
        k.sum = k.out = "int";
        k.bits_of = "(u32)";
    } else if (in.code == OPTUNE_DTYPE_FLOAT && in.bits == 32 && wide) {
        k.type = "tf32";
    } else if (half && in.code == OPTUNE_DTYPE_FLOAT) {
        k.type = "f16";
        k.out_of = "half_of_float";
        k.sum_of = "float_of_half";
    } else if (half && in.code == OPTUNE_DTYPE_BFLOAT) {
        k.type = "bf16";
        k.out_of = "bfloat_of_float";
        k.sum_of = "float_of_bfloat";
    }
    if (half && wide) {
        k.out_of = k.sum_of = "";
    } else if (half) {
        k.out = "u16";
        k.bits_of = in.code == OPTUNE_DTYPE_BFLOAT ? "bfloats_of_floats" : "halves_of_floats";
    }
    return k;
}

bool matmul_gpu_wgmma_applies(const optune_task *task, const matmul_gpu *p, char *why)
{
    if (!gpu_has_warpgroups(task, why))
        return false;
    const matmul_gpu_wgmma_kind kind = matmul_gpu_wgmma_kind_of(task->call, p);
    if (!kind.type)
        return optune_refuse(why, "needs float16, bfloat16, int8, or float32 as tf32");
    if (strcmp(kind.type, "tf32") == 0 &&
        strcmp(optune_call_word(task->call, "math"), "tf32") != 0)
        return optune_refuse(why, "float32 needs math=tf32");
    if (p->b < 1 || p->m < 1 || p->n < 1 || p->k < 1)
        return optune_refuse(why, "needs dimensions of at least 1");
    if (p->x_along || p->y_along)
        return optune_refuse(why, "needs operands whose rows lie along the depth");
    return p->k * kind.element % 16 == 0 ||
           optune_refuse(why, "needs rows of a multiple of 16 bytes");
}

/* ---- limits ------------------------------------------------------------------------------ */

static int64_t matmul_gpu_wgmma_cores(const optune_task *task)
{
    return task->device->cores > 0 ? task->device->cores : MATMUL_GPU_WGMMA_CORES;
}

static int64_t matmul_gpu_wgmma_tiles(const matmul_gpu *p, const matmul_gpu_wgmma *w)
{
    return p->b * host_ceil(p->m, w->bm * w->cluster) * host_ceil(p->n, w->bn) * w->cluster;
}

/* Whole clusters of them. */
static int64_t matmul_gpu_wgmma_blocks(const optune_task *task, const matmul_gpu *p,
                                       const matmul_gpu_wgmma *w)
{
    const int64_t tiles = matmul_gpu_wgmma_tiles(p, w), cores = matmul_gpu_wgmma_cores(task);
    const int64_t together = cores < w->cluster ? w->cluster : cores / w->cluster * w->cluster;
    return w->persistent ? host_min(tiles, together) : tiles;
}

static int64_t matmul_gpu_wgmma_shared(const matmul_gpu_wgmma *w)
{
    return MATMUL_GPU_WGMMA_SLACK + w->boxes * w->consumers * MATMUL_GPU_WGMMA_OUT +
           w->stages * ((w->bm + w->bn) * w->kb + MATMUL_GPU_WGMMA_BARRIERS);
}

static bool matmul_gpu_wgmma_boxes_fit(const optune_task *task, const matmul_gpu *p)
{
    return !p->to_bytes &&
           (p->line ? p->line : p->n) * (task->call->output[0].dtype.bits / 8) % 16 == 0;
}

/* A stage behind the last step of depth only helps a block that has another tile. */
static bool matmul_gpu_wgmma_deep(const optune_task *task, const matmul_gpu *p,
                                  const matmul_gpu_wgmma *w)
{
    const int64_t bytes = p->k * matmul_gpu_wgmma_kind_of(task->call, p).element;
    return w->stages > 2 && !w->persistent && w->stages > host_ceil(bytes, w->kb) + 1;
}

bool matmul_gpu_wgmma_valid(const optune_task *task, const matmul_gpu *p,
                            const optune_config *config, char *why)
{
    const matmul_gpu_wgmma w = matmul_gpu_wgmma_of(config);
    const int64_t block[3] = {128 * (w.consumers + w.producer), 1, 1};
    const int64_t sums = w.bm / w.consumers * w.bn / 128;
    if (w.bm % (64 * w.consumers) != 0)
        return optune_refuse(why, "a warpgroup computes a multiple of 64 rows");
    if ((w.bm > 64 && w.bm / 2 >= p->m) || (w.bn > 64 && w.bn - 64 >= p->n))
        return optune_refuse(why, "a large part of the block lies outside the output");
    if (matmul_gpu_wgmma_deep(task, p, &w))
        return optune_refuse(why, "more stages than steps of depth");
    if (w.boxes && !matmul_gpu_wgmma_boxes_fit(task, p))
        return optune_refuse(why, "boxes need an output with lines of a multiple of 16 bytes");
    if (w.cluster > 1 && !w.producer)
        return optune_refuse(why, "clusters need a warpgroup that copies");
    if (w.cluster > 1 && w.bm * (w.cluster - 1) >= p->m)
        return optune_refuse(why, "a block of the cluster lies outside the output");
    if (w.persistent && matmul_gpu_wgmma_tiles(p, &w) <= matmul_gpu_wgmma_cores(task))
        return optune_refuse(why, "no block would have a second tile");
    if (matmul_gpu_wgmma_tiles(p, &w) > INT32_MAX / 2)
        return optune_refuse(why, "too many tiles");
    /* Two warpgroups of sums beside one that copies get 232 registers each; others have 255. */
    if (sums > 192)
        return optune_refuse(why, "%" PRId64 " sums in a thread, at most 192", sums);
    return gpu_fits(task, block, matmul_gpu_wgmma_shared(&w), 128, why);
}

double matmul_gpu_wgmma_estimate(const optune_task *task, const matmul_gpu *p,
                                 const optune_config *config)
{
    enum { PRODUCTS = 4096, SHARED = 128 }; /* bytes of depth, and of shared memory, a cycle */
    const matmul_gpu_wgmma w = matmul_gpu_wgmma_of(config);
    const int64_t sums = w.bm / w.consumers * w.bn / 128;
    const int64_t out = task->call->output[0].dtype.bits / 8;
    const double steps =
        (double)host_ceil(p->k * matmul_gpu_wgmma_kind_of(task->call, p).element, w.kb);
    const double products = (double)(w.bm * w.bn * w.kb) / PRODUCTS;
    const double reads = (double)((w.bm + w.bm / 64 * w.bn) * w.kb) / SHARED;
    const double written =
        p->y_step + p->y_cycles * (double)(w.bn * w.kb / MATMUL_GPU_WGMMA_ROW);
    const double y_line = p->y_cycles > 0 ? p->y_bytes * (double)w.kb / MATMUL_GPU_WGMMA_ROW
                                          : (double)w.kb / (double)w.cluster;
    const double step = fmax(fmax(products, reads), written);
    const double each = p->to_bytes ? p->byte_instructions : w.boxes ? 1.5 : 3;
    const bool ahead = w.persistent && w.producer; /* the next tile while this one is stored */
    const gpu_work work = {
        .blocks = matmul_gpu_wgmma_tiles(p, &w),
        .threads = 128 * (w.consumers + w.producer),
        .registers = host_max(sums + 40, w.consumers > 1 ? 168 : 90),
        .shared = matmul_gpu_wgmma_shared(&w),
        .instructions = steps * 20 + (double)sums * each,
        .bytes = (double)(w.bm * w.bn * out) *
                 (w.boxes || p->to_bytes ? 1 : 2), /* pairs: half a sector */
        .cached = steps * ((double)(w.bm * w.kb) + (double)w.bn * y_line) +
                  (double)(w.bm * w.bn * out),
        .waits = gpu_exposed(steps, w.stages - 1, step) - ahead + 1,
        .barriers = w.producer ? 1 : steps,
        .pipe = steps * step,
    };
    return gpu_cost(task, &work);
}

/* What follows from a tile: as many stages as there is room for. Where all cores multiply all the
 * time, the cache does not keep up with each block's own copies: two share theirs. */
static void wgmma_settle(const optune_task *task, const matmul_gpu *p, matmul_gpu_wgmma *w)
{
    w->kb = MATMUL_GPU_WGMMA_ROW;
    w->stages = 6;
    w->consumers = host_min(w->bm / 64, 2);
    w->group = 16;
    w->producer = true;
    w->boxes = matmul_gpu_wgmma_boxes_fit(task, p);
    w->cluster = 1;
    w->persistent = matmul_gpu_wgmma_tiles(p, w) > matmul_gpu_wgmma_cores(task);
    if (w->persistent && p->m > w->bm && !(p->y_cycles > 0))
        w->cluster = 2;
    while (w->stages > 2 && (matmul_gpu_wgmma_shared(w) > gpu_max_shared(task) ||
                             matmul_gpu_wgmma_deep(task, p, w)))
        w->stages--;
}

static void wgmma_choose(const matmul_gpu_wgmma *w, const optune_space *space,
                         optune_config *config)
{
    optune_config_choose_int(config, space, "block_m", w->bm);
    optune_config_choose_int(config, space, "block_n", w->bn);
    optune_config_choose_int(config, space, "block_k_bytes", w->kb);
    optune_config_choose_int(config, space, "stages", w->stages);
    optune_config_choose_int(config, space, "consumers", w->consumers);
    optune_config_choose_word(config, space, "copies", w->producer ? "warpgroup" : "thread");
    optune_config_choose_int(config, space, "group_m", w->group);
    optune_config_choose_int(config, space, "cluster", w->cluster);
    optune_config_choose_int(config, space, "persistent", w->persistent);
    optune_config_choose_word(config, space, "stores", w->boxes ? "boxes" : "pairs");
}

/* The tile of at most so many sums a thread that costs the least, if that is less than `least`. */
static void wgmma_cheaper(const optune_task *task, const matmul_gpu *p, int64_t sums,
                          const optune_space *space, optune_config *config, double least)
{
    static const int64_t size[][2] = {{64, 64},  {64, 128},  {64, 192},  {64, 256},
                                      {128, 64}, {128, 128}, {128, 192}, {128, 256},
                                      {256, 64}, {256, 128}, {256, 192}};
    for (size_t i = 0; i < sizeof size / sizeof size[0]; i++) {
        matmul_gpu_wgmma w = {.bm = size[i][0], .bn = size[i][1]};
        optune_config other = *config;
        wgmma_settle(task, p, &w);
        if (w.bm / w.consumers * w.bn / 128 > sums)
            continue;
        wgmma_choose(&w, space, &other);
        const double cost = matmul_gpu_wgmma_estimate(task, p, &other);
        if (cost < least && matmul_gpu_wgmma_valid(task, p, &other, NULL)) {
            least = cost;
            *config = other;
        }
    }
}

void matmul_gpu_wgmma_fallback(const optune_task *task, const matmul_gpu *p,
                               const optune_space *space, optune_config *config)
{
    const int64_t cores = matmul_gpu_wgmma_cores(task);
    matmul_gpu_wgmma w = {.bm = 128, .bn = 256, .cluster = 1};
    while (w.bn > 64 && (matmul_gpu_wgmma_tiles(p, &w) < cores || w.bn - 64 >= p->n))
        w.bn /= 2;
    if (w.bm / 2 >= p->m || matmul_gpu_wgmma_tiles(p, &w) < cores)
        w.bm = 64;
    wgmma_settle(task, p, &w);
    wgmma_choose(&w, space, config);
}

void matmul_gpu_wgmma_best(const optune_task *task, const matmul_gpu *p,
                           const optune_space *space, optune_config *config)
{
    matmul_gpu_wgmma_fallback(task, p, space, config);
    wgmma_cheaper(task, p, INT64_MAX, space, config,
                  0.97 * matmul_gpu_wgmma_estimate(task, p, config));
}

void matmul_gpu_wgmma_least(const optune_task *task, const matmul_gpu *p, int64_t sums,
                            const optune_space *space, optune_config *config)
{
    matmul_gpu_wgmma w = {.bm = 64, .bn = 64};
    wgmma_settle(task, p, &w);
    wgmma_choose(&w, space, config);
    wgmma_cheaper(task, p, sums, space, config, INFINITY);
}

/* Boxes of 128 bytes of a line and so many of the other dims. */
static optune_arg wgmma_map(optune_plan *plan, optune_arg tensor, optune_dtype dtype,
                            const int64_t dim[3], const int64_t box[2])
{
    const int64_t element = dtype.bits / 8;
    const bool tf32 = element == 4 && tensor.kind != OPTUNE_ARG_OUTPUT;
    return optune_tensor_map_arg(optune_plan_tensor_map(
        plan, &(optune_tensor_map){
                  .tensor = tensor,
                  .dtype = tf32 ? dtype : (optune_dtype){OPTUNE_DTYPE_UINT, dtype.bits, 1},
                  .tf32 = tf32,
                  .rank = 3,
                  .swizzle = MATMUL_GPU_WGMMA_ROW,
                  .dim = {dim[0], dim[1], dim[2]},
                  .stride = {0, dim[0] * element, dim[0] * dim[1] * element},
                  .box = {MATMUL_GPU_WGMMA_ROW / element, box[0], box[1]},
              }));
}

optune_arg matmul_gpu_wgmma_map(optune_plan *plan, optune_arg tensor, optune_dtype dtype,
                                int64_t batches, int64_t rows, int64_t line, int64_t box)
{
    return wgmma_map(plan, tensor, dtype, (const int64_t[3]){line, rows, batches},
                     (const int64_t[2]){box, 1});
}

optune_arg matmul_gpu_wgmma_panels(optune_plan *plan, optune_arg tensor, optune_dtype dtype,
                                   int64_t depth, int64_t parts, int64_t rows, int64_t box)
{
    return wgmma_map(plan, tensor, dtype, (const int64_t[3]){depth, parts, rows},
                     (const int64_t[2]){1, box});
}

static void matmul_gpu_wgmma_define(const optune_task *task, optune_plan *plan, int m,
                                    const matmul_gpu *p, const matmul_gpu_wgmma *w,
                                    int64_t blocks)
{
    const matmul_gpu_wgmma_kind kind = matmul_gpu_wgmma_kind_of(task->call, p);
    const struct {
        const char *macro;
        int64_t value;
    } table[] = {
        {"B", p->b},
        {"M", p->m},
        {"N", p->n},
        {"K", p->k},
        {"BIAS", p->has_bias},
        {"BM", w->bm},
        {"BN", w->bn},
        {"PANELS", w->kb / MATMUL_GPU_WGMMA_ROW},
        {"STAGES", w->stages},
        {"CONSUMERS", w->consumers},
        {"PRODUCER", w->producer},
        {"GROUP_M", w->group},
        {"BLOCKS", blocks},
        {"CLUSTER", w->cluster},
        {"BOXES", w->boxes},
        {"HALVES", task->call->output[0].dtype.bits == 16},
        {"ELEM", kind.element},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        optune_plan_define(plan, m, table[i].macro, table[i].value);
    optune_plan_define_text(plan, m, "TYPE", kind.type);
    optune_plan_define_text(plan, m, "SUM", kind.sum);
    optune_plan_define_text(plan, m, "OUT", kind.out);
    optune_plan_define_text(plan, m, "OUT_OF", kind.out_of);
    optune_plan_define_text(plan, m, "SUM_OF", kind.sum_of);
    optune_plan_define_text(plan, m, "BITS_OF", kind.bits_of);
    optune_plan_define_text(plan, m, "INDEX",
                            matmul_gpu_outputs(p) > INT32_MAX / 2 ? "i64" : "int");
}

optune_stage matmul_gpu_wgmma_stage(const optune_task *task, optune_plan *plan, int module,
                                    const matmul_gpu *p, const optune_config *config)
{
    const matmul_gpu_wgmma w = matmul_gpu_wgmma_of(config);
    const int64_t blocks = matmul_gpu_wgmma_blocks(task, p, &w);
    matmul_gpu_wgmma_define(task, plan, module, p, &w, blocks);
    return (optune_stage){
        .phase = OPTUNE_TIMED,
        .module = module,
        .function = "product",
        .grid = {blocks, 1, 1},
        .block = {128 * (w.consumers + w.producer), 1, 1},
        .shared = matmul_gpu_wgmma_shared(&w),
    };
}

void matmul_gpu_wgmma_plan(const optune_task *task, const matmul_gpu *p,
                           const optune_config *config, optune_plan *plan)
{
    const matmul_gpu_wgmma w = matmul_gpu_wgmma_of(config);
    const int m = optune_plan_module(plan);
    const optune_arg x = optune_input_arg(0), y = optune_input_arg(1),
                     out = optune_output_arg(0);
    const optune_dtype in = task->call->input[0].type.dtype;
    const optune_dtype to = task->call->output[0].dtype;
    optune_stage stage = matmul_gpu_wgmma_stage(task, plan, m, p, config);
    optune_plan_define(plan, m, "X_SHARED", p->x_shared);
    optune_plan_define(plan, m, "Y_SHARED", p->y_shared);
    stage.arg[0] = matmul_gpu_wgmma_map(plan, x, in, p->x_shared ? 1 : p->b, p->m, p->k, w.bm);
    stage.arg[1] =
        matmul_gpu_wgmma_map(plan, y, in, p->y_shared ? 1 : p->b, p->n, p->k, w.bn / w.cluster);
    stage.arg[2] = w.boxes ? matmul_gpu_wgmma_map(plan, out, to, p->b, p->m, p->n, 16) : out;
    stage.n_args = 3;
    matmul_gpu_dims(&stage, p, true);
    optune_plan_fuse(task, plan, &stage, 0);
    optune_plan_stage(plan, &stage);
}
