/* SPDX-License-Identifier: Apache-2.0 */
/*
 * To AutoTVM and back: what is exported for TVM has TVM's targets, templates and arguments, and is
 * read back to the same records; conditions choose what goes out; logs that TVM wrote come in.
 */
#include "support/tuning.h"

#include "support/check.h"

#define DENSE "dense(f32[16,64], const f32[32,64])"
#define FUSED "dense(f32[16,64], const f32[32,64]) -> relu()"
#define BATCH "batch_matmul(f32[2,16,24], f32[2,32,24])"

static int setup(void **state)
{
    tuning_setup(state);
    optune *o = tuning_open("from");
    json_decref(tuning_run_one(o, "dense", DENSE, NULL, 10));
    json_decref(tuning_run_one(o, "batch_matmul", BATCH, NULL, 4));
    optune_close(o);
    return 0;
}

typedef struct lines {
    json_t *line[256];
    int n;
} lines;

static lines exported(const char *db, optune_export_options options)
{
    lines all = {0};
    optune *o = tuning_open(db);
    optune_result *result = NULL;
    optune_err err = {0};
    options.size = sizeof options;
    check_ok(optune_export_records(o, &options, &result, &err));
    char *text = ot_strdup(optune_result_text(result)), *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (*line != '#' && all.n < OT_COUNT(all.line))
            all.line[all.n++] = tuning_parse(line);
    free(text);
    optune_result_free(result);
    optune_close(o);
    return all;
}

static void done(lines *all)
{
    for (int i = 0; i < all->n; i++)
        json_decref(all->line[i]);
}

static const char *ours(const json_t *line, const char *name)
{
    return tuning_text(json_object_get(line, "optune"), name);
}

static int count(const char *db, optune_export_options options)
{
    lines all = exported(db, options);
    const int n = all.n;
    done(&all);
    return n;
}

static void test_conditions(void **state)
{
    (void)state;
    lines all = exported("from", (optune_export_options){0});
    int packs = 0;
    assert_true(all.n > 10);
    for (int i = 0; i < all.n; i++)
        packs += strcmp(ours(all.line[i], "impl"), "dense_pack.x86") == 0;
    assert_true(packs > 0 && packs < all.n);
    assert_int_equal(count("from", (optune_export_options){.impl = "dense_pack.x86"}), packs);
    assert_int_equal(count("from", (optune_export_options){.target = "cpu"}), all.n);
    assert_int_equal(count("from", (optune_export_options){.target = "llvm"}), all.n);
    assert_int_equal(count("from", (optune_export_options){.target = "cuda"}), 0);
    assert_int_equal(count("from", (optune_export_options){.target = "cpu -mcpu=other"}), 0);
    assert_int_equal(count("from", (optune_export_options){.threads = 1}), all.n);
    assert_int_equal(count("from", (optune_export_options){.threads = 7}), 0);
    assert_int_equal(count("from", (optune_export_options){.target = "cpu", .threads = 7}), 0);
    assert_int_equal(count("from", (optune_export_options){.policy = "warm"}), all.n);
    assert_int_equal(count("from", (optune_export_options){.policy = "cold"}), 0);
    assert_int_equal(
        count("from", (optune_export_options){.device = ours(all.line[0], "device")}), all.n);
    assert_int_equal(
        count("from", (optune_export_options){.op = "dense", .impl = "batch_matmul.x86"}), 0);
    /* The best of one implementation, as if there were no other. */
    lines best =
        exported("from", (optune_export_options){.impl = "dense_pack.x86", .best = true});
    assert_int_equal(best.n, 1);
    assert_string_equal(ours(best.line[0], "impl"), "dense_pack.x86");
    done(&best);
    done(&all);
    optune *o = tuning_open("from");
    optune_result *result = NULL;
    optune_err err = {0};
    optune_export_options bad = {.size = sizeof bad, .impl = "dense_pak.x86"};
    assert_int_equal(optune_export_records(o, &bad, &result, &err), OPTUNE_ENOENT);
    check_contains(err.text, "did you mean 'dense_pack.x86'");
    bad = (optune_export_options){.size = sizeof bad, .device = "nowhere"};
    assert_int_equal(optune_export_records(o, &bad, &result, &err), OPTUNE_ENOENT);
    check_contains(err.text, o->device.key);
    bad = (optune_export_options){.size = sizeof bad, .target = "cpu -nothing=1"};
    assert_true(optune_export_records(o, &bad, &result, &err) < 0);
    bad.size = 3;
    assert_int_equal(optune_export_records(o, &bad, &result, &err), OPTUNE_EVERSION);
    optune_close(o);
}

