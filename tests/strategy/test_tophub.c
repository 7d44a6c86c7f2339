/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index codec against logs that AutoTVM wrote: for every record the space of its template
 * is built from the task's arguments, the entities are looked up, and our index must be the
 * logged one. The counts are exact: the records that differ are damaged (tvm.md, 1.6). The logs of
 * TopHub are not ours to keep: where they are missing their tests skip, and those over logs of our
 * own making (tests/data/tophub/make.py), whose indices another codec counted, hold the same.
 */
#include <jansson.h>

#include "strategy/fake.h"

static optune_space *space;

static int64_t dim(const json_t *args, int tensor, int i)
{
    const json_t *shape = json_array_get(json_array_get(args, (size_t)tensor), 1);
    return json_integer_value(json_array_get(shape, (size_t)i));
}

static int64_t item(const json_t *args, int list, int i)
{
    return json_integer_value(json_array_get(json_array_get(args, (size_t)list), (size_t)i));
}

/* Output extent along H (axis 0) or W (axis 1) of a convolution. */
static int64_t extent(const json_t *args, int axis)
{
    const int64_t in = dim(args, 0, 2 + axis), kernel = dim(args, 1, 2 + axis);
    const int64_t pads = item(args, 3, axis) + item(args, 3, axis + 2);
    return (in + pads - (kernel - 1) * item(args, 4, axis) - 1) / item(args, 2, axis) + 1;
}

static void unroll_knobs(int64_t a, int64_t b, int64_t c)
{
    optune_space_ints(space, "auto_unroll_max_step", 3, (int64_t[]){a, b, c});
    optune_space_ints(space, "unroll_explicit", 2, (int64_t[]){0, 1});
}

static void conv2d_nchw_cuda(const json_t *args)
{
    optune_space_split(space, "tile_f", dim(args, 1, 0), 4, NULL);
    optune_space_split(space, "tile_y", extent(args, 0), 4, NULL);
    optune_space_split(space, "tile_x", extent(args, 1), 4, NULL);
    optune_space_split(space, "tile_rc", dim(args, 0, 1), 2, NULL);
    optune_space_split(space, "tile_ry", dim(args, 1, 2), 2, NULL);
    optune_space_split(space, "tile_rx", dim(args, 1, 3), 2, NULL);
    unroll_knobs(0, 512, 1500);
}

static void depthwise_cuda(const json_t *args)
{
    optune_space_split(space, "tile_f", dim(args, 1, 0) * dim(args, 1, 1), 4, NULL);
    optune_space_split(space, "tile_y", extent(args, 0), 4, NULL);
    optune_space_split(space, "tile_x", extent(args, 1), 4, NULL);
    unroll_knobs(0, 256, 1500);
}

static bool only_outer(const int64_t *sizes, int parts, const void *arg)
{
    (void)arg;
    for (int i = 1; i < parts; i++)
        if (sizes[i] != 1)
            return false;
    return true;
}

static void winograd_cuda(const json_t *args)
{
    const int64_t m = dim(args, 0, 2) % 8 == 0 ? 4 : 2, alpha = m + dim(args, 1, 2) - 1;
    const int64_t tiles = (extent(args, 0) + m - 1) / m * ((extent(args, 1) + m - 1) / m);
    optune_space_split(space, "tile_b", alpha * alpha, 4,
                       &(optune_split){.filter = only_outer});
    optune_space_split(space, "tile_y", dim(args, 1, 0), 4, NULL);
    optune_space_split(space, "tile_x", dim(args, 0, 0) * tiles, 4, NULL);
    optune_space_split(space, "tile_rc", dim(args, 0, 1), 2, NULL);
    unroll_knobs(0, 128, 1500);
}

static void batch_matmul_cuda(const json_t *args)
{
    optune_space_split(space, "tile_y", dim(args, 0, 1), 3, NULL);
    optune_space_split(space, "tile_x", dim(args, 1, 1), 3, NULL);
    optune_space_split(space, "tile_k", dim(args, 0, 2), 2, NULL);
    optune_space_ints(space, "auto_unroll_max_step", 4, (int64_t[]){8, 16, 32, 64});
    optune_space_ints(space, "unroll_explicit", 2, (int64_t[]){0, 1});
}

static bool inner_up_to_64(const int64_t *sizes, int parts, const void *arg)
{
    (void)arg;
    return sizes[parts - 1] <= 64;
}

static optune_split_policy x86_policy;

static void conv2d_x86(const json_t *args)
{
    optune_space_split(space, "tile_ic", dim(args, 0, 1), 2, NULL);
    optune_space_split(space, "tile_oc", dim(args, 1, 0), 2, NULL);
    optune_space_split(space, "tile_ow", extent(args, 1), 2,
                       &(optune_split){.policy = x86_policy, .filter = inner_up_to_64});
    if (dim(args, 1, 2) == 1 && dim(args, 1, 3) == 1)
        optune_space_ints(space, "tile_oh", extent(args, 0) > 1 ? 2 : 1, (int64_t[]){1, 2});
    else
        optune_space_bools(space, "unroll_kw", 2, (bool[]){true, false});
}

