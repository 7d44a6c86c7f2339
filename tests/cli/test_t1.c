/* SPDX-License-Identifier: Apache-2.0 */
/*
 * T1 files that people have, of benchmark_hub, where a copy of it lies beside the project: they are
 * read as they are, built, and what is wrong in them is named; one that was mended is tuned over
 * OpenCL and checked against a reference.
 */
#include <unistd.h>

#include "support/command.h"

#define HUB OT_SOURCE_DIR "/../shared/data/benchmark_hub/kernels"

static void copy(const char *from, const char *to)
{
    ot_text text = {0};
    optune_err err;
    char path[1024];
    snprintf(path, sizeof path, HUB "/gemm_milo/%s", from);
    command_slurp(path, &text);
    check_ok(ot_write_file(command_path(to), text.s, text.n, &err));
    ot_text_release(&text);
}

static int setup(void **state)
{
    return command_setup(state);
}

static void those_of_the_hub(void **state)
{
    (void)state;
    if (access(HUB, R_OK) != 0)
        skip();
    outcome o = optune("tune", HUB "/convolution_milo.json", "--target", "cuda -arch=sm_80",
                       "--compile-only", "--trials", "1", "--json");
    check_contains(ot_text_str(&o.err), "convolution: 4362 of 10240 configs are valid");
    release(&o);
    refused(3,
            "gemm_milo.json: KernelSpecification.LocalSize, column 3: no size or knob "
            "'block_size_x'",
            "tune", HUB "/gemm_milo.json", "--compile-only");
    refused(2, "dedispersion_milo.json: KernelSpecification.KernelFile: cannot open", "tune",
            HUB "/dedispersion_milo.json", "--compile-only");
}

static json_t *argument(const char *name, const char *type, const char *access, json_t *size,
                        const char *value)
{
    json_t *json = json_pack("{s:s, s:s, s:s, s:s}", "Name", name, "Type", type, "AccessType",
                             access, "MemoryType", size ? "Vector" : "Scalar");
    if (size)
        json_object_set_new(json, "Size", size);
    if (value)
        json_object_set_new(json, "FillValue", json_string(value));
    return json;
}

/* Its arguments are another kernel's, its launch names knobs that it has not, and its kernel is in
 * five files. */
static void mend(json_t *json)
{
    json_t *kernel = json_object_get(json, "KernelSpecification"), *list = json_array();
    const char *const elements = "ProblemSize[0] * ProblemSize[1]";
    json_object_set_new(kernel, "BenchmarkName", json_string("mended_gemm"));
    json_object_set_new(kernel, "KernelFile", json_string("xgemm.cl"));
    json_object_del(kernel, "CompilerOptions");
    json_object_set_new(kernel, "ProblemSize", json_pack("[i,i,i]", 128, 128, 128));
    json_object_set_new(kernel, "LocalSize",
                        json_pack("{s:s, s:s}", "X", "MDIMC", "Y", "NDIMC"));
    json_object_set_new(
        kernel, "Reference",
        json_pack("{s:s, s:s, s:f}", "Function", "plain", "File", "plain.c", "Absolute", 1e-3));
    static const char *const size[] = {"kSizeM", "kSizeN", "kSizeK"};
    static const char *const value[] = {"ProblemSize[0]", "ProblemSize[1]", "ProblemSize[2]"};
    for (int i = 0; i < 3; i++)
        json_array_append_new(list, argument(size[i], "int32", "ReadOnly", NULL, value[i]));
    json_array_append_new(list, argument("alpha", "float", "ReadOnly", NULL, "1.5"));
    json_array_append_new(list, argument("beta", "float", "ReadOnly", NULL, "0.5"));
    json_array_append_new(list,
                          argument("a", "float", "ReadOnly", json_string(elements), NULL));
    json_array_append_new(list,
                          argument("b", "float", "ReadOnly", json_string(elements), NULL));
    json_array_append_new(list,
                          argument("c", "float", "ReadWrite", json_string(elements), NULL));
    json_array_append_new(list, argument("b_offset", "int32", "ReadOnly", NULL, "0"));
    json_array_append_new(list, argument("c_offset", "int32", "ReadOnly", NULL, "0"));
    json_object_set_new(kernel, "Arguments", list);
}

