/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/nbits/nbits_cpu.h declares. */
#include "kernels/nbits/nbits_cpu.h"

enum { LONG_GROUP = 512 };

int64_t nbits_cpu_group(const nbits_shape *s)
{
    return s->group > LONG_GROUP && (s->groups == 1 || s->group % LONG_GROUP == 0) ? LONG_GROUP
                                                                                   : s->group;
}

static int64_t group_bytes(const nbits_shape *s, int64_t columns, int64_t depth)
{
    const int64_t zero = s->zero ? s->zero_real ? 4 : 2 : 0;
    return columns * (4 + zero + 4 * host_ceil(depth, 32 / s->bits));
}

int64_t nbits_cpu_bytes(const optune_task *task, const nbits_shape *s, int64_t nv)
{
    const int64_t columns = nv * matmul_lanes(task, false), group = nbits_cpu_group(s);
    const int64_t before = host_ceil(s->k, group) - 1;
    return host_ceil(s->n, columns) * (before * group_bytes(s, columns, group) +
                                       group_bytes(s, columns, s->k - before * group));
}

bool nbits_cpu_applies(const optune_task *task, char *why)
{
    if (!nbits_applies(task, why))
        return false;
    const nbits_shape s = nbits_shape_of(task->call);
    return matmul_packed_fits(nbits_cpu_bytes(task, &s, 1), s.n * s.row_bytes, why);
}

static bool wide(const optune_call *call)
{
    return call->output[0].dtype.bits == 16;
}

/* How elements of 16 bits are stored, or what else they are. */
static const char *c_type(optune_dtype dtype)
{
    return host_is_real(dtype) && dtype.bits == 16 ? "unsigned short"
           : host_is_real(dtype)                   ? "float"
           : dtype.code == OPTUNE_DTYPE_INT        ? "signed char"
                                                   : "unsigned char";
}

int nbits_cpu_module(const optune_task *task, optune_plan *plan, const nbits_shape *s,
                     int64_t mr, int64_t nv)
{
    const optune_call *call = task->call;
    const optune_dtype data = call->output[0].dtype,
                       scale = call->input[NBITS_SCALE].type.dtype;
    const optune_dtype zero = s->zero ? call->input[NBITS_ZERO].type.dtype : scale;
    const int64_t group = nbits_cpu_group(s);
    const int m = optune_plan_module(plan);
    nbits_shape in_panels = *s;
    in_panels.group = group;
    in_panels.groups = host_ceil(s->k, group);
    optune_plan_define_text(plan, m, "DTYPE", "float");
    nbits_define(plan, m, &in_panels);
    optune_plan_define(plan, m, "SOURCE_GROUP", s->group);
    optune_plan_define(plan, m, "SOURCE_GROUPS", s->groups);
    optune_plan_define_text(plan, m, "SCALE_T", c_type(scale));
    optune_plan_define_text(plan, m, "SCALE_OF", nbits_float_of(scale));
    optune_plan_define_text(plan, m, "ZERO_T", c_type(zero));
    optune_plan_define_text(plan, m, "ZERO_OF", nbits_float_of(zero));
    optune_plan_define(plan, m, "GEMM_MR", mr);
    optune_plan_define(plan, m, "GEMM_NV", nv);
    optune_plan_define(plan, m, "WIDE", wide(call));
    if (wide(call)) {
        optune_plan_define_text(plan, m, "DATA_OF", nbits_float_of(data));
        optune_plan_define_text(plan, m, "DATA_TO",
                                data.code == OPTUNE_DTYPE_BFLOAT ? "bfloat_of_float"
                                                                 : "half_of_float");
    }
    return m;
}

static void convert(optune_plan *plan, int module, const nbits_shape *s, const char *function,
                    optune_arg from, optune_arg to)
{
    optune_stage stage = {.phase = OPTUNE_TIMED,
                          .module = module,
                          .function = function,
                          .n_args = 2,
                          .arg = {from, to}};
    nbits_rows(&stage, s);
    optune_plan_stage(plan, &stage);
}

void nbits_cpu_stages(const optune_task *task, optune_plan *plan, int module,
                      const nbits_shape *s, int64_t nv, const char *function,
                      const optune_arg *more)
{
    const optune_arg panels = optune_scratch_arg(optune_plan_scratch(
        plan, "weight", nbits_cpu_bytes(task, s, nv), s->phase == OPTUNE_PREPACK));
    optune_arg data = optune_input_arg(NBITS_DATA), out = optune_output_arg(0);
    optune_stage pack = {
        .phase = s->phase,
        .module = module,
        .function = "pack_weight",
        .n_args = 2,
        .arg = {optune_input_arg(NBITS_WEIGHT), optune_input_arg(NBITS_SCALE)}};
    if (s->zero)
        pack.arg[pack.n_args++] = optune_input_arg(NBITS_ZERO);
    pack.arg[pack.n_args++] = panels;
    optune_plan_stage(plan, &pack);
    if (wide(task->call)) {
        data = optune_scratch_arg(optune_plan_scratch(plan, "data", s->m * s->k * 4, false));
        out = optune_scratch_arg(optune_plan_scratch(plan, "output", s->m * s->n * 4, false));
        convert(plan, module, s, "widen", optune_input_arg(NBITS_DATA), data);
    }
    optune_stage stage = {.phase = OPTUNE_TIMED,
                          .module = module,
                          .function = function,
                          .n_args = 3,
                          .arg = {data, panels, out}};
    if (more)
        stage.arg[stage.n_args++] = *more;
    nbits_rows(&stage, s);
    optune_plan_fuse(task, plan, &stage, 1);
    optune_plan_stage(plan, &stage);
    if (wide(task->call))
        convert(plan, module, s, "narrow", out, optune_output_arg(0));
}
