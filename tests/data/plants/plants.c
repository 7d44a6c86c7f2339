/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin of planted candidates: cheats, which would win if they were believed, and vandals, which
 * would harm what comes after them. Their bodies are the .kernel.c files beside this one, as text;
 * each implementation is one of them with the macro PLANT_<its name>. All of dense are called
 * plant_<name>.cpu; plant_honest.cpu is the slow and honest way that the cheats are to be held
 * against, and it writes down what it found its process to be like (witness.kernel.c).
 *
 * Each is harmless where it is not caught: what it starts ends within a minute, what it eats is
 * bounded. PLANTS is this folder; a strategy has room for one of CHEATS, STATE_LEFT and WRECKS.
 *
 * Build: cc -shared -fPIC -I include -DCHEATS -DPLANTS='"tests/data/plants"' -o cheats.so
 *     tests/data/plants/plants.c -lm
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../planted_dense.h"

/* Files of this folder, one behind the other, as one text. */
#define FILE_OF(path) ".incbin \"" PLANTS "/" path "\"\n"
#define TEXT(name, files)                                                                      \
    __asm__(".section .rodata\n.hidden " #name "\n.globl " #name "\n" #name ":\n" files        \
            ".byte 0\n.previous\n");                                                           \
    extern const char name[] __attribute__((visibility("hidden")))
#define DENSE(path) FILE_OF("head.kernel.c") FILE_OF(path)
TEXT(text_lazy, DENSE("lazy.kernel.c"));
TEXT(text_away, DENSE("away.kernel.c"));
TEXT(text_fake, DENSE("fake.kernel.c"));
TEXT(text_witness, DENSE("witness.kernel.c"));
TEXT(text_state, DENSE("state.kernel.c"));
TEXT(text_wreck, DENSE("wreck.kernel.c"));
TEXT(text_elementwise, FILE_OF("elementwise.kernel.c"));

/* ---- which there are --------------------------------------------------------------------- */

#include "list.h"

#ifndef CHEATS
#undef LAZY
#undef AWAY
#undef FAKE
#define LAZY(X)
#define AWAY(X)
#define FAKE(X)
#endif
#ifndef STATE_LEFT
#undef STATE
#define STATE(X)
#endif
#ifndef WRECKS
#undef WRECK
#define WRECK(X)
#undef FILES
#define FILES(X)
#endif

/* ---- dense ------------------------------------------------------------------------------- */

/* What bodies are told from outside comes as macros, in case that they inherit no environment. */
static void define_variable(optune_plan *plan, int module, const char *macro, const char *name)
{
    char text[1024];
    const char *value = getenv(name);
    snprintf(text, sizeof text, "\"%s\"", value ? value : "");
    optune_plan_define_text(plan, module, macro, text);
}

static int define_shape(const optune_task *task, optune_plan *plan)
{
    const optune_call *call = task->call;
    const int module = optune_plan_module(plan);
    optune_plan_define(plan, module, "ROWS", call->input[0].type.dim[0].min);
    optune_plan_define(plan, module, "COLS", call->input[1].type.dim[0].min);
    optune_plan_define(plan, module, "DEPTH", call->input[0].type.dim[1].min);
    define_variable(plan, module, "REPORT", "OPTUNE_PLANT_REPORT");
    define_variable(plan, module, "CACHE", "OPTUNE_CACHE");
    define_variable(plan, module, "RUNTIME", "XDG_RUNTIME_DIR");
    define_variable(plan, module, "TEMPORARY", "TMPDIR");
    define_variable(plan, module, "SHARED_NAME", "OPTUNE_PLANT_NAME");
    return module;
}

static void plan_with(const optune_task *task, optune_plan *plan, const char *macro,
                      bool blatant)
{
    const int module = define_shape(task, plan);
    const optune_stage stage = planted_stage(module);
    optune_plan_define(plan, module, macro, 1);
    optune_plan_define(plan, module, "BLATANT", blatant);
    optune_plan_stage(plan, &stage);
}

