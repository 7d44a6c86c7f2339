/* SPDX-License-Identifier: Apache-2.0 */
/* A model file wherever a graph file is taken; without what reads it, what to install. */
#include "support/command.h"
#include "support/onnx_file.h"

static const char *write_model(void)
{
    static char path[512];
    ot_text model = {0};
    optune_err err = {0};
    onnx_small(&model);
    snprintf(path, sizeof path, "%s", command_path("small.onnx"));
    check_ok(ot_write_file(path, ot_text_str(&model), model.n, &err));
    ot_text_release(&model);
    return path;
}

#ifdef OT_HAS_ONNX
static void commands_take_models(void **state)
{
    (void)state;
    const char *file = write_model();
    outcome o = optune("graph", file, "--bind", "batch=2");
    assert_int_equal(o.code, 0);
    check_contains(ot_text_str(&o.out), "= var f32[2,2,3,3]");
    check_contains(ot_text_str(&o.out), " = conv2d(x, ");
    release(&o);
    o = optune("graph", file, "--bind", "batch=2", "--execute");
    check_contains(ot_text_str(&o.out), "output 0  f32[2,2]");
    expect("execute", &o, 0, "");
    o = optune("select", "--graph", file, "--bind", "batch=2");
    check_contains(ot_text_str(&o.out), "conv2d_");
    expect("select", &o, 0, "");
    o = optune("graph", file, "--bind", "batch=1..6", "--execute");
    check_contains(ot_text_str(&o.out), "output 0  f32[4,2]");
    check_contains(ot_text_str(&o.out), "of f32[?batch:1..6,2,3,3]");
    expect("execute", &o, 0, "");
}

/* Without an operator, a word with a dot or a slash is a file. */
static void run_takes_a_model(void **state)
{
    (void)state;
    outcome o =
        optune("run", write_model(), "--bind", "batch=2", "--trials", "1", "--time", "20");
    check_contains(ot_text_str(&o.out), "dense");
    expect("run", &o, 0, "");
    refused(3, "small.onyx", "run", "./small.onyx");
}

/* x -> ReLU -> an operator that nobody knows, whose output's type is told -> sigmoid -> another. */
static const char *write_odd(void)
{
    static char path[512];
    ot_text g = {0}, model = {0};
    optune_err err = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "2,300");
    onnx_node(&g, "Relu", "first", "x", "a", NULL);
    onnx_node(&g, "Bernoulli", "dice", "a words", "b", NULL);
    onnx_node(&g, "Sigmoid", "last", "b", "c", NULL);
    onnx_node(&g, "DeformConv", "around", "c", "d", NULL);
    onnx_node(&g, "Exp", "end", "d", "y", NULL);
    onnx_initializer(&g, "words", 8, "1", NULL, 0);
    onnx_told(&g, "b", ONNX_FLOAT, "unk__0,300");
    onnx_output(&g, "y");
    onnx_model(&g, 17, &model);
    snprintf(path, sizeof path, "%s", command_path("odd.onnx"));
    check_ok(ot_write_file(path, ot_text_str(&model), model.n, &err));
    ot_text_release(&model);
    return path;
}

/* What can be read is tuned; what is left out, and what depends on it, is named. */
static void run_takes_a_part(void **state)
{
    (void)state;
    const char *file = write_odd();
    refused(1, "initializer 'words'", "run", file);
    outcome o = optune("graph", file, "--partial", "--bind", "unk__0=2", "--groups");
    check_contains(ot_text_str(&o.out), "sigmoid(f32[2,300])");
    expect("graph", &o, 0, "left out: Exp 'end'");
    o = optune("select", "--graph", file, "--partial", "--bind", "unk__0=2");
    check_contains(ot_text_str(&o.out), "sigmoid");
    expect("select", &o, 0, "left out: initializer 'words'");
    o = optune("run", file, "--partial", "--bind", "unk__0=2", "--trials", "1", "--time", "20");
    check_contains(ot_text_str(&o.err), "left out: Bernoulli 'dice'");
    check_contains(ot_text_str(&o.err), "left out: DeformConv 'around'");
    check_contains(ot_text_str(&o.err), "left out: Exp 'end'");
    check_contains(ot_text_str(&o.out), "relu");
    check_contains(ot_text_str(&o.out), "sigmoid");
    assert_int_equal(o.code, 0);
    release(&o);
    refused(2, "--partial go with --graph", "run", "relu", "--partial");
}
#else
static void run_takes_a_part(void **state)
{
    (void)state;
}

static void commands_take_models(void **state)
{
    (void)state;
    refused(1, "libonnx-dev", "graph", write_model());
}

static void run_takes_a_model(void **state)
{
    (void)state;
    refused(1, "protobuf-c-compiler", "run", write_model());
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_take_models),
        cmocka_unit_test(run_takes_a_model),
        cmocka_unit_test(run_takes_a_part),
    };
    return cmocka_run_group_tests(tests, command_setup, command_teardown);
}
