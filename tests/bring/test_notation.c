/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The notation of source files: what a good file becomes, and where and how each mistake is named.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "bring/bring.h"
#include "strategy/inside.h"
#include "support/check.h"
#include "target/target.h"

static char folder[2048], path[2100];
static int serial;

static int setup(void **state)
{
    (void)state;
    optune_err err;
    return ot_temp_dir(folder, sizeof folder, &err);
}

static int teardown(void **state)
{
    (void)state;
    ot_remove_tree(folder);
    return 0;
}

/* A new file of this text; @ in it is a name that no other file has. */
static int bring(const char *suffix, const char *text, optune_err *err)
{
    char name[32];
    ot_text whole = {0};
    snprintf(name, sizeof name, "f%d", ++serial);
    for (; *text; text++)
        if (*text == '@')
            ot_text_add(&whole, name);
        else
            ot_text_add_n(&whole, text, 1);
    snprintf(path, sizeof path, "%s/k%s", folder, suffix);
    assert_int_equal(ot_write_file(path, ot_text_str(&whole), whole.n, err), OPTUNE_OK);
    ot_text_release(&whole);
    return ot_rows_load(path, ot_target_add, err);
}

static void a_good_file(void **state)
{
    (void)state;
    optune_err err = {0};
    char name[2100];
    check_ok(bring("1.c",
                   "/*\n"
                   " * optune: kernel @(in A: f32[M, K + 1],\n"
                   " * optune:          out B: f64[M], out C: i32[max(T)],\n"
                   " * optune:          n: u32 = T * K)\n"
                   " */\n"
                   "/* optune: size M = 6, K = M // 2 */\n"
                   "#pragma optune knob T = [2**i for i in range(4)] default 4\n"
                   "#pragma optune: knob W = ['a', 'b'], \\\n   F = [0.5, 1], \\\n"
                   "  B = [True, False]\n"
                   "// optune: where T < 8 or W == 'a' and B or W == '(['\n"
                   "// optune: tolerance absolute=1e-3\n"
                   "// optune: flops M * K\n"
                   "// optune: flags -O1 -fno-builtin\n"
                   "// a comment that says optune: nothing\n"
                   "const char *s = \"// optune: nothing\";\n",
                   &err));
    snprintf(name, sizeof name, "f%d", serial);
    const ot_brought *b = ot_brought_of_op(name);
    assert_non_null(b);
    assert_ptr_equal(b, ot_brought_of_path(path));
    assert_int_equal(b->n_knobs, 4);
    assert_int_equal(b->knob[0].standard, 2);
    assert_int_equal(b->knob[1].scalar, OPTUNE_SCALAR_WORD);
    assert_string_equal(b->knob[2].text[0], "0.5");
    assert_int_equal(b->knob[3].scalar, OPTUNE_SCALAR_BOOL);
    assert_true(b->absolute == 1e-3);
    assert_int_equal(b->n_flags, 2);
    /* M follows from A, K is an attribute: no dim is called K and nothing more. */
    assert_int_equal(b->size[0].input, 0);
    assert_int_equal(b->size[1].input, -1);
    optune_call call;
    ot_text text = {0};
    check_ok(ot_call_parse(b->workload[0], &call, &err));
    ot_call_print(&call, &text);
    assert_string_equal(ot_text_str(&text) + strlen(name), "(f32[6,4], K=3)");
    assert_int_equal(call.output[1].dim[0].min, 8);
    ot_text_release(&text);
    ot_brought_count count;
    ot_brought_count_valid(b, &call, 1, &count);
    assert_true(count.whole && count.combinations == 32);
    assert_int_equal(count.valid, 24 + 2);
}

static void sizes_follow(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_call call;
    char text[256];
    check_ok(bring("2.c",
                   "// optune: kernel @(A: f32[M,K], B: f32[K,N], out C: f32[M,N])\n"
                   "// optune: size M = 2, K = 3, N = 4\n",
                   &err));
    snprintf(text, sizeof text, "f%d(f32[5,?], f32[7,9])", serial);
    check_ok(ot_call_parse(text, &call, &err));
    assert_int_equal(call.input[0].type.dim[1].min, 7);
    assert_int_equal(call.output[0].dim[1].min, 9);
    snprintf(text, sizeof text, "f%d(f32[5,6], f32[7,9])", serial);
    assert_int_equal(ot_call_parse(text, &call, &err), OPTUNE_ETYPE);
    check_contains(err.text, "dim 0 of 'B': it is 7, and K is 6");
    snprintf(text, sizeof text, "f%d(f64[5,6], f32[6,9])", serial);
    assert_int_equal(ot_call_parse(text, &call, &err), OPTUNE_ETYPE);
    check_contains(err.text, "'A' is f32 with 2 dims");
}

/* One parameter of the kernel is an input and an output of the call, and a stage of its own gives
 * it what it holds. */