/* Templates of TVM's registry, what its targets take, arguments of the right number. */
static void test_for_tvm(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t args;
    } templates[] = {{"dense_pack.x86", 4},
                     {"dense_nopack.x86", 4},
                     {"dense_cblas.x86", 4},
                     {"batch_matmul.x86", 6},
                     {"batch_matmul_cblas.x86", 6}};
    optune *o = tuning_open("from");
    json_decref(tuning_run_one(o, "dense", FUSED, "dense_pack.x86", 3));
    optune_close(o);
    lines all = exported("from", (optune_export_options){0});
    lines tvm = exported("from", (optune_export_options){.tvm = true});
    assert_true(tvm.n > 0 && tvm.n < all.n);
    for (int i = 0; i < all.n; i++) {
        const json_t *input = json_object_get(all.line[i], "input");
        const char *target = json_string_value(json_array_get(input, 0));
        assert_int_equal(strncmp(target, "llvm", 4), 0);
        check_contains(target, "-num-cores=1");
        assert_null(strstr(target, "-threads"));
        check_contains(ours(all.line[i], "target"), "cpu -threads=1");
    }
    for (int i = 0; i < tvm.n; i++) {
        const json_t *input = json_object_get(tvm.line[i], "input");
        const char *name = json_string_value(json_array_get(input, 1));
        bool known = false;
        for (int k = 0; k < OT_COUNT(templates); k++)
            if (strcmp(name, templates[k].name) == 0) {
                known = true;
                assert_int_equal(json_array_size(json_array_get(input, 2)), templates[k].args);
            }
        if (!known)
            fail_msg("'%s' is no template of TVM's", name);
        assert_null(strstr(ours(tvm.line[i], "call"), "relu"));
    }
    done(&all);
    done(&tvm);
}

/* What went out comes back as the same records, and goes out as the same lines. */
static void test_and_back(void **state)
{
    (void)state;
    optune *o = tuning_open("from"), *to = tuning_open("back");
    optune_result *a = NULL, *b = NULL, *c = NULL;
    optune_err err = {0};
    const optune_export_options all = {
        .size = sizeof all, .tvm = true, .path = tuning_path("tvm.log")};
    optune_export_options text = all;
    text.path = NULL;
    check_ok(optune_export_records(o, &all, &a, &err));
    check_ok(optune_import(to, tuning_path("tvm.log"), &b, &err));
    optune_result_free(a);
    json_t *json = tuning_parse(optune_result_json(b));
    assert_int_equal(tuning_int(json, "refused"), 0);
    json_decref(json);
    optune_result_free(b);
    check_ok(optune_export_records(o, &text, &a, &err));
    check_ok(optune_export_records(to, &text, &b, &err));
    assert_string_equal(optune_result_text(a), optune_result_text(b));
    /* It adds nothing where it came from. */
    check_ok(optune_import(o, tuning_path("tvm.log"), &c, &err));
    json = tuning_parse(optune_result_json(c));
    assert_int_equal(tuning_int(json, "new"), 0);
    json_decref(json);
    optune_result_free(a);
    optune_result_free(b);
    optune_result_free(c);
    optune_close(o);
    optune_close(to);
}

/* What AutoTVM asks of one template is answered by that template's best, of this target alone. */
static int ask_tvm(optune *o, const json_t *input, const char *target, json_t **told)
{
    json_t *task = json_deep_copy(input);
    if (target)
        json_array_set_new(task, 0, json_string(target));
    char *text = json_dumps(task, JSON_COMPACT);
    optune_result *result = NULL;
    optune_err err = {0};
    const int status = optune_query_tvm(o, text, &result, &err);
    assert_true((status < 0) == (*err.text != 0));
    *told = result ? tuning_parse(optune_result_json(result)) : NULL;
    optune_result_free(result);
    free(text);
    json_decref(task);
    return status;
}