static void gemm_mended(void **state)
{
    (void)state;
    char path[512];
    static const char *const part[][2] = {{"common.opencl", "common.opencl"},
                                          {"xgemm_part1.opencl", "1.opencl"},
                                          {"xgemm_part2.opencl", "2.opencl"},
                                          {"xgemm_part3.opencl", "3.opencl"},
                                          {"xgemm_part4.opencl", "4.opencl"}};
    if (access(HUB, R_OK) != 0)
        skip();
    json_t *json = json_load_file(HUB "/gemm_milo.json", 0, NULL);
    assert_non_null(json);
    mend(json);
    snprintf(path, sizeof path, "%s", command_path("gemm.json"));
    assert_int_equal(json_dump_file(json, path, 0), 0);
    json_decref(json);
    for (int i = 0; i < 5; i++)
        copy(part[i][0], part[i][1]);
    command_write("xgemm.cl", "#define __global__ __kernel\n#include \"common.opencl\"\n"
                              "#include \"1.opencl\"\n#include \"2.opencl\"\n"
                              "#include \"3.opencl\"\n#include \"4.opencl\"\n");
    command_write("plain.c",
                  "void plain(int M, int N, int K, float alpha, float beta, const float *a,\n"
                  "           const float *b, float *c, int b_offset, int c_offset)\n"
                  "{\n    for (int n = 0; n < N; n++)\n        for (int m = 0; m < M; m++) {\n"
                  "            double sum = 0;\n            for (int k = 0; k < K; k++)\n"
                  "                sum += (double)a[k * M + m] * b[k * N + n];\n"
                  "            c[n * M + m] = (float)(alpha * sum + beta * c[n * M + m]);\n"
                  "        }\n}\n");
    outcome o = optune("tune", path, "--trials", "3", "--time", "120", "--json");
    if (o.code == 4) {
        release(&o);
        skip();
    }
    check_contains(ot_text_str(&o.err), "configs are valid; outputs are checked against the "
                                        "reference function 'plain'");
    json = json_of(&o);
    const json_t *workload = json_array_get(json_object_get(json, "workloads"), 0);
    assert_true(json_is_object(json_object_get(workload, "winner")));
    assert_string_equal(json_string_value(json_object_get(workload, "call")),
                        "mended_gemm(f32[16384], f32[16384], f32[16384], "
                        "ProblemSize=[128,128,128])");
    json_decref(json);
}

/* Scripts for Kernel Tuner name the function and the problem, and their caches have to, too. */
static void one_of_ours(void **state)
{
    (void)state;
    char path[512];
    command_write("add.c", "void add_one(const float *x, float *y)\n"
                           "{ for (int i = 0; i < ProblemSize_0; i++) y[i] = x[i] + 1; }\n");
    command_write(
        "ours.json",
        "{\"ConfigurationSpace\": {\"TuningParameters\": [{\"Name\": \"U\", \"Type\": "
        "\"int\", \"Values\": \"[1]\", \"Default\": 3}]}, \"KernelSpecification\": "
        "{\"Language\": \"C\", \"BenchmarkName\": \"ours\", \"KernelName\": \"add_one\", "
        "\"KernelFile\": \"add.c\", \"ProblemSize\": [100, 1], \"Arguments\": "
        "[{\"Name\": \"x\", \"Type\": \"float\", \"MemoryType\": \"Vector\", "
        "\"AccessType\": \"ReadOnly\", \"Size\": 100}, {\"Name\": \"y\", \"Type\": "
        "\"float\", \"MemoryType\": \"Vector\", \"AccessType\": \"WriteOnly\", "
        "\"Size\": 100}]}}");
    snprintf(path, sizeof path, "%s", command_path("ours.json"));
    outcome o = optune("tune", path, "--trials", "1", "--time", "60", "--threads", "1");
    check_contains(ot_text_str(&o.err),
                   "warning: ours.json: ConfigurationSpace.TuningParameters[0].Default is 3, "
                   "which is none of its Values: untuned 'U' is the first, 1");
    release(&o);
    o = optune("export", "ours", "--format", "kernel-tuner", "--threads", "1");
    check_contains(ot_text_str(&o.out), "\"kernel_name\": \"add_one\"");
    check_contains(ot_text_str(&o.out), "\"problem_size\": [100,1]");
    release(&o);
}

/* Of several workloads of one implementation each is a file's, once it is named. */
static void one_of_two_workloads(void **state)
{
    (void)state;
    static const char *const call[] = {"relu(f32[40])", "relu(f32[3,50])"};
    outcome o = optune("run", call[0], call[1], "--impl", "relu_vector.cpu", "--trials", "1",
                       "--time", "60", "--threads", "1");
    release(&o);
    o = optune("export", "relu", "--format", "kernel-tuner");
    expect("export", &o, 2, "name a workload");
    for (int i = 0; i < 2; i++) {
        o = optune("export", call[i], "--format", "kernel-tuner");
        check_contains(ot_text_str(&o.out), call[i]);
        assert_null(strstr(ot_text_str(&o.out), call[1 - i]));
        release(&o);
    }
    o = optune("list", "relu( f32[3, 50])", "--json");
    check_contains(ot_text_str(&o.out), call[1]);
    assert_null(strstr(ot_text_str(&o.out), call[0]));
    release(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_of_the_hub),
        cmocka_unit_test(gemm_mended),
        cmocka_unit_test(one_of_ours),
        cmocka_unit_test(one_of_two_workloads),
    };
    return cmocka_run_group_tests(tests, setup, command_teardown);
}