static void read_and_written(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_call call;
    char text[256];
    check_ok(bring("1.c",
                   "// optune: kernel @(inout A: f32[M,K], x: f32[K], out y: f64[M],\n"
                   "// optune:     inout n: u8[M + 1] from 0 to 3)\n"
                   "// optune: size M = 2, K = 3\n",
                   &err));
    snprintf(text, sizeof text, "f%d(f32[4,5], f32[5], u8[5])", serial);
    check_ok(ot_call_parse(text, &call, &err));
    assert_int_equal(call.n_outputs, 3);
    assert_int_equal(call.output[0].dim[1].min, 5);
    assert_int_equal(call.output[1].dim[0].min, 4);
    assert_int_equal(call.output[2].dim[0].min, 5);
    double low = -1, high = -1;
    assert_true(call.op->range(&call, 2, &low, &high) && low == 0 && high == 3);
    assert_false(call.op->range(&call, 1, &low, &high));
    const ot_brought *b = ot_brought_of_op(call.op->name);
    const optune_target target = {.kind = "cpu"};
    const optune_device device = {.threads = 1};
    const optune_task task = {.call = &call, .target = &target, .device = &device};
    const optune_config config = {0};
    optune_plan *plan = ot_alloc(sizeof *plan);
    check_ok(ot_plan_make(&task, &b->impl, &config, plan, &err));
    assert_int_equal(plan->n_stages, 3);
    const optune_stage *last = &plan->stage[1], *kernel = &plan->stage[2];
    assert_true(plan->stage[0].phase == OPTUNE_RESTORE && last->phase == OPTUNE_RESTORE);
    assert_true(last->arg[0].kind == OPTUNE_ARG_INPUT && last->arg[0].index == 2);
    assert_true(last->arg[1].kind == OPTUNE_ARG_OUTPUT && last->arg[1].index == 2);
    assert_int_equal(last->arg[2].value, 5);
    assert_true(kernel->phase == OPTUNE_TIMED && kernel->n_args == 4);
    assert_true(kernel->arg[0].kind == OPTUNE_ARG_OUTPUT && kernel->arg[0].index == 0);
    assert_true(kernel->arg[1].kind == OPTUNE_ARG_INPUT && kernel->arg[1].index == 1);
    free(plan);
}

/* Whether what an input may hold is anything depends on the call's sizes. */
static void empty_ranges(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_call call;
    char text[256];
    double low, high;
    check_ok(bring("2.c",
                   "// optune: kernel @(\n"
                   "// optune:     A: f32[N] from 2 to N,\n"
                   "// optune:     inout n: u8[4] from 3 to LAST)\n"
                   "// optune: size N = 8, LAST = 5\n",
                   &err));
    snprintf(text, sizeof text, "f%d(f32[2], u8[4])", serial);
    check_ok(ot_call_parse(text, &call, &err));
    assert_true(call.op->range(&call, 0, &low, &high) && low == 2 && high == 2);
    snprintf(text, sizeof text, "f%d(f32[0], u8[4])", serial); /* which holds nothing */
    check_ok(ot_call_parse(text, &call, &err));
    snprintf(text, sizeof text, "f%d(f32[1], u8[4])", serial);
    assert_int_equal(ot_call_parse(text, &call, &err), OPTUNE_ETYPE);
    check_contains(err.text, "k2.c:2:31: 'A' can hold nothing from 2 to 1: the least comes");
    snprintf(text, sizeof text, "f%d(f32[2], u8[4], LAST=1)", serial);
    assert_int_equal(ot_call_parse(text, &call, &err), OPTUNE_ETYPE);
    check_contains(err.text, "k2.c:3:36: 'n' can hold nothing from 3 to 1: the least comes");
    /* No comparison's `=` begins a file's name. */
    static const char *const ends[] = {"N >= 8", "N == 8", "N <= 8", "7 != N = 'n.bin'"};
    char file[2100];
    snprintf(file, sizeof file, "%s/n.bin", folder);
    check_ok(ot_write_file(file, "\0\1\1\0", 4, &err));
    for (int i = 0; i < OT_COUNT(ends); i++) {
        snprintf(text, sizeof text,
                 "// optune: kernel @(n: u8[4] from 0 to %s, out B: u8[4]%s)\n"
                 "// optune: size N = 8\n",
                 ends[i], i == 3 ? " = 'n.bin'" : "");
        check_ok(bring(".c", text, &err));
        snprintf(text, sizeof text, "f%d(u8[4])", serial);
        check_ok(ot_call_parse(text, &call, &err));
        assert_true(call.op->range(&call, 0, &low, &high) && low == 0 && high == 1);
    }
}

#define KERNEL "// optune: kernel @(A: f32[N], out B: f32[N])\n// optune: size N = 8\n"

