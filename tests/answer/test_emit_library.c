/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that call a library whose versions have other functions, over stand-ins for oneDNN 2 and
 * 3 (tests/data/fake_dnnl.c): each is measured with what it has, and emitted code is linked with
 * its version's functions or not at all.
 */
#include "support/tuning.h"

#include "support/check.h"
#include "support/emitted.h"
#include "support/stand_in.h"

#include <dlfcn.h>
#include <math.h>

static const char impl[] = "conv2d_dnnl.x86";
enum { CONFIGS = 4 }; /* without winograd, which has two more */

/* Weights of both ranks, blocks of all sizes, reorders of each tensor. */
static const char *const workloads[] = {
    "conv2d(f32[2,8,7,9], const f32[12,8,3,3], strides=[2,1], padding=[1,1,1,1])",
    "conv2d(f32[1,8,7,9], f32[8,4,3,2], padding=[1,0,0,1], dilation=[1,2], groups=2)",
    "conv2d(f32[1,2,7,9,4], const f32[16,8,3,3], data_layout=NCHW4c, out_layout=NCHW8c)",
    "conv2d(f32[1,1,7,9,16], const f32[32,8,3,3], data_layout=NCHW16c, out_layout=NCHW32c, "
    "groups=2)",
    "conv2d(f32[1,1,7,9,32], const f32[16,32,3,3], data_layout=NCHW32c, out_layout=NCHW)",
};

/* tuning_dir/v2.so, v3.so ... */
static const char *library(const char *version, const char *define)
{
    char name[32];
    snprintf(name, sizeof name, "v%s.so", version);
    return stand_in_build(tuning_dir, "fake_dnnl.c", name, define);
}

static json_t *measure(const char *db, const char *workload, const char *file)
{
    setenv("OPTUNE_DNNL", file, 1);
    optune *o = tuning_open(db);
    json_t *json = tuning_run_one(o, "conv2d", workload, impl, CONFIGS + 2);
    optune_close(o);
    return json;
}

static void check_all_are_right(const char *db, int at_least)
{
    tuning_records all;
    tuning_read(db, &all);
    assert_true(all.n >= at_least);
    for (int i = 0; i < all.n; i++)
        if (all.record[i].outcome != OPTUNE_OUTCOME_OK)
            fail_msg("%s: %s: %s", db, all.record[i].call, all.record[i].message);
    ot_arena_release(&all.arena);
}

/* What has no version is needed. */
static void test_lacking(void **state)
{
    (void)state;
    static const char *const list[] = {"conv2d(f32[1,8,7,9], const f32[8,8,3,3])", NULL};
    static const char *const impls[] = {impl, NULL};
    const optune_run_options options = {.size = sizeof options,
                                        .op = "conv2d",
                                        .workloads = list,
                                        .impls = impls,
                                        .trials = 1,
                                        .seconds = 60};
    optune_result *result = NULL;
    optune_err err = {0};
    setenv("OPTUNE_DNNL", library("lacking", "-DLACKS"), 1);
    optune *o = tuning_open("lacking");
    assert_true(optune_run(o, &options, &result, &err) < 0);
    check_contains(err.text, "(oneDNN 3.91.7) has no function 'dnnl_stream_wait'");
    optune_result_free(result);
    optune_close(o);
}

/* ---- emitted ----------------------------------------------------------------------------- */

/* With the library `file` here, into tuning_dir/DIR; what was measured is in the database DB. */
static void emit(const char *db, const char *workload, const char *file, const char *dir,
                 char name[128])
{
    optune_result *result = NULL;
    optune_err err = {0};
    setenv("OPTUNE_DNNL", file, 1);
    optune *o = tuning_open_with(db, (optune_options){.target = "cpu -threads=1 -libs=dnnl"});
    check_ok(optune_emit(o, workload, tuning_path(dir), &result, &err));
    json_t *json = tuning_parse(optune_result_json(result));
    assert_string_equal(tuning_text(json, "impl"), impl);
    snprintf(name, 128, "%s", tuning_text(json, "name"));
    json_decref(json);
    optune_result_free(result);
    optune_close(o);
}

static void check_text(const char *dir, const char *name, const char *suffix, const char *text)
{
    char path[1400];
    ot_text content = {0};
    optune_err err = {0};
    snprintf(path, sizeof path, "%s/%s%s", tuning_path(dir), name, suffix);
    check_ok(ot_read_file(path, &content, 1 << 22, &err));
    check_contains(ot_text_str(&content), text);
    ot_text_release(&content);
}

/* Whether the emitted kernel links with tuning_dir/FILE, given these words, too. */
static bool links(const char *dir, const char *name, const char *more, const char *file,
                  ot_text *said)
{
    char words[512];
    snprintf(words, sizeof words,
             "cc -std=gnu17 %s -shared -fPIC -Wl,-z,defs -o linked.so %s.c ../%s", more, name,
             file);
    return emitted_command(dir, words, said) >= 0;
}

static void *in_object(const emitted *k, const char *name)
{
    void *found = dlsym(k->object, name);
    if (!found)
        fail_msg("no '%s'", name);
    return found;
}

