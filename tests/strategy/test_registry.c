/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adding rows: what is refused, which strategy is found, and plugins, compiled here, added
 * whole or not at all.
 */
#include <dlfcn.h>

#include "call/inside.h"
#include "strategy/embedded.h"
#include "strategy/fake.h"
#include "strategy/inside.h"
#include "support/plugin.h"

static void plan(const optune_task *task, const optune_config *config, optune_plan *plan)
{
    (void)task, (void)config, (void)plan;
}

static int64_t ask(optune_search_view *view)
{
    (void)view;
    return -1;
}

static const optune_impl impl = {
    .op = "fake_mm", .name = "fake_a", .plan = plan, .source = "int a;"};
static const optune_impl impl_b = {
    .op = "fake_mm", .name = "fake_b", .plan = plan, .source = "int b;"};
static const optune_search search = {.name = "fake_search", .ask = ask};
static ot_registry_mark in_tree; /* what there was before rows were added here */

static void check_refused(int got, int status, const optune_err *err, const char *reason)
{
    assert_int_equal(got, status);
    check_contains(err->text, reason);
}

static void test_rows_are_checked(void **state)
{
    (void)state;
    optune_err err = {0};
    check_refused(ot_op_add(&fake_op, &err), OPTUNE_ECONFLICT, &err,
                  "'fake_mm' exists already");
    check_refused(ot_impl_add(&impl, &err), OPTUNE_ECONFLICT, &err, "'fake_a' exists already");
    check_refused(ot_search_add(&search, &err), OPTUNE_ECONFLICT, &err, "'fake_search' exists");
    optune_op op = fake_op;
    op.name = "";
    check_refused(ot_op_add(&op, &err), OPTUNE_EUSAGE, &err, "operator without a name");
    op.name = "fake_bad";
    op.n_outputs = 0;
    check_refused(ot_op_add(&op, &err), OPTUNE_ELIMIT, &err, "no output");
    op = fake_op;
    op.name = "fake_bad";
    op.types = NULL;
    check_refused(ot_op_add(&op, &err), OPTUNE_EUSAGE, &err, "type relation");
    op = fake_op;
    op.name = "fake_bad";
    static const optune_op_attr attrs[] = {
        {.name = "mode", .kind = OPTUNE_ATTR_INT, .value = "many"}, {0}};
    op.attrs = attrs;
    check_refused(ot_op_add(&op, &err), OPTUNE_ESYNTAX, &err, "attribute 'mode' is not 'many'");
    static const optune_op_attr math[] = {
        {.name = "math", .kind = OPTUNE_ATTR_INT, .value = "1"}, {0}};
    op.attrs = math;
    check_refused(ot_op_add(&op, &err), OPTUNE_ECONFLICT, &err, "two attributes 'math'");
    optune_impl bad = {.op = "fake_nn", .name = "fake_c", .plan = plan};
    check_refused(ot_impl_add(&bad, &err), OPTUNE_ENOENT, &err, "did you mean 'fake_mm'");
    bad = (optune_impl){.op = "fake_mm", .name = "fake_c"};
    check_refused(ot_impl_add(&bad, &err), OPTUNE_EUSAGE, &err, "lacks `plan`");
}

static void test_strategies_are_checked(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_strategy_row rows[] = {{.impl = "fake_x"}, {0}};
    optune_strategy strategy = {.op = "fake_mm", .key = "k", .rows = rows};
    check_refused(ot_strategy_add(&strategy, &err), OPTUNE_ENOENT, &err, "names 'fake_x'");
    rows[0] = (optune_strategy_row){.impl = "fake_a", .when = "m >"};
    check_refused(ot_strategy_add(&strategy, &err), OPTUNE_ESYNTAX, &err, "condition 'm >'");
    rows[0].impl = NULL;
    check_refused(ot_strategy_add(&strategy, &err), OPTUNE_EUSAGE, &err, "has no rows");
    strategy.op = "fake";
    check_refused(ot_strategy_add(&strategy, &err), OPTUNE_ENOENT, &err, "no operator 'fake'");
}