static void mistakes(void **state)
{
    (void)state;
    static const char *const known[][3] = {
        {".c", "int x;\n", "k.c declares no kernel"},
        {".c", "", "k.c declares no kernel"},
        {".c", "// optune: kernal f()\n",
         "k.c:1:12: no statement 'kernal'; did you mean 'kernel'?"},
        {".c", "// optune: kernel\n", "k.c:1:18: the kernel's name is expected"},
        {".c",
         "// optune: kernel gr\xc3\xb6\xc3\x9f"
         "e(A: f32[1])\n",
         "k.c:1:19: the kernel's name is of letters a to z, digits and _ here"},
        {".c", KERNEL "// optune: knob \xc3\x84 = [1]\n", "a knob's name is of letters"},
        {".c", "// optune: kernel @\n", "'(' and the parameters are expected"},
        {".c", "// optune: kernel @(A)\n", "':' and a type are expected behind 'A'"},
        {".c", "// optune: kernel @(A: f33[N])\n", "'f33' is no element type"},
        {".c", "// optune: kernel @(A: f32)\n", "'A' has neither dims"},
        {".c", "// optune: kernel @(inot A: f32[1])\n",
         "':' is expected behind 'inot'; in front of a parameter's name stands in, out or "
         "inout"},
        {".c", "// optune: kernel @(inout n: i32 = 1)\n", "'n' has neither dims"},
        {".c", "// optune: kernel @(inout in: f32[1], inout in: f32[1])\n", "two parameters"},
        {".c", "// optune: kernel @(A: f32[N)\n", "k.c:1:"},
        {".c", "// optune: kernel @(A: i32[4] from 0, out B: f32[1])\n", "'to' is expected"},
        {".c", "// optune: kernel @(\n// optune: inout A: i32[4] from 3 to 1)\nint @;",
         "k.c:2:33: 'A' can hold nothing from 3 to 1"},
        {".c", "// optune: kernel @(\n// optune: inout A: i32[4] from 1 to 'b')\nint @;",
         "k.c:2:38: ''b'' is no number"},
        {".c",
         "// optune: kernel @(\n// optune: inout A: i32[N] from 1 to 8 // (N - 4))\n"
         "// optune: size N = 4\nint @;",
         "division by zero"},
        {".c", "// optune: kernel @(A: i32[4], out B: f32[1] from 0 to 1)\n",
         "'B' is an output"},
        {".c", "// optune: kernel @(A: f32[1],\n", "a parameter's name is expected"},
        {".c", "// optune: kernel @(A: f32[1])\n", "has no output"},
        {".c", "// optune: kernel @(A: f32[X], out B: f32[1])\n", "k.c:1:"},
        {".c", "// optune: kernel @(A: f32[1], out A: f32[1])\n", "two parameters 'A'"},
        {".c", KERNEL "// optune: kernel g(out B: f32[1])\n", "there is a kernel already"},
        {".c", KERNEL "// optune: size N = 9\n", "k.c:3:17: 'N' is a size already, see line 2"},
        {".c", KERNEL "// optune: size M = [1]\n", "size 'M' is a list"},
        {".c", KERNEL "// optune: size M = 1.5\n", "is a real number, not an integer"},
        {".c", KERNEL "// optune: size M = -1\n", "is -1, not 0 to 2^40"},
        {".c", KERNEL "// optune: size M = L\n", "k.c:3:21: 'L' has no value"},
        {".c", KERNEL "// optune: knob T = 4\n", "are an integer, not a list"},
        {".c", KERNEL "// optune: knob T = []\n", "knob 'T' has no values"},
        {".c", KERNEL "// optune: knob T = [1, 2, 1]\n", "knob 'T' has 1 twice"},
        {".c", KERNEL "// optune: knob T = [1.1, 1.10]\n",
         "knob 'T' has 1.1 twice: 1.1 and 1.10 are one number; in quotes"},
        {".c", KERNEL "// optune: knob T = [1, [2]]\n", "value 2 is a list"},
        {".c", KERNEL "// optune: knob T = [1, 2] default 3\n", "3, is none of its values"},
        {".c", KERNEL "// optune: knob T = [1, 2] defalt 2\n", "what follows here"},
        {".c", KERNEL "// optune: knob T [1, 2]\n", "'=' and a list of values"},
        {".c", KERNEL "// optune: knob math = [1]\n", "'math' is taken"},
        {".c", KERNEL "// optune: knob in = [1]\n", "'in' is a word of expressions"},
        {".c", KERNEL "// optune: knob OT_WARP = [1]\n", "is taken"},
        {".c", KERNEL "// optune: knob T = [2**70]\n", "k.c:3:23: the result does not fit"},
        {".c", KERNEL "// optune: knob T = [1, 2]\n// optune: where U % 2 == 0\n",
         "k.c:4:18: no size or knob 'U'"},
        {".c", KERNEL "// optune: where N =\n", "'==' is meant"},
        {".c", KERNEL "// optune: where __import__('os').system('x')\n", "is not called here"},
        {".c", KERNEL "// optune: launch grid = 1\n", "is called, not launched"},
        {".c", KERNEL "// optune: reference gone\n", "no reference function 'gone'"},
        {".c", KERNEL "// optune: reference f in \"away.c\"\n", "away.c"},
        {".c", KERNEL "// optune: reference f in away.c\n", "a file in quotes"},
        {".c", KERNEL "// optune: tolerance -1\n", "0 or more"},
        {".c", KERNEL "// optune: tolerance 'x'\n", "is a number"},
        {".c", KERNEL "// optune: tolerance 1e-3, 1e-4\n", "said already: one tolerance"},
        {".c", KERNEL "// optune: tolerance relative=1\n// optune: tolerance 1\n",
         "k.c:4:22: "},
        {".c", KERNEL "//optune : knob T = 1\n", "k.c:3:17: the values of knob 'T' are"},
        {".c", KERNEL "// optune: name\n", "a name is expected"},
        {".c", KERNEL "// optune: name dense\n", "there is an operator 'dense' already"},
        {".c", KERNEL "// optune: flags -f12345678901234567890123456789012345\n", "letters"},
        {".c", KERNEL "// optune: knob A = [1]\nvoid @(float *A, float *B) {}\n",
         "k.c:3:17: 'A' is a parameter: as a macro the knob would replace it"},
        {".c",
         KERNEL "// optune: knob T = [1]\nvoid @(float *A, float *T __attribute__((x))) {}\n",
         "'T' is a parameter"},
        {".c", KERNEL "// optune: knob T = [1]\nvoid @(bool b = 3 > 2, float (&T)[8]) {}\n",
         "'T' is a parameter"},
        {".c", KERNEL "// optune: knob T = [1]\nvoid @(float *A, float (*T)[8]) {}\n",
         "'T' is a parameter"},
        {".c", KERNEL "// optune: knob T = [1]\nvoid @(float *A, float T[restrict N]) {}\n",
         "'T' is a parameter"},
        {".c", KERNEL "// optune: knob @ = [1]\n", "is the kernel: as a macro the knob would"},
        {".c", KERNEL "// optune: knob int = [1]\n", "'int' is a word of C"},
        {".c", KERNEL "// optune: size while = 1\n",
         "'while' is a word of C: as a macro the size"},
        {".c", KERNEL "void g(void) { my_@(); }\n", "there is no function"},
        {".c", "// optune: kernel @(A: f32[N - 10], out B: f32[N])\n// optune: size N = 8\n",
         "'N - 10' is -2, no dim's size"},
        {".c", KERNEL "int q; // optune: knob T = [1, 2]\n",
         "k.c:3:8: a statement stands on a line of its own"},
        {".c", KERNEL "/* optune: knob T = [1] */ /* optune: knob U = [1, 2] */\n",
         "k.c:3:28: "},
        {".c", KERNEL "#pragma optune knob T = \\\n  [1, 2,, 3]\n", "k.c:4:9: "},
        {".cl", KERNEL, "k.cl: a kernel for GPUs needs its launch"},
        {".cu", KERNEL "// optune: launch grid = 1, blok = 2\n", "no 'blok'"},
        {".cu", KERNEL "// optune: launch grid = 1, grid = 2\n", "this is said already"},
    };
    for (int i = 0; i < OT_COUNT(known); i++) {
        optune_err err = {0};
        int n;
        const optune_op *const *before = ot_ops(&n);
        (void)before;
        const int ops = n;
        if (bring(known[i][0], known[i][1], &err) >= 0)
            fail_msg("taken: %s", known[i][1]);
        check_contains(err.text, known[i][2]);
        ot_ops(&n);
        assert_int_equal(n, ops); /* all or nothing */
    }
}

