/* SPDX-License-Identifier: Apache-2.0 */
/* The plan builder, the misuse it reports, and the source of a module. */
#include "strategy/fake.h"
#include "support/tensor_map.h"

#include <sys/mman.h>
#include <unistd.h>

static void (*build)(optune_plan *plan);

static void plan_row(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)task, (void)config;
    build(plan);
}

static const optune_impl impl = {
    .op = "fake_mm", .name = "fake_plan", .plan = plan_row, .source = "int body;\n"};

static optune_plan made;

static int make(const char *call, void (*how)(optune_plan *plan), optune_err *err)
{
    fake_task f;
    fake_task_set(&f, call);
    build = how;
    const optune_config config = {0};
    return ot_plan_make(&f.task, &impl, &config, &made, err);
}

static optune_stage stage_of(optune_phase phase, int module, optune_arg a, optune_arg b)
{
    return (optune_stage){
        .phase = phase, .module = module, .function = "run", .n_args = 2, .arg = {a, b}};
}

static void add(optune_plan *plan, optune_phase phase, int module, optune_arg a, optune_arg b)
{
    const optune_stage stage = stage_of(phase, module, a, b);
    optune_plan_stage(plan, &stage);
}

static void good(optune_plan *plan)
{
    const int module = optune_plan_module(plan);
    optune_plan_define(plan, module, "M", 4);
    optune_plan_define(plan, module, "LOW", -1);
    optune_plan_define_text(plan, module, "DTYPE", "float");
    optune_plan_flag(plan, module, "-fno-tree-vectorize");
    const int packed = optune_plan_scratch(plan, "packed", 512, true);
    const int work = optune_plan_scratch(plan, "work", 64, false);
    assert_int_equal(packed, 0);
    assert_int_equal(work, 1);
    add(plan, OPTUNE_PREPACK, module, optune_input_arg(1), optune_scratch_arg(packed));
    add(plan, OPTUNE_TIMED, module, optune_input_arg(0), optune_scratch_arg(work));
    add(plan, OPTUNE_TIMED, module, optune_scratch_arg(packed), optune_output_arg(0));
}

static void one_knob(const optune_task *task, optune_space *space)
{
    (void)task;
    optune_space_ints(space, "k", 2, (const int64_t[]){2, 4});
}

static bool divides(const optune_task *task, const optune_config *config, char *why)
{
    (void)task;
    return 4 % optune_config_int(config, "k") == 0 || optune_refuse(why, "4 is no multiple");
}

/* A record's or a log's config may lack what the row reads and divides by. */
static void test_strange_config(void **state)
{
    (void)state;
    static const optune_impl knobbed = {.op = "fake_mm",
                                        .name = "fake_knob",
                                        .space = one_knob,
                                        .valid = divides,
                                        .plan = plan_row};
    optune_err err = {0};
    optune_config config;
    fake_task f;
    fake_task_set(&f, "fake_mm(f32[4,8], f32[16,8])");
    check_ok(make("fake_mm(f32[4,8], f32[16,8])", good, &err)); /* what plan_row does */
    check_ok(ot_config_parse("[[\"k\",\"ot\",4]]", &config, &err));
    check_ok(ot_plan_make(&f.task, &knobbed, &config, &made, &err));
    snprintf(config.entity[0].name, sizeof config.entity[0].name, "gone");
    assert_true(ot_plan_make(&f.task, &knobbed, &config, &made, &err) < 0);
    assert_true(ot_plan_make(&f.task, &knobbed, &(optune_config){0}, &made, &err) < 0);
}

static void test_good(void **state)
{
    (void)state;
    optune_err err = {0};
    check_ok(make("fake_mm(f32[4,8], f32[16,8])", good, &err));
    assert_int_equal(made.n_modules, 1);
    assert_int_equal(made.n_stages, 3);
    assert_int_equal(made.scratch[0].bytes, 512);
    assert_true(made.scratch[0].constant);
    assert_string_equal(made.module[0].flag[0], "-fno-tree-vectorize");
    fake_task f;
    fake_task_set(&f, "fake_mm(f32[4,8], f32[16,8])");
    ot_text text = {0};
    ot_plan_source(&f.task, &made, 0, &text);
    check_contains(ot_text_str(&text), "#define OT_THREADS 2\n");
    check_contains(ot_text_str(&text), "#define OT_VEC_BYTES 32\n");
    check_contains(ot_text_str(&text), "#define M 4\n#define LOW (-1)\n#define DTYPE float\n");
    assert_string_equal(strstr(ot_text_str(&text), "int body;"), "int body;\n");
    ot_text_clear(&text);
    f.device = (optune_device){.warp = 32, .cc_major = 9};
    ot_plan_source(&f.task, &made, 0, &text);
    check_contains(ot_text_str(&text), "#define OT_WARP 32\n#define OT_CC 90\n");
    assert_null(strstr(ot_text_str(&text), "OT_THREADS"));
    ot_text_release(&text);
}

