/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constants that the graph can have again are used where they lie, whole and in parts, from the
 * group that needs them first until the program is closed, where a kernel reads them in its runs;
 * no copy is made. What was packed is let go.
 */
#include "answer/graph.h"
#include "support/check.h"
#include "support/tuning.h"

enum { ROWS = 96, COLUMNS = 64, FROM = 32, PICKED = 3 };

static int times_read;

static int fill(void *from, void *to, size_t bytes, optune_err *err)
{
    (void)err;
    const int *modulus = from;
    float *value = to;
    times_read++;
    for (size_t i = 0; i < bytes / sizeof *value; i++)
        value[i] = (float)((int)(i % (size_t)*modulus) - 8);
    return OPTUNE_OK;
}

static void leave(void *from)
{
    (void)from;
}

/* The constant of so many rows becomes a backed one. */
static int back(optune_graph *g, int64_t rows, int *modulus)
{
    optune_err err = {0};
    for (int id = 0; id < g->n; id++)
        if (g->node[id].kind == OT_NODE_CONST && g->node[id].out[0].dim[0].min == rows) {
            ot_backing *b = ot_backing_new((size_t)optune_tensor_bytes(&g->node[id].out[0]),
                                           fill, leave, modulus, &err);
            assert_non_null(b);
            g->node[id].backing = b;
            g->node[id].data = b->data;
            return id;
        }
    fail();
    return -1;
}

/* Where a program has what a node gives; NULL: nowhere. */
static const char *where(const optune_program *p, int node)
{
    void *buffer = ot_program_buffer(p, (ot_value){node, 0});
    return buffer ? p->machine.row->address(p->machine.state, buffer) : NULL;
}

static void check_run(optune_program *p)
{
    static float x[COLUMNS], a[PICKED * COLUMNS], b[PICKED * COLUMNS], y[2 * ROWS];
    static const int64_t index[PICKED] = {0, 5, 31};
    const void *in[] = {index, x};
    void *out[] = {a, b, y};
    optune_err err = {0};
    for (int i = 0; i < COLUMNS; i++)
        x[i] = (float)(i % 3);
    memset(a, 0xff, sizeof a);
    memset(b, 0xff, sizeof b);
    check_ok(optune_program_run(p, in, out, &err));
    for (int i = 0; i < PICKED * COLUMNS; i++) {
        const int64_t at = index[i / COLUMNS] * COLUMNS + i % COLUMNS;
        assert_true(a[i] == (float)(at % 17) - 8);
        assert_true(b[i] == (float)((at + FROM * COLUMNS) % 17) - 8);
    }
    for (int r = 0; r < 2 * ROWS; r++) {
        double want = 0;
        for (int k = 0; k < COLUMNS; k++)
            want += x[k] * ((r * COLUMNS + k) % 13 - 8);
        assert_true(y[r] == want);
    }
}

static void test_in_place(void **state)
{
    (void)state;
    static const char text[] = "i = var i64[3]\n"
                               "x = var f32[1,64]\n"
                               "t = const f32[96,64]\n"
                               "w = const f32[192,64]\n"
                               "part = strided_slice(t, begin=[32,0], end=[96,64])\n"
                               "a = take(t, i, axis=0)\n"
                               "b = take(part, i, axis=0)\n"
                               "y = dense(x, w)\n"
                               "output a, b, y\n";
    static int seventeen = 17, thirteen = 13;
    optune_err err = {0};
    optune *o = tuning_open("backed");
    optune_graph *g = NULL;
    optune_partition *partition = NULL;
    optune_program *p = NULL, *clone = NULL;
    check_ok(optune_graph_parse(text, "backed", &g, &err));
    check_ok(optune_graph_infer(g, &err));
    const int t = back(g, ROWS, &seventeen), w = back(g, 2 * ROWS, &thirteen);
    int part = -1;
    for (int id = 0; id < g->n; id++)
        if (!strcmp(optune_graph_name(g, id), "part"))
            part = id;
    check_ok(optune_partition_open(o, g, &partition, &err));
    times_read = 0;
    check_ok(optune_program_open(partition, &p, &err));
    assert_int_equal(times_read, 2);
    assert_int_equal(g->node[t].backing->held, 1);
    assert_ptr_equal(where(p, t), g->node[t].data);
    assert_ptr_equal(where(p, part),
                     (const char *)g->node[t].data + FROM * COLUMNS * sizeof(float));
    /* Whether a dense kernel packs its weight is its own affair: it is held, or it is gone. */
    assert_ptr_equal(where(p, w), g->node[w].backing->held ? g->node[w].data : NULL);
    check_run(p);
    check_ok(optune_program_clone(p, &clone, &err));
    check_run(clone);
    optune_program_close(p);
    check_run(clone);
    optune_program_close(clone);
    assert_int_equal(g->node[t].backing->held, 0);
    assert_int_equal(g->node[w].backing->held, 0);
    optune_partition_close(partition);
    optune_graph_close(g);
    optune_close(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_place),
    };
    return cmocka_run_group_tests(tests, tuning_setup, tuning_teardown);
}