/* Rows that share a file: each is one of its own, and they have one body and one digest. */
static void test_rows_of_one_file(void **state)
{
    (void)state;
    int rows = 0;
    for (const optune_op *const *list = ot_ops_table; *list; list++)
        for (const optune_op *op = *list; op->name; op++)
            assert_ptr_equal(ot_op_find(op->name), op);
    for (const optune_impl *const *list = ot_impls_table; *list; list++)
        for (const optune_impl *row = *list; row->name; row++, rows++) {
            assert_ptr_equal(ot_impl_find(row->name), row);
            assert_true(strlen(ot_impl_source(row)) > 0);
            assert_ptr_equal(ot_impl_source(row), ot_impl_source(*list));
            assert_string_equal(ot_impl_digest(row), ot_impl_digest(*list));
        }
    for (const optune_strategy *const *list = ot_strategies_table; *list; list++)
        for (const optune_strategy *row = *list; row->rows; row++, rows++)
            if (row->op)
                assert_ptr_equal(optune_strategy_of(row->op, row->key), row);
    assert_true(rows > 0);
}

/* A file that names its body has that one, and a digest of its own. */
static void test_named_bodies(void **state)
{
    (void)state;
    const optune_impl *own = ot_impl_find("conv2d_direct.cpu");
    const optune_impl *naming = ot_impl_find("conv2d_NCHWc.x86");
    assert_true(strlen(ot_impl_source(own)) > 0);
    assert_string_equal(ot_impl_source(own), ot_impl_source(naming));
    assert_string_not_equal(ot_impl_digest(own), ot_impl_digest(naming));
    const optune_device gpu = {.warp = 32};
    char why[OPTUNE_WHY_SIZE];
    assert_false(ot_impl_runs_on(naming, &gpu, why));
    assert_true(ot_impl_runs_on(ot_impl_find("dense_skinny.gpu"), &gpu, why));
}

/* Where a file lies decides nothing. */
static void test_order_by_name(void **state)
{
    (void)state;
    int n;
    const optune_op *const *op = ot_ops(&n);
    const optune_impl *const *row = ot_impls(&n);
    for (int i = 1; i < in_tree.op; i++)
        assert_true(strcmp(op[i - 1]->name, op[i]->name) < 0);
    for (int i = 1; i < in_tree.impl; i++)
        assert_true(strcmp(row[i - 1]->name, row[i]->name) < 0);
}

static void test_keys_in_order(void **state)
{
    (void)state;
    static const optune_strategy_row rows[] = {{.impl = "fake_a"}, {0}};
    static const optune_strategy gpu = {.op = "fake_mm", .key = "fgpu", .rows = rows};
    static const optune_strategy generic = {.op = "fake_mm", .key = "generic", .rows = rows};
    static const optune_strategy again = {.op = "fake_mm", .key = "fgpu", .rows = rows};
    static const optune_strategy cuda = {.op = "fake_mm", .key = "fcuda", .rows = rows};
    optune_target target = {.kind = "x", .n_keys = 2, .key = {"fcuda", "fgpu"}};
    const optune_target bare = {.kind = "y", .n_keys = 1, .key = {"y"}};
    assert_null(ot_strategy_find(&fake_op, &target));
    optune_err err = {0};
    check_ok(ot_strategy_add(&generic, &err));
    assert_ptr_equal(ot_strategy_find(&fake_op, &target), &generic);
    check_ok(ot_strategy_add(&gpu, &err));
    assert_ptr_equal(ot_strategy_find(&fake_op, &target), &gpu);
    assert_ptr_equal(ot_strategy_find(&fake_op, &bare), &generic);
    check_ok(ot_strategy_add(&again, &err)); /* a later one overrides */
    assert_ptr_equal(ot_strategy_find(&fake_op, &target), &again);
    check_ok(ot_strategy_add(&cuda, &err)); /* the first key of the target, though added last */
    assert_ptr_equal(ot_strategy_find(&fake_op, &target), &cuda);
    ot_copy(target.key[0], sizeof target.key[0], "fgpu");
    ot_copy(target.key[1], sizeof target.key[1], "fcuda");
    assert_ptr_equal(ot_strategy_find(&fake_op, &target), &again);
}

static void plan_nothing(const optune_task *task, const optune_config *config,
                         optune_plan *plan)
{
    (void)task, (void)config, (void)plan;
}