static void test_prepack_of_var(void **state)
{
    (void)state;
    optune_err err = {0};
    assert_int_equal(make("fake_mm(f32[4,8], var f32[16,8])", good, &err), OPTUNE_EUSAGE);
    check_contains(err.text, "prepack stage reads an input that is not const");
    check_contains(err.text, "fake_plan");
}

#define BAD(name, ...)                                                                         \
    static void name(optune_plan *plan)                                                        \
    {                                                                                          \
        const int module = optune_plan_module(plan);                                           \
        __VA_ARGS__;                                                                           \
        if (plan->n_stages == 0)                                                               \
            add(plan, OPTUNE_TIMED, module, optune_input_arg(0), optune_output_arg(0));        \
    }
BAD(bad_module, optune_plan_define(plan, module + 1, "M", 1))
BAD(bad_macro, optune_plan_define(plan, module, "1M", 1))
BAD(bad_text, optune_plan_define_text(plan, module, "M", "a\nb"))
BAD(bad_twice, optune_plan_define(plan, module, "M", 1);
    optune_plan_define(plan, module, "M", 2))
BAD(bad_long, char text[300]; memset(text, '1', sizeof text); text[sizeof text - 1] = 0;
    optune_plan_define_text(plan, module, "M", text))
BAD(
    bad_much, char text[255]; memset(text, '1', sizeof text); text[sizeof text - 1] = 0;
    for (int i = 0; i < OPTUNE_MAX_DEFINES; i++) {
        char macro[OPTUNE_KNOB_NAME_SIZE];
        snprintf(macro, sizeof macro, "MACRO_NUMBER_%d", i);
        optune_plan_define_text(plan, module, macro, text);
    })
BAD(bad_scratch, optune_plan_scratch(plan, "s", 0, false))
BAD(bad_scratches, for (int i = 0; i < 40; i++) optune_plan_scratch(plan, "s", 8, false))
BAD(bad_modules, for (int i = 0; i < 9; i++) optune_plan_module(plan))
BAD(bad_flags, for (int i = 0; i < 9; i++) optune_plan_flag(plan, module, "-O1"))
BAD(bad_stages, for (int i = 0; i < 40; i++)
                    add(plan, OPTUNE_TIMED, module, optune_input_arg(0), optune_output_arg(0)))
BAD(bad_input, add(plan, OPTUNE_TIMED, module, optune_input_arg(2), optune_output_arg(0)))
BAD(bad_output, add(plan, OPTUNE_TIMED, module, optune_input_arg(0), optune_output_arg(1)))
BAD(bad_index, add(plan, OPTUNE_TIMED, module, optune_scratch_arg(0), optune_output_arg(0)))
BAD(bad_stage, add(plan, OPTUNE_TIMED, 3, optune_input_arg(0), optune_output_arg(0)))
BAD(bad_symbol, add(plan, OPTUNE_TIMED, module, optune_symbol_arg("f"), optune_output_arg(0)))
BAD(bad_owner,
    add(plan, OPTUNE_TIMED, module, optune_function_arg(1, "f"), optune_output_arg(0)))
BAD(bad_name,
    add(plan, OPTUNE_TIMED, module, optune_function_arg(module, "a b"), optune_output_arg(0)))
BAD(nothing_timed, const int s = optune_plan_scratch(plan, "s", 8, true);
    add(plan, OPTUNE_PREPACK, module, optune_input_arg(1), optune_scratch_arg(s)))
BAD(nothing_written, const int s = optune_plan_scratch(plan, "s", 8, false);
    add(plan, OPTUNE_TIMED, module, optune_input_arg(1), optune_scratch_arg(s)))
BAD(only_restored, add(plan, OPTUNE_RESTORE, module, optune_input_arg(0), optune_output_arg(0));
    const int s = optune_plan_scratch(plan, "s", 8, false);
    add(plan, OPTUNE_TIMED, module, optune_input_arg(0), optune_scratch_arg(s)))
