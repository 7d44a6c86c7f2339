/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/matmul/dot.h declares. */
#include "kernels/matmul/dot.h"

static const char *const step_word[] = {
    [DOT_NONE] = "",     [DOT_WIDE] = "wide", [DOT_PAIRS] = "pairs",
    [DOT_BF16] = "bf16", [DOT_I8] = "i8",
};

static bool half(optune_dtype dtype)
{
    return dtype.bits == 16 && dtype.lanes == 1 && host_is_real(dtype);
}

static bool byte(optune_dtype dtype)
{
    return dtype.bits == 8 && dtype.lanes == 1 &&
           (dtype.code == OPTUNE_DTYPE_INT || dtype.code == OPTUNE_DTYPE_UINT);
}

bool dot_types(optune_dtype in, optune_dtype out, char *why)
{
    const bool single = matmul_float(out) && out.bits == 32;
    if (half(in) && (single || optune_dtype_equal(in, out)))
        return true;
    if (byte(in) && out.code == OPTUNE_DTYPE_INT && out.bits == 32 && out.lanes == 1)
        return true;
    return optune_refuse(why, "needs operands of float16, bfloat16 or 8-bit integers");
}

dot_step dot_any(optune_dtype in)
{
    return half(in) ? DOT_WIDE : DOT_PAIRS;
}

dot_step dot_shortest(const optune_task *task, optune_dtype in)
{
    const int dots = task->device->dots;
    if (in.code == OPTUNE_DTYPE_BFLOAT && dots & OPTUNE_DOT_BF16)
        return DOT_BF16;
    if (in.code == OPTUNE_DTYPE_INT && dots & OPTUNE_DOT_I8)
        return DOT_I8;
    return dot_any(in);
}

dot_step dot_best(const optune_task *task, optune_dtype in)
{
    const dot_step step = dot_shortest(task, in);
    return step == DOT_BF16 && task->device->dots & OPTUNE_DOT_BF16_SLOW ? dot_any(in) : step;
}

dot_step dot_tiles(const optune_task *task, optune_dtype in)
{
    const int dots = task->device->vector_bytes == 64 ? task->device->dots : 0;
    if (half(in))
        return !(dots & OPTUNE_DOT_TILE_BF16 && dots & OPTUNE_DOT_BF16) ? DOT_NONE
               : in.code == OPTUNE_DTYPE_BFLOAT                         ? DOT_TILE_BF16
                                                                        : DOT_TILE_F16;
    if (in.code == OPTUNE_DTYPE_INT)
        return dots & OPTUNE_DOT_TILE_I8 && dots & OPTUNE_DOT_I8 ? DOT_TILE_I8 : DOT_NONE;
    return DOT_NONE;
}

void dot_knob(const optune_task *task, optune_dtype in, optune_space *space)
{
    const dot_step shortest = dot_shortest(task, in), any = dot_any(in);
    optune_space_words(space, "step", shortest == any ? 1 : 2,
                       (const char *const[]){step_word[shortest], step_word[any]});
}

void dot_choose(const optune_space *space, optune_config *config, dot_step step)
{
    optune_config_choose_word(config, space, "step", step_word[step]);
}

dot_step dot_chosen(const optune_config *config)
{
    const char *const word = optune_config_word(config, "step");
    dot_step step = DOT_I8;
    while (step > DOT_NONE && strcmp(word, step_word[step]) != 0)
        step--;
    return step;
}

void dot_define(optune_plan *plan, int module, dot_step step, optune_dtype in, optune_dtype out,
                int64_t k)
{
    const bool narrow = half(out);
    optune_plan_define_text(plan, module, "IN_T",
                            half(in)                      ? "unsigned short"
                            : in.code == OPTUNE_DTYPE_INT ? "signed char"
                                                          : "unsigned char");
    optune_plan_define(plan, module, "BRAIN", in.code == OPTUNE_DTYPE_BFLOAT);
    optune_plan_define_text(plan, module, "DTYPE", half(in) ? "float" : "int");
    optune_plan_define_text(plan, module, "OUT_T",
                            narrow     ? "unsigned short"
                            : half(in) ? "float"
                                       : "int");
    optune_plan_define(plan, module, "OUT_HALF", narrow);
    optune_plan_define(plan, module, "DOT", step);
    optune_plan_define(plan, module, "K", k);
    optune_plan_define(plan, module, "K_WORDS", dot_row_words(step, k));
}

void dot_define_tile(optune_plan *plan, int module, const optune_config *config)
{
    optune_plan_define(plan, module, "DOT_MR", optune_config_int(config, "tile_m"));
    optune_plan_define(plan, module, "DOT_NV", optune_config_int(config, "tile_n"));
    optune_plan_define(plan, module, "DOT_KU", optune_config_int(config, "unroll_k"));
}

/* ---- tiles ------------------------------------------------------------------------------- */

enum { TILE = 16, SUMS = 4 }; /* rows and columns; tiles of sums, beside those of operands */

void dot_tile_knobs(optune_space *space)
{
    optune_space_ints(space, "tile_m", 3, (int64_t[]){1, 2, 3});
    optune_space_ints(space, "tile_n", 3, (int64_t[]){1, 2, 4});
}

bool dot_tiles_fit(const optune_config *config, int64_t rows, int64_t columns, char *why)
{
    const int64_t tm = optune_config_int(config, "tile_m");
    const int64_t tn = optune_config_int(config, "tile_n");
    if (tm * tn > SUMS)
        return optune_refuse(why, "%" PRId64 " tiles of sums, there are four", tm * tn);
    return (rows > TILE * (tm - 1) && columns > TILE * (tn - 1)) ||
           optune_refuse(why, "one of its tiles would have nothing to do");
}

void dot_choose_tiles(const optune_space *space, optune_config *config, int64_t rows,
                      int64_t columns)
{
    const int64_t tm = rows > TILE ? 2 : 1;
    optune_config_choose_int(config, space, "tile_m", tm);
    optune_config_choose_int(config, space, "tile_n",
                             columns <= TILE                 ? 1
                             : tm == 1 && columns > 3 * TILE ? 4
                                                             : 2);
}

void dot_define_tiles(optune_plan *plan, int module, const optune_config *config)
{
    optune_plan_define(plan, module, "TILE_M", optune_config_int(config, "tile_m"));
    optune_plan_define(plan, module, "TILE_N", optune_config_int(config, "tile_n"));
    optune_plan_define(plan, module, "DOT_MR", 1);
    optune_plan_define(plan, module, "DOT_NV", optune_config_int(config, "tile_n"));
    optune_plan_define(plan, module, "DOT_KU", 1);
}