static void test_rows_at_run_time(void **state)
{
    (void)state;
    optune_err err = {0};
    static const optune_impl mine = {
        .op = "fake_mm", .name = "fake_mine", .summary = "mine", .plan = plan_nothing};
    static const optune_impl other = {
        .op = "fake_mm", .name = "fake_mine", .summary = "not mine", .plan = plan_nothing};
    static const optune_strategy_row none[] = {{0}};
    static const optune_strategy first = {.op = "fake_mm", .key = "fnew", .rows = none};
    assert_null(optune_strategy_of("fake_mm", "fnew"));
    check_ok(optune_strategy_add(&first, ot_impl_find("fake_a"), 7, &err));
    check_ok(optune_strategy_add(optune_strategy_of("fake_mm", "fnew"), &mine, 0, &err));
    const optune_strategy *now = optune_strategy_of("fake_mm", "fnew");
    assert_string_equal(now->rows[0].impl, "fake_a");
    assert_int_equal(now->rows[0].plevel, 7);
    assert_string_equal(now->rows[1].impl, "fake_mine");
    assert_null(now->rows[2].impl);
    const optune_target target = {.kind = "x", .n_keys = 1, .key = {"fnew"}};
    assert_ptr_equal(ot_strategy_find(&fake_op, &target), now);
    check_refused(optune_strategy_add(now, &mine, 0, &err), OPTUNE_ECONFLICT, &err,
                  "has 'fake_mine' already");
    static const optune_strategy elsewhere = {.op = "fake_mm", .key = "felse", .rows = none};
    check_refused(optune_strategy_add(&elsewhere, &other, 0, &err), OPTUNE_ECONFLICT, &err,
                  "another implementation");
    assert_null(optune_strategy_of("fake_mm", "felse"));
}

static void test_sources_and_digests(void **state)
{
    (void)state;
    assert_string_equal(ot_impl_source(&impl), "int a;");
    assert_int_equal(strlen(ot_impl_digest(&impl)), 32);
    assert_string_not_equal(ot_impl_digest(&impl), ot_impl_digest(&impl_b));
    int n;
    const optune_impl *const *all = ot_impls(&n);
    bool found = false;
    for (int i = 0; i < n; i++)
        found = found || all[i] == &impl_b;
    assert_true(found);
}

static void test_no_such(void **state)
{
    (void)state;
    static const char *const names[] = {"conv2d", "dense"};
    optune_err err = {0};
    assert_int_equal(ot_no_such(&err, "operator", "conv3d", names, 2), OPTUNE_ENOENT);
    assert_string_equal(err.text, "no operator 'conv3d'; did you mean 'conv2d'?");
    assert_int_equal(ot_no_such(&err, "operator", "zzzzzzzzzz", names, 2), OPTUNE_ENOENT);
    assert_string_equal(err.text, "no operator 'zzzzzzzzzz'; there are conv2d, dense");
    assert_int_equal(ot_no_such(&err, "hub", "ours", NULL, 0), OPTUNE_ENOENT);
    assert_string_equal(err.text, "no hub 'ours'; there is none");
}

/* ---- plugins ----------------------------------------------------------------------------- */

static int added_targets;
static bool refuse_targets;

static int add_target(const optune_target_row *row, optune_err *err)
{
    if (refuse_targets)
        return optune_fail(err, OPTUNE_ECONFLICT, "target '%s' exists already", row->name);
    added_targets++;
    return OPTUNE_OK;
}

static char dir[4096];

/* Compiles a plugin around this body; its path is in `path`. */
static void compile(const char *name, const char *body, char *path, size_t size)
{
    ot_text text = {0};
    snprintf(path, size, "%s/%s.so", dir, name);
    ot_text_printf(&text, "#include \"optune/define.h\"\n%s\n", body);
    plugin_build_text(ot_text_str(&text), path);
    ot_text_release(&text);
}