BAD(prepack_output,
    add(plan, OPTUNE_PREPACK, module, optune_input_arg(1), optune_output_arg(0)))
BAD(prepack_scratch, const int s = optune_plan_scratch(plan, "s", 8, false);
    add(plan, OPTUNE_PREPACK, module, optune_input_arg(1), optune_scratch_arg(s)))
BAD(no_function, optune_stage stage = stage_of(OPTUNE_TIMED, module, optune_input_arg(0),
                                               optune_output_arg(0));
    stage.function = "a b"; optune_plan_stage(plan, &stage))

/* ---- tensor maps ------------------------------------------------------------------------- */

static optune_tensor_map the_map;

static void mapped(optune_plan *plan)
{
    const int module = optune_plan_module(plan);
    const int map = optune_plan_tensor_map(plan, &the_map);
    add(plan, OPTUNE_TIMED, module, optune_tensor_map_arg(map), optune_output_arg(0));
}

static void mapped_output(optune_plan *plan)
{
    const int module = optune_plan_module(plan);
    the_map.tensor = optune_output_arg(0);
    const int map = optune_plan_tensor_map(plan, &the_map);
    add(plan, OPTUNE_TIMED, module, optune_input_arg(0), optune_tensor_map_arg(map));
}

BAD(bad_map, add(plan, OPTUNE_TIMED, module, optune_tensor_map_arg(0), optune_output_arg(0)))
BAD(bad_maps, for (int i = 0; i < 9; i++) optune_plan_tensor_map(plan, &the_map))

static int listed, others; /* dims in the list, and of another kind behind them */
static int64_t said;       /* how many the argument says there are */

static void with_dims(optune_plan *plan)
{
    const int module = optune_plan_module(plan);
    optune_arg dim[OT_PLAN_DIMS + 1];
    for (int k = 0; k < listed; k++)
        dim[k] = k % 2 ? optune_output_dim_arg(0, 1) : optune_dim_arg(1, 0);
    for (int k = 0; k < others; k++)
        dim[listed + k] = optune_int_arg(1);
    const int list = optune_plan_dims(plan, dim, listed + others);
    add(plan, OPTUNE_TIMED, module, optune_dims_arg(list, said), optune_output_arg(0));
}

static void test_lists_of_dims(void **state)
{
    (void)state;
    static const char *const call = "fake_mm(f32[4,8], f32[16,8])";
    optune_err err = {0};
    said = listed = 40; /* more than a stage has arguments */
    check_ok(make(call, with_dims, &err));
    assert_int_equal(made.n_lists, 1);
    assert_int_equal(made.n_dims, 40);
    const optune_arg first = ot_plan_dim(&made, &made.stage[0].arg[0], 0);
    const optune_arg second = ot_plan_dim(&made, &made.stage[0].arg[0], 1);
    assert_int_equal(first.index, OPTUNE_MAX_RANK);
    assert_int_equal(second.index, OPTUNE_MAX_INPUTS * OPTUNE_MAX_RANK + 1);
    said = 41;
    assert_int_equal(make(call, with_dims, &err), OPTUNE_EUSAGE);
    check_contains(err.text, "no list of dims of the plan");
    listed = 0;
    assert_int_equal(make(call, with_dims, &err), OPTUNE_ELIMIT);
    listed = OT_PLAN_DIMS + 1;
    assert_int_equal(make(call, with_dims, &err), OPTUNE_ELIMIT);
    listed = others = 1;
    assert_int_equal(make(call, with_dims, &err), OPTUNE_EUSAGE);
    check_contains(err.text, "what is no dim");
    others = 0;
}

