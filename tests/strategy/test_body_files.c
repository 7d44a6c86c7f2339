/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies out of tree that include what bodies in the tree include: one text with the files in
 * place, what they are for, and what is said of a name that is none.
 */
#include "strategy/embedded.h"
#include "strategy/fake.h"
#include "strategy/inside.h"

static void plan(const optune_task *task, const optune_config *config, optune_plan *made)
{
    (void)task, (void)config;
    optune_plan_module(made);
}

static void check_refused(int status, optune_err *err, const char *says)
{
    assert_int_equal(status, OPTUNE_ENOENT);
    check_contains(err->text, says);
}

static int count(const char *text, const char *what)
{
    int n = 0;
    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

#define ROW(name_, text)                                                                       \
    {                                                                                          \
        .op = "fake_mm", .name = name_, .plan = plan, .source = text                           \
    }

static void test_files_are_put_in_place_once(void **state)
{
    (void)state;
    static const optune_impl row =
        ROW("body_once", "#include \"kernels/common/epilogue.kernel.h\"\n"
                         "  #  include   <kernels/common/cpu.kernel.h>\n"
                         "#include \"kernels/common/stream.kernel.h\" /* and cpu.kernel.h */\n"
                         "#include \"other.h\"\n"
                         "int own;");
    optune_err err = {0};
    check_ok(ot_impl_add(&row, &err));
    const char *text = ot_impl_source(&row);
    assert_int_equal(count(text, "INLINE vec load(const DTYPE *p)"), 1);
    assert_int_equal(count(text, "#define PARALLEL_FOR_N(k)"), 2); /* both ways it is defined */
    assert_int_equal(count(text, "stream_end"), count(ot_body_text(&row), "stream_end"));
    assert_true(count(text, "stream_end") > 0);
    assert_null(strstr(text, "include \"kernels"));
    assert_non_null(
        strstr(text, "#include \"other.h\"\nint own;")); /* the compiler's business */
    assert_ptr_equal(ot_impl_source(&row), text);
}

/* What the build makes of the same file is the same. */
static void test_as_in_tree(void **state)
{
    (void)state;
    const optune_impl *inner = ot_impl_find("softmax_rows.cpu");
    static const optune_impl row =
        ROW("body_as_in_tree", "#include \"kernels/softmax/impl_rows.kernel.c\"\n");
    optune_err err = {0};
    assert_non_null(inner);
    check_ok(ot_impl_add(&row, &err));
    assert_string_equal(ot_impl_source(&row), ot_impl_source(inner));
    assert_string_not_equal(ot_impl_digest(&row), ot_impl_digest(inner));
    for (ot_body_fact fact = OT_BODY_TEAM; fact <= OT_BODY_BRAIN; fact++)
        for (int again = 0; again < 2; again++)
            assert_int_equal(ot_impl_has(&row, fact), ot_impl_has(inner, fact));
    assert_true(ot_impl_has(&row, OT_BODY_TEAM) && ot_impl_has(&row, OT_BODY_STORES));
}

static void test_what_a_body_has(void **state)
{
    (void)state;
    static const optune_impl none = ROW("body_bare", "/* PARALLEL_FOR */\nint own;\n"),
                             some = ROW("body_words", "PARALLEL_FOR\n#define STORED_SOME 1\n");
    optune_err err = {0};
    check_ok(ot_impl_add(&none, &err));
    check_ok(ot_impl_add(&some, &err));
    for (int again = 0; again < 2; again++)
        for (ot_body_fact fact = OT_BODY_TEAM; fact <= OT_BODY_BRAIN; fact++) {
            assert_false(ot_impl_has(&none, fact));
            assert_int_equal(ot_impl_has(&some, fact),
                             fact == OT_BODY_TEAM || fact == OT_BODY_STORES_SOME);
        }
}

static void test_a_condition_is_the_compilers(void **state)
{
    (void)state;
    static const optune_impl row =
        ROW("body_either", "#ifdef OT_OPENCL\n"
                           "#include \"kernels/common/gpu.kernel.h\"\n"
                           "#elif 1\n"
                           "#include \"kernels/common/cpu.kernel.h\"\n"
                           "#else\n"
                           "#if 0\n#endif\n"
                           "#include \"kernels/common/cpu.kernel.h\"\n"
                           "#endif\n"
                           "#include \"kernels/common/cpu.kernel.h\"\n");
    optune_err err = {0};
    check_ok(ot_impl_add(&row, &err));
    assert_int_equal(count(ot_impl_source(&row), "INLINE vec load(const DTYPE *p)"), 3);
    assert_int_equal(
        count(ot_impl_source(&row), "#define BARRIER()"),
        count(ot_impl_source(ot_impl_find("softmax_team.gpu")), "#define BARRIER()"));
    assert_int_equal(ot_body_serves(&row), OT_FOR_CPUS);
}

static void test_what_is_included_says_for_whom(void **state)
{
    (void)state;
    static const optune_impl cpu =
        ROW("body_cpu", "#include \"kernels/common/cpu.kernel.h\"\n");
    static const optune_impl gpu =
        ROW("body_gpu", "#include \"kernels/common/team.kernel.h\"\n");
    static const optune_impl any =
        ROW("body_any", "#include \"kernels/common/generic_body.kernel.h\"\n");
    const optune_device core = {0}, card = {.warp = 32};
    optune_err err = {0};
    char why[OPTUNE_WHY_SIZE];
    check_ok(ot_impl_add(&cpu, &err));
    check_ok(ot_impl_add(&gpu, &err));
    check_ok(ot_impl_add(&any, &err));
    assert_true(ot_impl_runs_on(&cpu, &core, why));
    assert_false(ot_impl_runs_on(&cpu, &card, why));
    assert_string_equal(why, "its body is C for CPUs");
    assert_true(ot_impl_runs_on(&gpu, &card, why));
    assert_false(ot_impl_runs_on(&gpu, &core, why));
    assert_string_equal(why, "its body is for GPUs");
    assert_true(ot_impl_runs_on(&any, &core, why) && ot_impl_runs_on(&any, &card, why));
}

static void test_what_there_is_not(void **state)
{
    (void)state;
    static const struct {
        optune_impl row;
        const char *says;
    } bad[] = {
        {ROW("body_slip", "#include \"kernels/common/cpu.kernle.h\"\n"),
         "the body of implementation 'body_slip' includes 'kernels/common/cpu.kernle.h', which "
         "is "
         "no file that bodies include; did you mean 'kernels/common/cpu.kernel.h'?"},
        {ROW("body_host", "int a;\n#include \"kernels/host/host.h\"\n"),
         "includes 'kernels/host/host.h', which is for rows: bodies include files called "
         ".kernel."},
        {ROW("body_up", "#include \"kernels/../../etc/passwd\"\n"),
         "no file that bodies include"},
        {ROW("body_folder", "#include \"kernels/\""), "no file that bodies include"},
    };
    for (int i = 0; i < OT_COUNT(bad); i++) {
        optune_err err = {0};
        check_refused(ot_impl_add(&bad[i].row, &err), &err, bad[i].says);
        assert_null(ot_impl_find(bad[i].row.name));
    }
    static const optune_impl family = {.family = "scan",
                                       .name = "astray.cpu",
                                       .plan = plan,
                                       .source = "#include \"kernels/scan/bodi.kernel.h\"\n"};
    optune_err err = {0};
    check_refused(ot_impl_add(&family, &err), &err,
                  "did you mean 'kernels/scan/body.kernel.h'?");
    assert_null(ot_impl_find("cumsum_astray.cpu"));
}

/* Lines that look like includes and are none, and texts without an end. */
static void test_odd_texts(void **state)
{
    (void)state;
    static const optune_impl odd[] = {
        ROW("body_odd_0", "// #include \"kernels/nothing.kernel.h\"\nint a;"),
        ROW("body_odd_1", "#include \"kernels/common/cpu.kernel.h"),
        ROW("body_odd_2", "#endif\n#else\n#endif\n#include \"kernels/common/cpu.kernel.h\""),
        ROW("body_odd_3", "#include"),
        ROW("body_odd_4", "const char *s = \"#include \\\"kernels/x\\\"\";"),
        ROW("body_odd_5", "#included \"kernels/x\"\n#if\n#if\n#if\n"),
    };
    for (int i = 0; i < OT_COUNT(odd); i++) {
        optune_err err = {0};
        check_ok(ot_impl_add(&odd[i], &err));
        if (i != 2)
            assert_string_equal(ot_impl_source(&odd[i]), odd[i].source);
    }
    /* Deeper than anybody nests. */
    ot_text deep = {0};
    for (int i = 0; i < 100; i++)
        ot_text_add(&deep, "#if 1\n");
    ot_text_add(&deep, "#include \"kernels/common/cpu.kernel.h\"\n");
    for (int i = 0; i < 100; i++)
        ot_text_add(&deep, "#endif\n");
    static optune_impl row = ROW("body_deep", "");
    row.source = ot_text_str(&deep);
    optune_err err = {0};
    check_ok(ot_impl_add(&row, &err));
    assert_int_equal(count(ot_impl_source(&row), "INLINE vec load(const DTYPE *p)"), 1);
    assert_int_equal(count(ot_impl_source(&row), "#endif"),
                     100 + count(ot_impl_source(&odd[2]), "#endif") - 2);
}

static int set_up(void **state)
{
    (void)state;
    optune_err err = {0};
    return ot_op_add(&fake_op, &err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_are_put_in_place_once),
        cmocka_unit_test(test_what_a_body_has),
        cmocka_unit_test(test_as_in_tree),
        cmocka_unit_test(test_a_condition_is_the_compilers),
        cmocka_unit_test(test_what_is_included_says_for_whom),
        cmocka_unit_test(test_what_there_is_not),
        cmocka_unit_test(test_odd_texts),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
