/* SPDX-License-Identifier: Apache-2.0 */
/* Text to call and back: the canonical form, types both ways, and messages that point. */
#include "strategy/fake.h"

static void check_canonical(const char *text, const char *expected)
{
    optune_err err = {0};
    optune_call call;
    check_ok(ot_call_parse(text, &call, &err));
    ot_text first = {0}, second = {0};
    ot_call_print(&call, &first);
    assert_string_equal(ot_text_str(&first), expected);
    check_ok(ot_call_parse(ot_text_str(&first), &call, &err));
    ot_call_print(&call, &second);
    assert_string_equal(ot_text_str(&second), expected);
    ot_text_release(&first);
    ot_text_release(&second);
}

static void test_canonical(void **state)
{
    (void)state;
    check_canonical("fake_mm(f32[4,8],f32[16,8])",
                    "fake_mm(f32[4,8], const f32[16,8], padding=[0,0,0,0])");
    check_canonical("  fake_mm ( const float32[ 4, 8 ] , var f32[16,8], groups = 2 ) ",
                    "fake_mm(const f32[4,8], var f32[16,8], padding=[0,0,0,0], groups=2)");
    check_canonical(
        "fake_mm(f32[4,8], f32[16,8], math=tf32, mode=linear, flip=1, alpha=0.5, "
        "padding=[1,2], axes=3)",
        "fake_mm(f32[4,8], const f32[16,8], padding=[1,2,1,2], axes=[3], alpha=0.5, "
        "flip=true, mode=linear, math=tf32)");
    check_canonical("fake_mm(f32[4,8], f32[16,8], f32[16], padding=1, math=ieee, axes=[])",
                    "fake_mm(f32[4,8], const f32[16,8], f32[16], padding=[1,1,1,1])");
    /* what would be inferred anyway is not part of the text; what would not is */
    check_canonical("fake_mm(f32[4,8], f32[16,8], out_dtype=f32)",
                    "fake_mm(f32[4,8], const f32[16,8], padding=[0,0,0,0])");
    check_canonical("fake_mm(bf16[4,8], bf16[16,8], out_dtype=float32)",
                    "fake_mm(bf16[4,8], const bf16[16,8], padding=[0,0,0,0], out_dtype=f32)");
    check_canonical("fake_mm(f32[4,8], f32[16,8], out_layout=MN)",
                    "fake_mm(f32[4,8], const f32[16,8], padding=[0,0,0,0], out_layout=MN)");
}

static void test_symbolic(void **state)
{
    (void)state;
    check_canonical("fake_mm(f32[?m:1..64,8], f32[16,?])",
                    "fake_mm(f32[?m:1..64,8], const f32[16,8], padding=[0,0,0,0])");
    check_canonical("fake_mm(f32[?,?k], f32[16,?j:32..])",
                    "fake_mm(f32[?,?k:32..], const f32[16,?k:32..], padding=[0,0,0,0])");
    check_canonical("fake_mm(f32[?m:5..5,8], f32[?m,8])",
                    "fake_mm(f32[5,8], const f32[5,8], padding=[0,0,0,0])");
    check_canonical("fake_mm(?, f32[16,8])",
                    "fake_mm(f32[?,8], const f32[16,8], padding=[0,0,0,0])");
    check_canonical("fake_mm(?[4,8], f32[...])",
                    "fake_mm(f32[4,8], const f32[?,8], padding=[0,0,0,0])");
    check_canonical("fake_mm(?, ?)", "fake_mm(?[?,?], const ?[?,?], padding=[0,0,0,0])");
}

static void test_unified_names_become_one(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_call call;
    /* k unifies with j, and so does the other j, which becomes the output's n */
    check_ok(ot_call_parse("fake_mm(f32[4,?k:2..9], f32[?j,?j:1..5])", &call, &err));
    assert_string_equal(call.input[1].type.dim[0].name, "k");
    assert_int_equal(call.input[0].type.dim[1].max, 5);
    assert_int_equal(call.output[0].dim[1].min, 2);
    assert_int_equal(call.output[0].dim[1].max, 5);
    assert_false(ot_call_static(&call));
}

