/* SPDX-License-Identifier: Apache-2.0 */
/* What the worker tells of a trial: each of its fields arrives, and a missing one is refused. */
#include "support/check.h"

#include "run/worker.h"
#include "support/records.h"

static optune_record told_record(void)
{
    optune_record r = some_record(1);
    r.outcome = OPTUNE_OUTCOME_WRONG;
    r.message = "output 0 is \"wrong\"\n";
    for (int i = 0; i < OT_RECORD_FIELDS; i++)
        if (ot_record_fields[i].who == OT_RECORD_WORKER &&
            !ot_record_is_set(&r, &ot_record_fields[i]))
            fail_msg("'%s' is not set here", ot_record_fields[i].name);
    return r;
}

static json_t *sent(const optune_record *record)
{
    json_t *object = ot_wire_told(record);
    char *text = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    object = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    free(text);
    assert_non_null(object);
    return object;
}

static void every_field_arrives(void **state)
{
    (void)state;
    optune_err err = {0};
    ot_arena arena = {0};
    const optune_record r = told_record();
    optune_record got = {0}, back = {0};
    ot_trial_result result = {0};
    json_t *object = sent(&r);
    check_ok(ot_wire_read_told(object, &arena, &got, &err));
    json_decref(object);
    ot_trial_result_of(&got, &result);
    ot_trial_result_put(&result, &back);
    for (int i = 0; i < OT_RECORD_FIELDS; i++)
        if (ot_record_fields[i].who == OT_RECORD_WORKER)
            check_same_field(&r, &back, &ot_record_fields[i]);
        else if (ot_record_is_set(&back, &ot_record_fields[i]))
            fail_msg("'%s' is not the worker's to tell", ot_record_fields[i].name);
    ot_arena_release(&arena);
}

static void a_missing_field_is_refused(void **state)
{
    (void)state;
    const optune_record r = told_record();
    for (int i = 0; i < OT_RECORD_FIELDS; i++) {
        optune_err err = {0};
        ot_arena arena = {0};
        optune_record got = {0};
        json_t *object = sent(&r);
        if (json_object_del(object, ot_record_fields[i].name) == 0) {
            assert_int_equal(ot_wire_read_told(object, &arena, &got, &err), OPTUNE_EWORKER);
            check_contains(err.text, ot_record_fields[i].name);
        }
        json_decref(object);
        ot_arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_arrives),
        cmocka_unit_test(a_missing_field_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