/* Functions that take what is declared, or may: typedefs, macros, templates are anything. */
static void parameters_that_fit(void **state)
{
    (void)state;
    static const char *const fine[][2] = {
        {".c", "void @(const float *restrict A, float B[N]) {}\n"},
        {".c", "void @(float const A[restrict static N], float (*const B)[N]) {}\n"},
        {".c", "void @(const void *A, real *B) {}\n"},
        {".c",
         "void @(const double *A, float *B); /* void @(int *A, float *B) { */\n"
         "#define PASTE void @(int *A) {\n"
         "void g(void) { @(0, 0); }\nvoid @(const float *A, float *B)\n{ char c = '{'; }\n"},
        {".c", "#if N > 8\nvoid @(const double *A, double *B) {}\n#else\n"
               "void @(const float *A, float *B) {}\n#endif\n"},
        {".c", "#define double float\nvoid @(const double *A, double *B) {}\n"},
        {".c", "void @(PARAMETERS) {}\n"},
        {".c", "typedef float int32_t;\nvoid @(const int32_t *A, float *B) {}\n"},
        {".c", "# define double float\nvoid @(const double *A, float *B) {}\n"},
        {".c", "// optune: flags -Ddouble=float\nvoid @(const double *A, float *B) {}\n"},
        {".c", "static inline __attribute__((noinline)) void\n"
               "@(const float *A /* = \"(\" */, float *B) __attribute__((hot)) {}\n"},
        {".cl", "__kernel void @(__global const float4 *restrict A, global float *B) {}\n"},
        {".cl", "kernel void @(global float *A, global T *B, local float *C) {}\n"},
        {".cu", "template <class T> __global__ void @(const T *A, T *__restrict__ B) {}\n"},
        {".cu", "__global__ void __launch_bounds__(64) @(const float *A, float2 *B) {}\n"},
        {".cu", "typedef double a; typedef float (*half), uint[2], uchar __attribute__((x));\n"
                "__global__ void @(const half *A, uchar *B) {}\n"},
        {".cu", "__global__ void @(const int8 *A, ushort16 *B) {}\n"},
        {".cu",
         "namespace n { typedef struct { uint a, b; } half, half2; using uint = float; }\n"
         "__global__ void @(const half2 *A, uint *B) {}\n"},
        {".cu", "struct __align__(4) half { float x; };\n"
                "template <class uint> __global__ void @(const half *A, uint *B) {}\n"},
        {".cu", "#if N < 1'000\n#endif\nconst int n = 1'000, m = 0xf'f; /* ' */ char c = ')';\n"
                "__device__ void g(int a = 1'0) {} __global__ void @(const float *A, float *B) "
                "{ char d = u8'x'; }\n"},
        /* Knobs and sizes in types of parameters, which are no names of theirs. */
        {".c", "// optune: knob T = ['float', 'int'], W = [8]\n"
               "void @(const T *A, float (*B)[W]) {}\n"},
        {".cl", "// optune: knob W = [1, 4]default 4\n"
                "kernel void @(global V(float, W) *A, global V(float, W) *restrict B) {}\n"},
        {".cu", "// optune: knob W = [1, 4]\n"
                "__global__ void @(const tile<float, W> A, tile<float, W> *B) {}\n"
                "void g(void) { @(a * W, b); }\n"},
    };
    for (int i = 0; i < OT_COUNT(fine); i++) {
        optune_err err = {0};
        ot_text text = {0};
        ot_text_printf(&text, "%s%s%s", KERNEL,
                       fine[i][0][2] ? "// optune: launch grid = N, block = 1, shared = 64\n"
                                     : "",
                       fine[i][1]);
        const ot_registry_mark mark = ot_registry_now();
        if (bring(fine[i][0], ot_text_str(&text), &err) < 0)
            fail_msg("%s%s", fine[i][1], err.text);
        ot_registry_rewind(mark);
        ot_text_release(&text);
    }
}

