/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs of ranges as C: one program, built by itself, computes every size that it is told as the
 * references do, by its dispatch tables where there are some, and writes nothing beyond; sizes
 * outside are refused by name; what C could not compute is refused before it is written.
 */
#include "support/tuning.h"

#include "answer/graph.h"
#include "support/check.h"
#include "support/emitted.h"
#include "support/tables.h"

#include <math.h>

enum { MOST = 16 };

typedef struct emitting {
    optune *o;
    optune_graph *g;
    optune_partition *p;
} emitting;

static void open_graph(emitting *e, const char *text)
{
    optune_err err = {0};
    e->o = tuning_open_with("emit-sizes", (optune_options){.target = "cpu -threads=1"});
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

/* Written, and built without a warning but of kernels. */
static void emit(emitting *e, const char *dir, const char *options)
{
    char words[512];
    optune_result *result = NULL;
    optune_err err = {0};
    check_ok(optune_partition_emit(e->p, tuning_path(dir), NULL, false, &result, &err));
    optune_result_free(result);
    snprintf(words, sizeof words,
             "make CFLAGS='-O2 -Wall -Wextra -Wshadow -pedantic -Werror' %s", options);
    assert_int_equal(emitted_command(dir, words, NULL), OPTUNE_OK);
}

/* The true types of the inputs: `sizes` has a type for each. */
static void read_types(const char *sizes, optune_tensor *type)
{
    optune_err err = {0};
    for (const char *end; *sizes; sizes = end + strspn(end, " "))
        check_ok(ot_tensor_parse(sizes, type++, &end, &err));
}

static void compare(const optune_values *values, int i, const char *file, const char *sizes)
{
    const optune_tensor *type = optune_values_type(values, i);
    const int64_t n = optune_tensor_elements(type);
    const float *want = optune_values_data(values, i);
    ot_text text = {0};
    optune_err err = {0};
    check_ok(ot_read_file(tuning_path(file), &text, 1 << 26, &err));
    assert_int_equal(text.n, n * (int64_t)sizeof *want);
    const float *got = (const float *)(const void *)ot_text_str(&text);
    for (int64_t k = 0; k < n; k++)
        if (!(fabs((double)got[k] - (double)want[k]) <= 1e-3))
            fail_msg("%s: output %d[%lld] is %g, not %g", sizes, i, (long long)k,
                     (double)got[k], (double)want[k]);
    ot_text_release(&text);
}

/* Runs tuning_dir/DIR/build/model with `more` words, which tell the sizes, and holds all outputs
 * against the references. */
static void run_at(const emitting *e, const char *dir, const char *sizes, const char *more)
{
    const int n_in = optune_graph_inputs(e->g), n_out = optune_graph_outputs(e->g);
    optune_tensor type[MOST];
    void *in[MOST];
    char file[64];
    optune_values *values = NULL;
    optune_err err = {0};
    ot_text words = {0}, said = {0};
    read_types(sizes, type);
    ot_text_printf(&words, "build/model -n 1 -j 2 %s", more);
    for (int i = 0; i < n_in; i++) {
        const size_t bytes = (size_t)optune_tensor_bytes(&type[i]);
        in[i] = ot_alloc(bytes + 1);
        ot_fill_input(&type[i], 5, i, in[i]);
        snprintf(file, sizeof file, "%s-in-%d", dir, i);
        check_ok(ot_write_file(tuning_path(file), in[i], bytes, &err));
        ot_text_printf(&words, " -i '%s'", tuning_path(file));
    }
    for (int i = 0; i < n_out; i++) {
        snprintf(file, sizeof file, "%s-out-%d", dir, i);
        ot_text_printf(&words, " -o '%s'", tuning_path(file));
    }
    if (emitted_command(dir, ot_text_str(&words), &said) < 0)
        fail_msg("%s: %s", more, ot_text_str(&said));
    check_contains(ot_text_str(&said), "all outputs are the same");
    check_ok(optune_graph_evaluate(e->g, (const void *const *)in, type, &values, &err));
    for (int i = 0; i < n_out; i++) {
        snprintf(file, sizeof file, "%s-out-%d", dir, i);
        compare(values, i, file, sizes);
    }
    for (int i = 0; i < n_in; i++)
        free(in[i]);
    optune_values_free(values);
    ot_text_release(&words);
    ot_text_release(&said);
}

/* Strides, joined and added branches, a plane laid flat; names that C has for itself. */
static void test_network(void **state)
{
    (void)state;
    emitting e;
    open_graph(&e, "x = var f32[?int:1..2,3,?height:1..40,?s:5..33]\n"
                   "c = relu(conv2d(x, const f32[8,3,3,3], strides=[2,2], padding=[1,1,1,1]))\n"
                   "p = max_pool2d(c, pool_size=[3,3], strides=[2,2], padding=[1,1,1,1])\n"
                   "a = conv2d(p, const f32[8,8,3,3], strides=[2,2], padding=[1,1,1,1])\n"
                   "b = conv2d(p, const f32[8,8,1,1], strides=[2,2])\n"
                   "d = relu(add(a, b))\n"
                   "f = reshape(d, newshape=[0,8,-1])\n"
                   "output f, p, x, d\n");
    emit(&e, "network",
         "EXTRA='-g -fsanitize=address,undefined "
         "-fno-sanitize-recover=undefined -fno-sanitize=alignment'");
    run_at(&e, "network", "f32[2,3,40,33]", "");
    run_at(&e, "network", "f32[1,3,1,5]", "-s int=1 -s height=1 -s s=5");
    run_at(&e, "network", "f32[1,3,33,8]", "-s int=1 -s height=33 -s s=8");
    run_at(&e, "network", "f32[2,3,17,31]", "-s s=31 -s height=17");
    ot_text said = {0};
    assert_true(emitted_command("network", "build/model -s s=4", &said) < 0);
    check_contains(ot_text_str(&said), "size 2, 's', is not 5 to 33");
    assert_true(emitted_command("network", "build/model -s height=0", &said) < 0);
    check_contains(ot_text_str(&said), "'height', is not 1 to 40");
    assert_true(emitted_command("network", "build/model -s w=4", &said) < 0);
    check_contains(ot_text_str(&said), "dims are int height s");
    assert_true(emitted_command("network", "build/model -s s=6 -i main.c", &said) < 0);
    check_contains(ot_text_str(&said), "an input of 5760 bytes is wanted");
    ot_text_release(&said);
    close_graph(&e);
}

/* Each row's kernel at the sizes that are its; constants are packed for all of them. */
static void test_table(void **state)
{
    (void)state;
    emitting e;
    open_graph(&e, "x = var f32[?n:1..20,24]\nw = const f32[20,24]\n"
                   "a = dense(x, w)\nb = dense(x, const f32[20,24])\n"
                   "c = dense(var f32[3,8], const f32[5,8])\n"
                   "d = dense(concatenate(x, x), w)\n"
                   "output softmax(a), b, c, d\n");
    tables_write(e.o, "dense(f32[?n:1..20,24], const f32[20,24])", 8, "dense_gemv.cpu",
                 "dense_gemm.cpu");
    tables_write(e.o, "dense(f32[?d0:2..40,24], const f32[20,24])", 8, "dense_gemv.cpu",
                 "dense_gemm.cpu");
    emit(&e, "table", "EXTRA='" EMITTED_CHECKED "'");
    ot_text text = {0};
    optune_err err = {0};
    check_ok(ot_read_file(tuning_path("table/model.c"), &text, 1 << 20, &err));
    check_contains(text.s, "        if (s->of_n <= 8)\n            model_k0_run(packed");
    check_contains(text.s, "        if ((2*s->of_n) <= 8)\n            model_k");
    ot_text_clear(&text);
    check_ok(ot_read_file(tuning_path("table/emitted.json"), &text, 1 << 20, &err));
    json_t *json = tuning_parse(text.s);
    const json_t *rows =
        json_object_get(json_array_get(json_object_get(json, "groups"), 0), "rows");
    assert_int_equal(json_array_size(rows), 2);
    assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 0), "impl")),
                        "dense_gemv.cpu");
    assert_int_equal(tuning_int(json_array_get(json_object_get(json, "sizes"), 0), "max"), 20);
    json_decref(json);
    ot_text_release(&text);
    for (int n = 1; n <= 20; n += n == 1 ? 6 : n == 7 ? 1 : n == 8 ? 1 : 11) {
        char sizes[64], more[32];
        snprintf(sizes, sizeof sizes, "f32[%d,24] f32[3,8]", n);
        snprintf(more, sizeof more, "-s n=%d", n);
        run_at(&e, "table", sizes, more);
    }
    close_graph(&e);
}

