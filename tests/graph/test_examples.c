/* SPDX-License-Identifier: Apache-2.0 */
/* The graphs in examples/ are what they say: they read, infer, print back and have gradients. */
#include "support/check.h"

#include "graph/graph.h"

#include <glob.h>

static optune_graph *read_example(const char *name)
{
    char path[512];
    optune_err err = {0};
    optune_graph *g = NULL;
    snprintf(path, sizeof path, "%s/examples/%s.graph", OT_SOURCE_DIR, name);
    check_ok(optune_graph_read(path, &g, &err));
    check_ok(optune_graph_infer(g, &err));
    return g;
}

static int count(const optune_graph *g, const char *op)
{
    int n = 0;
    for (int id = 0; id < g->n; id++)
        n += g->node[id].call && !strcmp(g->node[id].call->op->name, op);
    return n;
}

static void check_output(const optune_graph *g, const char *want)
{
    ot_text text = {0};
    ot_tensor_print(optune_graph_output_type(g, 0), &text);
    assert_string_equal(ot_text_str(&text), want);
    ot_text_release(&text);
}

static void every_example_reads_back(void **state)
{
    (void)state;
    char pattern[512];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/examples/*.graph", OT_SOURCE_DIR);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_true(found.gl_pathc >= 3);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        optune_err err = {0};
        optune_graph *g = NULL, *again = NULL, *with = NULL;
        check_ok(optune_graph_read(found.gl_pathv[i], &g, &err));
        check_ok(optune_graph_infer(g, &err));
        check_ok(optune_graph_parse(optune_graph_text(g, true), "again", &again, &err));
        check_ok(optune_graph_infer(again, &err));
        assert_string_equal(optune_graph_text(again, true), optune_graph_text(g, true));
        for (int d = 0; d < g->n; d++) /* symbolic examples: any size */
            for (int k = 0; k < g->node[d].n_out && g->node[d].out[k].rank > 0; k++)
                if (g->node[d].out[k].dim[0].name[0])
                    check_ok(optune_graph_bind(g, g->node[d].out[k].dim[0].name, 2, &err));
        assert_int_equal(optune_graph_infer(g, &err), OPTUNE_OK);
        check_ok(optune_graph_gradient(g, NULL, 0, &with, &err));
        assert_true(optune_graph_outputs(with) > optune_graph_outputs(g));
        optune_graph_close(with);
        optune_graph_close(again);
        optune_graph_close(g);
    }
    globfree(&found);
}

static void resnet50_has_its_operators(void **state)
{
    (void)state;
    optune_graph *g = read_example("resnet50");
    assert_int_equal(count(g, "conv2d"), 53);
    assert_int_equal(count(g, "dense"), 1);
    assert_int_equal(count(g, "relu"), 49);
    check_output(g, "f32[1,1000]");
    optune_graph_close(g);

    /* The file is what its script writes. */
    char path[512];
    optune_err err = {0};
    ot_text written = {0}, file = {0};
    snprintf(path, sizeof path, "%s/scripts/resnet50_graph", OT_SOURCE_DIR);
    check_ok(ot_run_program((char *const[]){"sh", path, NULL}, 20, &written, &err));
    snprintf(path, sizeof path, "%s/examples/resnet50.graph", OT_SOURCE_DIR);
    check_ok(ot_read_file(path, &file, 1 << 20, &err));
    assert_string_equal(ot_text_str(&written), ot_text_str(&file));
    ot_text_release(&written);
    ot_text_release(&file);
}

static void the_others_have_theirs(void **state)
{
    (void)state;
    optune_graph *g = read_example("mlp");
    assert_int_equal(count(g, "dense"), 3);
    check_output(g, "f32[?batch:1..256,10]");
    optune_graph_close(g);
    g = read_example("transformer");
    assert_int_equal(count(g, "dense"), 6);
    assert_int_equal(count(g, "batch_matmul"), 2);
    check_output(g, "f32[128,768]");
    optune_graph_close(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_example_reads_back),
        cmocka_unit_test(resnet50_has_its_operators),
        cmocka_unit_test(the_others_have_theirs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
