/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `--compile-only`: candidates of a GPU that is not here are built and described, nothing is
 * measured and nothing stored. Skips, with the reason, only where there is no NVRTC.
 */
#include "support/check.h"
#include "support/disassembler.h"
#include "support/tuning.h"

#include "target/cuda.h"

/* The depth is too short to be shared by blocks: every kernel of dense_tile.gpu is the product. */
static const char *const workload[] = {"dense(f32[256,16],f32[256,16])", NULL};

static json_t *built_of(const char *const *calls, const char *target, int status)
{
    optune *o = tuning_open_with("compile", (optune_options){.target = target});
    json_t *json =
        tuning_run(o,
                   (optune_run_options){
                       .op = "dense", .workloads = calls, .trials = 12, .compile_only = true},
                   status);
    optune_close(o);
    return json;
}

static json_t *built(const char *target, int status)
{
    return built_of(workload, target, status);
}

static const json_t *impl_of(const json_t *run, const char *name)
{
    size_t i;
    const json_t *impl;
    json_array_foreach(json_object_get(tuning_workload(run, 0), "impls"), i, impl)
    {
        if (strcmp(tuning_text(impl, "impl"), name) == 0)
            return impl;
    }
    fail_msg("no '%s' in the report", name);
    return NULL;
}

/* Matrix instructions of warpgroups are slow once they wait for each other or sums are spilled, and
 * ptxas says so. */
static void test_warpgroups(void **state)
{
    (void)state;
    static const char *const large[] = {"dense(bf16[4096,4096],bf16[4096,4096])", NULL};
    static const char *const only[] = {"dense_wgmma.cuda", NULL};
    optune_err err = {0};
    char version[OPTUNE_TEXT_SIZE];
    if (ot_cuda_ask_version(NULL, version, sizeof version, &err) < 0) {
        print_message("%s\n", err.text);
        skip();
    }
    optune *o = tuning_open_with("compile", (optune_options){.target = "cuda -arch=sm_90"});
    json_t *run = tuning_run(o,
                             (optune_run_options){.op = "dense",
                                                  .workloads = large,
                                                  .impls = only,
                                                  .trials = 8,
                                                  .compile_only = true},
                             OPTUNE_OK);
    const json_t *impl = impl_of(run, only[0]);
    assert_int_equal(tuning_int(impl, "built"), 8);
    assert_int_equal(tuning_int(impl, "spilling"), 0);
    assert_int_equal(tuning_int(impl, "warned"), 0);
    assert_true(json_is_null(json_object_get(impl, "warning")));
    json_decref(run);
    optune_close(o);
}

static void test_without_a_gpu(void **state)
{
    (void)state;
    optune_err err = {0};
    char version[OPTUNE_TEXT_SIZE];
    if (ot_cuda_ask_version(NULL, version, sizeof version, &err) < 0) {
        print_message("%s\n", err.text);
        skip();
    }
    check_contains(version, "nvrtc=");
    json_t *run = built("cuda -arch=sm_90", OPTUNE_OK);
    const json_t *impl = impl_of(run, "dense_tile.gpu");
    assert_true(tuning_int(impl, "built") > 1);
    assert_int_equal(tuning_int(impl, "failed"), 0);
    assert_true(tuning_int(impl, "refused") > 0);
    assert_true(strlen(tuning_text(impl, "refusal")) > 0);
    const json_t *registers = json_object_get(impl, "registers");
    assert_true(json_integer_value(json_array_get(registers, 0)) >= 16);
    assert_true(json_integer_value(json_array_get(registers, 1)) >= 32);
    assert_true(json_integer_value(json_array_get(registers, 1)) <= 255);
    assert_true(json_integer_value(json_array_get(json_object_get(impl, "shared"), 1)) >= 1024);
    assert_true(json_is_array(json_object_get(impl, "spilled")));
    json_decref(run);
    assert_false(ot_exists(tuning_path("compile")));
}

