/* SPDX-License-Identifier: Apache-2.0 */
/* docs/formats.md against the table of a record's fields. */
#include "support/check.h"

#include "base/record.h"
#include "support/schema.h"

static const char docs[] = OT_SOURCE_DIR "/docs/formats.md";
static const char first_row[] = "| `v` | | 1 |\n";

static void print_rows(ot_text *to)
{
    for (int i = 0; i < OT_RECORD_FIELDS; i++) {
        const ot_record_field *f = &ot_record_fields[i];
        if (f->log == OT_LOG_OURS)
            ot_text_printf(to, "| `%s` |%s%s | %s |\n", f->name, *f->unit ? " " : "", f->unit,
                           f->about);
    }
}

/* OPTUNE_WRITE_DOCS=1 puts the rows there as they should be. */
static void rows_of_the_log(void **state)
{
    (void)state;
    ot_text text = {0}, rows = {0}, whole = {0};
    optune_err err = {0};
    check_ok(ot_read_file(docs, &text, 1 << 20, &err));
    print_rows(&rows);
    const char *from = strstr(text.s, first_row);
    assert_non_null(from);
    from += strlen(first_row);
    const char *end = strstr(from, "\n\n");
    assert_non_null(end);
    const bool same = (size_t)(end + 1 - from) == rows.n && !memcmp(from, rows.s, rows.n);
    if (!same && getenv("OPTUNE_WRITE_DOCS")) {
        ot_text_add_n(&whole, text.s, (size_t)(from - text.s));
        ot_text_add(&whole, rows.s);
        ot_text_add(&whole, end + 1);
        check_ok(ot_write_file(docs, whole.s, whole.n, &err));
    } else if (!same) {
        fail_msg("%s lists other fields of a record; run this with OPTUNE_WRITE_DOCS=1", docs);
    }
    ot_text_release(&text);
    ot_text_release(&rows);
    ot_text_release(&whole);
}

static const char *type_of(const ot_record_field *f)
{
    switch (f->kind) {
    case OT_RECORD_REAL:
        return "number";
    case OT_RECORD_COUNT:
    case OT_RECORD_SAMPLES: /* how many */
    case OT_RECORD_OUTCOME:
        return "integer";
    case OT_RECORD_FLAG:
        return "boolean";
    case OT_RECORD_CONFIG:
        return "array";
    default:
        return "string";
    }
}

static bool says(const json_t *types, const char *type)
{
    size_t i;
    const json_t *one;
    json_array_foreach(types, i, one) if (!strcmp(json_string_value(one), type)) return true;
    return json_is_string(types) && !strcmp(json_string_value(types), type);
}

/* What `select --json` says of a record is the fields shown in an answer, and these. */
static void schema_of_answers(void **state)
{
    (void)state;
    static const char *const derived[] = {"interval", "currency", "why", "age"};
    json_t *schema = schema_of_docs("## JSON of `optune select --json`");
    const json_t *record = json_object_get(json_object_get(schema, "$defs"), "record");
    const json_t *properties = json_object_get(record, "properties");
    size_t n = OT_COUNT(derived);
    for (int i = 0; i < OT_COUNT(derived); i++)
        assert_non_null(json_object_get(properties, derived[i]));
    for (int i = 0; i < OT_RECORD_FIELDS; i++) {
        const ot_record_field *f = &ot_record_fields[i];
        const char *name = f->kind == OT_RECORD_SAMPLES ? "samples" : f->name;
        const json_t *property = json_object_get(properties, name);
        if (!(f->shown & OT_SHOWN_ANSWER))
            continue;
        n++;
        if (!says(json_object_get(property, "type"), type_of(f)))
            fail_msg("the schema of a record has no '%s' of type %s", name, type_of(f));
    }
    assert_int_equal(json_object_size(properties), n);
    assert_int_equal(json_array_size(json_object_get(record, "required")), n);
    json_decref(schema);
}

/* And `run --json` says those in its R. */
static void keys_of_runs(void **state)
{
    (void)state;
    ot_text text = {0}, keys = {0};
    optune_err err = {0};
    check_ok(ot_read_file(docs, &text, 1 << 20, &err));
    for (int i = 0; i < OT_RECORD_FIELDS; i++) {
        const ot_record_field *f = &ot_record_fields[i];
        if (f->shown & OT_SHOWN_RUN)
            ot_text_printf(&keys, "%s\"%s\"", keys.n ? ", " : "R = { ",
                           f->kind == OT_RECORD_SAMPLES ? "samples" : f->name);
    }
    ot_text_add(&keys, " } or null");
    if (!strstr(text.s, keys.s))
        fail_msg("%s should say of `run --json`: %s", docs, keys.s);
    ot_text_release(&text);
    ot_text_release(&keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_the_log),
        cmocka_unit_test(schema_of_answers),
        cmocka_unit_test(keys_of_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
