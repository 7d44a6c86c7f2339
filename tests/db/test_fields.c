/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every field of a record, through every form that a record takes, with made-up values: whoever
 * forgets one fails here, as does who changes the bytes of a store or a log. tests/CMakeLists.txt
 * builds this file twice, the second time with fields more than there are.
 */
#include "support/check.h"

#include <math.h>

#include "db/db.h"
#include "support/records.h"

/* What somebody's older program wrote of these two. */
static const char good_digest[] = "a9dd213e264cb97311b69f9518cb092c";
static const char failed_digest[] = "6e84f96c8fc2097b80ff4ccd646000c0";

static optune_record failed_record(void)
{
    return (optune_record){
        .call = "topk(f32[8,1000], k=5)",
        .target = "cuda -arch=sm_90",
        .device = "cuda:sm_90",
        .impl = "topk_block.gpu",
        .outcome = OPTUNE_OUTCOME_CRASH,
        .message = "signal 11\n\tand \"more\"",
        .cost = INFINITY,
        .low = INFINITY,
        .high = INFINITY,
        .config.index = -1,
        .time = 1.7e9,
        .all_cost = 0.25,
        .depends = "driver=12.4",
        .source = "elsewhere.log",
    };
}

/* ---- values ------------------------------------------------------------------------------ */

/* Figures that agree with one another are some_record's. */
static bool is_figure(const ot_record_field *f)
{
    static const char *const names[] = {"cost", "low", "high", "error", "time", "all_cost"};
    for (int i = 0; i < OT_COUNT(names); i++)
        if (!strcmp(f->name, names[i]))
            return true;
    return f->kind == OT_RECORD_SAMPLES || f->kind == OT_RECORD_CONFIG ||
           f->kind == OT_RECORD_JSON || f->kind == OT_RECORD_OUTCOME;
}

/* Another value of the field's kind, set. */
static void make_up(optune_record *r, const ot_record_field *f, int number, ot_arena *arena)
{
    void *to = ot_record_to(r, f);
    switch (f->kind) {
    case OT_RECORD_REAL:
        *(double *)to = 0.1 + number;
        break;
    case OT_RECORD_COUNT:
        *(int64_t *)to = 1000000007ll * (number + 1);
        break;
    case OT_RECORD_BITS:
        *(uint64_t *)to = 0xfedcba9876543210u + (unsigned)number;
        break;
    case OT_RECORD_FLAG:
        *(bool *)to = !*(bool *)to;
        break;
    case OT_RECORD_WORD:
        *(const char **)to = ot_arena_printf(arena, "%s \"%d\" \xc3\xa9", f->name, number);
        break;
    case OT_RECORD_PROSE:
        *(const char **)to = ot_arena_printf(arena, "%s\n\tno. %d", f->name, number);
        break;
    case OT_RECORD_LINES:
        *(const char **)to = ot_arena_printf(arena, "%s=%d\nno value\n", f->name, number);
        break;
    case OT_RECORD_JSON:
        *(const char **)to =
            ot_arena_printf(arena, "[\"cpu\",\"%s %d\",[],{}]", f->name, number);
        break;
    case OT_RECORD_OUTCOME:
        *(int *)to = OPTUNE_OUTCOME_WRONG;
        break;
    case OT_RECORD_SAMPLES: {
        double *sample = ot_arena_alloc(arena, 2 * sizeof *sample);
        sample[0] = sample[1] = 0.5 + number;
        r->sample = sample;
        r->n_samples = 2;
        break;
    }
    case OT_RECORD_CONFIG:
        ((optune_config *)to)->entity[0].v[0]++;
        break;
    }
}

/* A good one with all fields set. */
static optune_record full_record(ot_arena *arena)
{
    optune_record r = some_record(1);
    r.final = false;
    for (int i = 0; i < OT_RECORD_FIELDS; i++) {
        const ot_record_field *f = &ot_record_fields[i];
        if (!is_figure(f))
            make_up(&r, f, i, arena);
        if (f->kind != OT_RECORD_OUTCOME && !ot_record_is_set(&r, f))
            fail_msg("'%s' is not set", f->name);
    }
    return r;
}

static void check_every_field(const optune_record *a, const optune_record *b)
{
    for (int i = 0; i < OT_RECORD_FIELDS; i++)
        check_same_field(a, b, &ot_record_fields[i]);
}

static void through_the_store(const optune_record *record)
{
    optune_err err;
    ot_text bytes = {0};
    ot_arena arena = {0};
    optune_record back;
    check_ok(ot_record_encode(record, &bytes, &err));
    check_ok(ot_record_decode(bytes.s, bytes.n, &arena, &back, &err));
    memset(bytes.s, 0xee, bytes.n);
    check_every_field(record, &back);
    ot_text_release(&bytes);
    ot_arena_release(&arena);
}