/* What the library refused in a run from init to close; the output is right where it did not. */
static void compute(const char *workload, const char *name, const char *dir, const char *file,
                    char *refused, size_t size)
{
    enum { MOST = 8192 };
    static float data[2][MOST];
    static double want[MOST], magnitude[MOST];
    char linked[1400], failure[256];
    optune_call call;
    optune_err err = {0};
    emitted k;
    check_ok(ot_call_parse(workload, &call, &err));
    snprintf(linked, sizeof linked, "%s/%s.so", tuning_path(dir), name);
    emitted_build(
        dir, name,
        (const char *const[]){"-shared", "-fPIC", "-Wl,-z,defs", "-o", linked, file, NULL});
    k.object = dlopen(linked, RTLD_NOW | RTLD_LOCAL);
    if (!k.object)
        fail_msg("%s", dlerror());
    static const char *const suffix[] = {"workspace", "init", "run", "close"};
    void **const to[] = {(void **)&k.workspace, (void **)&k.init, (void **)&k.run,
                         (void **)&k.close};
    for (int i = 0; i < OT_COUNT(suffix); i++) {
        char full[256];
        snprintf(full, sizeof full, "%s_%s", name, suffix[i]);
        *to[i] = in_object(&k, full);
    }
    for (int i = 0; i < 2; i++) {
        assert_true(optune_tensor_bytes(&call.input[i].type) <= (int64_t)sizeof data[i]);
        ot_fill_input(&call.input[i].type, 3, i, data[i]);
    }
    const optune_tensor *type = &call.output[0];
    const int64_t n = optune_tensor_elements(type);
    assert_true(n <= MOST);
    float *const out = ot_alloc((size_t)n * sizeof *out);
    void *const workspace = aligned_alloc(64, (k.workspace() + 63) / 64 * 64);
    memset(workspace, 0, (k.workspace() + 63) / 64 * 64);
    const void *const in[] = {data[0], data[1]};
    k.init(workspace, in);
    k.run(workspace, in, (void *const[]){out});
    k.close(workspace);
    snprintf(failure, sizeof failure, "%s_m0_ot_failure", name);
    snprintf(refused, size, "%s", (const char *)in_object(&k, failure));
    assert_int_equal((*(int (**)(void))(void *[]){in_object(&k, "fake_dnnl_left")})(), 0);
    optune_region region;
    call.op->reference(&call, in, 0, ot_region_whole(type, &region), want, magnitude);
    for (int64_t i = 0; i < n && !*refused; i++)
        assert_true(fabs(out[i] - want[i]) <= 1e-5 * magnitude[i]);
    free(out);
    free(workspace);
    dlclose(k.object);
}

/* Each as measured, then as emitted. */
static void check_version(const char *version, const char *define, char dir[32], char name[128])
{
    const char *const file = library(version, define);
    for (int i = 0; i < OT_COUNT(workloads); i++) {
        char refused[400];
        json_decref(measure(version, workloads[i], file));
        check_all_are_right(version, CONFIGS * (i + 1));
        snprintf(dir, 32, "emitted-%s-%d", version, i);
        emit(version, workloads[i], file, dir, name);
        compute(workloads[i], name, dir, file, refused, sizeof refused);
        assert_string_equal(refused, "");
    }
}

static void test_versions(void **state)
{
    (void)state;
    char dir[32], name[128];
    ot_text said = {0};
    check_version("2", "-DVERSION=2", dir, name);
    check_text(dir, name, ".h", ", version 2; for another: -DOPTUNE_DNNL_VERSION=N.");
    check_version("3", "-DVERSION=3", dir, name);
    check_text(dir, name, ".h", ", version 3; for another: -DOPTUNE_DNNL_VERSION=N.");
    check_text(dir, "plan", ".json", "\"version\": 3");
    library("4", "-DVERSION=4");
    assert_true(links(dir, name, "", "v3.so", &said));
    assert_true(links(dir, name, "../emitted-3-0/*.c", "v3.so", &said)); /* two of one body */
    assert_true(links(dir, name, "-DOPTUNE_DNNL_VERSION=2", "v2.so", &said));
    assert_false(links(dir, name, "", "v4.so", &said));
    assert_false(links(dir, name, "", "v2.so", &said));
    check_contains(ot_text_str(&said), "dnnl_memory_desc_create_with_tag");
    ot_text_release(&said);
}

/* A refused description reaches no other function of the library, and is told. */
static void test_refusing(void **state)
{
    (void)state;
    char name[128], refused[400];
    const char *const three = library("3", "-DVERSION=3");
    json_decref(measure("refusing", workloads[1], three));
    emit("refusing", workloads[1], three, "refusing", name);
    compute(workloads[1], name, "refusing", library("refusing", "-DREFUSES"), refused,
            sizeof refused);
    check_contains(refused, "dnnl_primitive_create: ");
    check_contains(refused, "(status 1)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_lacking),
        cmocka_unit_test(test_refusing),
    };
    return cmocka_run_group_tests(tests, tuning_setup, tuning_teardown);
}
