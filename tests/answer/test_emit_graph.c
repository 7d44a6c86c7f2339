/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole graph as C: what is written builds by itself, in a folder of its own and an environment
 * that knows nothing of us, and computes what the references compute; the folder is whole or not
 * there, and what others put into one stays.
 */
#include "support/tuning.h"

#include "answer/graph.h"
#include "support/check.h"
#include "support/emitted.h"

#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 16 };

static const char network[] = "x = var f32[1,8,14,14]\n"
                              "c = conv2d(x, const f32[16,8,3,3], padding=[1])\n"
                              "b = add(c, const f32[16,1,1])\n"
                              "r = relu(b)\n"
                              "s = conv2d(r, const f32[16,16,3,3], padding=[1])\n"
                              "t = add(s, r)\n"
                              "p = max_pool2d(t, pool_size=[2,2], strides=[2,2])\n"
                              "v = var f32[4,64]\n"
                              "d = relu(dense(v, const f32[32,64], const f32[32]))\n"
                              "e = softmax(dense(d, const f32[10,32]))\n"
                              "q = sort(sort(v, axis=0), axis=1)\n"
                              "pair = tuple(p, e)\n"
                              "output pair, r, q\n";

/* ---- emitting ---------------------------------------------------------------------------- */

typedef struct emitting {
    optune *o;
    optune_graph *g;
    optune_partition *p;
} emitting;

static void open_graph(emitting *e, const char *target, const char *text)
{
    optune_err err = {0};
    e->o = tuning_open_with("emit-graph", (optune_options){.target = target});
    check_ok(optune_graph_parse(text, "test", &e->g, &err));
    check_ok(optune_graph_infer(e->g, &err));
    check_ok(optune_graph_fill(e->g, 7, &err));
    check_ok(optune_partition_open(e->o, e->g, &e->p, &err));
}

static void close_graph(emitting *e)
{
    optune_partition_close(e->p);
    optune_graph_close(e->g);
    optune_close(e->o);
}

static optune_result *emit(emitting *e, const char *dir, const char *name)
{
    optune_result *result = NULL;
    optune_err err = {0};
    check_ok(optune_partition_emit(e->p, tuning_path(dir), name, false, &result, &err));
    return result;
}

static void emit_here(const char *text, const char *dir, const char *name)
{
    emitting e;
    open_graph(&e, "cpu -threads=1", text);
    optune_result_free(emit(&e, dir, name));
    close_graph(&e);
}

/* ---- building and running ---------------------------------------------------------------- */

static bool has_program(const char *name)
{
    char path[4096];
    return ot_find_program(name, path, sizeof path);
}

/* Every file but the kernels without a warning. */
static void build(const char *dir, const char *options)
{
    char words[512];
    snprintf(words, sizeof words,
             "make CFLAGS='-O2 -Wall -Wextra -Wshadow -pedantic -Werror' %s", options);
    assert_int_equal(emitted_command(dir, words, NULL), OPTUNE_OK);
}

/* Writes inputs, runs tuning_dir/DIR/PROGRAM, which must succeed, and compares each output with the
 * references' in double precision. Returns the largest difference in units of an output's largest
 * value. */
