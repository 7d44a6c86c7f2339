/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every field of a device survives each way that it goes: the store's bytes, the log's line, the
 * worker's protocol; and no field is missing in the table that drives them.
 */
#include <string.h>

#include "base/device.h"
#include "db/db.h"
#include "db/line.h"
#include "run/worker.h"
#include "support/check.h"

static optune_device filled(void)
{
    optune_device d = {0};
    for (int i = 0; i < OT_DEVICE_FIELDS; i++) {
        const ot_device_field *f = &ot_device_fields[i];
        char text[24];
        snprintf(text, sizeof text, "text %d", i);
        if (f->kind == OT_FIELD_TEXT)
            assert_true(ot_device_set_text(&d, f, text));
        else
            assert_true(ot_device_set_number(&d, f,
                                             f->kind == OT_FIELD_BOOL    ? 1
                                             : f->kind == OT_FIELD_INT64 ? INT64_MAX - i
                                                                         : 100 + i));
    }
    return d;
}

static void expect_same(const optune_device *a, const optune_device *b)
{
    for (int i = 0; i < OT_DEVICE_FIELDS; i++) {
        const ot_device_field *f = &ot_device_fields[i];
        if (f->kind == OT_FIELD_TEXT)
            assert_string_equal(ot_device_text(a, f), ot_device_text(b, f));
        else
            assert_int_equal(ot_device_number(a, f), ot_device_number(b, f));
    }
}

static void test_none_is_missing(void **state)
{
    (void)state;
    static bool covered[sizeof(optune_device)];
    int holes = 0;
    for (int i = 0; i < OT_DEVICE_FIELDS; i++) {
        const ot_device_field *f = &ot_device_fields[i];
        const size_t size = f->kind == OT_FIELD_TEXT    ? f->size
                            : f->kind == OT_FIELD_INT64 ? 8
                            : f->kind == OT_FIELD_INT   ? 4
                                                        : 1;
        for (size_t k = 0; k < size; k++) {
            assert_false(covered[f->offset + k]);
            covered[f->offset + k] = true;
        }
    }
    /* Alignment leaves less than a number behind each. */
    for (size_t k = 0; k < sizeof covered; k++) {
        holes = covered[k] ? 0 : holes + 1;
        assert_true(holes < 8);
    }
}

static void test_round_trips(void **state)
{
    (void)state;
    const optune_device d = filled();
    optune_device back;
    ot_text text = {0};
    optune_err err = {0};
    check_ok(ot_device_encode(&d, &text, &err));
    check_ok(ot_device_decode(text.s, text.n, &back, &err));
    expect_same(&d, &back);

    ot_arena arena = {0};
    const optune_device *read = NULL;
    ot_text_clear(&text);
    ot_device_line(&d, &text);
    json_t *json = json_loads(strchr(ot_text_str(&text), '{'), 0, NULL);
    assert_non_null(json);
    assert_null(ot_device_read(json, &arena, &read));
    expect_same(&d, read);
    json_decref(json);
    ot_arena_release(&arena);
    ot_text_release(&text);

    json = ot_wire_device(&d);
    check_ok(ot_wire_read_device(json, &back, &err));
    expect_same(&d, &back);
    json_object_set_new(json, "cores", json_integer(-1));
    assert_int_equal(ot_wire_read_device(json, &back, &err), OPTUNE_EWORKER);
    check_contains(err.text, "'cores'");
    json_decref(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none_is_missing),
        cmocka_unit_test(test_round_trips),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