#define PLUGIN_ROWS                                                                            \
    "static void plan(const optune_task *t, const optune_config *c, optune_plan *p)"           \
    "{ (void)t; (void)c; optune_plan_module(p); }\n"                                           \
    "static const optune_impl impl = {.op = \"fake_mm\", .name = NAME, .plan = plan,"          \
    " .source = \"int x;\"};\n"                                                                \
    "static const optune_impl *const impls[] = {&impl, 0};\n"                                  \
    "static const optune_strategy_row rows[] = {{.impl = NAME}, {0}};\n"                       \
    "static const optune_strategy strategy = {.op = \"fake_mm\", .key = \"generic\","          \
    " .rows = rows};\n"                                                                        \
    "static const optune_strategy *const strategies[] = {&strategy, 0};\n"                     \
    "static const optune_target_row target = {.name = \"fake_target\"};\n"                     \
    "static const optune_target_row *const targets[] = {&target, 0};\n"

static void test_plugin(void **state)
{
    (void)state;
    char path[4200];
    optune_err err = {0};
    compile("good",
            "#define NAME \"plugged\"\n" PLUGIN_ROWS
            "OPTUNE_PLUGIN = {.abi = OPTUNE_ABI, .name = \"good\", .impls = "
            "impls, .strategies = strategies, .targets = targets};",
            path, sizeof path);
    added_targets = 0;
    check_ok(ot_plugin_load(path, add_target, &err));
    assert_int_equal(added_targets, 1);
    const optune_impl *found = ot_impl_find("plugged");
    assert_non_null(found);
    assert_string_equal(ot_impl_source(found), "int x;");
    /* its strategy overrides */
    const optune_target bare = {.kind = "y", .n_keys = 1, .key = {"y"}};
    assert_string_equal(ot_strategy_find(&fake_op, &bare)->rows[0].impl, "plugged");
    /* a second time its names exist */
    check_refused(ot_plugin_load(path, add_target, &err), OPTUNE_ECONFLICT, &err,
                  "implementation 'plugged' exists already");
    assert_int_equal(added_targets, 1);
}

/* An operator joins a family and lacks what the family's strategies name. */
static void test_plugin_of_a_family(void **state)
{
    (void)state;
    char path[4200];
    optune_err err = {0};
    static const char text[] =
        "static int types(optune_call *c, optune_err *e) { return optune_elemwise_types(c, e); "
        "}\n"
        "static void ref(const optune_call *c, const void *const *in, int o,"
        " const optune_region *r, double *out, double *m)"
        "{ (void)c; (void)in; (void)o; (void)r; (void)out; (void)m; }\n"
        "static const optune_op_input inputs[] = {{.name = \"data\", .type = \"tensor\"}, "
        "{0}};\n"
        "static const char *const samples[] = {\"fake_scan(f32[3])\", 0};\n"
        "static const optune_op op = {.name = \"fake_scan\", .summary = \"s\", .inputs = "
        "inputs,"
        " .n_outputs = 1, .pattern = OPTUNE_OPAQUE, .types = types, .reference = ref,"
        " .samples = samples, .family = \"scan\"};\n"
        "static const optune_op *const ops[] = {&op, 0};\n"
        "OPTUNE_PLUGIN = {.abi = OPTUNE_ABI, .name = \"lacks\", .ops = ops};";
    compile("lacks", text, path, sizeof path);
    check_refused(ot_plugin_load(path, add_target, &err), OPTUNE_ENOENT, &err,
                  "operator 'fake_scan' has no implementation 'fake_scan_");
    check_contains(err.text, "which the strategy of its family for '");
    assert_null(ot_op_find("fake_scan"));
}

/* A symbol that nobody has, as one of the code that rows share where it is not linked. */
static void test_plugin_without_its_code(void **state)
{
    (void)state;
    char path[4200];
    optune_err err = {0};
    compile("bare",
            "int tensor_nobody_has(void);\n"
            "int optune_bare_uses(void);\n"
            "int optune_bare_uses(void) { return tensor_nobody_has(); }\n"
            "OPTUNE_PLUGIN = {.abi = OPTUNE_ABI, .name = \"bare\"};",
            path, sizeof path);
    check_refused(ot_plugin_load(path, add_target, &err), OPTUNE_ENOENT, &err,
                  "link with `pkg-config --libs optune-plugin`");
}