/* Every limit from both sides. */
static void test_tensor_maps(void **state)
{
    (void)state;
    static const char *const call = "fake_mm(f32[4,8], f32[16,8])";
    optune_err err = {0};
    the_map = tensor_map_sample();
    check_ok(make(call, mapped, &err));
    assert_int_equal(made.n_maps, 1);
    check_ok(make(call, mapped_output, &err)); /* a map may be what writes the output */
    assert_int_equal(make(call, bad_map, &err), OPTUNE_EUSAGE);
    check_contains(err.text, "no tensor map of the plan");
    assert_int_equal(make(call, bad_maps, &err), OPTUNE_ELIMIT);
#define REFUSED(change, reason)                                                                \
    do {                                                                                       \
        the_map = SAMPLE();                                                                    \
        the_map.change;                                                                        \
        assert_int_equal(make(call, mapped, &err), OPTUNE_EUSAGE);                             \
        check_contains(err.text, reason);                                                      \
    } while (0)
#define TAKEN(change)                                                                          \
    do {                                                                                       \
        the_map = SAMPLE();                                                                    \
        the_map.change;                                                                        \
        check_ok(make(call, mapped, &err));                                                    \
    } while (0)
#define SAMPLE tensor_map_sample
    REFUSED(rank = 0, "rank 1 to 5");
    REFUSED(rank = 6, "rank 1 to 5");
    TAKEN(rank = 1);
    REFUSED(dtype.lanes = 2, "element type");
    REFUSED(tf32 = true, "not float32");
    REFUSED(swizzle = 16, "32, 64 or 128");
    REFUSED(box[0] = 72, "wider than its swizzle");
    REFUSED(swizzle = 64, "wider than its swizzle");
    TAKEN(swizzle = 0);
    REFUSED(box[0] = 12, "a multiple of 16 bytes");
    TAKEN(box[0] = 8);
    REFUSED(box[1] = 257, "1 to 256");
    REFUSED(box[1] = 0, "1 to 256");
    REFUSED(dim[1] = 0, "1 to 2^32");
    TAKEN(dim[1] = (int64_t)1 << 32);
    REFUSED(dim[1] = ((int64_t)1 << 32) + 1, "1 to 2^32");
    REFUSED(stride[1] = 136, "multiple of 16");
    REFUSED(stride[1] = (int64_t)1 << 40, "below 2^40");
    TAKEN(stride[1] = ((int64_t)1 << 40) - 16);
    REFUSED(tensor = optune_int_arg(1), "of no tensor");
    REFUSED(tensor = optune_input_arg(2), "no input of the call");
#undef SAMPLE
#define SAMPLE tensor_map_of_pixels
    TAKEN(box[1] = 0); /* there is no such number */
    REFUSED(rank = 3, "of rank 4");
    TAKEN(pixels = 1024);
    REFUSED(pixels = 1025, "1 to 1024");
    REFUSED(pixels = -1, "1 to 1024");
    TAKEN(low[0] = -128);
    REFUSED(low[0] = -129, "within 128");
    TAKEN(high[1] = 127);
    REFUSED(high[1] = 128, "within 128");
    TAKEN(step[1] = 8);
    REFUSED(step[1] = 9, "1 to 8 apart");
    REFUSED(step[0] = 0, "1 to 8 apart");
    TAKEN(high[1] = -12); /* one row */
    REFUSED(high[1] = -13, "has no pixels");
    REFUSED(box[0] = 72, "wider than its swizzle");
#undef SAMPLE
#undef REFUSED
#undef TAKEN
}

/* ---- functions of other modules ---------------------------------------------------------- */

static void handed_over(optune_plan *plan)
{
    const int module = optune_plan_module(plan), other = optune_plan_module(plan);
    add(plan, OPTUNE_TIMED, module, optune_function_arg(other, "f"), optune_output_arg(0));
}

/* On CPUs alone: a kernel of a GPU has no address that another could call. */
static void test_functions(void **state)
{
    (void)state;
    optune_err err = {0};
    check_ok(make("fake_mm(f32[4,8], f32[16,8])", handed_over, &err));
    assert_int_equal(made.n_modules, 2);
    fake_task f;
    fake_task_set(&f, "fake_mm(f32[4,8], f32[16,8])");
    f.device.warp = 32;
    const optune_config config = {0};
    assert_int_equal(ot_plan_make(&f.task, &impl, &config, &made, &err), OPTUNE_EUSAGE);
    check_contains(err.text, "on CPUs only");
}

/* ---- a batch that is known at run time ----------------------------------------------------- */

enum { LAST = OPTUNE_MAX_INPUTS - 1 };

static void last_goes_along(optune_plan *plan)
{
    const int module = optune_plan_module(plan);
    const optune_stage stage = {
        .module = module,
        .function = "run",
        .n_args = 3,
        .arg = {optune_input_arg(0), optune_input_arg(LAST), optune_output_arg(0)},
        .phase = OPTUNE_TIMED};
    optune_plan_stage(plan, &stage);
    optune_plan_repeat(plan, 0, UINT64_C(1) << LAST);
}