static double run(const emitting *e, const char *dir, const char *program, const char *more)
{
    const int n_in = optune_graph_inputs(e->g), n_out = optune_graph_outputs(e->g);
    const void *wide_in[MOST] = {NULL};
    optune_graph *wide = NULL;
    optune_values *values = NULL;
    optune_err err = {0};
    ot_text words = {0}, said = {0};
    double worst = 0;
    ot_text_printf(&words, "%s %s", program, more);
    check_ok(optune_graph_copy(e->g, true, &wide, &err));
    for (int i = 0; i < n_in; i++) {
        const optune_tensor *type = optune_graph_input_type(e->g, i);
        const size_t bytes = (size_t)optune_tensor_bytes(type);
        void *data = ot_alloc(bytes + 1);
        char file[64];
        ot_fill_input(type, 5, i, data);
        snprintf(file, sizeof file, "%s-in-%d", dir, i);
        check_ok(ot_write_file(tuning_path(file), data, bytes, &err));
        ot_text_printf(&words, " -i '%s'", tuning_path(file));
        const bool same =
            optune_dtype_equal(optune_graph_input_type(wide, i)->dtype, type->dtype);
        double *as_double = ot_alloc((size_t)optune_tensor_elements(type) * sizeof(double) + 1);
        ot_elements(type->dtype, data, 0, optune_tensor_elements(type), as_double);
        wide_in[i] = same ? data : (void *)as_double;
        free(same ? (void *)as_double : data);
    }
    for (int i = 0; i < n_out; i++) {
        char file[64];
        snprintf(file, sizeof file, "%s-out-%d", dir, i);
        ot_text_printf(&words, " -o '%s'", tuning_path(file));
    }
    if (emitted_command(dir, ot_text_str(&words), &said) < 0)
        fail_msg("%s", ot_text_str(&said));
    check_ok(optune_graph_evaluate(wide, wide_in, NULL, &values, &err));
    for (int i = 0; i < n_out; i++) {
        const optune_tensor *type = optune_graph_output_type(e->g, i);
        const int64_t n = optune_tensor_elements(type);
        double *want = ot_alloc((size_t)n * sizeof *want + 1), largest = 0, off = 0;
        double *got = ot_alloc((size_t)n * sizeof *got + 1);
        ot_text text = {0};
        char file[64];
        snprintf(file, sizeof file, "%s-out-%d", dir, i);
        check_ok(ot_read_file(tuning_path(file), &text, 1 << 26, &err));
        assert_int_equal(text.n, optune_tensor_bytes(type));
        ot_elements(type->dtype, ot_text_str(&text), 0, n, got);
        ot_elements(optune_values_type(values, i)->dtype, optune_values_data(values, i), 0, n,
                    want);
        for (int64_t k = 0; k < n; k++) {
            largest = fmax(largest, fabs(want[k]));
            off = isnan(got[k]) ? INFINITY : fmax(off, fabs(got[k] - want[k]));
        }
        worst = fmax(worst, off / (largest > 0 ? largest : 1));
        ot_text_release(&text);
        free(want);
        free(got);
    }
    for (int i = 0; i < n_in; i++)
        free((void *)(uintptr_t)wide_in[i]);
    optune_values_free(values);
    optune_graph_close(wide);
    ot_text_release(&words);
    ot_text_release(&said);
    return worst;
}

/* ---- what it computes -------------------------------------------------------------------- */

static void test_network(void **state)
{
    (void)state;
    emitting e;
    optune_err err = {0};
    open_graph(&e, "cpu -threads=1", network);
    optune_result *result = emit(&e, "network", NULL);
    check_contains(optune_result_text(result), "/network/model.weights\n");
    json_t *json = tuning_parse(optune_result_json(result));
    assert_int_equal(json_array_size(json_object_get(json, "inputs")), 2);
    assert_int_equal(json_array_size(json_object_get(json, "outputs")), 4);
    assert_int_equal(json_array_size(json_object_get(json, "weights")), 6);
    assert_int_equal(json_array_size(json_object_get(json, "groups")),
                     optune_partition_size(e.p));
    const json_t *files = json_object_get(json, "files");
    for (size_t i = 0; i < json_array_size(files); i++) {
        char path[256];
        snprintf(path, sizeof path, "network/%s", json_string_value(json_array_get(files, i)));
        assert_true(ot_exists(tuning_path(path)));
    }
    json_decref(json);
    optune_result_free(result);
    build("network", "");
    assert_true(run(&e, "network", "build/model", "-n 5 -j 4") < 1e-5);
    /* The comparison can fail. */
    ot_text weights = {0};
    check_ok(optune_graph_set_data(e.g, optune_graph_find(e.g, "c_2"), NULL, &err));
    check_ok(optune_graph_fill(e.g, 8, &err));
    assert_true(run(&e, "network", "build/model", "-n 0") > 1e-3);
    ot_text_release(&weights);
    close_graph(&e);
}