static void spatial_pack_arm(const json_t *args)
{
    static const int64_t orders[2][OPTUNE_MAX_LIST] = {
        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
        {0, 1, 2, 3, 4, 5, 6, 9, 7, 8},
    };
    optune_space_split(space, "tile_co", dim(args, 1, 0), 2, NULL);
    optune_space_split(space, "tile_oh", extent(args, 0), 2, NULL);
    optune_space_split(space, "tile_ow", extent(args, 1), 2, NULL);
    optune_space_reorder(space, "reorder_0", 10, OPTUNE_REORDER_CANDIDATE, 0, 0, orders, 2);
    optune_space_annotate(space, "ann_reduce", 2, "try_unroll");
    optune_space_annotate(space, "ann_spatial", 3, "try_unroll_vec");
}

typedef struct counts {
    int lines, known, equal;
} counts;

/* How a record's entities are read. */
typedef enum reading {
    AS_WRITTEN,    /* every size counts: a split that does not make its axis is refused */
    OUTER_IGNORED, /* the first size is what is left, whatever the log says */
    BY_POSITION,   /* knobs go by their place, not by their name */
} reading;

static void reread(optune_config *config, reading how)
{
    for (int i = 0; i < config->n; i++) {
        optune_entity *entity = &config->entity[i];
        if (how == OUTER_IGNORED && entity->kind == OPTUNE_KNOB_SPLIT)
            entity->v[0] = -1;
        if (how == BY_POSITION)
            ot_copy(entity->name, sizeof entity->name, ot_space_knob_name(space, i));
    }
}

/* A log of TopHub, or one beside make.py, whose name has no version; skips where there is none. */
static void find_log(const char *log, char *path, size_t size)
{
    char name[256];
    snprintf(name, sizeof name, "tophub/%s", log);
    if (!strstr(log, "_v0."))
        snprintf(path, size, "%s/tests/data/%s", OT_SOURCE_DIR, name);
    else if (!fake_shared(name, path, size))
        skip();
}

/* Reads one log; `build` declares the knobs of one task. */
static counts compare(const char *log, const char *task, void (*build)(const json_t *args),
                      reading how)
{
    counts seen = {0};
    char path[4096];
    find_log(log, path, sizeof path);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, file) > 0) {
        json_t *record = json_loads(line, 0, NULL);
        const json_t *input = json_object_get(record, "input");
        const char *found = json_string_value(json_array_get(input, 1));
        if (found && strcmp(found, task) == 0) {
            const json_t *config = json_object_get(record, "config");
            char *entity = json_dumps(json_object_get(config, "entity"), JSON_COMPACT);
            optune_err err = {0};
            optune_config parsed;
            check_ok(ot_config_parse(entity, &parsed, &err));
            space = ot_space_blank();
            build(json_array_get(input, 2));
            check_ok(ot_space_check(space, &err));
            reread(&parsed, how);
            seen.lines++;
            if (ot_space_index_of(space, &parsed, &err) >= 0) {
                seen.known++;
                seen.equal +=
                    parsed.index == json_integer_value(json_object_get(config, "index"));
                /* and the index leads back to the same entities */
                optune_config back;
                ot_space_nth(space, parsed.index, &back);
                assert_true(ot_config_equal(&parsed, &back));
            }
            ot_space_close(space);
            free(entity);
        }
        json_decref(record);
    }
    free(line);
    fclose(file);
    return seen;
}

static void check_counts(counts seen, int lines, int known, int equal)
{
    if (seen.lines != lines || seen.known != known || seen.equal != equal)
        print_error("%d lines, %d known, %d equal\n", seen.lines, seen.known, seen.equal);
    assert_int_equal(seen.lines, lines);
    assert_int_equal(seen.known, known);
    assert_int_equal(seen.equal, equal);
}

/* tile_rx and tile_ry were once exchanged by name only: 36 records have splits that do not make
 * their axis, 23 of them only in the outer size, and by position all but one are right. */
static void test_conv2d_nchw_cuda(void **state)
{
    (void)state;
    const char *log = "cuda_v0.10.log", *task = "conv2d_nchw.cuda";
    check_counts(compare(log, task, conv2d_nchw_cuda, AS_WRITTEN), 600, 564, 550);
    check_counts(compare(log, task, conv2d_nchw_cuda, OUTER_IGNORED), 600, 587, 573);
    check_counts(compare(log, task, conv2d_nchw_cuda, BY_POSITION), 600, 600, 599);
}