static void test_infer_says_what_is_missing(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_call call;
    check_ok(ot_call_parse("fake_mm(f32[4,8], f32[16,8])", &call, &err));
    assert_int_equal(ot_call_infer(&call, &err), OPTUNE_OK);
    assert_true(ot_call_static(&call));
    assert_int_equal(call.output[0].dim[0].min, 4);
    assert_int_equal(call.output[0].dim[1].min, 16);
    assert_true(ot_call_flops(&call) == 2.0 * 4 * 8 * 16);
    assert_true(ot_call_bytes(&call) == 4.0 * (4 * 8 + 16 * 8 + 4 * 16));
    check_ok(ot_call_parse("fake_mm(f32[?,8], f32[16,8])", &call, &err));
    assert_int_equal(ot_call_infer(&call, &err), 1);
    /* and backwards: a known output tells the input */
    call.output[0].dim[0] = optune_dim_of(7);
    assert_int_equal(ot_call_infer(&call, &err), OPTUNE_OK);
    assert_int_equal(call.input[0].type.dim[0].min, 7);
}

static void check_error(const char *text, int status, const char *reason, const char *at)
{
    optune_err err = {0};
    optune_call call;
    assert_int_equal(ot_call_parse(text, &call, &err), status);
    assert_int_equal(err.status, status);
    check_contains(err.text, reason);
    if (!at)
        return;
    /* the caret stands under the place */
    const char *line = strchr(err.text, '\n');
    assert_non_null(line);
    const char *second = strchr(line + 1, '\n');
    assert_non_null(second);
    const char *caret = strchr(second + 1, '^');
    assert_non_null(caret);
    const char *under = line + (caret - second);
    if (strncmp(under, at, strlen(at)) != 0)
        print_error("%s\n", err.text);
    assert_int_equal(strncmp(under, at, strlen(at)), 0);
}

static void test_errors_point(void **state)
{
    (void)state;
    check_error("fake_nm(f32[4])", OPTUNE_ENOENT, "did you mean 'fake_mm'", "fake_nm");
    check_error("", OPTUNE_ESYNTAX, "is expected", NULL);
    check_error("fake_mm", OPTUNE_ESYNTAX, "'(' is expected", "");
    check_error("fake_mm(f32[4,8], f32[16,8], paddin=[1])", OPTUNE_ESYNTAX,
                "no attribute 'paddin'; did you mean 'padding'?", "paddin=");
    check_error("fake_mm(f32[4,8], f32[16,8], math=tf23)", OPTUNE_ESYNTAX,
                "did you mean 'tf32'", "tf23");
    check_error("fake_mm(f32[4,8], f32[16,8], mode=zzzzzz)", OPTUNE_ESYNTAX,
                "nearest linear cubic", "zzzzzz");
    check_error("fake_mm(f32[4,8], f32[16,8], padding=[1,2,3])", OPTUNE_ESYNTAX,
                "has 3 integers, it takes 4", "[1,2,3]");
    check_error("fake_mm(f32[4,8], f32[16,8], padding=[1,2,3,4,5])", OPTUNE_ESYNTAX,
                "has 5 integers", "[1,2,3,4,5]");
    check_error("fake_mm(f32[4,8], f32[16,8], padding=[1,-2])", OPTUNE_ESYNTAX,
                "outside 0..100", "[1,-2]");
    check_error("fake_mm(f32[4,8], f32[16,8], padding=[1,])", OPTUNE_ESYNTAX, "missing",
                "[1,]");
    check_error("fake_mm(f32[4,8], f32[16,8], groups=two)", OPTUNE_ESYNTAX, "an integer",
                "two");
    check_error("fake_mm(f32[4,8], f32[16,8], groups=65)", OPTUNE_ESYNTAX, "outside 1..64",
                "65");
    check_error("fake_mm(f32[4,8], f32[16,8], groups=1, groups=2)", OPTUNE_ESYNTAX, "twice",
                "groups=2");
    check_error("fake_mm(f32[4,8], f32[16,8], groups=)", OPTUNE_ESYNTAX, "no value", ")");
    check_error("fake_mm(f32[4,8])", OPTUNE_ESYNTAX, "input 'weight' of 'fake_mm' is missing",
                ")");
    check_error("fake_mm(f32[4,8], f32[16,8], f32[16], f32[3])", OPTUNE_ESYNTAX,
                "too many inputs", "f32[3]");
    check_error("fake_mm(f32[4,8], groups=1, f32[16,8])", OPTUNE_ESYNTAX, "before attributes",
                "f32[16,8]");
    check_error("fake_mm(f33[4,8], f32[16,8])", OPTUNE_ESYNTAX, "no dtype 'f33'", "f33");
    check_error("fake_mm(f32[4,x], f32[16,8])", OPTUNE_ESYNTAX, "a dim is expected", "x]");
    check_error("fake_mm(f32[4,8, f32[16,8])", OPTUNE_ESYNTAX, "a dim is expected", "f32[16");
    check_error("fake_mm(f32(4,8), f32[16,8])", OPTUNE_ESYNTAX, "'[' is expected", "(4,8)");
    check_error("fake_mm(f32[?m:9..3,8], f32[16,8])", OPTUNE_ESYNTAX, "range is empty", "9..3");
    check_error("fake_mm(f32[1,1,1,1,1,1,1,1,1], f32[16,8])", OPTUNE_ELIMIT, "at most 8 dims",
                NULL);
    check_error("fake_mm(f32[99999999999999999999,8], f32[16,8])", OPTUNE_ELIMIT, "too large",
                "9999");
    check_error("fake_mm(f32[4,8], f32[16,8]) x", OPTUNE_ESYNTAX, "may follow", "x");
    check_error("fake_mm(f32[4,8], f32[16,8]", OPTUNE_ESYNTAX, "',' or ')' is expected", "");
    check_error("fake_mm(f32[4,8], f32[16,9])", OPTUNE_ETYPE, "does not fit data", "f32[16,9]");
    check_error("fake_mm(f32[4,?a:1..3], f32[?a:5..9,8])", OPTUNE_ETYPE, "dim '?a'", NULL);
}