static void test_compilers(void **state)
{
    (void)state;
    emitting e;
    open_graph(&e, "cpu -threads=1", network);
    optune_result_free(emit(&e, "compilers", "net_2"));
    build("compilers", "CC=gcc B=sanitized EXTRA='" EMITTED_CHECKED ",undefined "
                       "-fno-sanitize-recover=undefined -fno-sanitize=alignment'");
    assert_true(run(&e, "compilers", "sanitized/net_2", "-n 1 -j 2") < 1e-5);
    if (has_program("clang")) {
        build("compilers", "CC=clang B=clang");
        assert_true(run(&e, "compilers", "clang/net_2", "-n 1") < 1e-5);
    }
    if (has_program("cmake")) {
        assert_int_equal(
            emitted_command("compilers",
                            "mkdir cm && cd cm && cmake -DCMAKE_C_FLAGS='-Wall -Wextra "
                            "-Werror' .. && cmake --build .",
                            NULL),
            OPTUNE_OK);
        assert_true(run(&e, "compilers", "cm/net_2_main", "-n 1") < 1e-5);
    }
    close_graph(&e);
}

static void test_two_threads(void **state)
{
    (void)state;
    emitting e;
    open_graph(&e, "cpu -threads=2",
               "x = var f32[64,512]\n"
               "y = relu(dense(x, const f32[512,512]))\nz = dense(y, const f32[256,512])\n"
               "output softmax(z)\n");
    optune_result_free(emit(&e, "parallel", NULL));
    build("parallel", "");
    assert_true(run(&e, "parallel", "build/model", "-n 2 -j 3") < 1e-5);
    assert_true(run(&e, "parallel", "OMP_NUM_THREADS=1 build/model", "-n 2") < 1e-5);
    close_graph(&e);
}

/* Whatever a graph may be: values of other types, scalars, nothing at all; outputs that are inputs,
 * constants, or named twice; constants with equal elements to pack; names that C has for itself. */
static void test_odd_graphs(void **state)
{
    (void)state;
    static const char *const text[] = {
        "int = var i64[2,3]\nwhile = var i32[3]\n"
        "output sort(int, axis=1), int, cast(int, dtype=f64), negative(while)\n",
        "x = var f32[]\ny = const f32[]\nz = multiply(x, y)\noutput z, y, x, z\n",
        "x = var f32[0,4]\ny = relu(x)\noutput y, x\n",
        "x = var f32[5]\na = const f32[7]\noutput x, a, a\n",
        "x = var f16[4,8]\ny = var bf16[4,8]\noutput tanh(x), add(y, y)\n",
        /* two kernels of one body, of which neither uses all that a macro of it defines */
        "x = var bf16[3,40]\ny = var bf16[7,9]\n"
        "output tanh(cast(x, dtype=f32)), tanh(cast(y, dtype=f32))\n",
        "x = var f32[6,16]\nw = const f32[16,16]\n"
        "a = dense(x, w)\nb = dense(a, w)\nc = dense(b, w)\noutput c, a\n",
        "a = const f32[3]\noutput exp(a)\n",
        "x = var f32[4,6]\np = topk(x, k=2, ret_type=both)\noutput p.1, p.0, relu(p.0)\n",
        "a = var u8[9]\nb = var u8[9]\nc = equal(a, b)\noutput cast(c, dtype=f32), c\n",
        /* nothing to run: an output is a part of an input, of a constant */
        "x = var f32[4,16]\nw = const f32[2,8]\ns = strided_slice(x, begin=[1], end=[3])\n"
        "output reshape(s, newshape=[32]), copy(w), squeeze(x)\n",
        /* parts of one home that are outputs, the whole of another that is */
        "x = var f32[1,16,4,4]\nw = const f32[1,16,3,3]\na = relu(x)\n"
        "b = conv2d(x, const f32[16,16,3,3], padding=[1])\nn = concatenate(a, b, axis=1)\n"
        "c = conv2d(n, const f32[4,32,1,1])\nm = concatenate(n, c, axis=1)\n"
        "f = reshape(m, newshape=[1,-1])\ns = strided_slice(m, begin=[0,16], end=[1,32])\n"
        "t = max_pool2d(s, pool_size=[2,2])\nu = concatenate(x, c, axis=1)\n"
        "p = exp(f)\nq = negative(f)\nk = concatenate(p, q)\n"
        "output b, t, u, reshape(w, newshape=[-1]), k, f\n",
        /* sums over what is added, but for one that is an output and one whose addend is read */
        "x = var f32[1,16,12,12]\na = relu(conv2d(x, const f32[16,16,1,1]))\n"
        "b = relu(add(conv2d(exp(x), const f32[16,16,1,1]), a))\ne = exp(b)\n"
        "c = add(conv2d(e, const f32[16,16,1,1]), b)\nk = add(conv2d(c, const f32[16,16,1,1]), "
        "c)\n"
        "h = add(conv2d(x, const f32[16,16,1,1]), k)\noutput h\n",
    };
    for (int i = 0; i < OT_COUNT(text); i++) {
        emitting e;
        char dir[32];
        snprintf(dir, sizeof dir, "odd-%d", i);
        open_graph(&e, "cpu -threads=1", text[i]);
        optune_result_free(emit(&e, dir, NULL));
        build(dir, "EXTRA='" EMITTED_CHECKED "'");
        const double off = run(&e, dir, "build/model", "-n 1 -j 2");
        if (!(off < 5e-3))
            fail_msg("graph %d is off by %g", i, off);
        close_graph(&e);
    }
}

