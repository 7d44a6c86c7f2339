/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention_tiles.cpu: an online softmax over tiles of queries and keys, so that no score leaves
 * the caches. Queries that share keys are rows of one matrix. 16-bit floats become float32 while
 * keys and values are packed, which is part of the time.
 */
#include "kernels/attention/attention.h"

/* Bytes of a thread's tile; rows that are faster without panels than packing and tiles. */
enum { STACK = 512 << 10, FEW = 2 };

/* At no size are there more rows than need no panels. */
static bool never_packs(const attention_shape *s)
{
    return attention_varies(s) && s->rows <= FEW;
}

static int64_t wide(const optune_task *task, const attention_shape *s)
{
    const int64_t lanes = attention_lanes(task, s);
    return host_ceil(s->dv, lanes) * lanes;
}

static int64_t panels_bytes(const attention_shape *s, int64_t tile_k)
{
    return s->heads * host_ceil(s->skv, tile_k) * tile_k * s->d * attention_elem(s);
}

/* The most that is packed, of keys or of values. */
static double packed_bytes(const attention_shape *s, int64_t tile_k, int64_t wide)
{
    return (double)s->heads * (double)(s->skv + tile_k) * (double)host_max(s->d, wide) *
           (double)attention_elem(s);
}

/* What a thread keeps of a tile, and what is packed. */
static bool fits(const optune_task *task, const attention_shape *s, int64_t tq, int64_t tk,
                 char *why)
{
    const int64_t elem = attention_elem(s);
    if (s->d > 1 << 16 || s->dv > 1 << 16 || tq * (s->d + tk + wide(task, s)) * elem > STACK)
        return optune_refuse(why, "a tile takes more than %d bytes", (int)STACK);
    return never_packs(s) || packed_bytes(s, tk, wide(task, s)) <= (double)(1 << 30) ||
           optune_refuse(why, "packing needs more than 1 GiB");
}

static bool applies(const optune_task *task, char *why)
{
    attention_shape s;
    return attention_most_applies(task, &s, why) &&
           fits(task, &s, 8, host_max(32, attention_lanes(task, &s)), why);
}

static void space(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_ints(space, "tile_q", 6, (const int64_t[]){8, 16, 32, 48, 64, 128});
    optune_space_ints(space, "tile_k", 5, (const int64_t[]){32, 64, 128, 256, 512});
    optune_space_ints(space, "rows", 4, (const int64_t[]){2, 4, 6, 8});
    optune_space_ints(space, "vectors", 4, (const int64_t[]){1, 2, 3, 4});
}

static bool packs_v(const optune_task *task, const attention_shape *s)
{
    return wide(task, s) != s->dv || task->call->input[ATTENTION_V].type.dtype.bits == 16;
}

static bool valid(const optune_task *task, const optune_config *config, char *why)
{
    attention_shape s;
    attention_most_of(task->call, &s);
    const int64_t tq = optune_config_int(config, "tile_q");
    const int64_t tk = optune_config_int(config, "tile_k");
    const int64_t mr = optune_config_int(config, "rows");
    const int64_t nv = optune_config_int(config, "vectors");
    const int registers =
        task->device->vector_registers >= 16 ? task->device->vector_registers : 16;
    if (tq < mr)
        return optune_refuse(why, "a tile of %ld has no %ld rows", (long)tq, (long)mr);
    if (mr * nv + nv + 1 > registers)
        return optune_refuse(why, "%ld x %ld vectors do not fit into %d registers", (long)mr,
                             (long)nv, registers);
    if (tk % attention_lanes(task, &s) || nv * attention_lanes(task, &s) > tk)
        return optune_refuse(why, "%ld keys are no vectors", (long)tk);
    return fits(task, &s, tq, tk, why);
}

static void fallback(const optune_task *task, const optune_space *space, optune_config *config)
{
    attention_shape s;
    attention_most_of(task->call, &s);
    const bool many = task->device->vector_registers >= 32;
    optune_config_choose_int(config, space, "tile_q", s.rows < 64 ? host_max(s.rows, 8) : 64);
    optune_config_choose_int(config, space, "tile_k",
                             s.skv < 128 ? host_max(host_ceil(s.skv, 32) * 32, 32) : 128);
    optune_config_choose_int(config, space, "rows", many ? 8 : 4);
    optune_config_choose_int(config, space, "vectors", many ? 3 : 2);
    optune_config_nearest(config, space);
}

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    attention_shape s;
    attention_most_of(task->call, &s);
    const int64_t tk = optune_config_int(config, "tile_k");
    const bool pack_v = packs_v(task, &s);
    const int m = optune_plan_module(plan);
    attention_define(plan, m, task, &s);
    optune_plan_define(plan, m, "TQ", optune_config_int(config, "tile_q"));
    optune_plan_define(plan, m, "TK", tk);
    optune_plan_define(plan, m, "MR", optune_config_int(config, "rows"));
    optune_plan_define(plan, m, "NV", optune_config_int(config, "vectors"));
    optune_plan_define(plan, m, "PACK_V", pack_v);
    optune_plan_define(plan, m, "FEW", FEW);
    const bool packs = !never_packs(&s);
    const optune_arg panels = packs ? optune_scratch_arg(optune_plan_scratch(
                                          plan, "panels", panels_bytes(&s, tk), false))
                                    : optune_input_arg(ATTENTION_K); /* which nobody reads */
    optune_stage packing = {
        .phase = OPTUNE_TIMED,
        .module = m,
        .function = "pack",
        .n_args = 3,
        .arg = {optune_input_arg(ATTENTION_K), optune_input_arg(ATTENTION_V), panels}};
    optune_stage stage = {.phase = OPTUNE_TIMED,
                          .module = m,
                          .function = "attention",
                          .n_args = 4,
                          .arg = {optune_input_arg(ATTENTION_Q), optune_input_arg(ATTENTION_V),
                                  panels, optune_output_arg(0)}};
    if (pack_v && packs)
        stage.arg[1] = packing.arg[packing.n_args++] = optune_scratch_arg(optune_plan_scratch(
            plan, "v", s.heads * s.skv * wide(task, &s) * attention_elem(&s), false));
    if (s.has_mask)
        stage.arg[stage.n_args++] = optune_input_arg(ATTENTION_MASK);
    if (attention_varies(&s)) {
        stage.arg[stage.n_args++] = optune_input_arg(ATTENTION_K);
        stage.arg[stage.n_args++] = optune_input_arg(ATTENTION_V);
        attention_dims(&s, &packing);
        attention_dims(&s, &stage);
    }
    if (packs)
        optune_plan_stage(plan, &packing);
    optune_plan_stage(plan, &stage);
}

OPTUNE_IMPL(attention, tiles) = {
    .op = "attention",
    .name = "attention_tiles.cpu",
    .summary = "an online softmax over tiles of queries and keys",
    .applies = applies,
    .space = space,
    .fallback = fallback,
    .valid = valid,
    .plan = plan,
    .symbolic = "q.0 q.2 k.0 k.2 v.0 v.2 mask.0 mask.2 mask.3",
};