static void test_fused(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_call call, step;
    check_canonical("fake_mm(f32[4,8],f32[16,8])->fake_relu()",
                    "fake_mm(f32[4,8], const f32[16,8], padding=[0,0,0,0]) -> fake_relu()");
    check_canonical("fake_mm(f32[4,8],f32[16,8]) -> fake_add(_, const f32[16])->fake_relu( _ )",
                    "fake_mm(f32[4,8], const f32[16,8], padding=[0,0,0,0]) -> "
                    "fake_add(const f32[16]) -> fake_relu()");
    check_canonical("fake_mm(f32[4,8],f32[16,8]) -> fake_add(f32[4,1], _) -> "
                    "fake_relu(slope=0.5, math=ieee)",
                    "fake_mm(f32[4,8], const f32[16,8], padding=[0,0,0,0]) -> "
                    "fake_add(f32[4,1], _) -> fake_relu(slope=0.5)");
    /* a fused operator's inputs are solved from the output, and the output from them */
    check_canonical("fake_mm(f32[?m:1..64,8], f32[16,8]) -> fake_add(?[?m,16])",
                    "fake_mm(f32[?m:1..64,8], const f32[16,8], padding=[0,0,0,0]) -> "
                    "fake_add(f32[?m:1..64,16])");
    check_canonical("fake_mm(f32[?m,8], f32[16,8]) -> fake_add(f32[5,16])",
                    "fake_mm(f32[5,8], const f32[16,8], padding=[0,0,0,0]) -> "
                    "fake_add(f32[5,16])");

    check_ok(ot_call_parse("fake_mm(f32[4,8], f32[16,8]) -> fake_add(f32[4,1], _) -> "
                           "fake_add(const f32[16])",
                           &call, &err));
    assert_int_equal(call.n_inputs, 2);
    assert_int_equal(optune_call_inputs(&call), 4);
    assert_int_equal(call.n_epilogues, 2);
    assert_int_equal(call.epilogue[0].chain, 1);
    assert_int_equal(call.epilogue[1].extra, 3);
    assert_true(call.input[3].is_const);
    assert_true(ot_call_static(&call));
    optune_call_step(&call, 0, &step);
    assert_int_equal(step.n_inputs, 2);
    assert_int_equal(step.input[0].type.dim[1].min, 1);
    assert_int_equal(step.input[1].type.dim[1].min, 16);
    assert_string_equal(optune_call_word(&step, "math"), "ieee");
}