static void test_two_models(void **state)
{
    (void)state;
    emit_here("x = var f32[2,8]\noutput dense(x, const f32[4,8])\n", "both/a", "first");
    emit_here("x = var f32[2,8]\noutput relu(dense(x, const f32[4,8]))\n", "both/b", "other");
    static const char program[] =
        "#include \"a/first.h\"\n#include \"b/other.h\"\n#include <stdlib.h>\n"
        "int main(void)\n{\n    float x[16], y[2][8], *p = y[0], *q = y[1];\n"
        "    for (int i = 0; i < 16; i++)\n        x[i] = i * 0.25f - 2;\n"
        "    const void *in[] = {x};\n    struct first_constants *f;\n"
        "    struct other_constants *o, *wrong = (void *)x;\n"
        "    if (first_init(\"a/first.weights\", &f) || other_init(\"b/other.weights\", &o))\n"
        "        return 1;\n"
        "    void *m = first_arena_new(), *n = other_arena_new();\n"
        "    if (first_run(f, m, in, (void *const[]){p}) || other_run(o, n, in, (void "
        "*const[]){q}))\n        return 2;\n"
        "    for (int i = 0; i < 8; i++)\n"
        "        if (q[i] != (p[i] > 0 ? p[i] : 0))\n            return 3;\n"
        "    if (first_run(f, (char *)m + 1, in, (void *const[]){p}) != FIRST_EARGUMENT ||\n"
        "        first_run(f, m, NULL, (void *const[]){p}) != FIRST_EARGUMENT ||\n"
        "        first_run(f, m, in, (void *const[]){NULL}) != FIRST_EARGUMENT)\n"
        "        return 4;\n"
        "    first_arena_free(m);\n    other_arena_free(n);\n"
        "    first_close(f);\n    other_close(o);\n    other_close(NULL);\n"
        "    if (other_init(\"none\", &wrong) != OTHER_EOPEN || wrong)\n        return 5;\n"
        "    return first_init(NULL, &f) == FIRST_EARGUMENT ? 0 : 6;\n}\n";
    optune_err err = {0};
    check_ok(ot_write_file(tuning_path("both/both.c"), program, sizeof program - 1, &err));
    build("both/a", "build/libfirst.a");
    build("both/b", "build/libother.a");
    assert_int_equal(
        emitted_command("both",
                        "cc -std=c99 -Wall -Wextra -Werror -fsanitize=address -o both both.c "
                        "a/build/libfirst.a b/build/libother.a -lm && ./both",
                        NULL),
        OPTUNE_OK);
    if (has_program("c++")) {
        check_ok(ot_write_file(tuning_path("both/both.cc"),
                               "#include \"a/first.h\"\nint main() { return FIRST_OK; }\n", 53,
                               &err));
        assert_int_equal(
            emitted_command("both", "c++ -Wall -Wextra -Werror -pedantic -o cc both.cc", NULL),
            OPTUNE_OK);
    }
}

