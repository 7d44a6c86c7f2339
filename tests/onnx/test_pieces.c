/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Large elements stay in their file: what is computed with them is the same, they take memory only
 * while they are held, and a file that is changed, cut off, removed or replaced behind a model's
 * back ends in a message or in what was read, never in other numbers and never in a crash.
 */
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/graph.h"
#include "support/onnx_file.h"

enum { ROWS = 8, COLUMNS = 1 << 16, PAGE = 4096 };

static char outside[512];
static float weight[ROWS][COLUMNS];

static int make_folder(void **state)
{
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < COLUMNS; k++)
            weight[i][k] = (float)((i * 31 + k * 7) % 257 - 128);
    if (onnx_make_folder(state) < 0)
        return -1;
    snprintf(outside, sizeof outside, "%s/weights.bin", onnx_folder);
    return 0;
}

/* The ways in which a file keeps w. */
static void raw(ot_text *g)
{
    onnx_initializer(g, "w", ONNX_FLOAT, "8,65536", weight, sizeof weight);
}

static void packed(ot_text *g)
{
    ot_text tensor = {0};
    wire_int(&tensor, 1, ROWS);
    wire_int(&tensor, 1, COLUMNS);
    wire_bytes(&tensor, 4, weight, sizeof weight);
    wire_int(&tensor, 2, ONNX_FLOAT); /* behind its elements */
    wire_text(&tensor, 8, "w");
    wire_part(g, 5, &tensor);
}

static void in_a_node(ot_text *g)
{
    ot_text tensor = {0}, attr = {0}, node = {0};
    wire_int(&tensor, 1, ROWS);
    wire_int(&tensor, 1, COLUMNS);
    wire_int(&tensor, 2, ONNX_FLOAT);
    wire_bytes(&tensor, 9, weight, sizeof weight);
    wire_text(&attr, 1, "value");
    wire_part(&attr, 5, &tensor);
    wire_int(&attr, 20, 4);
    wire_text(&node, 2, "w");
    wire_text(&node, 4, "Constant");
    wire_part(&node, 5, &attr);
    wire_part(g, 1, &node);
}

static void in_a_file(ot_text *g)
{
    optune_err err = {0};
    check_ok(ot_write_file(outside, (const char *)weight, sizeof weight, &err));
    onnx_external(g, "w", "8,65536", "weights.bin", "0");
}

/* In two parts, which are one list: nothing of it may be left in the file. */
static void in_parts(ot_text *g)
{
    ot_text tensor = {0};
    wire_int(&tensor, 1, ROWS);
    wire_int(&tensor, 1, COLUMNS);
    wire_int(&tensor, 2, ONNX_FLOAT);
    wire_bytes(&tensor, 4, weight, sizeof weight / 2);
    wire_bytes(&tensor, 4, (const char *)weight + sizeof weight / 2, sizeof weight / 2);
    wire_text(&tensor, 8, "w");
    wire_part(g, 5, &tensor);
}

/* y = x + 2 w. */
static void write_model(void (*keep)(ot_text *g))
{
    static const float two = 2;
    ot_text g = {0}, model = {0};
    optune_err err = {0};
    onnx_input(&g, "x", ONNX_FLOAT, "65536");
    keep(&g);
    onnx_initializer(&g, "two", ONNX_FLOAT, "", &two, sizeof two);
    onnx_node(&g, "Mul", "twice", "w two", "d", NULL);
    onnx_node(&g, "Add", "sum", "x d", "y", NULL);
    onnx_output(&g, "y");
    onnx_model(&g, 13, &model);
    check_ok(ot_write_file(onnx_path, ot_text_str(&model), model.n, &err));
    ot_text_release(&model);
}

static optune_graph *read_model(void)
{
    optune_graph *g = NULL;
    optune_err err = {0};
    check_ok(optune_graph_read(onnx_path, &g, &err));
    return g;
}

static int compute(optune_graph *g, optune_err *err)
{
    static float x[COLUMNS];
    const void *in = x;
    optune_values *values = NULL;
    *err = (optune_err){0};
    for (int k = 0; k < COLUMNS; k++)
        x[k] = (float)(k % 3);
    const int status = optune_graph_evaluate(g, &in, NULL, &values, err);
    const float *y = status < 0 ? NULL : optune_values_data(values, 0);
    for (int i = 0; i < ROWS && y; i++)
        for (int k = 0; k < COLUMNS; k++)
            if (y[i * COLUMNS + k] != x[k] + 2 * weight[i][k])
                fail_msg("%d,%d: %g", i, k, (double)y[i * COLUMNS + k]);
    optune_values_free(values);
    return status;
}