static void test_fusing(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_call call, next;
    check_ok(ot_call_parse("fake_mm(f32[4,8], f32[16,8])", &call, &err));
    check_ok(ot_call_parse("fake_relu(f32[4,16])", &next, &err));
    check_ok(optune_call_fuse(&call, &next, 0, &err));
    ot_text text = {0};
    ot_call_print(&call, &text);
    assert_string_equal(ot_text_str(&text), "fake_mm(f32[4,8], const f32[16,8], "
                                            "padding=[0,0,0,0]) -> fake_relu()");
    const optune_call before = call;
    check_ok(ot_call_parse("fake_mm(f32[4,16], f32[16,16])", &next, &err));
    assert_int_equal(optune_call_fuse(&call, &next, 0, &err), OPTUNE_ETYPE);
    check_contains(err.text, "neither elementwise nor broadcast");
    assert_memory_equal(&call, &before, sizeof call);
    ot_text_release(&text);
}

/* Brackets within dims end no list of inputs. */
static void test_fused_behind_expressions(void **state)
{
    (void)state;
    static const char text[] =
        "fake_relu(f32[?(n+3)/5:1..3,?n:2..12]) -> fake_add(f32[?(n+3)/5:1..3,1], _)";
    optune_err err = {0};
    optune_call call;
    ot_text again = {0};
    check_ok(ot_call_parse(text, &call, &err));
    assert_int_equal(call.n_epilogues, 1);
    ot_call_print(&call, &again);
    assert_string_equal(ot_text_str(&again), text);
    ot_text_release(&again);
}

#define MM "fake_mm(f32[4,8], f32[16,8]) "
static void test_fused_errors_point(void **state)
{
    (void)state;
    check_error(MM "-> fake_add(f32[16,1])", OPTUNE_ETYPE, "fused 'fake_add'", "f32[16,1]");
    check_error(MM "-> fake_relu() -> fake_add(f32[15], _)", OPTUNE_ETYPE, "does not fit",
                "f32[15]");
    check_error(MM "-> fake_add(f64[16])", OPTUNE_ETYPE, "dtypes differ", "f64[16]");
    check_error(MM "-> fake_odd()", OPTUNE_ETYPE, "declares no expression", "fake_odd");
    check_error(MM "-> fake_add()", OPTUNE_ESYNTAX, "input 'rhs' of 'fake_add' is missing",
                ")");
    check_error(MM "-> fake_add(_, _)", OPTUNE_ESYNTAX, "'_' is given twice", "_)");
    check_error(MM "-> fake_relu(f32[4,16])", OPTUNE_ESYNTAX, "too many inputs", "f32[4,16]");
    check_error(MM "-> fake_mm(f32[16,16])", OPTUNE_ETYPE, "cannot be fused",
                "fake_mm(f32[16,");
    check_error(MM "-> fake_rely()", OPTUNE_ENOENT, "did you mean 'fake_relu'", "fake_rely");
    check_error(MM "-> ", OPTUNE_ESYNTAX, "a call like", "");
    check_error(MM "- fake_relu()", OPTUNE_ESYNTAX, "may follow", "- fake");
    check_error("fake_mm(_, f32[16,8])", OPTUNE_ESYNTAX, "in a fused call only", "_,");
    check_error(MM "-> fake_relu(math=tf32)", OPTUNE_ETYPE, "'math'", "fake_relu");
    check_error(MM "-> fake_relu() -> fake_relu() -> fake_relu() -> fake_relu() -> "
                   "fake_relu(slope=1)",
                OPTUNE_ELIMIT, "at most 4", "fake_relu(slope=1)");
}