/* Two strategies of one thing for one key inside a plugin: half of them would do nothing. */
static void test_plugin_says_twice(void **state)
{
    (void)state;
    char path[4200];
    optune_err err = {0};
    compile(
        "twice",
        "static const char *const keys[] = {\"a\", \"b\", 0};\n"
        "static const optune_strategy_row rows[] = {{.impl = \"loop.cpu\"}, {0}};\n"
        "static const optune_strategy one = {.family = \"scan\", .keys = keys, .rows = rows};\n"
        "static const optune_strategy two = {.family = \"scan\", .key = \"b\", .rows = rows};\n"
        "static const optune_strategy *const strategies[] = {&one, &two, 0};\n"
        "OPTUNE_PLUGIN = {.abi = OPTUNE_ABI, .name = \"twice\", .strategies = strategies};",
        path, sizeof path);
    check_refused(ot_plugin_load(path, add_target, &err), OPTUNE_ECONFLICT, &err,
                  "two strategies of family scan for 'b'");
}

static void test_plugin_all_or_nothing(void **state)
{
    (void)state;
    char path[4200];
    optune_err err = {0};
    int before, after;
    ot_strategies(&before);
    compile("partial",
            "#define NAME \"halfway\"\n" PLUGIN_ROWS
            "OPTUNE_PLUGIN = {.abi = OPTUNE_ABI, .name = \"partial\", .impls ="
            " impls, .strategies = strategies, .targets = targets};",
            path, sizeof path);
    refuse_targets = true;
    check_refused(ot_plugin_load(path, add_target, &err), OPTUNE_ECONFLICT, &err,
                  "refused: target 'fake_target' exists already");
    refuse_targets = false;
    assert_null(ot_impl_find("halfway"));
    ot_strategies(&after);
    assert_int_equal(after, before);
    /* nothing of it stayed, so it can be added once the cause is gone */
    check_ok(ot_plugin_load(path, add_target, &err));
    assert_non_null(ot_impl_find("halfway"));
    assert_int_equal(strlen(ot_impl_digest(ot_impl_find("halfway"))), 32);
}

/* One plugin, changed in its code alone: its records are another one's. */
static void test_plugin_digest(void **state)
{
    (void)state;
    static const char *const plan[] = {
        "optune_plan_module(p);", "optune_plan_define(p, optune_plan_module(p), \"N\", 3);",
        "optune_plan_module(p);"};
    ot_text body = {0};
    char path[4200];
    optune_err err = {0};
    ot_digest digest[3] = {0};
    assert_false(ot_object_digest(&digest, &digest[0])); /* the stack */
    assert_false(ot_object_digest((const void *)test_plugin_digest, &digest[0]));
    for (int i = 0; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof name, "code%d", i);
        ot_text_clear(&body);
        ot_text_printf(
            &body,
            "static void plan(const optune_task *t, const optune_config *c, "
            "optune_plan *p) { (void)t; (void)c; %s }\n"
            "static const optune_impl impl = {.op = \"fake_mm\", .name = NAME, "
            ".plan = plan, .source = \"int x;\"};\n"
            "static const optune_impl *const impls[] = {&impl, 0};\n"
            "OPTUNE_PLUGIN = {.abi = OPTUNE_ABI, .name = \"coded\", .impls = impls};",
            plan[i]);
        ot_text named = {0};
        ot_text_printf(&named, "#define NAME \"coded%d\"\n%s", i, ot_text_str(&body));
        compile(name, ot_text_str(&named), path, sizeof path);
        ot_text_release(&named);
        check_ok(ot_plugin_load(path, add_target, &err));
        snprintf(name, sizeof name, "coded%d", i);
        assert_true(ot_object_digest(ot_impl_find(name), &digest[i]));
    }
    assert_memory_not_equal(&digest[0], &digest[1], sizeof digest[0]);
    ot_text_release(&body);

    /* The very same file is the same, wherever it lies. */
    char copy[4300];
    ot_text bytes = {0};
    snprintf(copy, sizeof copy, "%s.copy.so", path);
    check_ok(ot_read_file(path, &bytes, 1 << 24, &err));
    check_ok(ot_write_file(copy, bytes.s, bytes.n, &err));
    ot_text_release(&bytes);
    void *object = dlopen(copy, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(object);
    assert_true(ot_object_digest(dlsym(object, "optune_plugin"), &digest[0]));
    assert_memory_equal(&digest[0], &digest[2], sizeof digest[0]);
    dlclose(object);
}