/* Bodies of one image, each repeated for a batch, side by side in one program. */
static void test_batches_of_images(void **state)
{
    (void)state;
    emitting e;
    open_graph(&e, "x = var f32[?n:1..3,8,9,9]\n"
                   "a = relu(conv2d(x, const f32[16,8,3,3], padding=[1,1,1,1]))\n"
                   "b = conv2d(a, const f32[24,16,3,3], strides=[2,2])\n"
                   "output conv2d(b, const f32[8,24,1,1])\n");
    emit(&e, "batches", "");
    ot_text text = {0};
    optune_err err = {0};
    check_ok(ot_read_file(tuning_path("batches/model.c"), &text, 1 << 20, &err));
    const char *first = strstr(text.s, "_ot_each(");
    assert_non_null(first);
    check_contains(first + 1, "_ot_each(");
    ot_text_release(&text);
    run_at(&e, "batches", "f32[3,8,9,9]", "");
    run_at(&e, "batches", "f32[1,8,9,9]", "-s n=1");
    close_graph(&e);
}

/* Dims of inputs that follow from others; those that no expression names until it is found. */
static void test_what_follows(void **state)
{
    (void)state;
    emitting e;
    open_graph(&e, "x = var f32[?n:0..5,4]\ny = var f32[?n:0..5,4]\nz = var f32[?2*n,3]\n"
                   "m = var f32[?k:1..9]\n"
                   "c = concatenate(x, y)\n"
                   "s = add(dense(c, const f32[3,4]), z)\n"
                   "p = pad(m, before=[1], after=[2])\n"
                   "output s, c, concatenate(p, m), relu(x)\n");
    emit(&e, "follows", "EXTRA='" EMITTED_CHECKED "'");
    run_at(&e, "follows", "f32[5,4] f32[5,4] f32[10,3] f32[9]", "");
    run_at(&e, "follows", "f32[2,4] f32[2,4] f32[4,3] f32[1]", "-s n=2 -s k=1");
    run_at(&e, "follows", "f32[0,4] f32[0,4] f32[0,3] f32[6]", "-s n=0 -s k=6");
    close_graph(&e);
}