/* The pages that the constants of a graph have in memory. */
static int resident(const optune_graph *g)
{
    static unsigned char page[sizeof weight / PAGE];
    int n = 0;
    for (int id = 0; id < g->n; id++) {
        const ot_backing *b = g->node[id].backing;
        if (!b || mincore(b->data, b->bytes, page) < 0)
            continue;
        for (size_t p = 0; p < b->bytes / PAGE; p++)
            n += page[p] & 1;
    }
    return n;
}

static void they_are_the_same_from_anywhere(void **state)
{
    void (*const ways[])(ot_text *) = {raw, packed, in_a_node, in_a_file, in_parts};
    optune_err err = {0};
    (void)state;
    for (int i = 0; i < OT_COUNT(ways); i++) {
        write_model(ways[i]);
        optune_graph *g = read_model();
        check_ok(compute(g, &err));
        check_ok(compute(g, &err));
        optune_graph_close(g);
    }
}

static void they_take_no_memory_between(void **state)
{
    optune_err err = {0};
    const void *data = NULL;
    (void)state;
    write_model(raw);
    optune_graph *g = read_model(), *copy = NULL;
    int backed = -1;
    for (int id = 0; id < g->n; id++)
        backed = g->node[id].backing ? id : backed;
    assert_true(backed >= 0);
    assert_int_equal(resident(g), 0);
    check_ok(ot_graph_hold(g, backed, &data, &err));
    check_ok(ot_graph_hold(g, backed, &data, &err));
    assert_int_equal(resident(g), sizeof weight / PAGE);
    ot_graph_let_go(g, backed);
    assert_true(((const float *)data)[1] == 2 * weight[0][1]);
    ot_graph_let_go(g, backed);
    assert_int_equal(resident(g), 0);
    check_ok(compute(g, &err));
    assert_int_equal(resident(g), 0);
    check_ok(optune_graph_copy(g, false, &copy, &err));
    optune_graph_close(g); /* the copy has them still */
    check_ok(compute(copy, &err));
    assert_int_equal(resident(copy), 0);
    check_ok(optune_graph_copy(copy, true, &g, &err));
    optune_graph_close(g);
    check_ok(optune_graph_set_data(copy, backed, weight, &err));
    optune_graph_close(copy);
}

static void write_at(const char *file, int64_t offset, const void *data, size_t n)
{
    const int fd = open(file, O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, data, n, offset), n);
    close(fd);
}

static void changed_files_are_refused(void **state)
{
    optune_err err = {0};
    (void)state;
    for (int i = 0; i < 2; i++) {
        const char *file = i ? outside : onnx_path;
        write_model(i ? in_a_file : raw);
        optune_graph *g = read_model();
        const int64_t at = (int64_t)sizeof weight / 2;
        float was = 0;
        const int fd = open(file, O_RDONLY);
        assert_int_equal(pread(fd, &was, sizeof was, at), sizeof was);
        close(fd);
        const float other = was + 1;
        write_at(file, at, &other, sizeof other);
        assert_int_equal(compute(g, &err), OPTUNE_EDAMAGED);
        check_contains(err.text, "was changed after the model was read");
        write_at(file, at, &was, sizeof was); /* and back */
        check_ok(compute(g, &err));
        assert_int_equal(truncate(file, 1000), 0);
        assert_int_equal(compute(g, &err), OPTUNE_EIO);
        check_contains(err.text, "it became shorter");
        assert_int_equal(optune_graph_copy(g, true, &(optune_graph *){NULL}, &err), OPTUNE_EIO);
        assert_int_equal(resident(g), 0);
        optune_graph_close(g);
    }
}

static int64_t bytes_read(void)
{
    char text[1024], *at;
    const int fd = open("/proc/self/io", O_RDONLY);
    const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return -1;
    text[n] = '\0';
    at = strstr(text, "rchar: ");
    return at ? atoll(at + 7) : -1;
}

static void let_it_be_old(const char *file)
{
    const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1700000000}};
    assert_int_equal(utimensat(AT_FDCWD, file, times, 0), 0);
}

/* A file that nobody has touched for a while is not read for a digest of its own, and a change is
 * noticed all the same: before the first time that elements are read, and behind it. */