static void test_bad_plugins(void **state)
{
    (void)state;
    char path[4200];
    optune_err err = {0};
    compile("no_reference",
            "static const optune_op_input inputs[] = {{.name = \"data\"}, {0}};\n"
            "static int types(optune_call *c, optune_err *e) { (void)c; (void)e; return 0; }\n"
            "static const optune_op op = {.name = \"unchecked\", .summary = \"none\", "
            ".inputs = inputs, .n_outputs = 1, .types = types};\n"
            "static const optune_op *const ops[] = {&op, 0};\n"
            "OPTUNE_PLUGIN = {.abi = OPTUNE_ABI, .ops = ops};",
            path, sizeof path);
    check_refused(ot_plugin_load(path, add_target, &err), OPTUNE_EUSAGE, &err,
                  "operator 'unchecked' lacks a reference");
    compile("no_workloads",
            "static const optune_op_input inputs[] = {{.name = \"data\"}, {0}};\n"
            "static const optune_preset presets[] = {{.name = \"empty\"}, {0}};\n"
            "static int types(optune_call *c, optune_err *e) { (void)c; (void)e; return 0; }\n"
            "static void reference(const optune_call *c, const void *const *in, int o, "
            "const optune_region *r, double *out, double *m)\n"
            "{ (void)c; (void)in; (void)o; (void)r; (void)out; (void)m; }\n"
            "static const optune_op op = {.name = \"idle\", .summary = \"none\", "
            ".inputs = inputs, .n_outputs = 1, .types = types, .reference = reference, "
            ".presets = presets};\n"
            "static const optune_op *const ops[] = {&op, 0};\n"
            "OPTUNE_PLUGIN = {.abi = OPTUNE_ABI, .ops = ops};",
            path, sizeof path);
    check_refused(ot_plugin_load(path, add_target, &err), OPTUNE_EUSAGE, &err,
                  "preset 'empty' of operator 'idle' has no workloads");
    compile("no_pattern",
            "static const optune_op_input inputs[] = {{.name = \"data\"}, {0}};\n"
            "static int types(optune_call *c, optune_err *e) { (void)c; (void)e; return 0; }\n"
            "static void reference(const optune_call *c, const void *const *in, int o, "
            "const optune_region *r, double *out, double *m)\n"
            "{ (void)c; (void)in; (void)o; (void)r; (void)out; (void)m; }\n"
            "static const optune_op op = {.name = \"odd\", .summary = \"none\", .pattern = 77, "
            ".inputs = inputs, .n_outputs = 1, .types = types, .reference = reference};\n"
            "static const optune_op *const ops[] = {&op, 0};\n"
            "OPTUNE_PLUGIN = {.abi = OPTUNE_ABI, .ops = ops};",
            path, sizeof path);
    check_refused(ot_plugin_load(path, add_target, &err), OPTUNE_EUSAGE, &err,
                  "operator 'odd': there is no pattern 77");
    static const struct {
        const char *name, *types, *outputs, *sample, *told;
    } samples[] = {
        {"unread", "return 0", "0", "sampled(f32[3)", "its sample 'sampled(f32[3)': "},
        {"other", "return 0", "0", "relu(f32[3])", "'relu(f32[3])' is a call of 'relu'"},
        {"mute", "return 1", "0", "sampled(f32[3])", "not tell the output of its sample 'sam"},
        {"many", "return 0", "nine", "sampled(f32[3])", "has 9 outputs; it has 1 to 1"},
    };
    for (int i = 0; i < OT_COUNT(samples); i++) {
        ot_text text = {0};
        ot_text_printf(
            &text,
            "static const optune_op_input inputs[] = {{.name = \"data\"}, {0}};\n"
            "static int types(optune_call *c, optune_err *e) { (void)c; (void)e; %s; }\n"
            "static void reference(const optune_call *c, const void *const *in, int o, "
            "const optune_region *r, double *out, double *m)\n"
            "{ (void)c; (void)in; (void)o; (void)r; (void)out; (void)m; }\n"
            "__attribute__((unused)) static int nine(const optune_call *c) { (void)c; return "
            "9; }\n"
            "static const optune_op op = {.name = \"sampled\", .summary = \"none\", "
            ".inputs = inputs, .n_outputs = 1, .types = types, .reference = reference, "
            ".outputs = %s, "
            ".samples = (const char *const[]){\"%s\", 0}};\n"
            "static const optune_op *const ops[] = {&op, 0};\n"
            "OPTUNE_PLUGIN = {.abi = OPTUNE_ABI, .ops = ops};",
            samples[i].types, samples[i].outputs, samples[i].sample);
        compile(samples[i].name, ot_text_str(&text), path, sizeof path);
        ot_text_release(&text);
        assert_true(ot_plugin_load(path, add_target, &err) < 0);
        check_contains(err.text, "operator 'sampled': ");
        check_contains(err.text, samples[i].told);
        assert_null(ot_op_find("sampled"));
    }
    check_refused(ot_plugin_load("/nonexistent/p.so", add_target, &err), OPTUNE_ENOENT, &err,
                  "cannot load plugin '/nonexistent/p.so'");
    compile("empty", "int nothing;", path, sizeof path);
    check_refused(ot_plugin_load(path, add_target, &err), OPTUNE_EUNSUPPORTED, &err,
                  "exports no symbol 'optune_plugin'");
    char expected[64];
    snprintf(expected, sizeof expected, "built for ABI %d, this is ABI %d", OPTUNE_ABI + 7,
             OPTUNE_ABI);
    compile("old", "OPTUNE_PLUGIN = {.abi = OPTUNE_ABI + 7};", path, sizeof path);
    check_refused(ot_plugin_load(path, add_target, &err), OPTUNE_EVERSION, &err, expected);
    compile("twice",
            "static const optune_target_row a = {.name = \"same\"};\n"
            "static const optune_target_row *const targets[] = {&a, &a, 0};\n"
            "OPTUNE_PLUGIN = {.abi = OPTUNE_ABI, .targets = targets};",
            path, sizeof path);
    check_refused(ot_plugin_load(path, add_target, &err), OPTUNE_ECONFLICT, &err,
                  "target 'same' is there twice");
    compile("nameless",
            "static const optune_target_row a = {.name = 0}, b = {.name = \"b\"};\n"
            "static const optune_target_row *const targets[] = {&b, &a, 0};\n"
            "OPTUNE_PLUGIN = {.abi = OPTUNE_ABI, .targets = targets};",
            path, sizeof path);
    check_refused(ot_plugin_load(path, add_target, &err), OPTUNE_EUSAGE, &err,
                  "target without a name");
}

