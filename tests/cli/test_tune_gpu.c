/* SPDX-License-Identifier: Apache-2.0 */
/* `optune tune FILE` of kernels for GPUs: OpenCL C where there is a device, CUDA as far as it can
 * be compiled. */
#include <stdlib.h>
#include <sys/stat.h>

#include "support/brought.h"

static void a_reduction_in_opencl(void **state)
{
    (void)state;
    outcome o =
        optune("tune", EXAMPLE("row_sums.cl"), "--trials", "2", "--time", "60", "--json");
    if (o.code == 4) { /* no device of OpenCL here */
        release(&o);
        skip();
    }
    json_t *json = json_of(&o);
    assert_int_equal(json_integer_value(json_object_get(json, "failures")), 0);
    assert_true(json_is_object(json_object_get(first_workload(json), "winner")));
    json_decref(json);
}

/* No config has a launch that the device can take: that is no lack of time. */
static void a_launch_that_is_too_large(void **state)
{
    (void)state;
    command_write(
        "greedy.cl",
        "// optune: kernel greedy(x: f32[N], out y: f32[N])\n// optune: size N = 64\n"
        "// optune: knob V = [1, 2]\n"
        "// optune: launch grid = N, block = 1, shared = V * 2**36\n"
        "// optune: reference right\n#ifdef OPTUNE_REFERENCE\n"
        "void right(const float *x, float *y) { for (int i = 0; i < N; i++) y[i] = 0; }\n"
        "#else\n"
        "__kernel void greedy(__global const float *x, __global float *y) {}\n"
        "#endif\n");
    outcome o = optune("tune", command_path("greedy.cl"), "--trials", "2", "--time", "60");
    if (o.code == 4) {
        release(&o);
        skip(); /* no OpenCL device */
    }
    ot_text_add(&o.err, ot_text_str(&o.out));
    expect("greedy", &o, 1,
           "none of its configs can be run here; greedy.opencl, for one: 68719476736 bytes of "
           "shared memory");
}

/* Without a reference function the default config's output is compared with: on a device that has
 * threads of its own in every process that opens it. Local memory is a parameter here, and a file's
 * name what no compiler can read as it stands. */
static void opencl_without_a_reference(void **state)
{
    (void)state;
    static const char file[] = "alone\n\"one\\.cl";
    command_write(file,
                  "// optune: kernel alone(x: f32[N], out y: f32[N])\n// optune: size N = 64\n"
                  "// optune: knob V = [4, 8, 128]\n"
                  "// optune: launch grid = N // V, block = V, shared = 4 * V\n"
                  "__kernel void alone(__global const float *x, __global float *y, "
                  "__local float *part)\n"
                  "{ const int me = get_local_id(0), i = get_global_id(0); part[me] = x[i];\n"
                  "barrier(CLK_LOCAL_MEM_FENCE); y[i] = 2 * part[V - 1 - me ^ V - 1]; }\n");
    outcome o = optune("tune", command_path(file), "--trials", "2", "--time", "60", "--json");
    if (o.code == 4) {
        release(&o);
        skip(); /* no OpenCL device */
    }
    /* What the device refuses is none of what constraints say. */
    check_contains(ot_text_str(&o.err), "alone: 3 of 3 configs are valid");
    check_contains(ot_text_str(&o.err),
                   "alone.opencl: 2 of these 3 configs can be run here; V=128: the launch has "
                   "128 threads in 0 blocks");
    json_t *json = json_of(&o);
    assert_int_equal(json_integer_value(json_object_get(json, "failures")), 0);
    assert_int_equal(json_integer_value(json_object_get(first_workload(json), "new_trials")),
                     2);
    assert_string_equal(text_at(first_workload(json), "standard"), "alone.opencl");
    json_decref(json);
}

/* One element of each width, added to by as many threads as there are. */
static void read_and_written_in_opencl(void **state)
{
    (void)state;
    command_write(
        "more.cl",
        "// optune: kernel more(inout a: u8[N], inout b: i16[N], inout c: f32[N],\n"
        "// optune:     inout d: i64[N])\n"
        "// optune: size N = 1000\n// optune: knob BLOCK = [1, 2], MODE = [0, 1]\n"
        "// optune: launch grid = N // BLOCK, block = BLOCK\n"
        "// optune: reference plain\n"
        "#ifdef OPTUNE_REFERENCE\n"
        "void plain(unsigned char *a, short *b, float *c, long long *d)\n{\n"
        "    for (int i = 0; i < N; i++) { a[i]++; b[i]++; c[i]++; d[i]++; }\n}\n"
        "#else\n"
        "__kernel void more(__global uchar *a, __global short *b, __global float *c,\n"
        "                   __global long *d)\n{\n    int i = get_global_id(0);\n"
        "    a[i]++; b[i]++; c[i]++; d[i] += 1 + MODE;\n}\n#endif\n");
    outcome o =
        optune("tune", command_path("more.cl"), "--trials", "4", "--time", "60", "--json");
    if (o.code == 4) {
        release(&o);
        skip(); /* no OpenCL device */
    }
    json_t *json = json_of(&o);
    assert_int_equal(json_integer_value(json_object_get(json, "failures")), 2);
    json_decref(json);
}