/* What a C compiler takes without a word, and a launch, too. */
static void parameters_that_do_not(void **state)
{
    (void)state;
#define ARGS(list) "// optune: kernel @(" list ", out B: f32[8])\n"
#define LAUNCH "// optune: launch grid = 1, block = 1\n"
    static const char *const wrong[][3] = {
        {".c", KERNEL "void @(const double *A, float *B) {}\n",
         "k.c:1:23: parameter 1 of '@', which is declared f32 as 'A', is 'const double *A': it "
         "points to elements of another type"},
        {".c", KERNEL "void @(const float *A, unsigned int B[]) {}\n",
         "k.c:1:38: parameter 2 of '@', which is declared f32 as 'B', is 'unsigned int B[]'"},
        {".c", KERNEL "void @(const float *A, const float *B) {}\n", "is const"},
        {".c", KERNEL "void @(const float *A, float **B) {}\n", "points to pointers"},
        {".c", KERNEL "void @(const float *A, float B) {}\n", "it is no pointer"},
        {".c", KERNEL "void @(const float *A, float *B, int n) {}\n",
         "'@' has 3 parameters, and 2 are declared"},
        {".c", KERNEL "void @(float *B) {}\n", "parameter 1 of '@' is called 'B', which"},
        {".c", KERNEL "void @(void) {}\n", "has 0 parameters, and 2 are declared"},
        {".c", KERNEL "void @(float *B, const float *A) {}\n",
         "parameter 1 of '@' is called 'B', which is declared as number 2"},
        {".c", ARGS("x: i64[8]") "void @(int *x, float *B) {}\n", "another type"},
        {".c", ARGS("x: i8[8]") "void @(unsigned short *x, float *B) {}\n", "another type"},
        {".c", ARGS("n: f32 = 0.5") "void @(int n, float *B) {}\n", "it holds integers only"},
        {".c", ARGS("n: f32 = 0.5") "void @(float *n, float *B) {}\n", "it is a pointer"},
        {".cl", ARGS("n: f32 = 0.5") LAUNCH "kernel void @(double n, global float *B) {}\n",
         "a launch passes bytes"},
        {".cl", KERNEL LAUNCH "kernel void @(read_only image2d_t A, global float *B) {}\n",
         "no images"},
        {".cl", KERNEL LAUNCH "kernel void @(local float *A, global float *B) {}\n",
         "parameter 1 of '@', which is declared f32 as 'A', is 'local float *A': local memory"},
        {".cl",
         KERNEL LAUNCH "kernel void @(global float *A, global float *B, __local int *C) {}\n",
         "the last parameter of '@', '__local int *C', is local memory: 'launch ..., shared"},
        {".cu", ARGS("n: i32 = 1") LAUNCH "__global__ void @(float n, float *B) {}\n",
         "a launch passes bytes"},
        {".cu", KERNEL LAUNCH "__global__ void @(const float *A, double2 *B) {}\n",
         "another type"},
        {".cu",
         KERNEL LAUNCH "typedef uint (*f)(uint); typedef uint count; using ratio = uint;\n"
                       "const int n = 1'000; __global__ void @(const float *A, uint4 *B) {}\n",
         "another type"},
        {".cl", KERNEL LAUNCH "kernel void @(global const float *A, global int8 *B) {}\n",
         "another type"},
        {".c",
         KERNEL "// optune: reference right\nvoid @(const float *A, float *B) {}\n"
                "void right(const double *A, double *B) {}\n",
         "parameter 1 of 'right'"},
    };
    for (int i = 0; i < OT_COUNT(wrong); i++) {
        optune_err err = {0};
        ot_text says = {0};
        if (bring(wrong[i][0], wrong[i][1], &err) >= 0)
            fail_msg("taken: %s", wrong[i][1]);
        for (const char *p = wrong[i][2]; *p; p++)
            ot_text_printf(&says, *p == '@' ? "f%d" : "%c", *p == '@' ? serial : *p);
        check_contains(err.text, ot_text_str(&says));
        ot_text_release(&says);
    }
}