/* Each input of a call can go along, the last that one can have, too. */
static void test_repeat(void **state)
{
    (void)state;
    char call[1024] = "concatenate(f32[?n:1..8,3]";
    for (int i = 1; i <= LAST; i++)
        strcat(call, ",f32[?n,4]");
    optune_err err = {0};
    check_ok(make(strcat(call, ",axis=1)"), last_goes_along, &err));
    assert_int_equal(made.repeat.step[0], 0);
    assert_int_equal(made.repeat.step[1], 4 * 4);
    assert_int_equal(made.repeat.step[2], 4 * (3 + 4 * LAST));
}

static void test_misuse(void **state)
{
    (void)state;
    static const struct {
        void (*how)(optune_plan *plan);
        int status;
        const char *reason;
    } table[] = {
        {bad_module, OPTUNE_EUSAGE, "no such module"},
        {bad_macro, OPTUNE_EUSAGE, "not a macro"},
        {bad_text, OPTUNE_EUSAGE, "not a macro"},
        {bad_twice, OPTUNE_EUSAGE, "macro defined twice"},
        {bad_long, OPTUNE_ELIMIT, "macro too long"},
        {bad_much, OPTUNE_ELIMIT, "too much text in macros"},
        {bad_scratch, OPTUNE_EUSAGE, "no bytes"},
        {bad_scratches, OPTUNE_ELIMIT, "too many scratch"},
        {bad_modules, OPTUNE_ELIMIT, "too many modules"},
        {bad_flags, OPTUNE_ELIMIT, "compiler flags"},
        {bad_stages, OPTUNE_ELIMIT, "too many stages"},
        {bad_input, OPTUNE_EUSAGE, "no input"},
        {bad_output, OPTUNE_EUSAGE, "no output"},
        {bad_index, OPTUNE_EUSAGE, "no scratch"},
        {bad_stage, OPTUNE_EUSAGE, "no such module"},
        {bad_symbol, OPTUNE_EUSAGE, "no library is named"},
        {bad_owner, OPTUNE_EUSAGE, "a function of no module"},
        {bad_name, OPTUNE_EUSAGE, "function has no name"},
        {nothing_timed, OPTUNE_EUSAGE, "no stage is timed"},
        {nothing_written, OPTUNE_EUSAGE, "nothing writes output 0"},
        {only_restored, OPTUNE_EUSAGE, "nothing writes output 0"},
        {prepack_output, OPTUNE_EUSAGE, "untimed stage uses an output"},
        {prepack_scratch, OPTUNE_EUSAGE, "scratch that is not constant"},
        {no_function, OPTUNE_EUSAGE, "no function"},
    };
    for (int i = 0; i < OT_COUNT(table); i++) {
        optune_err err = {0};
        assert_int_equal(make("fake_mm(f32[4,8], f32[16,8])", table[i].how, &err),
                         table[i].status);
        check_contains(err.text, table[i].reason);
    }
}

static int add_rows(void **state)
{
    (void)state;
    return ot_op_add(&fake_op, NULL) < 0 || ot_op_add(&fake_relu, NULL) < 0 ||
           ot_op_add(&fake_add, NULL) < 0 || ot_impl_add(&impl, NULL) < 0;
}

/* ---- what is fused ----------------------------------------------------------------------- */

static int lanes_from;
static bool offered;

static void plan_fused(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)config;
    optune_stage stage = stage_of(OPTUNE_TIMED, optune_plan_module(plan), optune_input_arg(0),
                                  optune_output_arg(0));
    offered = optune_plan_fuse(task, plan, &stage, lanes_from);
    optune_plan_stage(plan, &stage);
}

static void source_of(const char *call, int from, ot_text *to, int module)
{
    static const optune_impl fusing = {
        .op = "fake_mm", .name = "fake_fusing", .plan = plan_fused, .source = "int body;\n"};
    optune_err err = {0};
    fake_task f;
    fake_task_set(&f, call);
    lanes_from = from;
    const optune_config config = {0};
    check_ok(ot_plan_make(&f.task, &fusing, &config, &made, &err));
    ot_text_clear(to);
    ot_plan_source(&f.task, &made, module, to);
}

#define FUSED "fake_mm(f32[4,8], f32[16,8]) -> fake_add(const f32[16]) -> fake_relu(slope=0.5)"

