/* SPDX-License-Identifier: Apache-2.0 */
/*
 * T1 files: what one becomes, and that every field that is missing or of another type is refused
 * with its path, or was not needed.
 */
#include <jansson.h>
#include <unistd.h>

#include "bring/bring.h"
#include "strategy/inside.h"
#include "support/check.h"
#include "target/target.h"

static const char document[] =
    "{'General': {'BenchmarkName': 't1_scale', 'FormatVersion': 1},"
    " 'ConfigurationSpace': {"
    "  'TuningParameters': ["
    "   {'Name': 'BLOCK', 'Type': 'int', 'Values': '[32, 64] + [2**i for i in range(7, 9)]',"
    "    'Default': [64]},"
    "   {'Name': 'MODE', 'Type': 'string', 'Values': '[\\'a\\', \\'b\\']', 'Default': 'none'},"
    "   {'Name': 'FAST', 'Type': 'bool', 'Values': '[True, False]'},"
    "   {'Name': 'SHARE', 'Type': 'float', 'Values': '[1, 2]', 'Default': 2.0}],"
    "  'Conditions': [{'Expression': 'BLOCK <= 128 or not FAST', 'Parameters': ['BLOCK', "
    "'FAST']}]},"
    " 'KernelSpecification': {"
    "  'Language': 'OpenCL', 'KernelName': 'scale', 'KernelFile': 'k.cl',"
    "  'CompilerOptions': ['-DX=1'], 'GlobalSizeType': 'OpenCL', 'SharedMemory': 0,"
    "  'LocalSize': {'X': 'BLOCK', 'Y': '1'},"
    "  'GlobalSize': {'X': 'ProblemSize[0]', 'Y': 1},"
    "  'ProblemSize': [1024, 3],"
    "  'Arguments': ["
    "   {'Name': 'x', 'Type': 'float', 'MemoryType': 'Vector', 'AccessType': 'ReadOnly',"
    "    'FillType': 'Random', 'Size': 'ProblemSize[0] * max(BLOCK) // 256',"
    "    'MemType': 'Constant'},"
    "   {'Name': 'y', 'Type': 'float', 'MemoryType': 'Vector', 'AccessType': 'WriteOnly',"
    "    'Size': 1024, 'Output': 1},"
    "   {'Name': 'n', 'Type': 'int32', 'MemoryType': 'Scalar', 'AccessType': 'ReadOnly',"
    "    'FillValue': 'ProblemSize[0]'},"
    "   {'Type': 'double', 'MemoryType': 'Scalar', 'FillValue': 0.5}],"
    "  'Reference': {'Function': 'plain', 'File': 'plain.c', 'Absolute': 1e-3}}}";

static char folder[2048];

static void put(const char *name, const char *text)
{
    char path[2100];
    optune_err err = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    check_ok(ot_write_file(path, text, strlen(text), &err));
}

static int setup(void **state)
{
    (void)state;
    optune_err err;
    if (ot_temp_dir(folder, sizeof folder, &err) < 0)
        return -1;
    put("k.cl",
        "#define __constant__ constant\n__constant__ float x[4] = {0};\n"
        "kernel void scale(global const void *x, global void *y, int n, double f) {}\n");
    put("plain.c", "void plain(const void *x, void *y, int n, double f) {}\n");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ot_remove_tree(folder);
    return 0;
}

/* With double quotes where the text above has single ones. */
static json_t *whole(void)
{
    char text[sizeof document];
    json_error_t error;
    memcpy(text, document, sizeof text);
    for (char *p = text; *p; p++)
        if (*p == '\'' && p[-1] != '\\')
            *p = '"';
        else if (*p == '\\')
            memmove(p, p + 1, strlen(p)); /* `\'` stays one quote */
    json_t *json = json_loads(text, 0, &error);
    if (!json)
        fail_msg("%s: %s", error.text, text);
    return json;
}

static int bring(const json_t *json, optune_err *err)
{
    char *text = json_dumps(json, 0), path[2100];
    put("t.json", text);
    free(text);
    snprintf(path, sizeof path, "%s/t.json", folder);
    return ot_rows_load(path, ot_target_add, err);
}