/* A value that its type cannot hold makes a config invalid, and does not become another value. */
/* The driver finds a kernel by its name, and C++ beside it stays C++. */
static void cuda_names(void **state)
{
    (void)state;
    static const char head[] = "// optune: kernel @(x: f32[N], out y: f32[N])\n"
                               "// optune: size N = 8\n"
                               "// optune: launch grid = 1, block = N\n";
    static const char *const text[][3] = {
        {"template <class T> struct box { T t; };\n#if N\n#define GLOBAL __global__\n#endif\n"
         "GLOBAL void @(const float *x, float *y);\n"
         "int other() { return 0; }\n"
         "__global__ void __launch_bounds__(N) @(const float *x, float *y) { @(x, y); }\n",
         "#endif\nextern \"C\" GLOBAL void f",
         "return 0; }\nextern \"C\" __global__ void __launch_bounds__(N) f"},
        {"extern \"C\" __global__ void @(const float *x, float *y) {}\n",
         "\nextern \"C\" __global__ void f", "f"},
        /* Not plain: a brace more than there is. */
        {"#if N\nvoid @(const float *x, float *y) {\n#else\n"
         "void @(const float *x, float *y, int n) {\n#endif\n}\n",
         "extern \"C\" {\n#line 1", "#endif\n}\n\n}\n"},
    };
    for (int i = 0; i < OT_COUNT(text); i++) {
        optune_err err = {0};
        char name[16];
        ot_text whole = {0};
        const ot_registry_mark mark = ot_registry_now();
        ot_text_printf(&whole, "%s%s", head, text[i][0]);
        check_ok(bring(".cu", ot_text_str(&whole), &err));
        snprintf(name, sizeof name, "f%d", serial);
        const char *source = ot_brought_of_op(name)->impl.source;
        check_contains(source, text[i][1]);
        check_contains(source, text[i][2]);
        ot_registry_rewind(mark);
        ot_text_release(&whole);
    }
}

static void scalars_out_of_range(void **state)
{
    (void)state;
    static const struct {
        const char *type, *value;
        int64_t bits; /* -1: refused */
    } scalar[] = {
        {"i8", "-128", -128},   {"i8", "128", -1}, {"u8", "255", 255},
        {"u8", "N - 9", -1},    {"i32", "2.0", 2}, {"i32", "2.5", -1},
        {"i32", "2**31", -1},   {"u64", "-1", -1}, {"f16", "0.5", 0x3800},
        {"bf16", "-2", 0xc000}, {"u8", "True", 1}, {"i64", "2**62", INT64_C(1) << 62}};
    const optune_target target = {.kind = "opencl"};
    const optune_device device = {.warp = 1};
    optune_plan *plan = ot_alloc(sizeof *plan);
    for (int i = 0; i < OT_COUNT(scalar); i++) {
        optune_err err = {0};
        optune_call call;
        ot_text text = {0};
        const optune_task task = {.call = &call, .target = &target, .device = &device};
        const optune_config config = {0};
        char why[OPTUNE_WHY_SIZE] = "";
        const ot_registry_mark mark = ot_registry_now();
        ot_text_printf(&text,
                       "// optune: kernel @(A: f32[N], n: %s = %s, out B: f32[N])\n"
                       "// optune: size N = 8\n" LAUNCH,
                       scalar[i].type, scalar[i].value);
        check_ok(bring(".cl", ot_text_str(&text), &err));
        char name[16];
        snprintf(name, sizeof name, "f%d", serial);
        const ot_brought *b = ot_brought_of_op(name);
        check_ok(ot_call_parse(b->workload[0], &call, &err));
        const bool valid = b->impl.valid(&task, &config, why);
        if (valid != (scalar[i].bits != -1))
            fail_msg("%s %s", ot_text_str(&text), why);
        if (valid) {
            check_ok(ot_plan_make(&task, &b->impl, &config, plan, &err));
            assert_int_equal(plan->stage[0].arg[1].value, scalar[i].bits);
        } else {
            check_contains(why, "k.cl:1:");
        }
        ot_registry_rewind(mark);
        ot_text_release(&text);
    }
    free(plan);
}

/* The dims of a file's elements are computed before any call is; what is no dim is said. And what
 * a hostile header lacks is not looked for behind its end, where no byte may be read. */
static void arrays(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"4 - 2 * N", "k.c:1:32: '4 - 2 * N' is -12, no dim's size"},
        {"2**41", "k.c:1:32: '2**41' is 2199023255552, no dim's size"},
        {"2**40, 2**40", "'y' has more elements than any memory"},
        {"N - 10, N - 10", "'N - 10' is -2, no dim's size"}};
    optune_err err = {0};
    char file[2100];
    snprintf(file, sizeof file, "%s/y.bin", folder);
    check_ok(ot_write_file(file, "0123456789abcdef", 16, &err));
    for (int i = 0; i < OT_COUNT(bad); i++) {
        ot_text text = {0};
        ot_text_printf(&text,
                       "// optune: kernel f(out y: f32[%s] = \"y.bin\")\n"
                       "// optune: size N = 8\nvoid f(void *y) {}\n",
                       bad[i][0]);
        assert_true(bring(".c", ot_text_str(&text), &err) < 0);
        check_contains(err.text, bad[i][1]);
        ot_text_release(&text);
    }