/* From a program: NULL, sizes outside, shapes at sizes. */
static void test_functions(void **state)
{
    (void)state;
    emitting e;
    open_graph(&e, "x = var f32[?n:2..9,?m:1..3]\noutput concatenate(x, x)\n");
    emit(&e, "calls", "");
    static const char program[] =
        "#include \"model.h\"\n#include <stdio.h>\n#include <string.h>\n"
        "int main(void)\n{\n    struct model_constants *c;\n"
        "    float x[27] = {1, 2, 3, 4, 5, 6}, y[54];\n"
        "    const void *in[] = {x};\n    void *out[] = {y};\n"
        "    int64_t size[2] = {3, 2}, dim[8];\n"
        "    if (model_init(\"model.weights\", &c) < 0)\n        return 1;\n"
        "    void *arena = model_arena_new();\n"
        "    if (MODEL_SIZES != 2 || strcmp(model_size[1].name, \"m\") ||\n"
        "        model_size[0].min != 2 || model_size[0].max != 9)\n        return 2;\n"
        "    if (model_output_shape(0, size, dim) != MODEL_OK || dim[0] != 6 || dim[1] != 2 "
        "||\n"
        "        model_input_shape(0, size, dim) != MODEL_OK || dim[0] != 3 ||\n"
        "        model_input_shape(1, size, dim) != MODEL_EARGUMENT ||\n"
        "        model_output_shape(0, size, NULL) != MODEL_EARGUMENT ||\n"
        "        model_output_shape(0, NULL, dim) != MODEL_EARGUMENT)\n        return 3;\n"
        "    if (model_run(c, arena, size, in, out) != MODEL_OK || memcmp(x, y, 24) ||\n"
        "        memcmp(x, y + 6, 24))\n        return 4;\n"
        "    size[1] = 4;\n"
        "    if (model_run(c, arena, size, in, out) != MODEL_ESIZE - 1 ||\n"
        "        model_output_shape(0, size, dim) != MODEL_ESIZE - 1 ||\n"
        "        !strstr(model_message(MODEL_ESIZE - 1), \"'m', is not 1 to 3\"))\n"
        "        return 5;\n"
        "    if (model_run(c, arena, NULL, in, out) != MODEL_EARGUMENT)\n        return 6;\n"
        "    model_arena_free(arena);\n    model_close(c);\n    return 0;\n}\n";
    optune_err err = {0};
    check_ok(ot_write_file(tuning_path("calls/other.c"), program, sizeof program - 1, &err));
    assert_int_equal(
        emitted_command("calls",
                        "cc -std=c99 -Wall -Wextra -Werror -fsanitize=address -o other "
                        "other.c build/libmodel.a -lm && ./other",
                        NULL),
        OPTUNE_OK);
    close_graph(&e);
}

static void refused(const char *text, int status, const char *words)
{
    emitting e;
    optune_result *result = NULL;
    optune_err err = {0};
    open_graph(&e, text);
    assert_int_equal(
        optune_partition_emit(e.p, tuning_path("refused"), NULL, false, &result, &err), status);
    check_contains(err.text, words);
    assert_null(result);
    assert_false(ot_exists(tuning_path("refused")));
    close_graph(&e);
}

static void test_refused(void **state)
{
    (void)state;
    refused("x = var f32[?n,3]\noutput relu(x)\n", OPTUNE_ETYPE,
            "values or ranges with --bind (?n)");
    refused("x = var f32[?n:1..4]\noutput argwhere(x)\n", OPTUNE_EUNSUPPORTED,
            "its dims follow from values");
    refused("x = var f32[1,2,?h:2..12,6]\n"
            "d = conv2d(x, const f32[4,2,3,3], strides=[2,2], padding=[1,1,1,1])\n"
            "u = conv2d_transpose(d, const f32[4,3,2,2], strides=[2,2])\n"
            "j = concatenate(u, x, axis=1)\noutput j\n",
            OPTUNE_ETYPE, "its types do not fit at h=");
    refused("x = var f32[?n:1..640,4]\nc = concatenate(x, x)\n"
            "output strided_slice(c, begin=[0,0], end=[7,2])\n",
            OPTUNE_EUNSUPPORTED, "has no expression over the sizes of inputs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_network),      cmocka_unit_test(test_table),
        cmocka_unit_test(test_what_follows), cmocka_unit_test(test_functions),
        cmocka_unit_test(test_refused),      cmocka_unit_test(test_batches_of_images),
    };
    return cmocka_run_group_tests(tests, tuning_setup, tuning_teardown);
}
