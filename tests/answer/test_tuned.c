/* SPDX-License-Identifier: Apache-2.0 */
/* What was tuned, as a list: what is said of each kind of question, and which are meant. */
#include <math.h>
#include <string.h>

#include "support/check.h"
#include "support/forged.h"
#include "support/records.h"

static const char *here; /* the run's device */

/* Rows of a list of DB; the caller drops *document. `text`: what people see, to be freed; NULL. */
static const json_t *list(const char *db, optune_export_options conditions, json_t **document,
                          char **text)
{
    optune *o = tuning_open(db);
    optune_result *result = NULL;
    optune_err err = {0};
    conditions.size = sizeof conditions;
    check_ok(optune_list_tuned(o, &conditions, 0, &result, &err));
    *document = tuning_parse(optune_result_json(result));
    if (text)
        *text = ot_strdup(optune_result_text(result));
    optune_result_free(result);
    optune_close(o);
    return json_object_get(*document, "workloads");
}

/* A good record of the run; NULL: it measured none of that implementation. */
static const optune_record *good_of(const char *impl)
{
    for (int i = 0; i < forged_run.n; i++)
        if (forged_run.record[i].outcome == OPTUNE_OUTCOME_OK &&
            !strcmp(forged_run.record[i].impl, impl))
            return &forged_run.record[i];
    return NULL;
}

/* One of another call, so that it is a question of its own. */
static optune_record another(const char *call)
{
    const optune_record *good = good_of("dense_pack.x86");
    assert_non_null(good);
    optune_record r = *good;
    r.call = call;
    r.task = NULL;
    return r;
}

static void wrong(optune_record *r)
{
    r->outcome = OPTUNE_OUTCOME_WRONG;
    r->message = "planted";
    r->cost = INFINITY;
    r->n_samples = 0;
}

static void every_kind_is_told(void **state)
{
    (void)state;
    optune_record r[] = {*good_of("dense_pack.x86"),
                         another("dense(f32[2,64], const f32[32,64])"),
                         another("dense(f32[3,64], const f32[32,64])"),
                         another("dense(f32[4,64], const f32[32,64])"),
                         another("gone(f32[5,64])")};
    r[1].digest = "00000000000000000000000000000000";
    wrong(&r[2]);
    r[3].digest = "";
    r[3].device = "autotvm:llvm";
    r[4].op = "gone";
    forged_put("kinds", r, OT_COUNT(r), NULL);
    static const char *const states[] = {"hinted", "tuned", "stale", "failed", "unknown"};
    json_t *document;
    char *text;
    const json_t *rows = list("kinds", (optune_export_options){0}, &document, &text);
    assert_int_equal(json_array_size(rows), OT_COUNT(states));
    for (size_t i = 0; i < OT_COUNT(states); i++) {
        const json_t *row = json_array_get(rows, i);
        assert_string_equal(tuning_text(row, "state"), states[i]);
        check_contains(text, i == 1 ? r[0].impl : states[i]);
        assert_true(json_is_null(json_object_get(row, "why")) == (i == 1));
    }
    const json_t *stale = json_array_get(rows, 2);
    assert_string_equal(tuning_text(stale, "impl"), r[1].impl);
    assert_int_equal(tuning_int(stale, "measured"), 1);
    assert_int_equal(tuning_int(json_array_get(rows, 3), "failed"), 1);
    assert_int_equal(tuning_int(json_array_get(rows, 0), "hints"), 1);
    check_contains(text, "5 workloads: 1 tuned, 1 stale, 1 hinted, 1 failed, 1 unknown");
    json_decref(document);
    free(text);
}

/* What only libraries are known to do is neither stale nor failed: they were not asked for. */
static void a_library_alone_is_no_answer(void **state)
{
    (void)state;
    if (!good_of("dense_cblas.x86"))
        skip();
    forged_put("library", good_of("dense_cblas.x86"), 1, NULL);
    json_t *document;
    const json_t *row =
        json_array_get(list("library", (optune_export_options){0}, &document, NULL), 0);
    assert_string_equal(tuning_text(row, "state"), "refused");
    assert_true(json_is_null(json_object_get(row, "impl")));
    json_decref(document);
}

static void conditions_hold(void **state)
{
    (void)state;
    optune_record r[] = {another("dense(f32[1,64], const f32[32,64])"),
                         another("dense(f32[2,64], const f32[32,64])")};
    r[1].policy = "cold";
    const optune_device device = some_device(here);
    forged_put("some", r, OT_COUNT(r), &device);
    const struct {
        optune_export_options conditions;
        size_t rows;
    } all[] = {
        {{.op = NULL}, 2},
        {{.op = "dense"}, 2},
        {{.op = "relu"}, 0},
        {{.impl = r[0].impl}, 2},
        {{.impl = "relu_vector.cpu"}, 0},
        {{.policy = "cold"}, 1},
        {{.device = here}, 2},
        {{.target = "cpu", .threads = 1}, 2},
        {{.target = "cpu", .threads = 3}, 0},
        {{.target = "opencl"}, 0},
    };
    for (int i = 0; i < OT_COUNT(all); i++) {
        json_t *document;
        char *text;
        const json_t *rows = list("some", all[i].conditions, &document, &text);
        assert_int_equal(json_array_size(rows), all[i].rows);
        if (!all[i].rows)
            check_contains(text, "optune run");
        json_decref(document);
        free(text);
    }
}

static void what_is_not_there_is_named(void **state)
{
    (void)state;
    const optune_export_options all[] = {{.size = sizeof all[0], .op = "densely"},
                                         {.size = sizeof all[0], .impl = "dense_pack.x68"},
                                         {.size = sizeof all[0], .device = "nowhere"}};
    static const char *const names[] = {"densely", "dense_pack.x68", "nowhere"};
    optune *o = tuning_open("tuned"), *none = tuning_open("none");
    optune_result *result = NULL;
    optune_err err = {0};
    for (int i = 0; i < OT_COUNT(all); i++) {
        assert_int_equal(optune_list_tuned(o, &all[i], 0, &result, &err), OPTUNE_ENOENT);
        check_contains(err.text, names[i]);
        assert_null(result);
    }
    const optune_export_options any = {.size = sizeof any};
    assert_int_equal(optune_list_tuned(none, &any, 0, &result, &err), OPTUNE_ENOENT);
    check_contains(err.text, "none");
    optune_interrupt(o);
    assert_int_equal(optune_list_tuned(o, &any, 0, &result, &err), OPTUNE_EINTERRUPTED);
    check_ok(optune_list_tuned(o, &any, 0, &result, &err));
    optune_result_free(result);
    optune_close(none);
    optune_close(o);
}

static int setup(void **state)
{
    const int status = forged_setup(state);
    here = forged_run.record[0].device;
    return status;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_told),
        cmocka_unit_test(a_library_alone_is_no_answer),
        cmocka_unit_test(conditions_hold),
        cmocka_unit_test(what_is_not_there_is_named),
    };
    return cmocka_run_group_tests_name("answer/tuned", tests, setup, forged_teardown);
}
