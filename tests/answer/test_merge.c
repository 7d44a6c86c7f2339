/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two databases become one, whichever is taken first and however often: the same bytes are
 * exported, with every record of both as it was there (samples, tool, device, time), and devices
 * that both describe, differently, are described in one way. Few records, and so many that they
 * are stored together.
 */
#include "support/check.h"

#include <unistd.h>

#include "db/db.h"
#include "optune/optune.h"
#include "support/random_call.h"
#include "support/store.h"

enum { FEW = 300, MANY = 17000, KINDS = 100 };

static optune_err err;

static optune_record numbered(int i)
{
    optune_record r = some_record(i % KINDS);
    r.time = 1e9 + i;
    return r;
}

static void path_in(char *to, const char *name)
{
    ot_format(to, 4300, "%s/%s", store_dir, name);
}

/* A device by a key that both have, and how this one describes it. */
static optune_device device_of(int key, int words)
{
    char name[32];
    ot_format(name, sizeof name, "device-%d", key);
    optune_device device = some_device(name);
    ot_format(device.name, sizeof device.name, "described %d", words);
    return device;
}

/* A log of the records from `from` to `to` in an order that `rng` draws, some of them twice. */
static void write_log(const char *name, int from, int to, uint64_t *rng)
{
    char path[4300];
    ot_log *log;
    const int n = to - from;
    int *order = ot_alloc((size_t)n * sizeof *order);
    for (int i = 0; i < n; i++) {
        const int k = (int)(optune_random(rng) % (uint64_t)(i + 1));
        order[i] = order[k];
        order[k] = from + i;
    }
    path_in(path, name);
    check_ok(
        ot_log_open(path, optune_random(rng) % 2 ? OT_LOG_SHORT : OT_LOG_FULL, &log, &err));
    for (int i = 0; i < n; i++) {
        if (i % (n / 8) == 0) {
            const optune_device device =
                device_of(i / (n / 8) % 3, (int)(optune_random(rng) % 90));
            ot_log_device(log, &device);
        }
        const optune_record r = numbered(order[i]);
        check_ok(ot_log_append(log, &r, &err));
        if (optune_random(rng) % 16 == 0)
            check_ok(ot_log_append(log, &r, &err));
    }
    ot_log_close(log);
    free(order);
}

static optune *open_db(const char *db)
{
    char path[4300];
    optune *o = NULL;
    path_in(path, db);
    const optune_options options = {
        .size = sizeof options, .db = path, .target = "cpu -threads=1"};
    check_ok(optune_open(&options, &o, &err));
    return o;
}

static int64_t take(const char *db, const char *log)
{
    char path[4300];
    optune_result *result;
    optune *o = open_db(db);
    path_in(path, log);
    check_ok(optune_import(o, path, &result, &err));
    json_t *json = json_loads(optune_result_json(result), 0, NULL);
    const int64_t added = json_integer_value(json_object_get(json, "new"));
    json_decref(json);
    optune_result_free(result);
    optune_close(o);
    return added;
}

static void give(const char *db, const char *log)
{
    char path[4300];
    optune_result *result;
    optune *o = open_db(db);
    path_in(path, log);
    check_ok(optune_export(o, NULL, false, path, &result, &err));
    optune_result_free(result);
    optune_close(o);
}

static void check_sound(const char *db, int64_t records)
{
    char path[4300];
    ot_store *store;
    ot_care care;
    path_in(path, db);
    check_ok(ot_store_open(path, OT_STORE_READ, &store, &err));
    check_ok(ot_store_check(store, &care, &err));
    assert_int_equal(care.records, records);
    assert_int_equal(ot_care_faults(&care), 0);
    ot_store_close(store);
}

static void check_equal(const char *one, const char *other)
{
    char path[4300];
    ot_text a = {0}, b = {0};
    path_in(path, one);
    check_ok(ot_read_file(path, &a, 1 << 30, &err));
    path_in(path, other);
    check_ok(ot_read_file(path, &b, 1 << 30, &err));
    if (a.n != b.n || memcmp(a.s, b.s, a.n) != 0) {
        size_t at = 0;
        while (at < a.n && at < b.n && a.s[at] == b.s[at])
            at++;
        const size_t from = at < 200 ? 0 : at - 200;
        fail_msg("%s and %s: \n%.600s\n%.600s", one, other, a.s + from, b.s + from);
    }
    ot_text_release(&a);
    ot_text_release(&b);
}

typedef struct comparing {
    bool *seen;
    int n;
} comparing;

/* As it was made. */
static int compare(void *arg, const ot_log_line *line)
{
    comparing *c = arg;
    assert_null(line->problem);
    if (!line->ours)
        return OPTUNE_OK;
    const int i = (int)(line->record.time - 1e9);
    assert_in_range(i, 0, c->n - 1);
    assert_false(c->seen[i]);
    c->seen[i] = true;
    const optune_record r = numbered(i);
    check_same_record(&line->record, &r);
    return OPTUNE_OK;
}

static void check_records(const char *log, int n)
{
    char path[4300];
    comparing c = {ot_alloc((size_t)n * sizeof *c.seen), n};
    path_in(path, log);
    check_ok(ot_log_read(path, compare, &c, &err));
    for (int i = 0; i < n; i++)
        assert_true(c.seen[i]);
    free(c.seen);
}

static void rebuild(const char *db)
{
    char path[4300];
    ot_store_stats stats;
    int64_t refused;
    path_in(path, db);
    check_ok(ot_store_rebuild(path, NULL, &stats, &refused, &err));
    assert_int_equal(refused, 0);
}

/* `a` has 0 to n_a, `b` the last `common` of them and what comes behind, up to n. */
static void merge(int n_a, int common, int n)
{
    uint64_t rng = (uint64_t)random_seed() + (uint64_t)n;
    write_log("a.log", 0, n_a, &rng);
    write_log("b.log", n_a - common, n, &rng);
    assert_int_equal(take("a", "a.log"), n_a);
    assert_int_equal(take("b", "b.log"), n - n_a + common);
    give("a", "from-a");
    give("b", "from-b");
    assert_int_equal(take("ab", "from-a"), n_a);
    assert_int_equal(take("ab", "from-b"), n - n_a);
    give("ab", "from-ab");
    assert_int_equal(take("ba", "from-b"), n - n_a + common);
    assert_int_equal(take("ba", "from-a"), n_a - common);
    give("ba", "from-ba");
    check_equal("from-ab", "from-ba");
    assert_int_equal(take("ab", "from-a") + take("ab", "from-b") + take("ab", "from-ab"), 0);
    give("ab", "from-aba");
    check_equal("from-ab", "from-aba");
    rebuild("ba");
    give("ba", "rebuilt");
    check_equal("from-ab", "rebuilt");
    check_records("from-ab", n);
    check_sound("ab", n);
    check_sound("ba", n);
}

static void few_and_few(void **state)
{
    (void)state;
    merge(FEW, FEW / 3, 2 * FEW);
}

static void few_and_many(void **state)
{
    (void)state;
    merge(FEW, FEW / 2, MANY);
}

static void many_and_many(void **state)
{
    (void)state;
    merge(MANY, 500, 2 * MANY - 500);
}

#define each(test) cmocka_unit_test_setup_teardown(test, store_fresh, store_gone)

int main(void)
{
    const struct CMUnitTest tests[] = {
        each(few_and_few),
        each(few_and_many),
        each(many_and_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