static void settled_files_are_read_once(void **state)
{
    optune_err err = {0};
    (void)state;
    for (int i = 0; i < 2; i++) {
        const char *file = i ? outside : onnx_path;
        const int64_t at = (int64_t)sizeof weight / 2, whole = (int64_t)sizeof weight;
        write_model(i ? in_a_file : raw);
        int64_t before = bytes_read();
        optune_graph *g = read_model();
        const bool told = before >= 0;
        assert_true(!told || bytes_read() - before >= whole);
        optune_graph_close(g);
        let_it_be_old(file);
        before = bytes_read();
        g = read_model();
        assert_true(!told || bytes_read() - before < whole / 2);
        const float other = 1e6f;
        write_at(file, at, &other, sizeof other);
        assert_int_equal(compute(g, &err), OPTUNE_EDAMAGED);
        check_contains(err.text, "was changed after the model was read");
        optune_graph_close(g);

        write_model(i ? in_a_file : raw);
        let_it_be_old(file);
        g = read_model();
        check_ok(compute(g, &err));
        write_at(file, at + 64, &other, sizeof other);
        let_it_be_old(file); /* nor do times that somebody sets hide it then */
        assert_int_equal(compute(g, &err), OPTUNE_EDAMAGED);
        optune_graph_close(g);
    }
}

static void what_was_read_outlives_its_name(void **state)
{
    optune_err err = {0};
    (void)state;
    write_model(in_a_file);
    optune_graph *g = read_model();
    assert_int_equal(unlink(outside), 0);
    check_ok(ot_write_file(outside, "another", 7, &err));
    check_ok(compute(g, &err));
    optune_graph_close(g);
}

static int descriptors(void)
{
    int n = 0;
    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* Files of which each has a constant: only so many stay open, all are read. */
static void many_files(void **state)
{
    enum { FILES = 40 };
    static float x[COLUMNS];
    ot_text g = {0}, model = {0};
    optune_err err = {0};
    (void)state;
    onnx_input(&g, "x", ONNX_FLOAT, "65536");
    for (int i = 0; i < FILES; i++) {
        char name[32], node[32], in[64], out[32], file[600];
        snprintf(name, sizeof name, "w%d", i);
        snprintf(node, sizeof node, "file%d.bin", i);
        snprintf(file, sizeof file, "%s/%s", onnx_folder, node);
        check_ok(ot_write_file(file, (const char *)weight[i % ROWS], sizeof weight[0], &err));
        onnx_external(&g, name, "65536", node, "0");
        if (i)
            snprintf(in, sizeof in, "s%d w%d", i - 1, i);
        else
            snprintf(in, sizeof in, "x w0");
        snprintf(out, sizeof out, i == FILES - 1 ? "y" : "s%d", i);
        onnx_node(&g, "Add", name, in, out, NULL);
    }
    onnx_output(&g, "y");
    onnx_model(&g, 13, &model);
    check_ok(ot_write_file(onnx_path, ot_text_str(&model), model.n, &err));
    ot_text_release(&model);
    const int before = descriptors();
    optune_graph *graph = read_model();
    assert_in_range(descriptors() - before, 1, 16);
    const void *in = x;
    optune_values *values = NULL;
    check_ok(optune_graph_evaluate(graph, &in, NULL, &values, &err));
    float want = 0;
    for (int i = 0; i < FILES; i++)
        want += weight[i % ROWS][5];
    assert_true(((const float *)optune_values_data(values, 0))[5] == want);
    optune_values_free(values);
    optune_graph_close(graph);
    assert_int_equal(descriptors(), before); /* none is left open */
}

/* Computed from computed, further than what waits for somebody to ask. */
static void long_chains_of_constants(void **state)
{
    ot_text g = {0}, model = {0};
    optune_err err = {0};
    (void)state;
    onnx_input(&g, "x", ONNX_FLOAT, "65536");
    raw(&g);
    for (int i = 0; i < 40; i++) {
        char in[64], out[32];
        if (i)
            snprintf(in, sizeof in, "n%d", i - 1);
        else
            snprintf(in, sizeof in, "w");
        snprintf(out, sizeof out, "n%d", i);
        onnx_node(&g, "Neg", out, in, out, NULL);
    }
    onnx_node(&g, "Add", "again", "n39 n37", "d", NULL);
    onnx_node(&g, "Add", "sum", "x d", "y", NULL);
    onnx_output(&g, "y");
    onnx_model(&g, 13, &model);
    check_ok(ot_write_file(onnx_path, ot_text_str(&model), model.n, &err));
    ot_text_release(&model);
    optune_graph *graph = read_model();
    check_ok(compute(graph, &err));
    optune_graph_close(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_are_the_same_from_anywhere),
        cmocka_unit_test(they_take_no_memory_between),
        cmocka_unit_test(changed_files_are_refused),
        cmocka_unit_test(settled_files_are_read_once),
        cmocka_unit_test(what_was_read_outlives_its_name),
        cmocka_unit_test(many_files),
        cmocka_unit_test(long_chains_of_constants),
    };
    return cmocka_run_group_tests(tests, make_folder, onnx_drop_folder);
}
