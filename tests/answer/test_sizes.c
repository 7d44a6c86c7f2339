/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structs that begin with their own size, from callers of older and newer headers: every one in the
 * headers, through the function that takes it.
 */
#include "support/check.h"
#include "support/command.h"

#include <string.h>

#include "base/base.h"
#include "optune/graph.h"
#include "optune/optune.h"

static optune *handle;

/* What each function says of a struct; no field beyond those set by a test asks for anything. */
static int call_open(void *given, optune_err *err)
{
    optune *o = NULL;
    const int status = optune_open(given, &o, err);
    optune_close(o);
    return status;
}

#define TAKES(function, type)                                                                  \
    static int call_##type(void *given, optune_err *err)                                       \
    {                                                                                          \
        optune_result *result = NULL;                                                          \
        const int status = function(handle, given, &result, err);                              \
        optune_result_free(result);                                                            \
        return status;                                                                         \
    }
TAKES(optune_run, run)
TAKES(optune_verify, verify)
TAKES(optune_simulate, simulate)
TAKES(optune_report, report)
TAKES(optune_dispatch_tune, dispatch)
TAKES(optune_export_records, export)
TAKES(optune_database, database)
TAKES(optune_hub, hub)

static int call_declare(void *given, optune_err *err)
{
    char path[4096];
    return optune_declare(command_path("sizes"), given, path, sizeof path, err);
}

static int call_bring(void *given, optune_err *err)
{
    return optune_bring(OT_SOURCE_DIR "/examples/tune/matmul.c", NULL, given, err);
}

static int call_list_op(void *given, optune_err *err)
{
    return optune_list_op(handle, "dense", 0, given, err);
}
#define LISTS(what, of)                                                                        \
    static int call_list_##what(void *given, optune_err *err)                                  \
    {                                                                                          \
        return optune_list_##what(handle, of, 1, given, err);                                  \
    }
LISTS(input, "dense")
LISTS(attr, "dense")
LISTS(preset, "dense")
LISTS(impl, NULL)
LISTS(strategy, "dense_loops.generic")

static int call_list_target(void *given, optune_err *err)
{
    return optune_list_target(handle, 0, given, err);
}

static int call_list_search(void *given, optune_err *err)
{
    return optune_list_search(handle, 0, given, err);
}

static int call_list_device(void *given, optune_err *err)
{
    static optune_devices *devices;
    if (!devices)
        assert_int_equal(optune_devices_open(handle, &devices, err), OPTUNE_OK);
    return optune_list_device(devices, 0, given, err);
}

static optune_result *list(void)
{
    static optune_result *result;
    if (!result)
        assert_int_equal(optune_list(handle, "searches", NULL, &result, NULL), OPTUNE_OK);
    return result;
}

static int call_result_row(void *given, optune_err *err)
{
    return optune_result_row(list(), 0, given, err);
}

static int call_result_total(void *given, optune_err *err)
{
    return optune_result_total(list(), given, err);
}

static const struct sized {
    const char *type;
    size_t size;
    int (*call)(void *given, optune_err *err);
    bool filled;
} all[] = {
    {"optune_options", sizeof(optune_options), call_open, false},
    {"optune_run_options", sizeof(optune_run_options), call_run, false},
    {"optune_verify_options", sizeof(optune_verify_options), call_verify, false},
    {"optune_simulate_options", sizeof(optune_simulate_options), call_simulate, false},
    {"optune_report_options", sizeof(optune_report_options), call_report, false},
    {"optune_dispatch_options", sizeof(optune_dispatch_options), call_dispatch, false},
    {"optune_export_options", sizeof(optune_export_options), call_export, false},
    {"optune_database_options", sizeof(optune_database_options), call_database, false},
    {"optune_hub_options", sizeof(optune_hub_options), call_hub, false},
    {"optune_command", sizeof(optune_command), call_declare, false},
    {"optune_brought", sizeof(optune_brought), call_bring, true},
    {"optune_run_row", sizeof(optune_run_row), call_result_row, true},
    {"optune_run_total", sizeof(optune_run_total), call_result_total, true},
    {"optune_listed_op", sizeof(optune_listed_op), call_list_op, true},
    {"optune_listed_input", sizeof(optune_listed_input), call_list_input, true},
    {"optune_listed_attr", sizeof(optune_listed_attr), call_list_attr, true},
    {"optune_listed_preset", sizeof(optune_listed_preset), call_list_preset, true},
    {"optune_listed_impl", sizeof(optune_listed_impl), call_list_impl, true},
    {"optune_listed_strategy", sizeof(optune_listed_strategy), call_list_strategy, true},
    {"optune_listed_target", sizeof(optune_listed_target), call_list_target, true},
    {"optune_listed_search", sizeof(optune_listed_search), call_list_search, true},
    {"optune_listed_device", sizeof(optune_listed_device), call_list_device, true},
};

enum { ROOM = 16384, JUNK = 0xa5 };

/* `size` bytes of nothing asked for, and junk behind. */
static char *given(size_t size)
{
    static _Alignas(max_align_t) char bytes[ROOM];
    memset(bytes, JUNK, sizeof bytes);
    memset(bytes, 0, size);
    memcpy(bytes, &size, sizeof size);
    return bytes;
}