/* ---- what is written --------------------------------------------------------------------- */

static void test_weights(void **state)
{
    (void)state;
    ot_text said = {0}, file = {0};
    optune_err err = {0};
    emit_here("x = var f32[3,20]\noutput dense(x, const f32[10,20])\n", "weights", NULL);
    emit_here("x = var f32[3,20]\noutput dense(x, const f32[11,20])\n", "others", NULL);
    build("weights", "");
    check_ok(ot_read_file(tuning_path("weights/model.weights"), &file, 1 << 20, &err));
    assert_int_equal(file.n % 64, 0);
    assert_int_equal(emitted_command("weights", "build/model -n 1", &said), OPTUNE_OK);
    assert_true(emitted_command("weights", "build/model -w ../others/model.weights", &said) <
                0);
    check_contains(ot_text_str(&said), "another model");
    assert_true(emitted_command("weights", "build/model -w none", &said) < 0);
    check_contains(ot_text_str(&said), "No such file");
    assert_true(emitted_command("weights", "build/model -w kernels", &said) < 0);
    assert_true(emitted_command("weights", "build/model -w main.c", &said) < 0);
    check_contains(ot_text_str(&said), "no file of weights");
    /* Any byte that changes is seen. */
    for (size_t at = 0; at < file.n; at += at < 64 ? 7 : 53) {
        file.s[at] ^= 4;
        check_ok(ot_write_file(tuning_path("weights/bad"), file.s, file.n, &err));
        file.s[at] ^= 4;
        assert_true(emitted_command("weights", "build/model -n 1 -w bad", &said) < 0);
    }
    for (size_t n = 0; n < file.n; n += 61) {
        check_ok(ot_write_file(tuning_path("weights/bad"), file.s, n, &err));
        assert_true(emitted_command("weights", "build/model -n 1 -w bad", &said) < 0);
    }
    assert_true(emitted_command("weights", "build/model -i main.c", &said) < 0);
    check_contains(ot_text_str(&said), "an input of 240 bytes is wanted");
    assert_true(emitted_command("weights", "build/model -n 1 -o /dev/full", &said) < 0);
    assert_true(emitted_command("weights", "build/model -o a -o b", &said) < 0);
    check_contains(ot_text_str(&said), "more files than the model has outputs");
    ot_text_release(&file);
    ot_text_release(&said);
}

static void test_same_twice(void **state)
{
    (void)state;
    emit_here(network, "once", NULL);
    emit_here(network, "twice", NULL);
    assert_int_equal(emitted_command(".", "diff -r once twice", NULL), OPTUNE_OK);
}