/* ---- a log ------------------------------------------------------------------------------- */

typedef struct reading {
    const optune_record *record;
    int n;
} reading;

static int compare(void *arg, const ot_log_line *line)
{
    reading *r = arg;
    if (line->problem)
        fail_msg("%s", line->problem);
    assert_true(line->ours);
    check_same_record(&r->record[r->n], &line->record);
    const ot_digest a = ot_record_digest(&r->record[r->n]), b = ot_record_digest(&line->record);
    assert_memory_equal(a.byte, b.byte, sizeof a.byte);
    r->n++;
    return 0;
}

static void through_a_log(const optune_record *record, int n)
{
    optune_err err = {0};
    char dir[1024], path[1100];
    ot_log *log;
    check_ok(ot_temp_dir(dir, sizeof dir, &err));
    snprintf(path, sizeof path, "%s/some.log", dir);
    check_ok(ot_log_open(path, OT_LOG_FULL, &log, &err));
    for (int i = 0; i < n; i++)
        check_ok(ot_log_append(log, &record[i], &err));
    ot_log_close(log);
    reading r = {.record = record};
    check_ok(ot_log_read(path, compare, &r, &err));
    assert_int_equal(r.n, n);
    ot_remove_tree(dir);
}

/* ---- tests ------------------------------------------------------------------------------- */

static void store_and_log(void **state)
{
    (void)state;
    ot_arena arena = {0};
    const optune_record some = some_record(1), full = full_record(&arena);
    optune_record r[3] = {full, some, failed_record()};
    for (int i = 0; i < OT_COUNT(r); i++)
        through_the_store(&r[i]);
    /* What a line says where nobody did. */
    r[2].task = "[\"cuda -arch=sm_90\",\"topk_block.gpu\",[],{}]";
    r[2].depends = "driver=12.4\n";
    through_a_log(r, OT_COUNT(r));
    ot_arena_release(&arena);
}

/* With each field alone unset, as older or other programs write it. */
static void fields_that_nobody_set(void **state)
{
    (void)state;
    ot_arena arena = {0};
    for (int i = 0; i < OT_RECORD_FIELDS; i++) {
        const ot_record_field *f = &ot_record_fields[i];
        optune_record r = full_record(&arena);
        if (is_figure(f) || !strcmp(f->name, "call") || !strcmp(f->name, "target") ||
            !strcmp(f->name, "device") || !strcmp(f->name, "impl"))
            continue;
        memset(ot_record_to(&r, f), 0, f->kind == OT_RECORD_FLAG ? sizeof(bool) : 8);
        assert_false(ot_record_is_set(&r, f));
        through_the_store(&r);
        through_a_log(&r, 1);
    }
    ot_arena_release(&arena);
}

static void copies_own_their_texts(void **state)
{
    (void)state;
    ot_arena arena = {0}, own = {0};
    optune_record full = full_record(&arena), copy = {0};
    for (int i = 0; i < OT_RECORD_FIELDS; i++)
        if (ot_record_is_text(&ot_record_fields[i])) {
            /* From malloc, so that a copy that shares it is found to, sanitizer or not. */
            const char **text = ot_record_to(&full, &ot_record_fields[i]);
            *text = ot_strdup(*text);
        }
    ot_record_keep(&own, &copy, &full);
    check_every_field(&full, &copy);
    assert_ptr_not_equal(full.sample, copy.sample);
    for (int i = 0; i < OT_RECORD_FIELDS; i++)
        if (ot_record_is_text(&ot_record_fields[i])) {
            char *text = (char *)ot_record_text(&full, &ot_record_fields[i]);
            assert_ptr_not_equal(text, ot_record_text(&copy, &ot_record_fields[i]));
            memset(text, 'x', strlen(text));
            free(text);
        }
    optune_record shared = {0};
    ot_record_copy(&shared, &copy);
    check_every_field(&copy, &shared);
    ot_arena_release(&arena);
    ot_arena_release(&own);
}

static void values_as_json(void **state)
{
    (void)state;
    ot_arena arena = {0};
    optune_record full = full_record(&arena), back = {0};
    json_t *object = json_object();
    for (int i = 0; i < OT_RECORD_FIELDS; i++)
        json_object_set_new(object, ot_record_fields[i].name,
                            ot_record_value(&full, &ot_record_fields[i]));
    char *text = json_dumps(object, 0);
    json_decref(object);
    object = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    free(text);
    assert_int_equal(json_object_size(object), OT_RECORD_FIELDS);
    for (int i = 0; i < OT_RECORD_FIELDS; i++) {
        const ot_record_field *f = &ot_record_fields[i];
        assert_null(ot_record_set(&back, f, json_object_get(object, f->name), &arena));
    }
    json_decref(object);
    back.config.index = full.config.index; /* belongs to a space, not to the entities */
    check_every_field(&full, &back);
    ot_arena_release(&arena);
}