/* Every length that some version may have had is met alike, and what is behind it is not read. */
static void shorter(void **state)
{
    (void)state;
    for (int i = 0; i < OT_COUNT(all); i++) {
        optune_err whole = {0};
        const int expected = all[i].call(given(all[i].size), &whole);
        const size_t step = all[i].size > 512 ? all[i].size / 24 / 8 * 8 : 8;
        assert_int_not_equal(expected, OPTUNE_EVERSION);
        for (size_t size = sizeof size; size < all[i].size; size += step) {
            optune_err err = {0};
            assert_int_equal(all[i].call(given(size), &err), expected);
            assert_string_equal(err.text, whole.text);
        }
    }
}

static void longer(void **state)
{
    (void)state;
    for (int i = 0; i < OT_COUNT(all); i++) {
        const size_t size = all[i].size + 64;
        optune_err whole = {0}, err = {0};
        const int expected = all[i].call(given(all[i].size), &whole);
        assert_int_equal(all[i].call(given(size), &err), expected);
        assert_string_equal(err.text, whole.text);
        if (all[i].filled)
            continue;
        for (size_t at = all[i].size; at < size; at += 9) {
            char *bytes = given(size);
            bytes[at] = 1;
            assert_int_equal(all[i].call(bytes, &err), OPTUNE_EVERSION);
            assert_non_null(strstr(err.text, all[i].type));
            assert_non_null(strstr(err.text, "newer version"));
        }
    }
}

static void of_nothing(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 4, 7, 9, 12, SIZE_MAX - 7, SIZE_MAX, 1 << 20};
    for (int i = 0; i < OT_COUNT(all); i++)
        for (int k = 0; k < OT_COUNT(sizes); k++) {
            char *bytes = given(all[i].size);
            optune_err err = {0};
            memcpy(bytes, &sizes[k], sizeof sizes[k]);
            assert_int_equal(all[i].call(bytes, &err), OPTUNE_EVERSION);
            assert_non_null(strstr(err.text, all[i].type));
        }
}

/* Fields that a short struct has are heeded, those that it lacks are as if they were zero. */
static void heeded(void **state)
{
    (void)state;
    optune_err err = {0};
    optune *o = NULL;
    optune_options options;
    memset(&options, JUNK, sizeof options);
    options.size = offsetof(optune_options, db);
    options.target = "frobnicator";
    assert_true(optune_open(&options, &o, &err) < 0);
    assert_non_null(strstr(err.text, "frobnicator"));
    options.target = "cpu -threads=1";
    check_ok(optune_open(&options, &o, &err));
    optune_close(o);
}

/* A struct that is filled: as far as it reaches, zero behind what is known here, no further. */
static void filled(void **state)
{
    (void)state;
    optune_err err = {0};
    optune_brought whole = {.size = sizeof whole};
    check_ok(call_bring(&whole, &err));
    assert_true(*whole.op && whole.combinations > 1 && whole.counted);
    const size_t small = offsetof(optune_brought, workload), large = sizeof whole + 64;
    char *bytes = given(small);
    check_ok(call_bring(bytes, &err));
    assert_memory_equal(bytes + sizeof small, (char *)&whole + sizeof small,
                        small - sizeof small);
    for (size_t i = small; i < ROOM; i++)
        assert_int_equal((unsigned char)bytes[i], JUNK);
    bytes = given(large);
    memset(bytes + sizeof large, JUNK, large - sizeof large);
    check_ok(call_bring(bytes, &err));
    assert_memory_equal(bytes + sizeof large, (char *)&whole + sizeof large,
                        sizeof whole - sizeof large);
    for (size_t i = sizeof whole; i < ROOM; i++)
        assert_int_equal((unsigned char)bytes[i], i < large ? 0 : JUNK);
}

/* Every struct of the headers that begins so stands above. */
static void all_of_them(void **state)
{
    (void)state;
    static const char *const header[] = {"types.h", "optune.h", "graph.h"};
    int n = 0;
    for (int i = 0; i < OT_COUNT(header); i++) {
        optune_err err = {0};
        ot_text path = {0}, text = {0};
        ot_text_printf(&path, "%s/include/optune/%s", OT_SOURCE_DIR, header[i]);
        check_ok(ot_read_file(ot_text_str(&path), &text, 1 << 20, &err));
        for (const char *p = text.s; (p = strstr(p, "typedef struct "));) {
            char name[OPTUNE_NAME_SIZE] = "", first[OPTUNE_NAME_SIZE] = "";
            if (sscanf(p += 15, "%63[a-z_0-9] { size_t %63[a-z]", name, first) != 2 ||
                strcmp(first, "size"))
                continue;
            bool known = false;
            for (int k = 0; k < OT_COUNT(all); k++)
                known = known || !strcmp(all[k].type, name);
            if (!known)
                fail_msg("'%s' of %s is not in this test", name, header[i]);
            n++;
        }
        ot_text_release(&path);
        ot_text_release(&text);
    }
    assert_int_equal(n, OT_COUNT(all));
}

static int setup(void **state)
{
    if (command_setup(state))
        return -1;
    const optune_options options = {.size = sizeof options, .db = command_path("sizes")};
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
        cmocka_unit_test(shorter), cmocka_unit_test(longer), cmocka_unit_test(of_nothing),
        cmocka_unit_test(heeded),  cmocka_unit_test(filled), cmocka_unit_test(all_of_them),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