/* What is said of a group that a library would compute. */
static void test_libraries(void **state)
{
    (void)state;
    emitting e;
    open_graph(&e, "cpu -threads=1 -libs=cblas",
               "x = var f32[8,64]\noutput dense(x, const f32[32,64])\n");
    optune_call call;
    optune_err err = {0};
    ot_arena arena = {0};
    ot_question question;
    check_ok(optune_call_read(&call, "dense(f32[8,64], const f32[32,64])", &err));
    const optune_task task = {&call, &e.o->target, &e.o->device};
    const optune_impl *impl = ot_impl_find("dense_cblas.x86");
    const double cost = 1e-9;
    char digest[33];
    assert_non_null(impl);
    ot_context_question(e.o, &task, &question, &arena);
    ot_call_digest(&task, impl, digest);
    const optune_record r = {.call = question.call,
                             .op = "dense",
                             .target = question.target,
                             .device = question.device,
                             .policy = question.policy,
                             .impl = impl->name,
                             .digest = digest,
                             .depends = ot_context_depends(e.o, impl, NULL, &arena),
                             .cost = cost,
                             .low = cost,
                             .high = cost,
                             .n_samples = 1,
                             .sample = &cost,
                             .final = true,
                             .time = 1};
    check_ok(ot_make_dirs(e.o->db, &err));
    check_ok(ot_context_store(e.o, OT_STORE_WRITE, &err));
    check_ok(ot_store_put(e.o->stores->store, &r, 1, NULL, &err));
    ot_arena_release(&arena);
    check_ok(optune_partition_select(e.p, &err));
    assert_string_equal(optune_selection_impl(optune_partition_selection(e.p, 0)), impl->name);
    optune_result *result = emit(&e, "library", NULL);
    check_contains(optune_result_text(result),
                   " instead of dense_cblas.x86, which calls a library");
    optune_result_free(result);
    build("library", "");
    assert_true(run(&e, "library", "build/model", "-n 1") < 1e-5);
    close_graph(&e);
}

/* ---- the folder -------------------------------------------------------------------------- */

static int count_entries(const char *dir)
{
    int n = 0;
    DIR *open = opendir(dir);
    for (struct dirent *entry; open && (entry = readdir(open));)
        n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (open)
        closedir(open);
    return n;
}