static void what_is_shown(void **state)
{
    (void)state;
    ot_arena arena = {0};
    const optune_record full = full_record(&arena);
    for (ot_record_shown where = OT_SHOWN_ANSWER; where <= OT_SHOWN_RUN; where++) {
        json_t *object = json_object();
        size_t n = 0;
        ot_record_show(&full, where, object);
        for (int i = 0; i < OT_RECORD_FIELDS; i++) {
            const ot_record_field *f = &ot_record_fields[i];
            const bool samples = f->kind == OT_RECORD_SAMPLES;
            n += (f->shown & where) != 0;
            assert_true(!(f->shown & where) ==
                        !json_object_get(object, samples ? "samples" : f->name));
        }
        assert_int_equal(json_object_size(object), n);
        assert_int_equal(json_integer_value(json_object_get(object, "samples")),
                         full.n_samples);
        json_decref(object);
    }
    ot_arena_release(&arena);
}

static bool same_digest(const optune_record *a, const optune_record *b)
{
    const ot_digest x = ot_record_digest(a), y = ot_record_digest(b);
    return memcmp(x.byte, y.byte, sizeof x.byte) == 0;
}

static void identity(void **state)
{
    (void)state;
    ot_arena arena = {0};
    for (int i = 0; i < OT_RECORD_FIELDS; i++) {
        const ot_record_field *f = &ot_record_fields[i];
        const optune_record full = full_record(&arena);
        optune_record other = full;
        make_up(&other, f, 1000 + i, &arena);
        if (same_digest(&full, &other) != (f->identity == OT_IDENTITY_REST))
            fail_msg("'%s' is %spart of a record's identity", f->name,
                     same_digest(&full, &other) ? "no " : "");
    }
    ot_arena_release(&arena);
}

/* ---- what lies on disks ------------------------------------------------------------------ */

static void check_bytes(const char *name, const void *data, size_t n)
{
    char path[1100];
    optune_err err = {0};
    ot_text golden = {0};
    snprintf(path, sizeof path, "%s/tests/data/%s", OT_SOURCE_DIR, name);
    check_ok(ot_read_file(path, &golden, 1 << 20, &err));
    if (golden.n != n || memcmp(golden.s, data, n) != 0)
        fail_msg("what is written is no longer what %s holds", path);
    ot_text_release(&golden);
}

static void check_golden(const optune_record *record, const char *name, const char *digest)
{
    char file[64], hex[33];
    optune_err err = {0};
    optune_record back;
    ot_text bytes = {0}, line = {0};
    ot_arena arena = {0};
    const uint32_t one = 1;
    ot_record_line(record, &line);
    snprintf(file, sizeof file, "record_%s.log", name);
    check_bytes(file, line.s, line.n);
    ot_digest_hex(ot_record_digest(record), hex);
    check_ok(ot_record_encode(record, &bytes, &err));
    if (*(const char *)&one == 1) { /* a store is in the machine's order */
        assert_string_equal(hex, digest);
        snprintf(file, sizeof file, "record_%s.store", name);
        check_bytes(file, bytes.s, bytes.n);
    }
    check_ok(ot_record_decode(bytes.s, bytes.n, &arena, &back, &err));
    check_every_field(record, &back);
    ot_text_release(&bytes);
    ot_text_release(&line);
    ot_arena_release(&arena);
}

static void fields_that_came_later(void **state)
{
    (void)state;
#ifdef OT_MORE_FIELDS
    assert_true(OT_RECORD_FIELDS >= OT_RECORD_FIRST + OT_MORE_FIELDS);
#endif
    assert_true(OT_RECORD_FIELDS >= OT_RECORD_FIRST);
}

/* tests/data/record_* were written before there was a table. */
static void golden_bytes(void **state)
{
    (void)state;
    const optune_record good = some_record(1), failed = failed_record();
    check_golden(&good, "good", good_digest);
    check_golden(&failed, "failed", failed_digest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(store_and_log),          cmocka_unit_test(fields_that_nobody_set),
        cmocka_unit_test(copies_own_their_texts), cmocka_unit_test(values_as_json),
        cmocka_unit_test(what_is_shown),          cmocka_unit_test(identity),
        cmocka_unit_test(golden_bytes),           cmocka_unit_test(fields_that_came_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