static void test_fused_in_registers(void **state)
{
    (void)state;
    ot_text text = {0};
    source_of(FUSED, 1, &text, 0);
    assert_true(offered);
    assert_int_equal(made.n_modules, 1);
    assert_int_equal(made.n_stages, 1);
    assert_int_equal(made.stage[0].n_args, 3);
    assert_int_equal(made.stage[0].arg[2].kind, OPTUNE_ARG_INPUT);
    assert_int_equal(made.stage[0].arg[2].index, 2);
    check_contains(ot_text_str(&text), "X(0, 2, (0 + (u64)(o) % 16), 1)\n");
    check_contains(ot_text_str(&text), "const SCALAR x0 = (v); const SCALAR x1 = E(0);");
    check_contains(ot_text_str(&text), "(v) = (SCALAR)(x0 + x1);");
    check_contains(ot_text_str(&text), "const SCALAR a0 = (SCALAR)0.5;");
    /* lanes that run on into the next row cannot have one rule for an operand of columns */
    source_of(FUSED, 0, &text, 0);
    assert_false(offered);
    source_of("fake_mm(f32[4,8], f32[16,8]) -> fake_add(f32[4,16])", 0, &text, 0);
    assert_true(offered);
    check_contains(ot_text_str(&text), "X(0, 2, (0 + (u64)(o)), 1)\n");
    source_of("fake_mm(f32[4,8], f32[16,8]) -> fake_add(f32[4,1], _)", 1, &text, 0);
    check_contains(ot_text_str(&text), "X(0, 2, (0 + (u64)(o) / 16), 0)\n");
    check_contains(ot_text_str(&text), "const SCALAR x0 = E(0); const SCALAR x1 = (v);");
    source_of("fake_mm(f32[4,8], f32[16,8])", 1, &text, 0);
    assert_false(offered);
    assert_null(strstr(ot_text_str(&text), "EPILOGUE"));
    ot_text_release(&text);
}

static void test_fused_behind(void **state)
{
    (void)state;
    optune_err err = {0};
    check_ok(make(FUSED, good, &err));
    assert_int_equal(made.n_modules, 2);
    assert_int_equal(made.n_stages, 4);
    const optune_stage *last = &made.stage[3];
    assert_int_equal(last->phase, OPTUNE_TIMED);
    assert_int_equal(last->module, 1);
    assert_int_equal(last->arg[0].kind, OPTUNE_ARG_OUTPUT);
    assert_int_equal(last->arg[1].index, 2);
    fake_task f;
    fake_task_set(&f, FUSED);
    ot_text text = {0};
    ot_plan_source(&f.task, &made, 0, &text);
    assert_null(strstr(ot_text_str(&text), "EPILOGUE"));
    ot_text_clear(&text);
    ot_plan_source(&f.task, &made, 1, &text);
    check_contains(ot_text_str(&text), "#define ELEMENTS 64\n#define RUN 16\n");
    check_contains(ot_text_str(&text), "X(0, 1, (0 + (u64)(o) % 16), 1)\n");
    check_contains(ot_text_str(&text), "void epilogue_stage(");
    ot_text_release(&text);
}

/* The same stage on a device with warps: 64 elements in blocks of what it has, 32-bit numbers. */
static void test_fused_on_gpu(void **state)
{
    (void)state;
    fake_task f;
    optune_err err = {0};
    const optune_config config = {0};
    fake_task_set(&f, FUSED);
    f.device.warp = 32;
    f.device.max_threads_per_block = 48;
    f.device.cores = 2;
    build = good;
    check_ok(ot_plan_make(&f.task, &impl, &config, &made, &err));
    assert_int_equal(made.n_modules, 2);
    const optune_stage *last = &made.stage[made.n_stages - 1];
    assert_string_equal(last->function, "epilogue_stage");
    assert_int_equal(last->block[0], 32);
    assert_int_equal(last->grid[0], 2);
    assert_int_equal(last->n_args, 2);
    assert_int_equal(made.module[1].n_flags, 0);
    ot_text text = {0};
    ot_plan_source(&f.task, &made, 1, &text);
    check_contains(ot_text_str(&text), "#define THREADS 32\n#define EACH 1\n");
    check_contains(ot_text_str(&text), "X(0, 1, (0 + (u32)(o) % 16), 1)\n");
    check_contains(ot_text_str(&text), "KERNEL(THREADS, 1, 1)");
    ot_text_release(&text);
    char why[OPTUNE_WHY_SIZE] = "", cpu[33], gpu[33];
    assert_true(ot_epilogue_applies(&f.task, why));
    static const optune_impl known = {.op = "fake_mm", .name = "fake_both", .plan = plan_row};
    check_ok(ot_impl_add(&known, &err));
    ot_call_digest(&f.task, &known, gpu);
    f.device.warp = 0;
    ot_call_digest(&f.task, &known, cpu);
    assert_string_not_equal(cpu, gpu);
}

