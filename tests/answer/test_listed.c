/* SPDX-License-Identifier: Apache-2.0 */
/* What there is, walked row by row: the same as the documents say, and what rows mean. */
#include "support/check.h"
#include "support/command.h"

#include <jansson.h>
#include <string.h>

#include "optune/graph.h"
#include "optune/optune.h"

static optune *handle;

/* The rows of a list's document; the caller drops *document. */
static json_t *rows_of(const char *what, const char *name, json_t **document)
{
    optune_err err = {0};
    optune_result *result = NULL;
    check_ok(optune_list(handle, what, name, &result, &err));
    assert_string_equal(optune_result_text(result), "");
    *document = json_loads(optune_result_json(result), 0, NULL);
    optune_result_free(result);
    json_t *rows = json_object_get(*document, what);
    assert_true(json_array_size(rows) > 0);
    return rows;
}

static void same_text(const json_t *row, const char *name, const char *text)
{
    const json_t *value = json_object_get(row, name);
    assert_non_null(value);
    if (text)
        assert_string_equal(json_string_value(value), text);
    else
        assert_true(json_is_null(value));
}

static void operators(void **state)
{
    (void)state;
    optune_err err = {0};
    json_t *document, *rows = rows_of("ops", NULL, &document);
    int n = 0, status, inputs = 0, attrs = 0, presets = 0;
    optune_listed_op op = {.size = sizeof op};
    for (; (status = optune_list_op(handle, NULL, n, &op, &err)) == OPTUNE_OK; n++) {
        const json_t *row = json_array_get(rows, (size_t)n), *list;
        optune_listed_input input = {.size = sizeof input};
        optune_listed_attr attr = {.size = sizeof attr};
        optune_listed_preset preset = {.size = sizeof preset};
        int i;
        same_text(row, "name", op.name);
        same_text(row, "pattern", op.pattern);
        list = json_object_get(row, "inputs");
        for (i = 0; optune_list_input(handle, op.name, i, &input, &err) == OPTUNE_OK; i++)
            same_text(json_array_get(list, (size_t)i), "type", input.type);
        assert_int_equal(i, json_array_size(list));
        inputs += i;
        list = json_object_get(row, "attributes");
        for (i = 0; optune_list_attr(handle, op.name, i, &attr, &err) == OPTUNE_OK; i++)
            same_text(json_array_get(list, (size_t)i), "default", attr.value);
        assert_int_equal(i, json_array_size(list));
        assert_string_equal(attr.name, "math"); /* the last one of every operator */
        attrs += i;
        list = json_object_get(row, "presets");
        for (i = 0; optune_list_preset(handle, op.name, i, &preset, &err) == OPTUNE_OK; i++)
            same_text(json_array_get(list, (size_t)i), "name", preset.name);
        assert_int_equal(i, json_array_size(list));
        presets += i;
    }
    assert_int_equal(status, 1);
    assert_int_equal(n, json_array_size(rows));
    assert_true(inputs > n && attrs > n && presets > 10);
    json_decref(document);
}

static void one_operator(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_listed_op op = {.size = sizeof op};
    check_ok(optune_list_op(handle, "dense", 0, &op, &err));
    assert_string_equal(op.name, "dense");
    assert_string_equal(op.pattern, "out-fusable");
    assert_true(op.flops && op.terms && op.gradient && !op.scalar && !op.map && !op.standard);
    assert_int_equal(op.n_outputs, 1);
    assert_string_equal(op.outputs[0], "output");
    assert_int_equal(optune_list_op(handle, "dense", 1, &op, &err), 1);
    assert_string_equal(op.name, "dense"); /* nothing is filled behind the last */
    check_ok(optune_list_op(handle, "sum", 0, &op, &err));
    assert_true(op.identity && op.map && op.combine && op.finish && !op.scalar);
    check_ok(optune_list_op(handle, "topk", 0, &op, &err));
    assert_int_equal(op.n_outputs, 2);
    assert_true(op.outputs_by_attribute);
    assert_string_equal(op.outputs[1], "indices");
    assert_int_equal(optune_list_op(handle, "denes", 0, &op, &err), OPTUNE_ENOENT);
    check_contains(err.text, "did you mean 'dense'");
}

static void figures_of_a_workload(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_call *call = NULL;
    check_ok(optune_call_open("dense(f32[2,3], f32[5,3])", &call, &err));
    assert_true(optune_call_flops(call) == 60);
    assert_true(optune_call_bytes(call) == 4 * (6 + 15 + 10));
    optune_call_close(call);
    check_ok(optune_call_open("dense(f32[?m:1..4,3], f32[5,3])", &call, &err));
    assert_true(optune_call_flops(call) == 0 && optune_call_bytes(call) == 0);
    optune_call_close(call);
}

