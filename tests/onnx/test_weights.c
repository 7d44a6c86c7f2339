/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs over weights that stay in a model's file: the file is read while a program is opened and
 * not again, open programs and their clones do not care what becomes of it, new ones and emitted
 * ones are refused once it is another; and no constant of the graph keeps its pages.
 */
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "answer/graph.h"
#include "support/check.h"
#include "support/onnx_file.h"
#include "support/tuning.h"

enum { IN = 192, OUT = 160, PAGE = 4096 };

static float weight[IN][OUT], table[IN][OUT], x[2][IN];

/* y = (x w 2) + (x t), the first by way of a weight that is computed. */
static const char *write_model(float scale)
{
    static const float two = 2;
    static char path[1024];
    ot_text g = {0}, model = {0};
    optune_err err = {0};
    for (int i = 0; i < IN; i++)
        for (int k = 0; k < OUT; k++) {
            weight[i][k] = scale * (float)((i * 5 + k * 3) % 17 - 8);
            table[i][k] = scale * (float)((i * 7 + k) % 13 - 6);
        }
    for (int i = 0; i < 2 * IN; i++)
        x[i / IN][i % IN] = (float)(i % 5 - 2);
    onnx_input(&g, "x", ONNX_FLOAT, "2,192");
    onnx_initializer(&g, "w", ONNX_FLOAT, "192,160", weight, sizeof weight);
    onnx_initializer(&g, "t", ONNX_FLOAT, "192,160", table, sizeof table);
    onnx_initializer(&g, "two", ONNX_FLOAT, "", &two, sizeof two);
    onnx_node(&g, "Mul", "twice", "w two", "v", NULL);
    onnx_node(&g, "MatMul", "first", "x v", "a", NULL);
    onnx_node(&g, "MatMul", "second", "x t", "b", NULL);
    onnx_node(&g, "Add", "sum", "a b", "y", NULL);
    onnx_output(&g, "y");
    onnx_model(&g, 13, &model);
    snprintf(path, sizeof path, "%s", tuning_path("model.onnx"));
    check_ok(ot_write_file(path, ot_text_str(&model), model.n, &err));
    ot_text_release(&model);
    return path;
}

static void check_run(optune_program *p)
{
    static float y[2][OUT];
    const void *in = x;
    void *out = y;
    optune_err err = {0};
    check_ok(optune_program_run(p, &in, &out, &err));
    for (int r = 0; r < 2; r++)
        for (int k = 0; k < OUT; k++) {
            double want = 0, size = 1;
            for (int i = 0; i < IN; i++) {
                want += (double)x[r][i] * (2 * (double)weight[i][k] + (double)table[i][k]);
                size += fabs((double)x[r][i]) * (2 * fabs((double)weight[i][k]) + 6);
            }
            if (!(fabs(y[r][k] - want) <= 1e-5 * size))
                fail_msg("%d,%d is %g, not %g", r, k, (double)y[r][k], want);
        }
}

static int resident(const optune_graph *g)
{
    static unsigned char page[sizeof weight / PAGE + 2];
    int n = 0, backed = 0;
    for (int id = 0; id < g->n; id++) {
        const ot_backing *b = g->node[id].backing;
        if (!b)
            continue;
        backed++;
        assert_int_equal(mincore(b->data, b->bytes, page), 0);
        for (size_t p = 0; p < b->bytes / PAGE; p++)
            n += page[p] & 1;
    }
    assert_int_equal(backed, 2);
    return n;
}

static void programs_outlive_their_file(void **state)
{
    (void)state;
    optune_err err = {0};
    const char *path = write_model(1);
    optune *o = tuning_open("weights");
    optune_graph *g = NULL;
    optune_partition *partition = NULL;
    optune_program *p = NULL, *clone = NULL, *other = NULL;
    optune_result *result = NULL;
    check_ok(optune_graph_read(path, &g, &err));
    check_ok(optune_partition_open(o, g, &partition, &err));
    check_ok(optune_program_open(partition, &p, &err));
    assert_int_equal(resident(g), 0);
    check_run(p);
    check_ok(optune_program_open(partition, &other, &err)); /* it is read again */
    check_run(other);
    optune_program_close(other);
    check_ok(
        optune_partition_emit(partition, tuning_path("emitted"), "m", false, &result, &err));
    optune_result_free(result);
    assert_int_equal(truncate(path, 4000), 0);
    check_run(p);
    check_ok(optune_program_clone(p, &clone, &err));
    check_run(clone);
    optune_program_close(clone);
    check_run(p);
    other = p;
    assert_int_equal(optune_program_open(partition, &other, &err), OPTUNE_EIO);
    check_contains(err.text, "it became shorter");
    assert_null(other);
    result = NULL;
    assert_true(
        optune_partition_emit(partition, tuning_path("again"), "m", false, &result, &err) < 0);
    check_contains(err.text, "it became shorter");
    assert_int_not_equal(access(tuning_path("again"), F_OK), 0);
    assert_int_equal(resident(g), 0);
    optune_program_close(p);
    optune_partition_close(partition);
    optune_graph_close(g);
    optune_close(o);
}

/* Other elements of the same size in the same place: nobody computes with half of each. */
static void another_model_in_its_place(void **state)
{
    (void)state;
    optune_err err = {0};
    optune *o = tuning_open("weights");
    optune_graph *g = NULL;
    optune_partition *partition = NULL;
    optune_program *p = NULL;
    check_ok(optune_graph_read(write_model(1), &g, &err));
    check_ok(optune_partition_open(o, g, &partition, &err));
    const char *path = tuning_path("model.onnx");
    char kept[1100];
    snprintf(kept, sizeof kept, "%s.kept", path);
    assert_int_equal(link(path, kept), 0); /* the same file by another name */
    write_model(3);                        /* takes the name, not the file */
    write_model(1);
    check_ok(optune_program_open(partition, &p, &err));
    check_run(p);
    optune_program_close(p);
    FILE *file = fopen(kept, "r+b");
    assert_non_null(file);
    fseek(file, 50000, SEEK_SET);
    fputc('?', file);
    fclose(file);
    assert_int_equal(optune_program_open(partition, &p, &err), OPTUNE_EDAMAGED);
    check_contains(err.text, "was changed after the model was read");
    for (int id = 0; id < g->n; id++) /* given anew, nothing has to be read */
        if (g->node[id].backing) {
            const int64_t n = optune_tensor_elements(&g->node[id].out[0]);
            float *zeros = ot_alloc((size_t)n * sizeof(float));
            check_ok(optune_graph_set_data(g, id, zeros, &err));
            free(zeros);
        }
    check_ok(optune_program_open(partition, &p, &err));
    memset(weight, 0, sizeof weight);
    memset(table, 0, sizeof table);
    check_run(p);
    optune_program_close(p);
    optune_partition_close(partition);
    optune_graph_close(g);
    optune_close(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_outlive_their_file),
        cmocka_unit_test(another_model_in_its_place),
    };
    return cmocka_run_group_tests(tests, tuning_setup, tuning_teardown);
}