/* What a device has in memory alone is no slip of the pen. */
static void half_without_arithmetic_in_opencl(void **state)
{
    (void)state;
    command_write("half.cl",
                  "// optune: kernel halved(x: f16[N], out y: f16[N], k: f16 = 0.5)\n"
                  "// optune: size N = 64\n// optune: launch grid = 1, block = N\n"
                  "kernel void halved(global const half *x, global half *y, half k)\n"
                  "{\n    y[get_global_id(0)] = x[get_global_id(0)] * k;\n}\n");
    outcome o = optune("tune", command_path("half.cl"), "--compile-only");
    if (o.code == 4 || strstr(ot_text_str(&o.out), "1 built")) {
        release(&o);
        skip(); /* no OpenCL device, or one that computes with it */
    }
    check_contains(ot_text_str(&o.out),
                   "is not allowed; did you forget * ? (the device has no cl_khr_fp16, so half "
                   "is for memory: vload_half");
    release(&o);
}

static void a_parameter_that_is_not_told_in_opencl(void **state)
{
    (void)state;
    command_write("less.cl",
                  "// optune: kernel told_less(x: f32[N], out y: f32[N])\n"
                  "// optune: size N = 64\n"
                  "// optune: launch grid = 1, block = N\n"
                  "#define MORE , global float *between\n"
                  "kernel void told_less(global const float *x, global float *y MORE)\n"
                  "{\n    y[get_global_id(0)] = x[get_global_id(0)];\n}\n");
    outcome o = optune("tune", command_path("less.cl"), "--trials", "2", "--time", "60");
    if (o.code == 4) {
        release(&o);
        skip(); /* no OpenCL device */
    }
    assert_int_not_equal(o.code, 0);
    check_contains(ot_text_str(&o.err), "it has more parameters than the 2 that are told");
    release(&o);
}

static void a_stencil_in_cuda(void **state)
{
    (void)state;
    outcome o = optune("tune", EXAMPLE("stencil.cu"), "--target", "cuda -arch=sm_80",
                       "--compile-only", "--trials", "2", "--json");
    if (o.code != 0 && strstr(ot_text_str(&o.err), "nvrtc")) { /* no compiler here */
        release(&o);
        skip();
    }
    check_contains(ot_text_str(&o.err), "stencil: 128 of 160 configs are valid");
    json_t *json = json_of(&o);
    json_decref(json);
}

/* NVRTC has no headers in itself; where the toolkit has none, either, these are found. */
static void headers_of_the_toolkit(void **state)
{
    (void)state;
    char home[512], folder[600];
    snprintf(home, sizeof home, "%s", command_path("toolkit"));
    snprintf(folder, sizeof folder, "%s/include", home);
    mkdir(home, 0700);
    mkdir(folder, 0700);
    command_write("toolkit/include/cuda_fp16.h", "#define FOUND 1\n");
    command_write("halve.cu", "#include <cuda_fp16.h>\n"
                              "// optune: kernel halve(x: f32[N], out y: f32[N])\n"
                              "// optune: size N = 64\n"
                              "// optune: launch grid = 1, block = N\n"
                              "extern \"C\" __global__ void halve(const float *x, float *y)\n"
                              "{\n    y[threadIdx.x] = x[threadIdx.x] / 2;\n}\n");
    setenv("CUDA_HOME", home, 1);
    outcome o = optune("tune", command_path("halve.cu"), "--target", "cuda -arch=sm_80",
                       "--compile-only");
    unsetenv("CUDA_HOME");
    if (o.code != 0 && strstr(ot_text_str(&o.err), "nvrtc")) { /* no compiler here */
        release(&o);
        skip();
    }
    if (!strstr(ot_text_str(&o.out), "1 built"))
        print_error("%s%s\n", ot_text_str(&o.out), ot_text_str(&o.err));
    check_contains(ot_text_str(&o.out), "1 built");
    release(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reduction_in_opencl),
        cmocka_unit_test(a_launch_that_is_too_large),
        cmocka_unit_test(opencl_without_a_reference),
        cmocka_unit_test(read_and_written_in_opencl),
        cmocka_unit_test(half_without_arithmetic_in_opencl),
        cmocka_unit_test(a_parameter_that_is_not_told_in_opencl),
        cmocka_unit_test(a_stencil_in_cuda),
        cmocka_unit_test(headers_of_the_toolkit),
    };
    return cmocka_run_group_tests(tests, command_setup, command_teardown);
}