#define PLANT(id, text, ...)                                                                   \
    PLANTED_PLAN(id, plan_with, "PLANT_" #id, false)                                           \
    PLANTED_ROW(id, "plant_" #id ".cpu", #id, text, .applies = planted_applies, __VA_ARGS__);
#define PLANT_LAZY(id) PLANT(id, text_lazy)
#define PLANT_AWAY(id) PLANT(id, text_away)
#define PLANT_FAKE(id) PLANT(id, text_fake)
#define PLANT_STATE(id) PLANT(id, text_state)
#define PLANT_WRECK(id) PLANT(id, text_wreck)
LAZY(PLANT_LAZY)
AWAY(PLANT_AWAY)
FAKE(PLANT_FAKE)
STATE(PLANT_STATE)
WRECK(PLANT_WRECK)
FILES(PLANT_WRECK)
PLANT(honest, text_witness)
PLANT(own_bound, text_fake, .error_scale = 1e30)

/* The same as `twice` and `thread`, in no time at all. */
PLANTED_PLAN(blatant, plan_with, "PLANT_twice", true)
PLANTED_ROW(blatant, "plant_blatant.cpu", "nothing after two calls", text_lazy,
            .applies = planted_applies);
PLANTED_PLAN(blatant_thread, plan_with, "PLANT_thread", true)
PLANTED_ROW(blatant_thread, "plant_blatant_thread.cpu", "nothing but a thread", text_away,
            .applies = planted_applies);

/* Its scratch keeps the answer between runs. */
static void plan_scratch(const optune_task *task, const optune_config *config,
                         optune_plan *plan)
{
    (void)config;
    const int module = define_shape(task, plan);
    const int kept = optune_plan_scratch(
        plan, "kept", (optune_tensor_elements(&task->call->output[0]) + 1) * 4, false);
    optune_plan_define(plan, module, "PLANT_scratch", 1);
    optune_plan_define(plan, module, "BLATANT", 0);
    optune_stage stage = planted_stage(module);
    stage.function = "remember";
    stage.arg[stage.n_args++] = optune_scratch_arg(kept);
    optune_plan_stage(plan, &stage);
}
PLANTED_ROW(scratch, "plant_scratch.cpu", "remembers in its scratch", text_lazy,
            .applies = planted_applies);

/* Computes before the time what depends on an input that is not constant. */
static void plan_early(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    plan_with(task, plan, "PLANT_twice", false);
    optune_stage stage = planted_stage(0);
    stage.phase = OPTUNE_PREPACK;
    optune_plan_stage(plan, &stage);
}
PLANTED_ROW(early, "plant_early.cpu", "computes before the time", text_lazy,
            .applies = planted_applies);

/* ---- operators of their own -------------------------------------------------------------- */

#define s_exp exp /* a word of the templates, here of C */
OPTUNE_SCALAR(exp_expression, 4, s_exp(x0));
OPTUNE_SCALAR(below_expression, 1, x0 < 0 ? -1 : 0);
static const optune_op_input one_input[] = {
    {.name = "data", .type = "tensor", .description = "any"}, {0}};
static const optune_op op_exp = {
    .name = "plant_exp",
    .summary = "e to the power of x",
    .inputs = one_input,
    .support_level = 10,
    .samples = (const char *const[]){"plant_exp(f32[37])", NULL},
    OPTUNE_ELEMWISE_OP(exp_expression),
};
static const optune_op op_below = {
    .name = "plant_below",
    .summary = "all bits set where x is below 0",
    .inputs = one_input,
    .support_level = 10,
    .samples = (const char *const[]){"plant_below(i32[37])", NULL},
    OPTUNE_ELEMWISE_OP(below_expression),
};

static void plan_elementwise(const optune_task *task, optune_plan *plan, const char *macro,
                             const char *function)
{
    const int module = optune_plan_module(plan);
    optune_plan_define(plan, module, "N", optune_tensor_elements(&task->call->output[0]));
    optune_plan_define(plan, module, macro, 1);
    optune_plan_stage(plan,
                      &(optune_stage){.phase = OPTUNE_TIMED,
                                      .module = module,
                                      .function = function,
                                      .n_args = 2,
                                      .arg = {optune_input_arg(0), optune_output_arg(0)}});
}
#define ELEMENTWISE(of, function_, id)                                                         \
    static void plan_##id(const optune_task *task, const optune_config *config,                \
                          optune_plan *plan)                                                   \
    {                                                                                          \
        (void)config;                                                                          \
        plan_elementwise(task, plan, "PLANT_" #id, function_);                                 \
    }                                                                                          \
    static const optune_impl impl_##id = {.op = of,                                            \
                                          .name = "plant_" #id ".cpu",                         \
                                          .summary = "planted: " #id,                          \
                                          .plan = plan_##id,                                   \
                                          .source = text_elementwise};
ELEMENTWISE("plant_exp", "run_exp", exact)
ELEMENTWISE("plant_exp", "run_exp", narrow)
ELEMENTWISE("plant_exp", "run_exp", sampled)
ELEMENTWISE("plant_exp", "run_exp", first)
ELEMENTWISE("plant_exp", "run_exp", first_x)
ELEMENTWISE("plant_exp", "run_exp", first_y)
ELEMENTWISE("plant_below", "run_below", below)
ELEMENTWISE("plant_below", "run_below", below_ones)
ELEMENTWISE("plant_below", "run_below", below_zeros)

/* ---- the tables -------------------------------------------------------------------------- */

#define IMPL(id) &impl_##id,
static const optune_impl *const impls[] = {
    LAZY(IMPL) AWAY(IMPL) FAKE(IMPL) STATE(IMPL) WRECK(IMPL) FILES(IMPL) IMPL(honest)
        IMPL(own_bound) IMPL(blatant) IMPL(blatant_thread) IMPL(scratch) IMPL(early) IMPL(exact)
            IMPL(narrow) IMPL(sampled) IMPL(first) IMPL(first_x) IMPL(first_y) IMPL(below)
                IMPL(below_ones) IMPL(below_zeros) NULL};

/* Vandals run before everything honest, cheats behind it. */
#define FIRST(id) {.impl = "plant_" #id ".cpu", .plevel = 30},
#define LAST(id) {.impl = "plant_" #id ".cpu", .plevel = 2},
static const optune_strategy_row dense_rows[] = {
    STATE(FIRST) WRECK(FIRST) FILES(FIRST){.impl = "plant_honest.cpu", .plevel = 20},
    {.impl = "dense_pack.x86"},
    {.impl = "dense_nopack.x86", .plevel = 5},
    LAZY(LAST) AWAY(LAST) FAKE(LAST) LAST(own_bound) LAST(blatant) LAST(blatant_thread)
        LAST(scratch) LAST(early){.impl = NULL},
};
static const optune_strategy_row exp_rows[] = {{.impl = "plant_exact.cpu"},
                                               LAST(narrow) LAST(sampled) LAST(first)
                                                   LAST(first_x) LAST(first_y){.impl = NULL}};
static const optune_strategy_row below_rows[] = {
    {.impl = "plant_below.cpu"}, LAST(below_ones) LAST(below_zeros){.impl = NULL}};

static const optune_strategy dense_strategy = {.op = "dense", .key = "cpu", .rows = dense_rows};
static const optune_strategy exp_strategy = {.op = "plant_exp", .key = "cpu", .rows = exp_rows};
static const optune_strategy below_strategy = {
    .op = "plant_below", .key = "cpu", .rows = below_rows};

OPTUNE_PLUGIN = {
    .abi = OPTUNE_ABI,
    .name = "planted cheats and vandals",
    .ops = (const optune_op *const[]){&op_exp, &op_below, NULL},
    .impls = impls,
    .strategies =
        (const optune_strategy *const[]){&dense_strategy, &exp_strategy, &below_strategy, NULL},
};