/* GPU bodies may offer, too, whatever the lanes; 16-bit floats are computed in float, on CPUs by a
 * body that knows them, else by a stage of float32 between two that convert. */
static void test_fused_in_half(void **state)
{
    (void)state;
    static const optune_impl fusing = {
        .op = "fake_mm", .name = "fake_fusing", .plan = plan_fused, .source = "int body;\n"};
    fake_task f;
    optune_err err = {0};
    ot_text text = {0};
    char why[OPTUNE_WHY_SIZE] = "";
    const optune_config config = {0};
    fake_task_set(&f, "fake_mm(bf16[4,8], bf16[16,8]) -> fake_add(const bf16[16])");
    assert_true(ot_epilogue_applies(&f.task, why));
    lanes_from = 1;
    check_ok(ot_plan_make(&f.task, &fusing, &config, &made, &err));
    assert_false(offered);
    static const char *const stages[] = {"", "widen_bfloat", "widen_bfloat", "epilogue_stage",
                                         "narrow_bfloat"};
    assert_int_equal(made.n_stages, OT_COUNT(stages));
    for (int s = 1; s < OT_COUNT(stages); s++)
        assert_string_equal(made.stage[s].function, stages[s]);
    assert_int_equal(made.stage[1].phase, OPTUNE_PREPACK); /* of the constant */
    static const optune_impl knowing = {.op = "fake_mm",
                                        .name = "fake_knowing",
                                        .plan = plan_fused,
                                        .source = "int body; /* EPILOGUE_BRAIN */\n"};
    check_ok(ot_plan_make(&f.task, &knowing, &config, &made, &err));
    assert_true(offered);
    assert_int_equal(made.n_stages, 1);
    ot_plan_source(&f.task, &made, 0, &text);
    check_contains(ot_text_str(&text), "#define EPILOGUE_BRAIN 1\n");
    ot_text_clear(&text);
    f.device.warp = 32;
    assert_true(ot_epilogue_applies(&f.task, why));
    lanes_from = 0;
    check_ok(ot_plan_make(&f.task, &fusing, &config, &made, &err));
    assert_true(offered);
    assert_int_equal(made.n_stages, 1);
    assert_int_equal(made.stage[0].n_args, 3);
    assert_int_equal(made.module[0].n_flags, 0);
    ot_plan_source(&f.task, &made, 0, &text);
    check_contains(ot_text_str(&text), "#define SCALAR float\n");
    check_contains(ot_text_str(&text), "#define EPILOGUE_T u16\n");
    check_contains(ot_text_str(&text), "#define EPILOGUE_READ(x) float_of_bfloat(x)\n");
    check_contains(ot_text_str(&text), "#define EPILOGUE_WRITE(x) bfloat_of_float(x)\n");
    ot_text_release(&text);
}

/* A body that knows how tensors are stored is told so, where floats have one type throughout and
 * what is fused is computed by it; else stages convert. */
static bool in_float32(const optune_task *task, char *why)
{
    return task->call->input[0].type.dtype.bits == 32 || optune_refuse(why, "needs float32");
}

static void stored(const char *call, const optune_impl *row, const char *says)
{
    fake_task f;
    optune_err err = {0};
    ot_text text = {0};
    const optune_config config = {0};
    fake_task_set(&f, call);
    build = good;
    lanes_from = 1;
    check_ok(ot_plan_make(&f.task, row, &config, &made, &err));
    ot_plan_source(&f.task, &made, 0, &text);
    if (says)
        check_contains(ot_text_str(&text), says);
    else
        assert_null(strstr(ot_text_str(&text), "#define STORED_BRAIN"));
    bool converts = false;
    for (int s = 0; s < made.n_stages; s++)
        converts = converts || strstr(made.stage[s].function, "widen_");
    assert_int_equal(converts, !says);
    ot_text_release(&text);
}