/* The product among the kernels of a config. */
static const json_t *product_of(const json_t *impl, int config)
{
    const json_t *one = json_array_get(json_object_get(impl, "configs"), (size_t)config);
    const json_t *kernel;
    size_t i;
    json_array_foreach(json_object_get(one, "kernels"), i, kernel)
    {
        if (strcmp(tuning_text(kernel, "kernel"), "matmul") == 0)
            return kernel;
    }
    fail_msg("no product in config %d", config);
    return NULL;
}

/* Each config with what its machine code tells, the fallback first. */
static void test_machine_code(void **state)
{
    (void)state;
    if (!disassembler_here())
        skip();
    static const char *const deep[] = {"dense(f32[4096,2048],f32[4096,2048])", NULL};
    static const char *const only[] = {"dense_tile.gpu", NULL};
    optune *o = tuning_open_with("compile", (optune_options){.target = "cuda -arch=sm_90"});
    json_t *run = tuning_run(
        o,
        (optune_run_options){
            .op = "dense", .workloads = deep, .impls = only, .trials = 8, .compile_only = true},
        OPTUNE_OK);
    const json_t *impl = impl_of(run, only[0]);
    const json_t *configs = json_object_get(impl, "configs");
    assert_int_equal(json_array_size(configs), tuning_int(impl, "built"));
    for (int i = 0; i < (int)json_array_size(configs); i++) {
        const json_t *kernel = product_of(impl, i);
        const json_t *code = json_object_get(kernel, "machine_code");
        const double share = json_number_value(json_object_get(code, "share"));
        const double filled = json_number_value(json_object_get(kernel, "occupancy"));
        assert_int_equal(
            json_is_true(json_object_get(json_array_get(configs, (size_t)i), "fallback")),
            i == 0);
        assert_true(share > 0.1 && share < 1);
        assert_true(json_number_value(json_object_get(code, "cycles")) >= 1);
        assert_int_equal(tuning_int(code, "tensor"), 0);
        assert_true(json_is_null(json_object_get(code, "products_in_flight")));
        assert_true(json_is_object(json_object_get(code, "stores")));
        assert_true(filled > 0 && filled <= 1);
        assert_true(tuning_int(kernel, "threads") >= 32);
    }
    json_decref(run);
    optune_close(o);
}

/* A product whose depth is one step of a tile is unrolled whole: no loop, and figures that are
 * null. */
static void test_without_a_loop(void **state)
{
    (void)state;
    if (!disassembler_here())
        skip();
    static const char *const flat[] = {"dense(f32[256,8],f32[256,8])", NULL};
    json_t *run = built_of(flat, "cuda -arch=sm_90", OPTUNE_OK);
    const json_t *code =
        json_object_get(product_of(impl_of(run, "dense_tile.gpu"), 0), "machine_code");
    assert_true(json_is_object(code));
    assert_true(json_is_null(json_object_get(code, "loop")));
    assert_true(json_is_null(json_object_get(code, "share")));
    assert_true(json_is_null(json_object_get(json_object_get(code, "shared"), "least")));
    assert_true(tuning_int(json_object_get(code, "stores"), "16") > 0);
    json_decref(run);
}

/* Without the program everything else is as it was, and why is said once. */
static void test_unread(void **state)
{
    (void)state;
    optune_err err = {0};
    char version[OPTUNE_TEXT_SIZE];
    if (ot_cuda_ask_version(NULL, version, sizeof version, &err) < 0) {
        print_message("%s\n", err.text);
        skip();
    }
    const char *named = getenv("OPTUNE_NVDISASM");
    char *kept = named ? ot_strdup(named) : NULL;
    setenv("OPTUNE_NVDISASM", "/nowhere/nvdisasm", 1);
    optune *o = tuning_open_with("compile", (optune_options){.target = "cuda -arch=sm_80"});
    const optune_run_options how = {.size = sizeof how,
                                    .op = "dense",
                                    .workloads = workload,
                                    .trials = 2,
                                    .compile_only = true};
    optune_result *result = NULL;
    check_ok(optune_run(o, &how, &result, &err));
    const char *text = optune_result_text(result), *said = strstr(text, "machine code was not");
    assert_non_null(said);
    check_contains(said, "OPTUNE_NVDISASM names '/nowhere/nvdisasm'");
    assert_null(strstr(said + 1, "machine code was not"));
    json_t *run = tuning_parse(optune_result_json(result));
    const json_t *kernel = product_of(impl_of(run, "dense_tile.gpu"), 0);
    assert_true(json_is_null(json_object_get(kernel, "machine_code")));
    assert_true(tuning_int(kernel, "registers") > 0);
    json_decref(run);
    optune_result_free(result);
    optune_close(o);
    if (kept)
        setenv("OPTUNE_NVDISASM", kept, 1);
    else
        unsetenv("OPTUNE_NVDISASM");
    free(kept);
}

