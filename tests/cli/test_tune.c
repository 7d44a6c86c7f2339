/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune tune`: the examples, what is known of them afterwards, and what is said of files that are
 * wrong, edited, or gone. Nothing here depends on which config is fastest.
 */
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/command.h"

#define EXAMPLE(name) OT_SOURCE_DIR "/examples/tune/" name
#define ONE "--threads", "1"
#define MATMUL "matmul(f32[192,192], f32[192,192])"

static const char *text_at(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    assert_non_null(text);
    return text;
}

static json_t *workload(json_t *json)
{
    return json_array_get(json_object_get(json, "workloads"), 0);
}

static void write_text(const char *name, const char *text)
{
    optune_err err;
    check_ok(ot_write_file(command_path(name), text, strlen(text), &err));
}

static void a_loop_nest_in_c(void **state)
{
    (void)state;
    outcome o =
        optune("tune", EXAMPLE("matmul.c"), "--trials", "3", "--time", "60", "--json", ONE);
    check_contains(ot_text_str(&o.err),
                   "matmul: 608 of 800 configs are valid; outputs are checked "
                   "against the reference function 'plain'");
    json_t *json = json_of(&o);
    assert_int_equal(json_integer_value(json_object_get(json, "failures")), 0);
    assert_int_equal(json_integer_value(json_object_get(workload(json), "new_trials")), 3);
    assert_string_equal(text_at(workload(json), "call"), MATMUL);
    assert_string_equal(text_at(workload(json), "standard"), "matmul.reference");
    json_decref(json);
    /* It goes on where it was, and the answer is there for whoever asks. */
    o = optune("tune", EXAMPLE("matmul.c"), "--trials", "3", "--time", "60", ONE);
    assert_int_equal(o.code, 0);
    check_contains(ot_text_str(&o.out), "0 new trials");
    check_contains(ot_text_str(&o.out), "best of matmul: TILE_M=");
    check_contains(ot_text_str(&o.out), "checked against matmul.reference, within 0.0001 +");
    release(&o);
    o = optune("query", MATMUL, "--json", ONE);
    json = json_of(&o);
    assert_string_equal(text_at(json, "impl"), "matmul.c");
    json_decref(json);
    o = optune("select", MATMUL, "--explain", ONE);
    assert_int_equal(o.code, 0);
    check_contains(ot_text_str(&o.out), "tuned");
    release(&o);
    o = optune("export", "matmul", "-o", "-", ONE);
    assert_int_equal(o.code, 0);
    check_contains(ot_text_str(&o.out), "TILE_K");
    release(&o);
    refused(2, "--format is header, json or csv", "tune", EXAMPLE("matmul.c"), "--format",
            "xml");
}

/* The row's figure of that name; null where it could not be told. */
static const json_t *metric(json_t *json, const char *name)
{
    const json_t *figures = json_object_get(workload(json), "metrics");
    const json_t *value = json_object_get(figures, name);
    assert_non_null(value);
    return value;
}

static void metrics(void **state)
{
    (void)state;
    outcome o =
        optune("tune", EXAMPLE("matmul.c"), "--trials", "3", "--time", "60", ONE, "--json",
               "--metric", "GFLOP/s=2*M*N*K/time/1e9", "--metric", "same=flops/cost/1e9",
               "--metric", "tile=TILE_M*TILE_N", "--metric", "rows=A[0] + B[1]", "--metric",
               "none=1/(M-192)", "--metric", "a word=ORDER", "--metric", "whole=M == 192");
    json_t *json = json_of(&o);
    const json_t *winner = json_object_get(workload(json), "winner");
    const double cost = json_number_value(json_object_get(winner, "cost"));
    const double rate = json_number_value(metric(json, "GFLOP/s"));
    assert_true(fabs(rate * cost * 1e9 / (2. * 192 * 192 * 192) - 1) <
                1e-7); /* JSON has nine digits */
    assert_true(json_number_value(metric(json, "same")) == rate);
    const json_t *config = json_object_get(winner, "config");
    const json_t *m = json_array_get(json_array_get(config, 0), 2);
    const json_t *n = json_array_get(json_array_get(config, 1), 2);
    assert_true(json_number_value(metric(json, "tile")) ==
                (double)(json_integer_value(m) * json_integer_value(n)));
    assert_true(json_number_value(metric(json, "rows")) == 2 * 192);
    assert_true(json_number_value(metric(json, "whole")) == 1);
    assert_true(json_is_null(metric(json, "none")) && json_is_null(metric(json, "a word")));
    json_decref(json);
    /* A column each, in every form of the table; a name may hold what separates columns there. */
    o = optune("tune", EXAMPLE("matmul.c"), "--trials", "3", ONE, "--metric", "x=M", "--metric",
               "none=1/0");
    check_contains(ot_text_str(&o.out), "failed   x none\n");
    check_contains(ot_text_str(&o.out), " 192    -\n");
    release(&o);
    o = optune("tune", EXAMPLE("matmul.c"), "--trials", "3", ONE, "--metric", "a,b=M", "--csv");
    check_contains(ot_text_str(&o.out), ",failed,\"a,b\",note\n");
    release(&o);
    o = optune("run", "dense", "dense(f32[4,8], f32[16,8])", "--trials", "1", ONE, "--metric",
               "k=data[1] * weight[0]", "--impl", "dense_nopack.x86", "--json");
    json = json_of(&o);
    assert_true(json_number_value(metric(json, "k")) == 8 * 16);
    json_decref(json);
}

static void metrics_that_are_wrong(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"x", "the metric 'x' is no NAME=EXPR"},
        {"=M", "is no NAME=EXPR"},
        {"x=", "the metric 'x', column 1: a value is expected"},
        {"x=2 * ", "the metric 'x', column 5: a value is expected"},
        {"x=2 * foo",
         "the metric 'x', column 5: nothing is called 'foo' here; there are M, N, K, "
         "TILE_M, TILE_N, TILE_K, UNROLL, ORDER, time, cost, flops, bytes, A, B, "},
        {"x=abs(M)", "the metric 'x', column 1: 'abs(...)' is not called here"},
        {"a=b=M", "the metric 'a', column 2"},
        {"a name of more than thirty-one bytes=1", "has more than 31 bytes"},
        {"x\ty=1", "a character that cannot be printed"},
    };
    for (int i = 0; i < OT_COUNT(wrong); i++)
        refused(2, wrong[i][1], "tune", EXAMPLE("matmul.c"), "--metric", wrong[i][0]);
    /* Nothing is told in front of what is refused. */
    outcome o = optune("tune", EXAMPLE("matmul.c"), "--metric", "x=1/nobody");
    assert_null(strstr(ot_text_str(&o.err), "configs are valid"));
    release(&o);
    refused(2, "there are two metrics 'x'", "tune", EXAMPLE("matmul.c"), "--metric", "x=1",
            "--metric", "x=M");
    refused(2, "nothing is called 'groups' here", "run", "dense", "dense(f32[4,8], f32[16,8])",
            "--metric", "x=groups");
    refused(2, "measures nothing", "tune", EXAMPLE("matmul.c"), "--compile-only", "--metric",
            "x=M");
}

static void formats(void **state)
{
    (void)state;
    outcome o = optune("tune", EXAMPLE("matmul.c"), "--trials", "3", "--format", "header", ONE);
    assert_int_equal(o.code, 0);
    check_contains(ot_text_str(&o.out), "#define TILE_M ");
    check_contains(ot_text_str(&o.out), "#define ORDER ");
    release(&o);
    o = optune("tune", EXAMPLE("matmul.c"), "--trials", "3", "--format", "csv", ONE);
    check_contains(ot_text_str(&o.out), "TILE_M,TILE_N,TILE_K,UNROLL,ORDER,seconds\n");
    release(&o);
    o = optune("tune", EXAMPLE("matmul.c"), "--trials", "3", "--format", "json", ONE);
    json_t *json = json_of(&o);
    assert_true(json_is_integer(json_object_get(json, "TILE_M")));
    assert_true(json_is_string(json_object_get(json, "ORDER")));
    json_decref(json);
    /* Real numbers are numbers, words that look so are not; a comma in a word ends no cell. */
    write_text("odd.c",
               "// optune: kernel odd(x: f32[N], out y: f32[N])\n// optune: size N = 8\n"
               "// optune: knob R = [0.5], V = ['1.10'], W = ['a,b']\n"
               "void odd(const float *x, float *y) { for (int i = 0; i < N; i++) "
               "y[i] = x[i]; }\n");
    o = optune("tune", command_path("odd.c"), "--trials", "1", "--format", "json", ONE);
    json = json_of(&o);
    assert_true(json_real_value(json_object_get(json, "R")) == 0.5);
    assert_string_equal(text_at(json, "V"), "1.10");
    json_decref(json);
    o = optune("tune", command_path("odd.c"), "--trials", "1", "--format", "csv", ONE);
    check_contains(ot_text_str(&o.out), "R,V,W,seconds\n0.5,1.10,\"a,b\",");
    release(&o);
    /* What is emitted of two sizes goes into one program: its functions are no names of it. */
    o = optune("emit", "odd(f32[8])", "-o", command_path("emitted"), ONE);
    char *written = ot_strdup(ot_text_str(&o.out));
    assert_int_equal(o.code, 0);
    release(&o);
    ot_text text = {0};
    optune_err err = {0};
    check_ok(ot_read_file(strtok(written, "\n"), &text, 1 << 20, &err));
    check_contains(ot_text_str(&text), "#undef odd\n#define odd odd_");
    ot_text_release(&text);
    free(written);
}

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
    assert_true(json_is_object(json_object_get(workload(json), "winner")));
    json_decref(json);
}

/* No config has a launch that the device can take: that is no lack of time. */
static void a_launch_that_is_too_large(void **state)
{
    (void)state;
    write_text(
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
    write_text(file,
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
    assert_int_equal(json_integer_value(json_object_get(workload(json), "new_trials")), 2);
    assert_string_equal(text_at(workload(json), "standard"), "alone.opencl");
    json_decref(json);
}

/* What a parameter holds is there again before every run: one that ignores it is wrong, and so are
 * one that keeps what it made and one that adds twice. */
static void read_and_written_in_c(void **state)
{
    (void)state;
    write_text(
        "adds.c",
        "// optune: kernel adds(x: f32[N], inout y: f32[N], inout calls: i32[1])\n"
        "// optune: size N = 300\n// optune: knob MODE = [0, 1, 2, 3]\n"
        "// optune: reference plain\n"
        "static float kept[N];\n"
        "void adds(const float *x, float *y, int *calls)\n{\n    calls[0]++;\n"
        "    for (int i = 0; i < N; i++) {\n"
        "        if (MODE == 0) y[i] += x[i];\n"
        "        if (MODE == 1) y[i] = x[i];\n"
        "        if (MODE == 2) { if (!kept[i]) kept[i] = y[i]; y[i] = kept[i] += x[i]; }\n"
        "        if (MODE == 3) y[i] += 2 * x[i];\n    }\n}\n"
        "void plain(const float *x, float *y, int *calls)\n"
        "{ calls[0]++; for (int i = 0; i < N; i++) y[i] += x[i]; }\n");
    outcome o =
        optune("tune", command_path("adds.c"), "--trials", "4", "--time", "60", "--json", ONE);
    json_t *json = json_of(&o);
    assert_int_equal(json_integer_value(json_object_get(json, "failures")), 3);
    assert_string_equal(text_at(workload(json), "call"), "adds(f32[300], f32[300], i32[1])");
    json_decref(json);
    o = optune("tune", command_path("adds.c"), "--format", "header", ONE);
    check_contains(ot_text_str(&o.out), "#define MODE 0");
    release(&o);
    /* As C of its own: what comes in stays as it is, unless it is the memory of what goes out. */
    o = optune("emit", "adds(f32[300], f32[300], i32[1])", "-o", command_path("in_place"), ONE);
    char stem[300], command[1200];
    assert_int_equal(o.code, 0);
    assert_int_equal(sscanf(ot_text_str(&o.out), "%299[^.\n].c", stem), 1);
    release(&o);
    write_text("in_place.c",
               "#include <stddef.h>\n#include HEADER\n"
               "int main(void)\n{\n    static float x[300], y[300], z[300];\n"
               "    int before = 4, after = 0;\n    x[7] = 2, y[7] = 3;\n"
               "    const void *const in[] = {x, y, &before};\n"
               "    void *out[] = {z, &after};\n"
               "    RUN(NULL, in, out);\n    RUN(NULL, in, out);\n"
               "    if (z[7] != 5 || y[7] != 3 || before != 4 || after != 5)\n"
               "        return 1;\n"
               "    out[0] = y;\n    RUN(NULL, in, out);\n    RUN(NULL, in, out);\n"
               "    return y[7] != 7;\n}\n");
    ot_format(command, sizeof command,
              "cc -DHEADER='\"%s.h\"' -DRUN=%s_run -o %s/changed %s/in_place.c %s.c -lm && "
              "%s/changed",
              stem, strrchr(stem, '/') + 1, command_dir, command_dir, stem, command_dir);
    assert_int_equal(system(command), 0);
}

/* One element of each width, added to by as many threads as there are. */
static void read_and_written_in_opencl(void **state)
{
    (void)state;
    write_text("more.cl",
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
    write_text("half.cl", "// optune: kernel halved(x: f16[N], out y: f16[N], k: f16 = 0.5)\n"
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
    write_text("less.cl", "// optune: kernel told_less(x: f32[N], out y: f32[N])\n"
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
    write_text("toolkit/include/cuda_fp16.h", "#define FOUND 1\n");
    write_text("halve.cu", "#include <cuda_fp16.h>\n"
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

#define SCALE                                                                                  \
    "// optune: kernel scale2(x: f32[N], out y: f32[N])\n"                                     \
    "// optune: size N = 64\n"                                                                 \
    "// optune: knob STEP = [1, 2]\n"
#define BODY                                                                                   \
    "void scale2(const float *x, float *y)\n"                                                  \
    "{\n    for (int i = 0; i < N; i += STEP)\n        for (int k = 0; k < STEP; k++)\n"       \
    "            y[i + k] = 2 * x[i + k];\n}\n"
#define QUICK "--trials", "2", "--time", "60", ONE

/* A call of more text than optune_brought has room for. */
static void a_call_of_many_inputs(void **state)
{
    (void)state;
    enum { INPUTS = 60 };
    ot_text told = {0}, takes = {0}, sum = {0}, text = {0};
    for (int i = 0; i < INPUTS; i++) {
        ot_text_printf(&told, "x%d: f32[1,1,1,1,1,1,1,4], ", i);
        ot_text_printf(&takes, "const float *x%d, ", i);
        ot_text_printf(&sum, "%sx%d[i]", i ? " + " : "", i);
    }
    ot_text_printf(&text,
                   "// optune: kernel add_all(%sout y: f32[4])\n// optune: knob U = [1, 2]\n"
                   "void add_all(%sfloat *y)\n{\n    for (int i = 0; i < 4; i++)\n"
                   "        y[i] = %s;\n}\n",
                   ot_text_str(&told), ot_text_str(&takes), ot_text_str(&sum));
    write_text("add_all.c", ot_text_str(&text));
    outcome o = optune("tune", command_path("add_all.c"), "--trials", "2", "--json", ONE);
    assert_int_equal(o.code, 0);
    json_t *json = json_loads(ot_text_str(&o.out), 0, NULL);
    assert_true(strlen(text_at(workload(json), "call")) >= OPTUNE_TEXT_SIZE);
    json_decref(json);
    release(&o);
    ot_text *const all[] = {&told, &takes, &sum, &text};
    for (int i = 0; i < OT_COUNT(all); i++)
        ot_text_release(all[i]);
}

static void an_edit_makes_records_stale(void **state)
{
    (void)state;
    char file[512];
    snprintf(file, sizeof file, "%s", command_path("scale2.c"));
    write_text("scale2.c", SCALE BODY);
    outcome o = optune("tune", file, QUICK);
    assert_int_equal(o.code, 0);
    check_contains(ot_text_str(&o.err),
                   "2 of 2 configs are valid; outputs are checked against the "
                   "output of its own default config");
    release(&o);
    o = optune("query", "scale2(f32[64])", ONE);
    assert_int_equal(o.code, 0);
    release(&o);
    /* A file that is remembered and broken is the matter of its own operator only. */
    write_text("scale2.c", SCALE "// optune: knob\n" BODY);
    o = optune("run", "relu", "relu(f32[64])", QUICK);
    expect("relu", &o, 0, "operator 'scale2' was brought from");
    write_text("scale2.c", SCALE BODY "/* edited */\n");
    refused(3, "has changed: digest was", "query", "scale2(f32[64])", ONE);
    unlink(file);
    refused(3, "operator 'scale2' was brought from", "query", "scale2(f32[64])", ONE);
    unlink(command_path("brought/scale2"));
    refused(3, "no operator 'scale2'", "query", "scale2(f32[64])", ONE);
}

/* The file that had the name is told of, where it is still there. */
static void two_files_of_one_name(void **state)
{
    (void)state;
    char first[512], second[512];
    snprintf(first, sizeof first, "%s", command_path("twice.c"));
    write_text("twice.c", SCALE "// optune: name twice\n" BODY);
    outcome o = optune("tune", first, QUICK);
    assert_int_equal(o.code, 0);
    assert_null(strstr(ot_text_str(&o.err), "until now"));
    release(&o);
    snprintf(second, sizeof second, "%s", command_path("again.c"));
    write_text("again.c", SCALE "// optune: name twice\n" BODY);
    o = optune("tune", second, QUICK);
    expect("twice", &o, 0, "operator 'twice' was brought from '");
    o = optune("tune", second, QUICK);
    assert_null(strstr(ot_text_str(&o.err), "until now"));
    release(&o);
    unlink(command_path("brought/twice"));
}

/* First values that no constraint takes, nor any that differs in three knobs. */
static void first_values_far_from_valid(void **state)
{
    (void)state;
    char file[512];
    snprintf(file, sizeof file, "%s", command_path("far.c"));
    write_text("far.c",
               "// optune: kernel far(x: f32[N], out y: f32[N])\n// optune: size N = 64\n"
               "// optune: knob A = [1, 2, 3], B = [1, 2, 3], C = [1, 2, 3], D = [1, 2, 3]\n"
               "// optune: where min(A, B, C, D) > 1\n"
               "void far(const float *x, float *y)\n"
               "{\n    for (int i = 0; i < N; i++)\n        y[i] = 2 * x[i];\n}\n");
    outcome o = optune("tune", file, QUICK);
    assert_null(strstr(ot_text_str(&o.err), "refuses"));
    expect("far", &o, 0, "far: 16 of 81 configs are valid");
    /* Where values close to the first ones lead nowhere for long, too. */
    snprintf(file, sizeof file, "%s", command_path("farther.c"));
    write_text("farther.c",
               "// optune: kernel farther(x: f32[N], out y: f32[N])\n// optune: size N = 64\n"
               "// optune: knob A = list(range(1, 1001)), B = list(range(1, 1001))\n"
               "// optune: knob C = list(range(1, 1001))\n"
               "// optune: where A * B == C and A > 1 and B > 1 and C % 7 == 3\n"
               "void farther(const float *x, float *y)\n"
               "{\n    for (int i = 0; i < N; i++)\n        y[i] = 2 * x[i];\n}\n");
    o = optune("tune", file, QUICK);
    assert_null(strstr(ot_text_str(&o.err), "refuses"));
    expect("farther", &o, 0, "of 1000000000 configs are valid");
}

/* An index that leaves its range would crash. */
static void inputs_within_a_range(void **state)
{
    (void)state;
    char file[512];
    snprintf(file, sizeof file, "%s", command_path("look_up.c"));
    write_text("look_up.c",
               "// optune: kernel look_up(i: i32[N] from 0 to M - 1, x: f32[M] from 1 to 2,\n"
               "// optune:               out y: f32[N])\n"
               "// optune: size N = 64, M = 4096\n"
               "// optune: knob STEP = [1, 2]\n"
               "// optune: reference plain\n"
               "void look_up(const int *i, const float *x, float *y)\n"
               "{\n    for (int k = 0; k < N; k++)\n        y[k] = x[i[k]];\n}\n"
               "void plain(const int *i, const float *x, float *y)\n"
               "{\n    for (int k = 0; k < N; k++) {\n"
               "        y[k] = x[i[k]];\n"
               "        if (i[k] < 0 || i[k] >= M || y[k] < 1 || y[k] > 2)\n"
               "            *(volatile int *)8 = 1;\n    }\n}\n");
    outcome o = optune("tune", file, QUICK);
    expect("look_up", &o, 0, "look_up: 2 of 2 configs are valid");
}

/* The file, what it is tuned with, and what its table or stderr then says. */
static void bad(const char *name, const char *text, int code, const char *says)
{
    char file[512];
    snprintf(file, sizeof file, "%s", command_path(name));
    write_text(name, text);
    outcome o = optune("tune", file, QUICK);
    ot_text_add(&o.err, ot_text_str(&o.out));
    expect(name, &o, code, says);
    ot_text path = {0};
    ot_text_printf(&path, "brought/%.*s", (int)strcspn(name, "."), name);
    unlink(command_path(ot_text_str(&path)));
    ot_text_release(&path);
}

/* What the reference does not write is told of, and to be left by every config; what it writes is
 * to be written, also where that is what a buffer is full of before. */
static void references_that_leave_something(void **state)
{
    (void)state;
    char file[512];
    snprintf(file, sizeof file, "%s", command_path("border.c"));
    write_text("border.c",
               "// optune: kernel border(x: f32[N], out y: f32[N], out i: i32[N])\n"
               "// optune: size N = 64\n// optune: knob MODE = [0, 2, 3, 4, 5]\n"
               "// optune: reference right\n"
               "void border(const float *x, float *y, int *i)\n{\n"
               "    for (int k = 1; k < N - 1; k++) {\n"
               "        if (k != 5 || MODE != 5) y[k] = k == 5 ? 0.0f / 0 : 2 * x[k];\n"
               "        if (k != 6 || MODE != 2) i[k] = k == 6 ? -1 : k;\n    }\n"
               "    if (MODE == 3) y[0] = 0;\n"
               "    if (MODE == 4) i[0] = 7;\n}\n"
               "void right(const float *x, float *y, int *i)\n{\n"
               "    for (int k = 1; k < N - 1; k++) {\n"
               "        y[k] = k == 5 ? 0.0f / 0 : 2 * x[k];\n"
               "        i[k] = k == 6 ? -1 : k;\n    }\n}\n");
    outcome o = optune("tune", file, "--trials", "5", "--time", "60", "--json", ONE);
    check_contains(ot_text_str(&o.err),
                   "'border.reference' writes nothing to 2 of the 64 elements of output 0");
    json_t *json = json_of(&o);
    assert_int_equal(json_integer_value(json_object_get(json, "failures")), 4);
    assert_int_equal(json_integer_value(json_object_get(workload(json), "unwritten")), 4);
    json_decref(json);
    o = optune("tune", file, "--format", "header", ONE);
    check_contains(ot_text_str(&o.out), "#define MODE 0");
    release(&o);
    unlink(command_path("brought/border"));
    /* Infinity is no number that another one is near to. */
    write_text("infinite.c",
               "// optune: kernel infinite(x: f32[N], out y: f32[N])\n// optune: size N = 8\n"
               "// optune: knob Z = [0, 1]\n// optune: reference right\n"
               "void infinite(const float *x, float *y)\n"
               "{ for (int i = 0; i < N; i++) y[i] = Z ? 5 : 1.0f / 0; }\n"
               "void right(const float *x, float *y)\n"
               "{ for (int i = 0; i < N; i++) y[i] = 1.0f / 0; }\n");
    o = optune("tune", command_path("infinite.c"), QUICK);
    ot_text_add(&o.err, ot_text_str(&o.out));
    expect("infinite", &o, 0, "best of infinite: Z=0");
    unlink(command_path("brought/infinite"));
}

/* A matrix of 2 by 3 in a file of NumPy's: its version, the type in NumPy's words, its shape, then
 * `n` bytes. */
static void write_npy(const char *name, int version, const char *type, bool columns,
                      const char *shape, const void *bytes, size_t n)
{
    ot_text text = {0}, header = {0};
    ot_text_printf(&header, "{'descr': %s, 'fortran_order': %s, 'shape': %s, }\n", type,
                   columns ? "True" : "False", shape);
    const char head[] = {(char)0x93,     'N', 'U', 'M', 'P', 'Y', (char)version, 0,
                         (char)header.n, 0,   0,   0};
    ot_text_add_n(&text, head, version == 1 ? 10 : 12);
    ot_text_add_n(&text, header.s, header.n);
    ot_text_add_n(&text, bytes, n);
    optune_err err;
    check_ok(ot_write_file(command_path(name), text.s, text.n, &err));
    ot_text_release(&text);
    ot_text_release(&header);
}

/* Of what files hold the default config has to give what files say; then others are held to it. */
static void what_files_say(void **state)
{
    (void)state;
    static const float rows[6] = {1, 2, 3, 4, 5, 6}, columns[6] = {1, 4, 2, 5, 3, 6};
    static const double twice[6] = {2, 4, 6, 8, 10, 12};
    static const float after[6] = {3, 6, 9, 12, 15, 18};
    static const unsigned char high[24] = {0x3f, 0x80, 0, 0, 0x40, 0,    0, 0,
                                           0x40, 0x40, 0, 0, 0x40, 0x80, 0, 0,
                                           0x40, 0xa0, 0, 0, 0x40, 0xc0, 0, 0};
#define OF_FILES(x, y, z)                                                                      \
    "// optune: kernel files(x: f32[2,N] = \"" x "\",\n"                                       \
    "// optune:     out y: f64[2,N] = \"" y "\", inout z: f32[2,N] = \"raw.bin\" then \"" z    \
    "\")\n"                                                                                    \
    "// optune: size N = 3\n// optune: knob V = [0, 1]\n"                                      \
    "void files(const float *x, double *y, float *z)\n"                                        \
    "{ for (int i = 0; i < 2 * N; i++) { y[i] = 2 * x[i]; z[i] += 2 * x[i]; } }\n"
    write_npy("rows.npy", 1, "'<f4'", false, "(2, 3)", rows, sizeof rows);
    write_npy("columns.npy", 2, "'<f4'", true, "(2, 3)", columns, sizeof columns);
    write_npy("high.npy", 3, "'>f4'", false, "(2, 3)", high, sizeof high);
    write_npy("twice.npy", 1, "'<f8'", false, "(2, 3)", twice, sizeof twice);
    write_npy("short.npy", 1, "'<f4'", false, "(2, 3)", rows, sizeof rows - 1);
    write_npy("flat.npy", 1, "'<f4'", false, "(6,)", rows, sizeof rows);
    write_npy("records.npy", 1, "[('a', '<f4')]", false, "(6,)", rows, sizeof rows);
    write_npy("after.npy", 1, "'<f4'", false, "(2, 3)", after, sizeof after);
    optune_err err;
    check_ok(ot_write_file(command_path("raw.bin"), (const char *)rows, sizeof rows, &err));
    static const char *const good[] = {OF_FILES("rows.npy", "twice.npy", "after.npy"),
                                       OF_FILES("columns.npy", "twice.npy", "after.npy"),
                                       OF_FILES("high.npy", "twice.npy", "after.npy")};
    for (int i = 0; i < OT_COUNT(good); i++)
        bad("files.c", good[i], 0, "default config, which has to give what its files say");
    bad("files.c", OF_FILES("rows.npy", "twice.npy", "rows.npy"), 1,
        "element 0 of its output 1 is 3, and '");
    bad("files.c", OF_FILES("short.npy", "twice.npy", "after.npy"), 2, "files.c:1:25: 'x': '");
    bad("files.c", OF_FILES("short.npy", "twice.npy", "after.npy"), 2,
        "has 23 bytes of elements, not 24");
    bad("files.c", OF_FILES("twice.npy", "twice.npy", "after.npy"), 2,
        "holds f8[2,3], in NumPy's words, and f32[2,3] is wanted");
    bad("files.c", OF_FILES("flat.npy", "twice.npy", "after.npy"), 2, "holds f4[6],");
    bad("files.c", OF_FILES("files.c", "twice.npy", "after.npy"), 2, "bytes of elements, not");
    bad("files.c", OF_FILES("records.npy", "twice.npy", "after.npy"), 2,
        "is no .npy file of one array: its elements are records");
    bad("files.c", OF_FILES("gone.npy", "twice.npy", "after.npy"), 3, "gone.npy");
    bad("files.c",
        "// optune: kernel files(x: f32[2], out y: f32[2] = \"raw.bin\")\n"
        "void files(const float *x, float *y) { y[0] = y[1] = 0; }\n",
        2, "has 24 bytes of elements, not 8");
    bad("files.c",
        "// optune: kernel files(x: f32[6], out y: f32[6] = \"raw.bin\")\n"
        "void files(const float *x, float *y) { y[0] = y[1] = 0; }\n",
        2, "and none what 'x' holds then");
}

static void kernels_that_are_wrong(void **state)
{
    (void)state;
#define REFERENCE "// optune: reference right\n"
#define RIGHT                                                                                  \
    "void right(const float *x, float *y) { for (int i = 0; i < N; i++) y[i] = 2 * x[i]; }\n"
#define HEAD(f) "// optune: kernel " f "(x: f32[N], out y: f32[N])\n// optune: size N = 64\n"
    bad("wrong1.c",
        HEAD("wrong1") REFERENCE RIGHT
        "void wrong1(const float *x, float *y) { for (int i = 0; i < N; i++) y[i] = x[i]; }\n",
        1, "wrong");
    bad("wrong2.c",
        HEAD("wrong2") REFERENCE RIGHT "void wrong2(const float *x, float *y) { for (int i = "
                                       "0; i <= N; i++) y[i] = 2 * x[i]; }\n",
        1, "crash");
    bad("wrong3.c",
        HEAD("wrong3") REFERENCE RIGHT
        "void wrong3(const float *x, float *y) { syntax error }\n",
        1, "compile");
    /* A reference that crashes, does not compile, writes too much. */
    bad("wrong4.c",
        HEAD("wrong4") REFERENCE
        "void right(const float *x, float *y) { *(volatile int *)8 = 1; }\n"
        "void wrong4(const float *x, float *y) { y[0] = 1; }\n",
        1, "'wrong4.reference', which says what is right of 'wrong4': it crashed");
    bad("wrong5.c",
        HEAD("wrong5") REFERENCE
        "void right(const float *x, float *y) { for (int i = 0; i <= N; i++) "
        "y[i] = 1; }\n"
        "void wrong5(const float *x, float *y) { y[0] = 1; }\n",
        1, "it crashed");
    /* What it leaves running is its own fault, no candidate's. */
    bad("wrong10.c",
        HEAD("wrong10") REFERENCE
        "#include <unistd.h>\n"
        "void right(const float *x, float *y) { if (!fork()) for (;;) sleep(9); "
        "for (int i = 0; i < N; i++) y[i] = 1; }\n"
        "void wrong10(const float *x, float *y) { for (int i = 0; i < N; i++) y[i] = 1; }\n",
        1, "'wrong10.reference', which says what is right of 'wrong10': it left 1 process");
    /* One that does not end is what the time went to, not a candidate. */
    static const char endless[] =
        HEAD("wrong9") REFERENCE "#include <unistd.h>\n"
                                 "void right(const float *x, float *y) { for (;;) sleep(1); }\n"
                                 "void wrong9(const float *x, float *y) { y[0] = 1; }\n";
    optune_err err;
    check_ok(ot_write_file(command_path("wrong9.c"), endless, strlen(endless), &err));
    outcome o = optune("tune", command_path("wrong9.c"), "--time", "1", "--trials", "1");
    assert_int_equal(o.code, 1);
    check_contains(ot_text_str(&o.err),
                   "wrong9.reference, which says what is right, did not end within");
    release(&o);
    /* One that counts on what is there before, and integers are there, not NaN. */
    bad("wrong7.c",
        "// optune: kernel wrong7(x: f32[N], out n: i32[4])\n// optune: size N = 64\n"
        "// optune: reference right\n"
        "void right(const float *x, int *n) { n[1] += N; n[0] = n[2] = n[3] = 0; }\n"
        "void wrong7(const float *x, int *n) { n[1] += N; n[0] = n[2] = n[3] = 0; }\n",
        1, "element 1 of its output 0 follows from what is there before");
    bad("wrong8.c",
        HEAD("wrong8") REFERENCE RIGHT
        "#include <sys/mman.h>\n"
        "void wrong8(const float *x, float *y) { munmap((void *)((long)y & -4096L), 4096); "
        "y[0] = 1; }\n",
        1, "has taken away the memory of output 0");
    /* What is in front of an input is no zero. */
    bad("wrong9.c",
        HEAD("wrong9") REFERENCE RIGHT
        "void wrong9(const float *x, float *y) { for (int i = 0; i < N; i++) "
        "y[i] = 2 * x[i] + (i ? 0 : x[-1]); }\n",
        1, "(1 of 64 wrong)");
    bad("wrong6.c", HEAD("wrong6") "// optune: knob A = [0, 1]\n// optune: where A > 1\n" BODY,
        3, "wrong6.c: none of its 2 configs is valid: 'A > 1' refuses 2");
    refused(3, "no such file", "tune", "/not/there.c");
    refused(1, "'/dev/null': Not a directory; --db DIR, or OPTUNE_DB, names another database",
            "tune", EXAMPLE("matmul.c"), "--db", "/dev/null/db");
    refused(1, "; --db DIR, or OPTUNE_DB, names another", "run", "relu(f32[8])", "--trials",
            "1", "--db", "/dev/null/db");
    refused(2, "neither C (.c)", "tune", "/not/there.py");
    refused(2, "tune needs a file", "tune");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_nest_in_c),
        cmocka_unit_test(formats),
        cmocka_unit_test(metrics),
        cmocka_unit_test(metrics_that_are_wrong),
        cmocka_unit_test(a_reduction_in_opencl),
        cmocka_unit_test(opencl_without_a_reference),
        cmocka_unit_test(a_launch_that_is_too_large),
        cmocka_unit_test(read_and_written_in_c),
        cmocka_unit_test(read_and_written_in_opencl),
        cmocka_unit_test(half_without_arithmetic_in_opencl),
        cmocka_unit_test(a_parameter_that_is_not_told_in_opencl),
        cmocka_unit_test(a_stencil_in_cuda),
        cmocka_unit_test(headers_of_the_toolkit),
        cmocka_unit_test(a_call_of_many_inputs),
        cmocka_unit_test(an_edit_makes_records_stale),
        cmocka_unit_test(two_files_of_one_name),
        cmocka_unit_test(first_values_far_from_valid),
        cmocka_unit_test(inputs_within_a_range),
        cmocka_unit_test(references_that_leave_something),
        cmocka_unit_test(what_files_say),
        cmocka_unit_test(kernels_that_are_wrong),
    };
    return cmocka_run_group_tests(tests, command_setup, command_teardown);
}