static void test_stored(void **state)
{
    (void)state;
    static const optune_impl knows = {.op = "fake_mm",
                                      .name = "fake_stored",
                                      .applies = in_float32,
                                      .plan = plan_fused,
                                      .source = "#define STORED_TENSORS\n"};
    static const optune_impl other = {.op = "fake_mm",
                                      .name = "fake_not_stored",
                                      .applies = in_float32,
                                      .plan = plan_fused,
                                      .source = "int body;\n"};
    static const optune_impl closes = {.op = "fake_mm",
                                       .name = "fake_closed",
                                       .applies = in_float32,
                                       .plan = plan_row,
                                       .source = "#define STORED_TENSORS\n"};
    static const char fused[] = "fake_mm(bf16[4,8], bf16[16,8]) -> fake_add(const bf16[16])";
    stored(fused, &knows, "#define STORED_BRAIN 1\n");
    stored("fake_mm(f16[4,8], f16[16,8]) -> fake_relu()", &knows, "#define STORED_BRAIN 0\n");
    stored(fused, &other, NULL);
    stored(fused, &closes, NULL);
}

static void test_fused_digest(void **state)
{
    (void)state;
    fake_task f;
    char own[33], one[33], two[33];
    optune_err err = {0};
    static const optune_impl known = {.op = "fake_mm", .name = "fake_known", .plan = plan_row};
    check_ok(ot_impl_add(&known, &err));
    fake_task_set(&f, "fake_mm(f32[4,8], f32[16,8])");
    ot_call_digest(&f.task, &known, own);
    assert_string_equal(own, ot_impl_digest(&known));
    fake_task_set(&f, "fake_mm(f32[4,8], f32[16,8]) -> fake_relu()");
    ot_call_digest(&f.task, &known, one);
    assert_string_not_equal(own, one);
    fake_task_set(&f, FUSED);
    ot_call_digest(&f.task, &known, two);
    assert_string_not_equal(one, two);
}

/* What is kept of a plan makes the same source and the same stages, and is a few pages. */
static void test_copied(void **state)
{
    (void)state;
    optune_err err = {0};
    check_ok(make("fake_mm(f32[4,8], f32[16,8])", good, &err));
    optune_plan *copy = ot_alloc_sparse(sizeof *copy);
    ot_plan_copy(copy, &made);
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    unsigned char there[64] = {0};
    char *from = (char *)(((uintptr_t)copy + page - 1) & ~(page - 1));
    const size_t n = (size_t)((char *)(copy + 1) - from) / page;
    int pages = 0;
    assert_int_equal(mincore(from, n * page, there), 0);
    for (size_t i = 0; i < n; i++)
        pages += there[i] & 1;
    assert_in_range(pages, 1, 10);
    fake_task f;
    fake_task_set(&f, "fake_mm(f32[4,8], f32[16,8])");
    for (int i = 0; i < made.n_modules; i++) {
        ot_text one = {0}, other = {0};
        ot_plan_source(&f.task, &made, i, &one);
        ot_plan_source(&f.task, copy, i, &other);
        assert_string_equal(ot_text_str(&one), ot_text_str(&other));
        ot_text_release(&one);
        ot_text_release(&other);
    }
    assert_int_equal(copy->n_stages, made.n_stages);
    assert_true(made.n_stages > 0);
    assert_memory_equal(copy->stage, made.stage, sizeof made.stage);
    assert_memory_equal(copy->scratch, made.scratch, sizeof made.scratch);
    assert_memory_equal(copy->map, made.map, sizeof made.map);
    assert_memory_equal(copy->dim, made.dim, sizeof made.dim);
    assert_memory_equal(&copy->repeat, &made.repeat, sizeof made.repeat);
    free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),           cmocka_unit_test(test_copied),
        cmocka_unit_test(test_strange_config), cmocka_unit_test(test_prepack_of_var),
        cmocka_unit_test(test_tensor_maps),    cmocka_unit_test(test_lists_of_dims),
        cmocka_unit_test(test_functions),      cmocka_unit_test(test_repeat),
        cmocka_unit_test(test_misuse),         cmocka_unit_test(test_fused_in_registers),
        cmocka_unit_test(test_fused_behind),   cmocka_unit_test(test_fused_on_gpu),
        cmocka_unit_test(test_fused_in_half),  cmocka_unit_test(test_stored),
        cmocka_unit_test(test_fused_digest),
    };
    return cmocka_run_group_tests(tests, add_rows, NULL);
}