static int add_rows(void **state)
{
    (void)state;
    in_tree = ot_registry_now();
    optune_err err = {0};
    if (ot_op_add(&fake_op, &err) < 0 || ot_impl_add(&impl, &err) < 0 ||
        ot_impl_add(&impl_b, &err) < 0 || ot_search_add(&search, &err) < 0 ||
        ot_temp_dir(dir, sizeof dir, &err) < 0) {
        print_error("%s\n", err.text);
        return -1;
    }
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    ot_remove_tree(dir);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_checked),
        cmocka_unit_test(test_strategies_are_checked),
        cmocka_unit_test(test_rows_of_one_file),
        cmocka_unit_test(test_named_bodies),
        cmocka_unit_test(test_order_by_name),
        cmocka_unit_test(test_keys_in_order),
        cmocka_unit_test(test_rows_at_run_time),
        cmocka_unit_test(test_sources_and_digests),
        cmocka_unit_test(test_no_such),
        cmocka_unit_test(test_plugin),
        cmocka_unit_test(test_plugin_says_twice),
        cmocka_unit_test(test_plugin_of_a_family),
        cmocka_unit_test(test_plugin_without_its_code),
        cmocka_unit_test(test_plugin_all_or_nothing),
        cmocka_unit_test(test_plugin_digest),
        cmocka_unit_test(test_bad_plugins),
    };
    return cmocka_run_group_tests(tests, add_rows, remove_dir);
}