static void test_long_texts_are_cut_around_the_place(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_call call;
    char text[2000];
    int n = snprintf(text, sizeof text, "fake_mm(f32[4,8], f32[16,8], axes=[");
    for (int i = 0; i < 300; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%d,", i % 10);
    snprintf(text + n, sizeof text - (size_t)n, "1], bogus=1)");
    assert_true(ot_call_parse(text, &call, &err) < 0);
    assert_true(strlen(err.text) < 400);
    check_contains(err.text, "...");
}

/* concatenate of n inputs, each of another length, whose other dims are said so. */
static void many_inputs(int n, const char *others, ot_text *to)
{
    ot_text_clear(to);
    ot_text_add(to, "concatenate(");
    for (int i = 0; i < n; i++)
        ot_text_printf(to, "%sf32[?length_of_%05d:1..9%s]", i ? ", " : "", i, others);
    ot_text_add(to, ", axis=0)");
}

static void test_many_inputs(void **state)
{
    (void)state;
    optune_err err = {0};
    static optune_call call, again;
    static char packed[sizeof call];
    ot_text text = {0};
    many_inputs(OPTUNE_MAX_INPUTS, ",?w:0..7", &text);
    check_canonical(ot_text_str(&text), ot_text_str(&text));
    check_ok(ot_call_parse(ot_text_str(&text), &call, &err));
    assert_int_equal(call.output[0].dim[0].min, OPTUNE_MAX_INPUTS);
    assert_int_equal(call.output[0].dim[0].max, 9 * OPTUNE_MAX_INPUTS);
    assert_true(ot_call_pack(&call, packed) <= sizeof packed);
    ot_call_unpack(packed, &again);
    assert_string_equal(again.input[OPTUNE_MAX_INPUTS - 1].type.dim[0].name, "length_of_00063");
    many_inputs(OPTUNE_MAX_INPUTS + 1, "", &text);
    check_error(ot_text_str(&text), OPTUNE_ESYNTAX, "concatenate' takes at most 64", NULL);
    check_error(ot_text_str(&text), OPTUNE_ESYNTAX, "which a graph makes by itself", NULL);
    /* Names as long as can be and numbers as large fit; of sums of them too many do not. */
#define LONG(k) ",?wide_as_" #k "00000:0..1099511627776"
#define SUM(k)                                                                                 \
    ",?1000*wide_as_" #k "00000+1000*wide_as_900000+1000*wide_as_800000+" #k ":0.."            \
                                                                             "1099511627776"
    many_inputs(OPTUNE_MAX_INPUTS, LONG(1) LONG(2) LONG(3) LONG(4) LONG(5) LONG(6) LONG(7),
                &text);
    check_ok(ot_call_parse(ot_text_str(&text), &call, &err));
    many_inputs(OPTUNE_MAX_INPUTS, SUM(1) SUM(2) SUM(3) SUM(4) SUM(5) SUM(6) SUM(7), &text);
    check_error(ot_text_str(&text), OPTUNE_ELIMIT, "characters, at most 32767", NULL);
#undef LONG
#undef SUM
    /* People are told how many are alike, of three and more. */
    char label[256];
    check_ok(ot_call_parse("concatenate(f32[4], f32[4], f32[3], f32[3], f32[3], axis=0)", &call,
                           &err));
    ot_call_label(&call, true, label, sizeof label);
    assert_string_equal(label, "concatenate [4] [4] [3] x3");
    ot_text_release(&text);
}

static void test_regions(void **state)
{
    (void)state;
    const optune_tensor type = {.rank = 2, .dim = {{.min = 3, .max = 3}, {.min = 5, .max = 5}}};
    optune_region region;
    assert_ptr_equal(ot_region_whole(&type, &region), &region);
    assert_int_equal(region.rank, 2);
    assert_int_equal(region.lo[1], 0);
    assert_int_equal(region.hi[0], 3);
    assert_int_equal(region.hi[1], 5);
}

static void test_unify(void **state)
{
    (void)state;
    optune_dim a = {.min = 1, .max = 10, .name = "m"}, b = {.min = 5, .max = 50};
    assert_true(optune_dim_unify(&a, &b));
    assert_int_equal(b.min, 5);
    assert_int_equal(b.max, 10);
    assert_string_equal(b.name, "m");
    optune_dim c = optune_dim_of(11), before = a;
    assert_false(optune_dim_unify(&a, &c));
    assert_memory_equal(&a, &before, sizeof a);
    assert_int_equal(c.min, 11);
    const optune_dim endless = {.min = OPTUNE_DIM_MAX, .max = OPTUNE_DIM_MAX};
    assert_false(optune_dim_known(&endless));
    optune_tensor type = {.rank = -1};
    assert_true(optune_tensor_set_rank(&type, 2));
    assert_false(optune_tensor_set_rank(&type, 3));
    assert_int_equal(type.dim[1].max, OPTUNE_DIM_MAX);
    const optune_tensor huge = {
        .dtype = {.code = OPTUNE_DTYPE_FLOAT, .bits = 64, .lanes = 1},
        .rank = 2,
        .dim = {{.min = 1LL << 40, .max = 1LL << 40}, {.min = 1LL << 40, .max = 1LL << 40}}};
    assert_true(optune_tensor_bytes(&huge) == INT64_MAX);
}

/* Elementwise, and nothing says how it is computed. */
static const optune_op fake_odd = {.name = "fake_odd",
                                   .summary = "a riddle",
                                   .inputs = (const optune_op_input[]){{.name = "data"}, {0}},
                                   .n_outputs = 1,
                                   .pattern = OPTUNE_ELEMWISE,
                                   .types = fake_relu_types};

static int related; /* how often a relation was asked */

static int counted_types(optune_call *call, optune_err *err)
{
    related++;
    return fake_relu_types(call, err);
}

static const optune_op fake_counted = {.name = "fake_counted",
                                       .summary = "a relation that is counted",
                                       .inputs =
                                           (const optune_op_input[]){{.name = "data"}, {0}},
                                       .n_outputs = 1,
                                       .pattern = OPTUNE_ELEMWISE,
                                       .types = counted_types};

static int add_rows(void **state)
{
    (void)state;
    if (ot_op_add(&fake_counted, NULL) < 0)
        return 1;
    return ot_op_add(&fake_op, NULL) < 0 || ot_op_add(&fake_relu, NULL) < 0 ||
           ot_op_add(&fake_add, NULL) < 0 || ot_op_add(&fake_odd, NULL) < 0;
}

/* Where all inputs are constants, what follows from them follows at once. */
static void test_constants_are_related_once(void **state)
{
    (void)state;
    optune_call call;
    optune_err err = {0};
    related = 0;
    check_ok(ot_call_parse("fake_counted(f32[4,8])", &call, &err));
    assert_int_equal(related, 1);
    assert_int_equal(call.output[0].dim[1].max, 8);
    check_ok(ot_call_parse("fake_counted(f32[?m:1..4,8])", &call, &err));
    assert_true(related > 2);
}

/* Which holds of every operator that there is: its relation finds nothing in what it said. */
static void test_relations_say_the_same_again(void **state)
{
    (void)state;
    int n, asked = 0;
    const optune_op *const *op = ot_ops(&n);
    for (int i = 0; i < n; i++)
        for (const char *const *text = op[i]->samples; text && *text; text++) {
            optune_call call, again;
            optune_err err = {0};
            check_ok(ot_call_parse(*text, &call, &err));
            if (!op[i]->types || call.n_epilogues || !ot_call_static(&call))
                continue;
            ot_call_copy(&again, &call);
            assert_int_equal(op[i]->types(&again, &err), OPTUNE_OK);
            for (int k = 0; k < call.n_inputs; k++)
                assert_true(ot_tensor_same(&call.input[k].type, &again.input[k].type));
            for (int k = 0; k < call.n_outputs; k++)
                assert_true(ot_tensor_same(&call.output[k], &again.output[k]));
            for (int k = 0; k < call.n_attrs; k++)
                assert_true(ot_attr_equal(&call.attr[k], &again.attr[k]));
            asked++;
        }
    assert_true(asked > 100);
}

/* What cannot be computed with is refused where it is read, or where it follows. */
static void test_sizes_that_overflow(void **state)
{
    (void)state;
    check_error("fake_mm(f32[1099511627777,8], f32[16,8])", OPTUNE_ELIMIT,
                "at most 1099511627776", "1099511627777");
    check_error("fake_mm(f32[?m:1..1099511627777,8], f32[16,8])", OPTUNE_ELIMIT, "too large",
                "1099511627777");
    check_error("fake_mm(f32[4,8], f32[1099511627776,8388608])", OPTUNE_ELIMIT,
                "more elements than can be counted", "8388608");
    check_error("fake_mm(f32[4,8], f32[0,1099511627776,8388608])", OPTUNE_ELIMIT,
                "more elements than can be counted", "8388608");
    check_error("fake_mm(f64x65535[1099511627776,32], f64x65535[16,32])", OPTUNE_ELIMIT,
                "more elements than can be counted", "32]");
    check_error("fake_mm(f32[1099511627776,8], f32[1099511627776,8])", OPTUNE_ELIMIT,
                "'output' would be f32[1099511627776,1099511627776]", NULL);
    optune_call call;
    optune_err err = {0};
    check_ok(ot_call_parse("fake_mm(f32[1099511627776,8], f32[16,8])", &call, &err));
    check_ok(ot_call_check(&call, &err));
    call.input[0].type.dim[0] = optune_dim_of(INT64_MAX - 1);
    assert_int_equal(ot_call_check(&call, &err), OPTUNE_EUSAGE);
}

/* Dims that a relation computes, as C: of one dim by strides and windows, of several by sums and
 * products; what is none of these says so. */
static void test_formulas(void **state)
{
    (void)state;
    static const struct {
        const char *call;
        int d;
        const char *formula;
    } known[] = {
        {"relu(f32[?n:1..9,4])", 0, "n"},
        {"relu(f32[?n:1..9,4])", 1, "4"},
        {"max_pool2d(f32[?n:1..9,4,?h:8..40,8], pool_size=[2,2], strides=[2,2])", 2,
         "((1*h+0)/2)"},
        {"max_pool2d(f32[1,4,?h:8..40,8], pool_size=[3,3], strides=[2,2], padding=[1,1,1,1])",
         2, "((1*h+1)/2)"},
        {"concatenate(f32[?n:2..9,4], f32[?m:3..9,4], axis=0)", 0, "(0+1*n+1*m)"},
        {"concatenate(f32[?n:2..9,4], f32[?n:2..9,4], axis=0)", 0, "((2*n+0)/1)"},
        {"pad(f32[?n:2..9,4], before=[1,0], after=[2,0])", 0, "((1*n+3)/1)"},
        {"reshape(f32[?n:2..9,?m:2..9,6], newshape=[-1,2])", 0, "(3*n*m/1)"},
    };
    for (int i = 0; i < OT_COUNT(known); i++) {
        optune_err err = {0};
        ot_text text = {0};
        optune_call call;
        check_ok(ot_call_parse(known[i].call, &call, &err));
        check_ok(ot_dim_formula(&call, 0, known[i].d, &text, &err));
        assert_string_equal(ot_text_str(&text), known[i].formula);
        ot_text_release(&text);
    }
    optune_err err = {0};
    ot_text text = {0};
    optune_call call;
    check_ok(ot_call_parse("strided_slice(f32[?n:1..40], begin=[3], end=[20])", &call, &err));
    assert_int_equal(ot_dim_formula(&call, 0, 0, &text, &err), OPTUNE_EUNSUPPORTED);
    ot_text_release(&text);
}

/* What is packed is the call, and no more than that. */
static void test_packed(void **state)
{
    (void)state;
    static const char *const text[] = {
        "dense(f32[16,64], const f32[32,64])",
        "dense(f32[?m:1..64,64], const f32[32,64]) -> add(f32[32]) -> relu()",
        "conv2d(f32[1,8,9,9], const f32[8,8,3,3], padding=[1,1,1,1], math=tf32)",
        "concatenate(f32[2,3], f32[2,4], f32[2,5], axis=1)",
    };
    optune_err err = {0};
    optune_call *call = ot_alloc(sizeof *call), *again = ot_alloc(sizeof *again);
    char packed[sizeof *call], twice[sizeof *call];
    for (int i = 0; i < OT_COUNT(text); i++) {
        ot_text one = {0}, two = {0};
        memset(again, 0xff, sizeof *again);
        check_ok(ot_call_parse(text[i], call, &err));
        const size_t n = ot_call_pack(call, packed);
        assert_true(n < sizeof *call / 2);
        ot_call_unpack(packed, again);
        assert_int_equal(ot_call_pack(again, twice), n);
        assert_memory_equal(packed, twice, n);
        ot_call_print(call, &one);
        ot_call_print(again, &two);
        assert_string_equal(one.s, two.s);
        assert_int_equal(ot_call_infer(again, &err), ot_call_static(call) ? OPTUNE_OK : 1);
        ot_text_release(&one);
        ot_text_release(&two);
    }
    free(call);
    free(again);
}

/* What lies behind a call's counts is nobody's: whatever was there before, it is parsed, copied,
 * unpacked and taken apart the same, and a copy of what is used is a copy of the whole. */
static void check_used(const char *text)
{
    optune_err err = {0};
    optune_call *clean = ot_alloc(sizeof *clean), *spoilt = ot_alloc(sizeof *spoilt),
                *copy = ot_alloc(sizeof *copy), whole;
    char packed[sizeof whole], again[sizeof whole];
    const int status = ot_call_parse(text, clean, &err);
    memset(spoilt, 0xa5, sizeof *spoilt);
    memset(copy, 0xa5, sizeof *copy);
    assert_int_equal(ot_call_parse(text, spoilt, &err), status);
    check_ok(status);
    const size_t n = ot_call_pack(clean, packed);
    assert_int_equal(ot_call_pack(spoilt, again), n);
    assert_memory_equal(packed, again, n);
    whole = *clean;
    ot_call_copy(copy, spoilt);
    assert_int_equal(ot_call_pack(copy, again), n);
    assert_memory_equal(packed, again, n);
    assert_int_equal(ot_call_pack(&whole, again), n);
    assert_memory_equal(packed, again, n);
    ot_text one = {0}, two = {0};
    ot_call_print(&whole, &one);
    ot_call_print(copy, &two);
    assert_string_equal(one.s, two.s);
    assert_true(ot_call_flops(copy) == ot_call_flops(clean) || !ot_call_static(clean));
    for (int i = 0; i < clean->n_epilogues; i++) {
        memset(spoilt, 0xa5, sizeof *spoilt);
        memset(&whole, 0, sizeof whole);
        optune_call_step(copy, i, spoilt);
        optune_call_step(clean, i, &whole);
        const size_t step = ot_call_pack(&whole, packed);
        assert_int_equal(ot_call_pack(spoilt, again), step);
        assert_memory_equal(packed, again, step);
        assert_int_equal(whole.n_epilogues + whole.n_extra + spoilt->n_epilogues, 0);
    }
    ot_text_release(&one);
    ot_text_release(&two);
    free(clean);
    free(spoilt);
    free(copy);
}

static void test_only_what_is_used(void **state)
{
    (void)state;
    int n, samples = 0;
    const optune_op *const *op = ot_ops(&n);
    for (int i = 0; i < n; i++)
        for (const char *const *text = op[i]->samples; text && *text; text++, samples++)
            check_used(*text);
    assert_true(samples > 100);
    check_used("dense(f32[?m:1..64,64], const f32[32,64]) -> add(f32[32]) -> relu()");
    check_used(
        "conv2d(f32[1,8,9,9], const f32[8,8,3,3]) -> add(const f32[8,1,1], _) -> tanh()");
    check_used("dense(f32[4,8], f32[4,8], out_dtype=f32) -> multiply(f32[4]) -> add(f32[4]) -> "
               "relu() -> clip(a_min=0.0, a_max=6.0)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_canonical),
        cmocka_unit_test(test_formulas),
        cmocka_unit_test(test_symbolic),
        cmocka_unit_test(test_unified_names_become_one),
        cmocka_unit_test(test_infer_says_what_is_missing),
        cmocka_unit_test(test_errors_point),
        cmocka_unit_test(test_fused),
        cmocka_unit_test(test_fusing),
        cmocka_unit_test(test_fused_behind_expressions),
        cmocka_unit_test(test_fused_errors_point),
        cmocka_unit_test(test_long_texts_are_cut_around_the_place),
        cmocka_unit_test(test_many_inputs),
        cmocka_unit_test(test_constants_are_related_once),
        cmocka_unit_test(test_relations_say_the_same_again),
        cmocka_unit_test(test_sizes_that_overflow),
        cmocka_unit_test(test_regions),
        cmocka_unit_test(test_unify),
        cmocka_unit_test(test_packed),
        cmocka_unit_test(test_only_what_is_used),
    };
    return cmocka_run_group_tests(tests, add_rows, NULL);
}