static void a_good_file(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_call call;
    json_t *json = whole();
    const ot_registry_mark mark = ot_registry_now();
    check_ok(bring(json, &err));
    json_decref(json);
    const ot_brought *b = ot_brought_of_op("t1_scale");
    assert_non_null(b);
    assert_int_equal(b->n_knobs, 4);
    assert_int_equal(b->knob[0].list.n, 4);
    assert_int_equal(b->knob[0].standard, 1);
    assert_int_equal(b->knob[1].standard, 0); /* its default is no value: its first */
    assert_int_equal(b->knob[3].standard, 1);
    assert_int_equal(b->n_remarks, 2);
    assert_string_equal(b->remark[0],
                        "t.json: ConfigurationSpace.TuningParameters[1].Default is \"none\", "
                        "which is none of its Values: untuned 'MODE' is the first, a");
    check_contains(b->remark[1],
                   "t.json: KernelSpecification.Arguments[0].MemType is Constant: "
                   "'x' is passed as a parameter");
    assert_string_equal(b->workload[0], "t1_scale(f32[1024])");
    check_ok(ot_call_parse(b->workload[0], &call, &err));
    ot_brought_count count;
    ot_brought_count_valid(b, &call, 1, &count);
    assert_int_equal(count.valid, 2 * (16 - 2));
    assert_true(b->absolute == 1e-3 && b->relative == 1e-4);
    /* 1024 threads are 16 blocks of 64. */
    const optune_target target = {.kind = "opencl"};
    const optune_device device = {.warp = 1};
    const optune_task task = {.call = &call, .target = &target, .device = &device};
    optune_space *space;
    optune_config config;
    optune_plan *plan = ot_alloc(sizeof *plan);
    check_ok(ot_space_open(&task, &b->impl, &space, &err));
    assert_true(ot_space_fallback(space, &config, NULL));
    check_ok(ot_plan_make(&task, &b->impl, &config, plan, &err));
    assert_int_equal(plan->stage[0].grid[0], 16);
    assert_int_equal(plan->stage[0].block[0], 64);
    assert_int_equal(plan->stage[0].arg[2].value, 1024);
    const double half = 0.5;
    assert_memory_equal(&plan->stage[0].arg[3].value, &half, sizeof half);
    ot_space_close(space);
    free(plan);
    ot_registry_rewind(mark);
}

/* What is there before a kernel runs is its input, too; what it may hold is said as of inputs. */
static void read_and_written(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_call call;
    double low, high;
    const ot_registry_mark mark = ot_registry_now();
    json_t *json = whole();
    json_object_set_new(json_object_get(json, "General"), "BenchmarkName",
                        json_string("t1_changed"));
    json_t *y = json_array_get(
        json_object_get(json_object_get(json, "KernelSpecification"), "Arguments"), 1);
    json_object_update_new(y, json_pack("{s:s, s:s, s:i}", "AccessType", "ReadWrite",
                                        "FillType", "Constant", "FillValue", 3));
    check_ok(bring(json, &err));
    json_decref(json);
    const ot_brought *b = ot_brought_of_op("t1_changed");
    assert_string_equal(b->workload[0], "t1_changed(f32[1024], f32[1024])");
    assert_int_equal(b->arg[1].role, OT_ROLE_INOUT);
    check_ok(ot_call_parse(b->workload[0], &call, &err));
    assert_true(call.op->range(&call, 1, &low, &high) && low == 3 && high == 3);
    ot_registry_rewind(mark);
}

/* Values as a list of JSON's own, and vectors in memory. */
static void lists_and_vectors(void **state)
{
    (void)state;
    optune_err err = {0};
    const ot_registry_mark mark = ot_registry_now();
    json_t *json = whole();
    json_object_set_new(json_object_get(json, "General"), "BenchmarkName",
                        json_string("t1_vectors"));
    json_t *space = json_object_get(json, "ConfigurationSpace");
    json_t *parameters = json_object_get(space, "TuningParameters");
    static const char *const lists[] = {"[32, 64]", "[\"a b\", \"c\"]", "[true, false]"};
    for (size_t i = 0; i < OT_COUNT(lists); i++)
        json_object_set_new(json_array_get(parameters, i), "Values",
                            json_loads(lists[i], 0, NULL));
    json_t *args = json_object_get(json_object_get(json, "KernelSpecification"), "Arguments");
    json_object_update_new(json_array_get(args, 1),
                           json_pack("{s:s, s:s}", "Type", "double2", "Size", "100 + 1"));
    json_object_set_new(json_array_get(args, 0), "Type", json_string("int8"));
    check_ok(bring(json, &err));
    const ot_brought *b = ot_brought_of_op("t1_vectors");
    assert_string_equal(b->workload[0], "t1_vectors(i8[256])");
    assert_int_equal(b->n_knobs, 4);
    assert_string_equal(b->knob[1].text[0], "a b");
    optune_call call;
    check_ok(ot_call_parse(b->workload[0], &call, &err));
    assert_int_equal(call.output[0].rank, 2);
    assert_int_equal(optune_tensor_elements(&call.output[0]), 202);
    assert_int_equal(call.output[0].dtype.bits, 64);
    ot_registry_rewind(mark);
    json_object_set_new(json_array_get(args, 2), "FillType", json_string("constantly"));
    assert_true(bring(json, &err) < 0);
    check_contains(err.text, "Arguments[2].FillType is 'constantly', not Constant");
    json_object_set_new(json_array_get(args, 2), "FillType", json_string("Constant"));
    json_object_set_new(json_array_get(args, 2), "Type", json_string("int2"));
    assert_true(bring(json, &err) < 0);
    check_contains(err.text, "Arguments[2].Type is a vector, which no scalar is");
    json_object_set_new(json_array_get(parameters, 0), "Values", json_loads("[[1]]", 0, NULL));
    assert_true(bring(json, &err) < 0);
    check_contains(err.text, "TuningParameters[0].Values[0] is a list, not a number");
    json_decref(json);
    ot_registry_rewind(mark);
}