static void test_folder(void **state)
{
    (void)state;
    emitting small, large;
    optune_err err = {0};
    optune_result *result = NULL;
    open_graph(&small, "cpu -threads=1", "x = var f32[4]\noutput relu(x)\n");
    open_graph(&large, "cpu -threads=1", network);
    check_ok(ot_make_dirs(tuning_path("folder/in"), &err));
    /* An empty one is taken; its own is replaced, stale files and what was built go. */
    optune_result_free(emit(&large, "folder/in", NULL));
    build("folder/in", "");
    const int files = count_entries(tuning_path("folder/in/kernels"));
    optune_result_free(emit(&small, "folder/in/", NULL));
    assert_int_equal(count_entries(tuning_path("folder/in/kernels")), 1);
    assert_true(files > 1);
    assert_false(ot_exists(tuning_path("folder/in/build")));
    /* Somebody's file: refused, and nothing changes; with force it stays. */
    check_ok(ot_write_file(tuning_path("folder/in/kernels/mine.c"), "x", 1, &err));
    assert_int_equal(
        optune_partition_emit(large.p, tuning_path("folder/in"), NULL, false, &result, &err),
        OPTUNE_EUSAGE);
    check_contains(err.text, "'kernels/mine.c', which optune did not write");
    assert_int_equal(count_entries(tuning_path("folder/in/kernels")), 2);
    check_ok(
        optune_partition_emit(large.p, tuning_path("folder/in"), NULL, true, &result, &err));
    optune_result_free(result);
    assert_int_equal(count_entries(tuning_path("folder/in/kernels")), files + 1);
    check_ok(
        optune_partition_emit(small.p, tuning_path("folder/in"), NULL, true, &result, &err));
    optune_result_free(result);
    assert_int_equal(count_entries(tuning_path("folder/in/kernels")), 2);
    check_ok(ot_make_dirs(tuning_path("folder/other"), &err));
    check_ok(ot_write_file(tuning_path("folder/other/model.c"), "x", 1, &err));
    assert_int_equal(
        optune_partition_emit(small.p, tuning_path("folder/other"), NULL, false, &result, &err),
        OPTUNE_EUSAGE);
    check_contains(err.text, "--force");
    /* A file, and a folder that cannot be made. */
    assert_int_equal(optune_partition_emit(small.p, tuning_path("folder/other/model.c"), NULL,
                                           true, &result, &err),
                     OPTUNE_EIO);
    assert_int_equal(optune_partition_emit(small.p, tuning_path("folder/other/model.c/x"), NULL,
                                           true, &result, &err),
                     OPTUNE_EIO);
    /* A disk that is full, here a limit on how long a file may be. */
    struct rlimit before, limit;
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = 20000;
    setrlimit(RLIMIT_FSIZE, &limit);
    signal(SIGXFSZ, SIG_IGN);
    const int status =
        optune_partition_emit(large.p, tuning_path("folder/full"), NULL, false, &result, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(status, OPTUNE_EIO);
    assert_false(ot_exists(tuning_path("folder/full")));
    optune_interrupt(large.o);
    assert_int_equal(
        optune_partition_emit(large.p, tuning_path("folder/full"), NULL, false, &result, &err),
        OPTUNE_EINTERRUPTED);
    assert_null(result);
    assert_int_equal(count_entries(tuning_path("folder")), 2); /* and nothing beside them */
    close_graph(&small);
    close_graph(&large);
}

static void test_refused(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_result *result = NULL;
    emitting e;
    open_graph(&e, "cpu -threads=1", "x = var f32[4]\noutput relu(x)\n");
    static const char *const names[] = {"", "9", "a b", "a-b", "_x", "../x"};
    for (int i = 0; i < OT_COUNT(names); i++)
        assert_int_equal(
            optune_partition_emit(e.p, tuning_path("refused"), names[i], false, &result, &err),
            OPTUNE_EUSAGE);
    close_graph(&e);
    optune_graph *g = NULL;
    optune_partition *p = NULL;
    optune *o = tuning_open("refused");
    check_ok(optune_graph_parse("x = var f32[?n,4]\noutput relu(x)\n", "test", &g, &err));
    check_ok(optune_partition_open(o, g, &p, &err));
    assert_int_equal(
        optune_partition_emit(p, tuning_path("refused"), NULL, false, &result, &err),
        OPTUNE_ETYPE);
    check_contains(err.text, "--bind");
    optune_partition_close(p);
    optune_graph_close(g);
    check_ok(optune_graph_parse("x = var f32[2,4]\noutput dense(x, const f32[3,4])\n", "test",
                                &g, &err));
    check_ok(optune_partition_open(o, g, &p, &err));
    assert_int_equal(
        optune_partition_emit(p, tuning_path("refused"), NULL, false, &result, &err),
        OPTUNE_EUSAGE);
    check_contains(err.text, "the constant has no elements");
    static const char *const taken[] = {"main", "stdint", "X", "r"};
    for (int i = 0; i < OT_COUNT(taken); i++) {
        assert_int_equal(
            optune_partition_emit(p, tuning_path("refused"), taken[i], false, &result, &err),
            OPTUNE_EUSAGE);
        check_contains(err.text, "_model' would do");
    }
    optune_partition_close(p);
    optune_graph_close(g);
    optune_close(o);
    o = tuning_open_with("refused", (optune_options){.target = "opencl"});
    if (ot_context_device(o, NULL) >= 0) {
        check_ok(optune_graph_parse("x = var f32[4]\noutput relu(x)\n", "test", &g, &err));
        check_ok(optune_partition_open(o, g, &p, &err));
        assert_int_equal(
            optune_partition_emit(p, tuning_path("refused"), NULL, false, &result, &err),
            OPTUNE_EUNSUPPORTED);
        check_contains(err.text, "for CPUs only, and the target is 'opencl'");
        optune_partition_close(p);
        optune_graph_close(g);
    }
    optune_close(o);
    assert_null(result);
    assert_false(ot_exists(tuning_path("refused/model.c")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_network),     cmocka_unit_test(test_compilers),
        cmocka_unit_test(test_two_threads), cmocka_unit_test(test_odd_graphs),
        cmocka_unit_test(test_two_models),  cmocka_unit_test(test_weights),
        cmocka_unit_test(test_same_twice),  cmocka_unit_test(test_libraries),
        cmocka_unit_test(test_folder),      cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, tuning_setup, tuning_teardown);
}