static void test_architectures(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_target target;
    optune_device device;
    check_ok(ot_target_parse("cuda -arch=sm_75", &target, &err));
    check_ok(ot_cuda_assume(&target, &device, &err));
    assert_int_equal(device.max_shared, 64 << 10);
    assert_int_equal(device.cc_major * 10 + device.cc_minor, 75);
    check_ok(ot_target_parse("cuda -arch=sm_90a", &target, &err));
    check_ok(ot_cuda_assume(&target, &device, &err));
    assert_int_equal(device.max_shared, 227 << 10);
    check_ok(ot_target_parse("cuda -arch=sm_9", &target, &err));
    assert_int_equal(ot_cuda_assume(&target, &device, &err), OPTUNE_ENODEV);
    check_contains(err.text, "sm_9");
}

/* The compiler's report, as it is printed. */
static void test_report(void **state)
{
    (void)state;
    ot_text lines = {0};
    ot_cuda_read_report("ptxas info    : 0 bytes gmem\n"
                        "ptxas info    : Compiling entry function 'f' for 'sm_90'\n"
                        "ptxas info    : Function properties for f\n"
                        "ptxas         .     16 bytes stack frame, 24 bytes spill stores, 40 "
                        "bytes spill loads\n"
                        "ptxas info    : Used 255 registers, used 1 barriers, 512 bytes smem\n"
                        "ptxas info    : (C7510) Potential Performance Loss: serialized, one\n"
                        "ptxas info    : (C7510) Potential Performance Loss: serialized, two\n"
                        "ptxas info    : Compiling entry function 'g' for 'sm_90'\n"
                        "ptxas info    : Used 10 registers\n",
                        &lines);
    assert_string_equal(ot_text_str(&lines),
                        "kernel=f registers=255 shared=512 spilled=64 stack=16\n"
                        "warning=(C7510) Potential Performance Loss: serialized, one\n"
                        "kernel=g registers=10 shared=0 spilled=0 stack=0\n");
    ot_text_release(&lines);
}

static void test_no_device(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_target target;
    optune_device device;
    check_ok(ot_target_parse("cuda", &target, &err));
    if (ot_target_probe(&target, &device, &err) >= 0) {
        print_message("there is a GPU: %s\n", device.name);
        skip();
    }
    assert_int_equal(err.status, OPTUNE_ENODEV);
    check_contains(err.text, "libcuda.so.1");
    optune *o = tuning_open_with("compile", (optune_options){.target = "cuda"});
    const optune_run_options how = {
        .size = sizeof how, .op = "dense", .workloads = workload, .compile_only = true};
    optune_result *result = NULL;
    assert_int_equal(optune_run(o, &how, &result, &err), OPTUNE_ENODEV);
    check_contains(err.text, "-arch=sm_90");
    optune_close(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_a_gpu), cmocka_unit_test(test_warpgroups),
        cmocka_unit_test(test_machine_code),  cmocka_unit_test(test_without_a_loop),
        cmocka_unit_test(test_unread),        cmocka_unit_test(test_architectures),
        cmocka_unit_test(test_report),        cmocka_unit_test(test_no_device),
    };
    return cmocka_run_group_tests(tests, tuning_setup, tuning_teardown);
}