static int tried, refused;

/* What was changed is refused with the file's name, or taken. */
static void expect_refusal_or_none(const json_t *json)
{
    optune_err err = {0};
    const ot_registry_mark mark = ot_registry_now();
    const int status = bring(json, &err);
    tried++;
    refused += status < 0;
    if (status < 0)
        check_contains(err.text, "t.json");
    ot_registry_rewind(mark);
}

/* Every value below this one, replaced by others and left out. */
static void spoil(const json_t *root, json_t *at)
{
    static const char *const others[] = {"null", "5",    "-1", "1.5",  "\"x\"", "\"1 //\"",
                                         "[]",   "[[]]", "{}", "true", "\"\""};
    const char *key;
    json_t *value, *name;
    size_t i;
    json_t *keys = json_array(); /* what is put back goes to the end */
    json_object_foreach(at, key, value) json_array_append_new(keys, json_string(key));
    json_array_foreach(keys, i, name)
    {
        key = json_string_value(name);
        value = json_incref(json_object_get(at, key));
        for (int k = 0; k < OT_COUNT(others); k++) {
            json_object_set_new(at, key, json_loads(others[k], JSON_DECODE_ANY, NULL));
            expect_refusal_or_none(root);
        }
        json_object_del(at, key);
        expect_refusal_or_none(root);
        json_object_set_new(at, key, value);
        spoil(root, value);
    }
    json_decref(keys);
    json_array_foreach(at, i, value)
    {
        json_incref(value);
        for (int k = 0; k < OT_COUNT(others); k++) {
            json_array_set_new(at, i, json_loads(others[k], JSON_DECODE_ANY, NULL));
            expect_refusal_or_none(root);
        }
        json_array_set_new(at, i, value);
        spoil(root, value);
    }
}

static void every_field(void **state)
{
    (void)state;
    json_t *json = whole();
    spoil(json, json);
    json_decref(json);
    assert_true(tried > 500 && refused > tried / 2);
}

static void set(json_t *json, const char *key, const char *text)
{
    json_object_set_new(json_object_get(json, "KernelSpecification"), key, json_string(text));
}

/* As files in use have them: names with dashes, a byte order mark; and what is wrong in others. */
static void files_in_use(void **state)
{
    (void)state;
    optune_err err = {0};
    char path[2100];
    json_t *json = whole();
    const ot_registry_mark mark = ot_registry_now();
    json_object_set_new(json_object_get(json, "General"), "BenchmarkName",
                        json_string("2D-Scale (fp32)"));
    char *text = json_dumps(json, 0);
    ot_text marked = {0};
    ot_text_printf(&marked, "\xef\xbb\xbf%s", text);
    put("t.json", ot_text_str(&marked));
    snprintf(path, sizeof path, "%s/t.json", folder);
    check_ok(ot_rows_load(path, ot_target_add, &err));
    assert_non_null(ot_op_find("_2D_Scale__fp32_"));
    ot_text_release(&marked);
    free(text);
    ot_registry_rewind(mark);
    json_t *knobs =
        json_object_get(json_object_get(json, "ConfigurationSpace"), "TuningParameters");
    json_array_append(knobs, json_array_get(knobs, 0));
    assert_true(bring(json, &err) < 0);
    check_contains(err.text, "TuningParameters[4], column 1: 'BLOCK' is a knob already");
    assert_null(strstr(err.text, "line"));
    json_array_remove(knobs, 4);
    set(json, "KernelName", "scales");
    assert_true(bring(json, &err) < 0);
    check_contains(err.text, "t.json: there is no function 'scales' in the source");
    json_decref(json);
    json = whole();
    json_object_set_new(json_object_get(json, "General"), "BenchmarkName",
                        json_string("dense"));
    assert_true(bring(json, &err) < 0);
    check_contains(err.text, "already; the BenchmarkName 'my_dense' gives it another name");
    json_decref(json);
}