#define HEAD "{'fortran_order': False, 'shape': (4,), 'descr': "
    static const char *const header[] = {
        HEAD "'",
        HEAD "'<",
        HEAD "\"<f",
        HEAD "'<f99999999999",
        HEAD,
        "{'descr': ",
        "{'descr'",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4,",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-4,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 0)}"};
    const optune_tensor type = {
        .dtype = {OPTUNE_DTYPE_FLOAT, 32, 1}, .rank = 1, .dim = {{.min = 4, .max = 4}}};
    snprintf(file, sizeof file, "%s/bad.npy", folder);
    enum { AS_IT_IS, BEHIND, LONGER, ALL }; /* with what would fit behind a 0; than its file */
    for (int i = 0; i < OT_COUNT(header) * ALL; i++) {
        const char *said = header[i / ALL];
        const size_t own = strlen(said);
        const int how = i % ALL, more = how == BEHIND ? 6 : how == LONGER ? 17 : 0;
        const char head[] = {
            (char)0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (char)(own + (size_t)more), 0};
        ot_text npy = {0};
        ot_text_add_n(&npy, head, sizeof head);
        ot_text_add(&npy, said);
        ot_text_add_n(&npy, "\0f4', ", how == BEHIND ? 6 : 0);
        ot_text_add(&npy, "0123456789abcdef");
        check_ok(ot_write_file(file, npy.s, npy.n, &err));
        if (ot_array_check(file, &type, &err) >= 0)
            fail_msg("taken: %s", said);
        if (i < 2 * ALL)
            check_contains(err.text, how == LONGER ? "ends within its header" : "?0[4]");
        ot_text_release(&npy);
    }
}

static void nothing_valid(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_call call;
    ot_brought_count count;
    check_ok(bring("3.c",
                   KERNEL "// optune: knob T = [0, 3, 5, 16]\n"
                          "// optune: where N % T == 0\n"
                          "// optune: where T == 1\n",
                   &err));
    const ot_brought *b = ot_brought_of_path(path);
    check_ok(ot_call_parse(b->workload[0], &call, &err));
    ot_brought_count_valid(b, &call, 1, &count);
    assert_int_equal(count.valid, 0);
    assert_int_equal(count.undefined, 1);
    assert_int_equal(ot_brought_check_count(b, &count, &err), OPTUNE_ENOENT);
    check_contains(err.text, "k3.c: none of its 4 configs is valid: 'N % T == 0' refuses 4");
    check_contains(err.text, "1 of these cannot be computed");
}

/* 22.2 million combinations are counted without looking at each. */
static void large(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_call call;
    ot_brought_count count;
    check_ok(bring("4.c",
                   KERNEL "// optune: knob X = [1, 2, 4, 8, 16] + list(range(32, 1025, 32))\n"
                          "// optune: knob Y = [2**i for i in range(6)]\n"
                          "// optune: knob A = list(range(1, 11)), B = list(range(1, 11))\n"
                          "// optune: knob C = list(range(1, 11)), D = list(range(1, 11))\n"
                          "// optune: knob E = list(range(1, 11))\n"
                          "// optune: where 32 <= X * Y <= 1024\n"
                          "// optune: where A % B == 0 and A > 1\n",
                   &err));
    const ot_brought *b = ot_brought_of_path(path);
    check_ok(ot_call_parse(b->workload[0], &call, &err));
    ot_brought_count_valid(b, &call, 60, &count);
    assert_true(count.whole && count.combinations == 22.2e6);
    int64_t blocks = 0, tiles = 0;
    for (int x = 1; x <= 1024; x += x < 16 ? x : x == 16 ? 16 : 32)
        for (int y = 1; y <= 32; y *= 2)
            blocks += x * y >= 32 && x * y <= 1024;
    for (int p = 2; p <= 10; p++)
        for (int q = 1; q <= 10; q++)
            tiles += p % q == 0;
    assert_int_equal(count.valid, blocks * tiles * 1000);
}