static void test_asked(void **state)
{
    (void)state;
    static const char *const impls[] = {"dense_pack.x86", "dense_nopack.x86",
                                        "batch_matmul.x86"};
    static const char *const others[] = {"llvm -num-cores=7", "cuda", "llvm -model=other",
                                         "llvm -mtriple=riscv64-unknown-linux-gnu",
                                         "{\"kind\": \"llvm\", \"mtriple\": \"mips-linux\"}"};
    optune *o = tuning_open("from");
    json_t *told = NULL;
    for (int i = 0; i < OT_COUNT(impls); i++) {
        lines best = exported(
            "from", (optune_export_options){.impl = impls[i], .tvm = true, .best = true});
        assert_int_equal(best.n, 1);
        json_t *input = json_object_get(best.line[0], "input");
        static const char *const same[] = {NULL, "llvm", "llvm -keys=cpu -mcpu=core-avx2"};
        for (int k = 0; k < OT_COUNT(same); k++) {
            assert_int_equal(ask_tvm(o, input, same[k], &told), OPTUNE_OK);
            const json_t *record = json_object_get(told, "record");
            assert_true(json_equal(json_object_get(record, "config"),
                                   json_object_get(best.line[0], "config")));
            assert_string_equal(tuning_text(told, "tier"), "tuned");
            json_decref(told);
        }
        for (int k = 0; k < OT_COUNT(others); k++) {
            assert_int_equal(ask_tvm(o, input, others[k], &told), OPTUNE_ENOENT);
            assert_null(told);
        }
        json_array_set_new(input, 1, json_string("dense_pak.x86"));
        assert_int_equal(ask_tvm(o, input, NULL, &told), OPTUNE_ENOENT);
        json_array_set_new(input, 1, json_string(impls[i]));
        json_array_clear(json_array_get(input, 2));
        assert_int_equal(ask_tvm(o, input, NULL, &told), OPTUNE_ETYPE);
        done(&best);
    }
    /* What was never tuned is told as the workload to tune; hints of TVM's are no answers. */
    lines best = exported("from", (optune_export_options){.tvm = true, .best = true});
    optune *empty = tuning_open("nothing");
    assert_int_equal(ask_tvm(empty, json_object_get(best.line[0], "input"), NULL, &told),
                     OPTUNE_ENOENT);
    assert_string_equal(tuning_text(told, "call"), DENSE);
    assert_true(json_is_null(json_object_get(told, "record")));
    json_decref(told);
    done(&best);
    optune_close(empty);
    optune_close(o);
}

/* ---- logs that TVM wrote ----------------------------------------------------------------- */

#define LINE(target)                                                                           \
    "{\"input\": [" target ", \"dense_pack.x86\", [[\"TENSOR\", [32, 256], \"float32\"], "     \
    "[\"TENSOR\", [128, 256], \"float32\"], null, \"float32\"], {}], \"config\": {\"index\": " \
    "17715, \"code_hash\": null, \"entity\": [[\"tile_y\", \"sp\", [-1, 2, 4]], [\"tile_x\", " \
    "\"sp\", [-1, 1, 4]], [\"tile_k\", \"sp\", [-1, 32]], [\"tile_inner\", \"sp\", [-1, "      \
    "4]]]}, "                                                                                  \
    "\"result\": [[0.00011, 0.00012], 0, 0.61, 1700000000.5], \"version\": 0.2, "              \
    "\"tvm_version\": \"0.8.0\"}\n"

static void test_forms(void **state)
{
    (void)state;
    static const char log[] = LINE("\"llvm -keys=cpu -link-params=0 -mcpu=core-avx2\"")
        LINE("\"llvm -keys=cpu -mattr=+avx2 -mtriple=x86_64-linux-gnu -num-cores=4\"")
            LINE("\"aws/cpu/c5.large\"")
                LINE("{\"kind\": \"llvm\", \"keys\": [\"cpu\"], \"num-cores\": 2}")
                    LINE("\"{\\\"kind\\\": \\\"llvm\\\", \\\"tag\\\": \\\"\\\"}\"")
                        LINE("\"vulkan -keys=vulkan,gpu\"") LINE("7");
    optune_err err = {0};
    check_ok(ot_write_file(tuning_path("forms.log"), log, sizeof log - 1, &err));
    optune *o = tuning_open("forms");
    optune_result *result = NULL;
    check_ok(optune_import(o, tuning_path("forms.log"), &result, &err));
    json_t *json = tuning_parse(optune_result_json(result));
    assert_int_equal(tuning_int(json, "taken"), 5);
    assert_int_equal(tuning_int(json, "refused"), 2);
    const json_t *ignored = json_object_get(json, "ignored_options");
    assert_int_equal(tuning_int(ignored, "keys"), 3);
    assert_int_equal(tuning_int(ignored, "mtriple"), 1);
    check_contains(optune_result_text(result), "-link-params");
    json_decref(json);
    optune_result_free(result);
    optune_close(o);
    /* Hints go out again and come back, too; what TVM cannot read is written as it can. */
    lines all = exported("forms", (optune_export_options){.tvm = true});
    assert_int_equal(all.n, 5);
    for (int i = 0; i < all.n; i++)
        assert_true(json_is_string(json_array_get(json_object_get(all.line[i], "input"), 0)));
    done(&all);
    assert_int_equal(count("forms", (optune_export_options){.threads = 4}), 1);
    assert_int_equal(count("forms", (optune_export_options){.best = true}), 0); /* no answers */
    o = tuning_open("forms");
    const optune_export_options out = {.size = sizeof out, .path = tuning_path("out.log")};
    check_ok(optune_export_records(o, &out, &result, &err));
    optune_result_free(result);
    check_ok(optune_import(o, tuning_path("out.log"), &result, &err));
    check_contains(optune_result_text(result), "5 records taken, 0 new, 0 lines not taken");
    optune_result_free(result);
    optune_close(o);
}