static void messages(void **state)
{
    (void)state;
    optune_err err = {0};
    json_t *json = whole();
    json_t *sizes = json_object_get(json_object_get(json, "KernelSpecification"), "GlobalSize");
    json_t *x = json_incref(json_object_get(sizes, "X"));
    json_object_set_new(sizes, "X", json_string(" "));
    assert_true(bring(json, &err) < 0);
    check_contains(err.text,
                   "t.json: KernelSpecification.GlobalSize has no expression as its X");
    json_object_set_new(sizes, "X", x);
    set(json, "KernelFile", "away.cl");
    assert_true(bring(json, &err) < 0);
    check_contains(err.text, "t.json: KernelSpecification.KernelFile: cannot open");
    /* Outside its folder nothing is read, whatever leads there. */
    set(json, "KernelFile", "/etc/hostname");
    assert_true(bring(json, &err) < 0);
    check_contains(err.text, "'/etc/hostname' is not in");
    set(json, "KernelFile", "../../etc/hostname");
    assert_true(bring(json, &err) < 0);
    char link[2100];
    snprintf(link, sizeof link, "%s/link.cl", folder);
    assert_int_equal(symlink("/etc/hostname", link), 0);
    set(json, "KernelFile", "link.cl");
    assert_true(bring(json, &err) < 0);
    check_contains(err.text, "is not in");
    put("include.cl", "#include \"link.cl\"\n");
    set(json, "KernelFile", "include.cl");
    assert_true(bring(json, &err) < 0);
    check_contains(err.text, "includes 'link.cl', which is not in");
    set(json, "KernelFile", "k.cl");
    set(json, "GlobalSizeType", "cuda");
    assert_true(bring(json, &err) < 0);
    check_contains(err.text, "GlobalSizeType is 'cuda', not OpenCL, CUDA or Vulkan");
    json_t *kernel = json_object_get(json, "KernelSpecification");
    json_object_set_new(kernel, "GridDivX", json_pack("[s]", " ")); /* decides in its place */
    assert_true(bring(json, &err) < 0);
    check_contains(err.text, "GlobalSizeType is 'cuda', not OpenCL, CUDA or Vulkan");
    set(json, "GlobalSizeType", "Vulkan");
    assert_true(bring(json, &err) < 0);
    check_contains(err.text, "GridDivX[0] is empty, not an expression");
    json_object_del(kernel, "GridDivX");
    json_t *args = json_object_get(json_object_get(json, "KernelSpecification"), "Arguments");
    json_object_set_new(json_array_get(args, 0), "FillType", json_string("Zero"));
    assert_true(bring(json, &err) < 0);
    check_contains(err.text, "Arguments[0].FillType is 'Zero', not Constant, Random, ");
    json_object_set_new(json_array_get(args, 0), "FillType", json_string("BinaryRaw"));
    json_object_set_new(json_array_get(args, 1), "Output", json_integer(2));
    assert_true(bring(json, &err) < 0);
    check_contains(err.text, "Arguments[1].Output is 2, not 0 or 1");
    json_object_set_new(json_array_get(args, 1), "Output", json_integer(1));
    set(json, "Language", "Vulkan");
    assert_true(bring(json, &err) < 0);
    check_contains(err.text, "Language is 'Vulkan', not C, OpenCL or CUDA");
    json_decref(json);
    json = whole();
    json_t *space = json_object_get(json, "ConfigurationSpace");
    json_object_set_new(json_array_get(json_object_get(space, "Conditions"), 0), "Expression",
                        json_string("BLOK > 3"));
    assert_true(bring(json, &err) < 0);
    check_contains(err.text,
                   "t.json: ConfigurationSpace.Conditions[0].Expression, column 1: no "
                   "size or knob 'BLOK'; did you mean 'BLOCK'?");
    json_object_set_new(json_array_get(json_object_get(space, "TuningParameters"), 0), "Values",
                        json_string("[1, open('x')]"));
    assert_true(bring(json, &err) < 0);
    check_contains(err.text, "TuningParameters[0].Values, column 5: 'open(...)' is not called");
    json_object_set_new(json_array_get(json_object_get(space, "TuningParameters"), 0), "Type",
                        json_string("real"));
    assert_true(bring(json, &err) < 0);
    check_contains(err.text, "TuningParameters[0].Type is 'real'; there are int, uint, float");
    json_decref(json);
    put("t.json", "{\"General\": ");
    snprintf(link, sizeof link, "%s/t.json", folder);
    assert_true(ot_rows_load(link, ot_target_add, &err) < 0);
    check_contains(err.text, "t.json:1:");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_file),       cmocka_unit_test(read_and_written),
        cmocka_unit_test(lists_and_vectors), cmocka_unit_test(every_field),
        cmocka_unit_test(files_in_use),      cmocka_unit_test(messages),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