static void includes(void **state)
{
    (void)state;
    optune_err err = {0};
    char header[2100];
    snprintf(header, sizeof header, "%s/part.h", folder);
    static const char text[] = "int from_the_part;\n";
    check_ok(ot_write_file(header, text, sizeof text - 1, &err));
    check_ok(bring("5.c",
                   KERNEL "#include \"part.h\"\n#include \"not_there.h\"\n#include <math.h>\n",
                   &err));
    const ot_brought *b = ot_brought_of_path(path);
    check_contains(b->impl.source,
                   "#line 1 \"part.h\"\nint from_the_part;\n#line 4 \"k5.c\"\n");
    check_contains(b->impl.source, "#include \"not_there.h\"\n");
    char before[33];
    memcpy(before, b->digest, sizeof before);
    static const char loop[] = "#include \"part.h\"\n";
    check_ok(ot_write_file(header, loop, sizeof loop - 1, &err));
    assert_true(bring("6.c", KERNEL "#include \"part.h\"\n", &err) < 0);
    check_contains(err.text, "includes without end");

    /* Once, wherever the first place is that the preprocessor comes to; and within itself. */
    static const char once[] = "#pragma once\n#include \"part.h\"\nint there_once;\n";
    check_ok(ot_write_file(header, once, sizeof once - 1, &err));
    check_ok(bring(
        "6.c", KERNEL "#if N == 9\n#include \"part.h\"\n#endif\n#include \"part.h\"\n", &err));
    const char *first = ot_brought_of_path(path)->impl.source;
    for (int i = 0; i < 2; i++) {
        first = strstr(first, "#ifndef OPTUNE_ONCE_0\n#define OPTUNE_ONCE_0\n#line 1");
        assert_non_null(first);
        first = strstr(first, "int there_once;\n#endif\n");
        assert_non_null(first);
    }
    assert_null(strstr(ot_brought_of_path(path)->impl.source, "pragma once"));
    static const char guarded[] =
        "/* one */\n#ifndef PART\n#define PART\n#include \"part.h\"\n#endif\n";
    check_ok(ot_write_file(header, guarded, sizeof guarded - 1, &err));
    check_ok(bring("61.c", KERNEL "#include \"part.h\"\n", &err));

    /* What is there for the second time is no guard's. */
    static const char twice[] = "#ifndef PART\n#define PART\n#include \"part.h\"\n#else\n"
                                "int for_the_second;\n#endif\n";
    check_ok(ot_write_file(header, twice, sizeof twice - 1, &err));
    assert_int_equal(bring("62.c", KERNEL "#include \"part.h\"\n", &err), OPTUNE_ELIMIT);
}

/* Files as some editors leave them: a byte order mark in front, carriage returns at the ends. */
static void marks_and_returns(void **state)
{
    (void)state;
    optune_err err = {0};
    char header[2100];
    snprintf(header, sizeof header, "%s/marked.h", folder);
    static const char text[] = "\xef\xbb\xbfint of_the_header;\r\n";
    check_ok(ot_write_file(header, text, sizeof text - 1, &err));
    check_ok(bring("7.c",
                   "\xef\xbb\xbf// optune: kernel @(A: f32[N],\r\n"
                   "// optune:    out B: f32[N])\r\n"
                   "// optune: size N = 8\r\n"
                   "// optune: flags -O1 -fno-builtin\r\n"
                   "#include \"marked.h\"\r\n"
                   "void @(const float *A, float *B) { B[0] = A[0]; }\r\n",
                   &err));
    const ot_brought *b = ot_brought_of_path(path);
    assert_string_equal(b->flag[1], "-fno-builtin");
    assert_null(strstr(b->impl.source, "\xef\xbb\xbf"));
    check_contains(b->impl.source, "int of_the_header;");
}

/* Each output by its own type, where the file says nothing. */
static void tolerances(void **state)
{
    (void)state;
    optune_err err = {0};
    check_ok(bring("8.c", "// optune: kernel @(out B: f32[1], out C: i32[1])\n", &err));
    assert_true(ot_brought_of_path(path)->absolute == 1e-4);
    check_ok(bring("9.c", "// optune: kernel @(out B: f32[1], out C: f64[1])\n", &err));
    assert_true(ot_brought_of_path(path)->absolute == OT_BY_TYPE);
    check_ok(bring("10.c",
                   "// optune: kernel @(out B: f32[1], out C: f64[1])\n"
                   "// optune: tolerance relative=1e-3\n",
                   &err));
    assert_true(ot_brought_of_path(path)->relative == 1e-3);
}

/* As many parameters as a call has inputs and outputs, and more: numbers. */
static void many_parameters(void **state)
{
    (void)state;
    optune_err err = {0};
    ot_text text = {0};
    const int n = OPTUNE_MAX_INPUTS + 8;
    ot_text_add(&text, "// optune: kernel @(");
    for (int i = 0; i < OPTUNE_MAX_INPUTS; i++)
        ot_text_printf(&text, "x%d: f32[4], ", i);
    for (int i = OPTUNE_MAX_INPUTS; i < n; i++)
        ot_text_printf(&text, "n%d: i32 = %d, ", i, i);
    ot_text_add(&text, "out y: f32[4])\n");
    check_ok(bring("11.c", ot_text_str(&text), &err));
    const ot_brought *b = ot_brought_of_path(path);
    assert_int_equal(b->n_args, n + 1);
    assert_string_equal(b->arg[n].name, "y");
    ot_text_clear(&text);
    ot_text_add(&text, "// optune: kernel @(");
    for (int i = 0; i < OPTUNE_MAX_ARGS; i++)
        ot_text_printf(&text, "n%d: i32 = %d, ", i, i);
    ot_text_add(&text, "out y: f32[4])\n");
    assert_true(bring("12.c", ot_text_str(&text), &err) < 0);
    check_contains(err.text, "more than 80 parameters");
    ot_text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_file),
        cmocka_unit_test(sizes_follow),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(parameters_that_fit),
        cmocka_unit_test(parameters_that_do_not),
        cmocka_unit_test(cuda_names),
        cmocka_unit_test(scalars_out_of_range),
        cmocka_unit_test(arrays),
        cmocka_unit_test(nothing_valid),
        cmocka_unit_test(large),
        cmocka_unit_test(includes),
        cmocka_unit_test(read_and_written),
        cmocka_unit_test(empty_ranges),
        cmocka_unit_test(tolerances),
        cmocka_unit_test(marks_and_returns),
        cmocka_unit_test(many_parameters),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