/* A depthwise template's arguments do not say the groups; they are the data's channels. As TVM 0.16
 * wrote it, the index is its own; more filters a channel than one are another weight's shape. */
static void test_depthwise(void **state)
{
    (void)state;
#define DEPTHWISE(weight)                                                                      \
    "{\"input\": [\"cuda -keys=cuda,gpu -arch=sm_80\", \"depthwise_conv2d_nchw.cuda\", "       \
    "[[\"TENSOR\", [1, 8, 6, 6], \"float32\"], [\"TENSOR\", " weight ", \"float32\"], "        \
    "[1, 1], [1, 1, 1, 1], [1, 1], \"float32\"], {}], \"config\": {\"index\": 2477, "          \
    "\"code_hash\": null, \"entity\": [[\"tile_f\", \"sp\", [-1, 2, 1, 4]], "                  \
    "[\"tile_y\", \"sp\", [-1, 1, 3, 2]], [\"tile_x\", \"sp\", [-1, 2, 3, 1]], "               \
    "[\"auto_unroll_max_step\", \"ot\", 0], [\"unroll_explicit\", \"ot\", 0]]}, "              \
    "\"result\": [[1e-05], 0, 0.6, 1.7e9], \"version\": 0.2, "                                 \
    "\"tvm_version\": \"0.16.0\"}\n"
    static const char log[] = DEPTHWISE("[8, 1, 3, 3]") DEPTHWISE("[8, 2, 3, 3]");
    optune_err err = {0};
    check_ok(ot_write_file(tuning_path("depthwise.log"), log, sizeof log - 1, &err));
    optune *o = tuning_open("depthwise");
    optune_result *result = NULL;
    check_ok(optune_import(o, tuning_path("depthwise.log"), &result, &err));
    json_t *json = tuning_parse(optune_result_json(result));
    assert_int_equal(tuning_int(json, "taken"), 1);
    assert_int_equal(tuning_int(json, "refused"), 1);
    assert_int_equal(tuning_int(json, "index_mismatches"), 0);
    json_decref(json);
    optune_result_free(result);
    optune_close(o);
    lines out = exported("depthwise", (optune_export_options){.tvm = true});
    assert_int_equal(out.n, 1);
    assert_string_equal(ours(out.line[0], "call"),
                        "conv2d(f32[1,8,6,6], const f32[8,1,3,3], strides=[1,1], "
                        "padding=[1,1,1,1], dilation=[1,1], groups=8)");
    done(&out);
}

/* Indices are TVM's own, of dilated convolutions and transposed products, too: both ways. */
static void test_indices(void **state)
{
    (void)state;
    enum { LINES = 110 };
    optune_err err = {0};
    optune_result *result = NULL;
    optune *o = tuning_open("indices");
    check_ok(optune_import(o, OT_SOURCE_DIR "/tests/data/autotvm/indices.log", &result, &err));
    json_t *json = tuning_parse(optune_result_json(result));
    assert_int_equal(tuning_int(json, "taken"), LINES);
    assert_int_equal(tuning_int(json, "refused"), 0);
    assert_int_equal(tuning_int(json, "index_mismatches"), 0);
    json_decref(json);
    optune_result_free(result);
    optune_close(o);
    lines out = exported("indices", (optune_export_options){0});
    assert_int_equal(out.n, LINES);
    done(&out);
}

/* TVM unrolls what the body here loops over: a config of dense_pack that its compiler would never
 * come to an end with is no answer to TVM, and is told. */