static void implementations(void **state)
{
    (void)state;
    optune_err err = {0};
    json_t *document, *rows = rows_of("impls", "dense", &document);
    int n = 0, status, strategies = 0;
    optune_listed_impl impl = {.size = sizeof impl};
    for (; (status = optune_list_impl(handle, "dense", n, &impl, &err)) == OPTUNE_OK; n++) {
        const json_t *row = json_array_get(rows, (size_t)n);
        const json_t *list = json_object_get(row, "strategies");
        optune_listed_strategy in = {.size = sizeof in};
        int i = 0;
        assert_string_equal(impl.op, "dense");
        same_text(row, "name", impl.name);
        same_text(row, "library", impl.library);
        same_text(row, "digest", impl.digest);
        assert_true(impl.error_scale > 0);
        for (; optune_list_strategy(handle, impl.name, i, &in, &err) == OPTUNE_OK; i++) {
            same_text(json_array_get(list, (size_t)i), "key", in.key);
            same_text(json_array_get(list, (size_t)i), "when", in.when);
        }
        assert_int_equal(i, json_array_size(list));
        strategies += i;
    }
    assert_int_equal(status, 1);
    assert_int_equal(n, json_array_size(rows));
    assert_true(n > 5 && strategies >= n);
    assert_int_equal(optune_list_impl(handle, "denes", 0, &impl, &err), OPTUNE_ENOENT);
    optune_listed_strategy in = {.size = sizeof in};
    assert_int_equal(optune_list_strategy(handle, "dense_pakc.x86", 0, &in, &err),
                     OPTUNE_ENOENT);
    json_decref(document);
}

static void targets_and_searches(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_listed_target target = {.size = sizeof target};
    optune_listed_search search = {.size = sizeof search};
    json_t *document, *rows = rows_of("targets", NULL, &document);
    size_t n = 0;
    for (; optune_list_target(handle, (int)n, &target, &err) == OPTUNE_OK; n++) {
        same_text(json_array_get(rows, n), "name", target.name);
        assert_non_null(target.keys[0]);
    }
    assert_int_equal(n, json_array_size(rows));
    json_decref(document);
    rows = rows_of("searches", NULL, &document);
    for (n = 0; optune_list_search(handle, (int)n, &search, &err) == OPTUNE_OK; n++)
        same_text(json_array_get(rows, n), "summary", search.summary);
    assert_int_equal(n, json_array_size(rows));
    json_decref(document);
}

static bool has_row(optune_devices *all, const char *kind)
{
    optune_err err = {0};
    optune_listed_device row = {.size = sizeof row};
    bool found = false;
    for (int i = 0; optune_list_device(all, i, &row, &err) == OPTUNE_OK; i++)
        found |= !strcmp(row.device ? row.device->kind : row.target, kind);
    return found;
}

/* This machine's CPU is there, once; each other kind of target has a device, or a row that says why
 * not. Programs run on that CPU. */
static void devices(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_devices *all = NULL;
    optune_listed_device row = {.size = sizeof row};
    char key[OPTUNE_TEXT_SIZE] = "";
    int n = 0;
    check_ok(optune_devices_open(handle, &all, &err));
    for (; optune_list_device(all, n, &row, &err) == OPTUNE_OK; n++) {
        assert_true(row.device ? !row.why && !row.target : row.why && *row.why && row.target);
        if (n == 0) {
            assert_string_equal(row.device->kind, "cpu");
            assert_true(row.here);
            snprintf(key, sizeof key, "%s", row.device->key);
        } else if (row.device) {
            assert_string_not_equal(row.device->key, key);
        }
    }
    optune_listed_target target = {.size = sizeof target};
    for (int i = 0; optune_list_target(handle, i, &target, &err) == OPTUNE_OK; i++)
        assert_true(has_row(all, target.name) != !strcmp(target.name, "program"));
    assert_int_equal(optune_list_device(all, -1, &row, &err), 1);
    optune_devices_close(all);
}

static int setup(void **state)
{
    if (command_setup(state))
        return -1;
    const optune_options options = {.size = sizeof options, .db = command_path("listed")};
    return optune_open(&options, &handle, NULL);
}

static int teardown(void **state)
{
    optune_close(handle);
    return command_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators),
        cmocka_unit_test(one_operator),
        cmocka_unit_test(figures_of_a_workload),
        cmocka_unit_test(implementations),
        cmocka_unit_test(targets_and_searches),
        cmocka_unit_test(devices),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