static void test_winograd_cuda(void **state)
{
    (void)state;
    check_counts(
        compare("cuda_v0.10.log", "conv2d_nchw_winograd.cuda", winograd_cuda, AS_WRITTEN), 95,
        95, 95);
}

static void test_depthwise_cuda(void **state)
{
    (void)state;
    check_counts(
        compare("cuda_v0.10.log", "depthwise_conv2d_nchw.cuda", depthwise_cuda, AS_WRITTEN), 97,
        97, 97);
}

static void test_batch_matmul_cuda(void **state)
{
    (void)state;
    check_counts(compare("cuda_v0.10.log", "batch_matmul.cuda", batch_matmul_cuda, AS_WRITTEN),
                 18, 18, 18);
}

static void test_conv2d_x86(void **state)
{
    (void)state;
    x86_policy = OPTUNE_SPLIT_FACTORS;
    check_counts(compare("llvm_v0.04.log", "conv2d_NCHWc.x86", conv2d_x86, AS_WRITTEN), 35, 35,
                 35);
}

/* TVM's template became `verbose` after the log was written: all configs are still found, under
 * other indices. */
static void test_conv2d_x86_verbose(void **state)
{
    (void)state;
    x86_policy = OPTUNE_SPLIT_VERBOSE;
    const counts seen = compare("llvm_v0.04.log", "conv2d_NCHWc.x86", conv2d_x86, AS_WRITTEN);
    assert_int_equal(seen.known, 35);
    assert_in_range(seen.equal, 0, 34);
}

static void test_spatial_pack_arm(void **state)
{
    (void)state;
    check_counts(compare("arm_cpu_v0.08.log", "conv2d_nchw_spatial_pack.arm_cpu",
                         spatial_pack_arm, AS_WRITTEN),
                 961, 959, 959);
}

/* Sixteen lines a log: one whose first size is left out, which is none; one whose split does not
 * make its axis, by its outer size; one with a knob of another name; one with another index. */
static void test_logs_of_our_own(void **state)
{
    (void)state;
    static const struct {
        const char *log, *task;
        void (*build)(const json_t *args);
    } own[] = {{"cuda.log", "conv2d_nchw.cuda", conv2d_nchw_cuda},
               {"llvm.log", "conv2d_NCHWc.x86", conv2d_x86},
               {"arm_cpu.log", "conv2d_nchw_spatial_pack.arm_cpu", spatial_pack_arm}};
    x86_policy = OPTUNE_SPLIT_FACTORS;
    for (int i = 0; i < OT_COUNT(own); i++) {
        check_counts(compare(own[i].log, own[i].task, own[i].build, AS_WRITTEN), 16, 14, 13);
        check_counts(compare(own[i].log, own[i].task, own[i].build, OUTER_IGNORED), 16, 15, 14);
        check_counts(compare(own[i].log, own[i].task, own[i].build, BY_POSITION), 16, 15, 14);
    }
}

/* The task's arguments become a call of ours, and the call's become the same arguments. */
static void check_tasks(const char *log, int lines)
{
    char path[4096];
    const optune_impl *impl = ot_impl_find("conv2d_NCHWc.x86");
    assert_non_null(impl);
    assert_non_null(impl->task_args);
    find_log(log, path, sizeof path);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *line = NULL;
    size_t size = 0;
    int n = 0;
    while (getline(&line, &size, file) > 0) {
        json_t *record = json_loads(line, 0, NULL);
        const json_t *args = json_array_get(json_object_get(record, "input"), 2);
        if (args) {
            optune_err err = {0};
            optune_call call;
            check_ok(ot_call_from_args(impl, args, &call, &err));
            assert_true(ot_call_static(&call));
            assert_true(call.input[1].is_const);
            json_t *back = ot_task_args(&call, impl);
            assert_true(json_equal(args, back));
            json_decref(back);
            n++;
        }
        json_decref(record);
    }
    assert_int_equal(n, lines);
    free(line);
    fclose(file);
}

static void test_tasks_become_calls(void **state)
{
    (void)state;
    check_tasks("llvm_v0.04.log", 35);
}

static void test_tasks_of_our_own(void **state)
{
    (void)state;
    check_tasks("llvm.log", 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conv2d_nchw_cuda), cmocka_unit_test(test_winograd_cuda),
        cmocka_unit_test(test_depthwise_cuda),   cmocka_unit_test(test_batch_matmul_cuda),
        cmocka_unit_test(test_conv2d_x86),       cmocka_unit_test(test_conv2d_x86_verbose),
        cmocka_unit_test(test_spatial_pack_arm), cmocka_unit_test(test_tasks_become_calls),
        cmocka_unit_test(test_logs_of_our_own),  cmocka_unit_test(test_tasks_of_our_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