static void test_too_long_for_tvm(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_result *result = NULL;
    lines all = exported("from", (optune_export_options){.impl = "dense_pack.x86"});
    json_t *line = NULL;
    for (int i = 0; i < all.n && !line; i++)
        if (!strcmp(ours(all.line[i], "call"), DENSE) &&
            json_integer_value(json_array_get(json_object_get(all.line[i], "result"), 1)) == 0)
            line = json_deep_copy(all.line[i]);
    assert_non_null(line);
    done(&all);
    static const char longer[] =
        "[[\"tile_y\", \"sp\", [1, 1, 16]], [\"tile_x\", \"sp\", [1, 1, 32]], "
        "[\"tile_k\", \"sp\", [1, 64]], [\"tile_inner\", \"sp\", [8, 2]]]";
    const double cost = 1e-7;
    json_t *config = json_object_get(line, "config");
    json_object_set_new(config, "entity", tuning_parse(longer));
    json_object_set_new(config, "index", json_integer(-1));
    json_array_set_new(json_object_get(line, "result"), 0, json_pack("[f]", cost));
    static const char *const same[] = {"cost", "low", "high"};
    for (int i = 0; i < OT_COUNT(same); i++)
        json_object_set_new(json_object_get(line, "optune"), same[i], json_real(cost));
    ot_text text = {0};
    char *dumped = json_dumps(line, JSON_COMPACT);
    ot_text_printf(&text, "%s\n", dumped);
    check_ok(ot_write_file(tuning_path("longer.log"), text.s, text.n, &err));
    optune *o = tuning_open("from");
    check_ok(optune_import(o, tuning_path("longer.log"), &result, &err));
    check_contains(optune_result_text(result), "1 records taken, 1 new");
    optune_result_free(result);
    json_t *told = NULL;
    assert_int_equal(ask_tvm(o, json_object_get(line, "input"), NULL, &told), OPTUNE_OK);
    assert_true(json_real_value(json_object_get(told, "cost")) > cost);
    json_decref(told);
    const optune_export_options to_file = {.size = sizeof to_file,
                                           .op = "dense",
                                           .tvm = true,
                                           .best = true,
                                           .path = tuning_path("short.log")};
    check_ok(optune_export_records(o, &to_file, &result, &err));
    check_contains(optune_result_text(result), " of TVM's templates left out: dense_pack.x86 "
                                               "would unroll ");
    optune_result_free(result);
    optune_close(o);
    all = exported("from", (optune_export_options){.op = "dense"});
    bool kept = false;
    for (int i = 0; i < all.n; i++)
        kept |= json_equal(json_object_get(json_object_get(all.line[i], "config"), "entity"),
                           json_object_get(config, "entity"));
    assert_true(kept);
    done(&all);
    /* Where it is all there is, TVM hears why it gets nothing. */
    o = tuning_open("only-longer");
    check_ok(optune_import(o, tuning_path("longer.log"), &result, &err));
    optune_result_free(result);
    char *task = json_dumps(json_object_get(line, "input"), JSON_COMPACT);
    assert_int_equal(optune_query_tvm(o, task, &result, &err), OPTUNE_ENOENT);
    check_contains(err.text, "would unroll 4096 vector operations in TVM");
    optune_result_free(result);
    optune_close(o);
    free(task);
    free(dumped);
    ot_text_release(&text);
    json_decref(line);
}

/* Every line that TVM 0.19 wrote is taken, and every index is its own. */
static void test_of_019(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int lines;
    } logs[] = {
        {"conv2d_xgb.log", 64}, {"dense_default_target.log", 2}, {"dense_mcpu.log", 14}};
    const char *shared = getenv("OPTUNE_SHARED");
    int found = 0;
    for (int i = 0; i < OT_COUNT(logs); i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/data/autotvm_0.19/%s",
                 shared ? shared : OT_SOURCE_DIR "/../shared", logs[i].name);
        if (!ot_exists(path))
            continue;
        found++;
        optune *o = tuning_open("of-tvm");
        optune_result *result = NULL;
        optune_err err = {0};
        check_ok(optune_import(o, path, &result, &err));
        json_t *json = tuning_parse(optune_result_json(result));
        assert_int_equal(tuning_int(json, "taken"), logs[i].lines);
        assert_int_equal(tuning_int(json, "refused"), 0);
        assert_int_equal(tuning_int(json, "index_mismatches"), 0);
        json_decref(json);
        optune_result_free(result);
        optune_close(o);
    }
    if (!found)
        skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conditions), cmocka_unit_test(test_for_tvm),
        cmocka_unit_test(test_and_back),   cmocka_unit_test(test_asked),
        cmocka_unit_test(test_depthwise),  cmocka_unit_test(test_forms),
        cmocka_unit_test(test_of_019),     cmocka_unit_test(test_indices),
        cmocka_unit_test(test_too_long_for_tvm),
    };
    return cmocka_run_group_tests_name("tuner/autotvm", tests, setup, tuning_teardown);
}
