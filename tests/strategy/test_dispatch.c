/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dispatch tables: the compiled answer is the first row whose condition holds, whatever the
 * conditions are; what overlaps or is never used is reported; a table survives its text, and a
 * damaged text is refused by name.
 */
#include "support/check.h"

#include "strategy/dispatch.h"

#define CALL "dense(f32[?m:1..4096,64], const f32[48,64])"
#define TWO "batch_matmul(f32[?b:1..64,?m:1..512,32], f32[?b:1..64,16,32])"

static ot_dispatch *table_of(const char *call_text, const char *const *when, int n)
{
    optune_call *call = ot_alloc(sizeof *call);
    ot_dispatch *d = NULL;
    optune_err err = {0};
    check_ok(ot_call_parse(call_text, call, &err));
    check_ok(ot_dispatch_new(call, &d, &err));
    const optune_impl *impl =
        ot_impl_find(call_text[0] == CALL[0] ? "dense_gemm.cpu" : "batch_matmul_gemm.cpu");
    for (int i = 0; i < n; i++) {
        ot_dispatch_row *row = ot_alloc(sizeof *row);
        *row = (ot_dispatch_row){.when = when[i],
                                 .range = d->dims,
                                 .impl = impl,
                                 .digest = ot_impl_digest(impl),
                                 .tier = i == n - 1 ? "plevel" : "tuned"};
        check_ok(ot_config_parse("[[\"tile_m\",\"ot\",4]]", &row->config, &err));
        row->config.entity[0].v[0] = i;
        ot_dispatch_add(d, row);
        free(row);
    }
    free(call);
    return d;
}

static ot_dispatch *compiled(const char *call, const char *const *when, int n)
{
    optune_err err = {0};
    ot_dispatch *d = table_of(call, when, n);
    check_ok(ot_dispatch_compile(d, &err));
    return d;
}

static int row_at(const ot_dispatch *d, int64_t m)
{
    return ot_dispatch_find(d, &m);
}

static void test_boundaries(void **state)
{
    (void)state;
    const char *const when[] = {"m <= 2", "m > 2 && m < 17", "m >= 17 && m <= 256", NULL};
    ot_dispatch *d = compiled(CALL, when, 4);
    static const int at[][2] = {{0, -1},  {1, 0},   {2, 0},    {3, 1},     {16, 1},  {17, 2},
                                {256, 2}, {257, 3}, {4096, 3}, {4097, -1}, {-5, -1}, {100, 2}};
    for (int i = 0; i < OT_COUNT(at); i++)
        assert_int_equal(row_at(d, at[i][0]), at[i][1]);
    assert_int_equal(row_at(d, INT64_MAX), -1);
    assert_int_equal(row_at(d, INT64_MIN), -1);
    ot_text said = {0};
    bool used[4];
    assert_int_equal(ot_dispatch_check(d, &said, used), 0);
    for (int i = 0; i < 4; i++)
        assert_true(used[i]);
    ot_text_release(&said);
    ot_dispatch_free(d);
}

static void test_no_default(void **state)
{
    (void)state;
    ot_dispatch *d = compiled(CALL, (const char *const[]){"m < 10", "m > 20"}, 2);
    assert_int_equal(row_at(d, 9), 0);
    assert_int_equal(row_at(d, 10), -1);
    assert_int_equal(row_at(d, 20), -1);
    assert_int_equal(row_at(d, 21), 1);
    ot_dispatch_free(d);
}

typedef struct sizes {
    const ot_dispatch *d;
    const int64_t *size;
} sizes;

static bool look_up(const void *arg, const char *name, optune_dim *value)
{
    const sizes *s = arg;
    for (int i = 0; i < s->d->dims.n; i++)
        if (!strcmp(s->d->dims.dim[i].name, name)) {
            *value = optune_dim_of(s->size[i]);
            return true;
        }
    return false;
}

static int slowly(const ot_dispatch *d, const int64_t *size)
{
    const sizes s = {d, size};
    for (int i = 0; i < d->n; i++)
        if (!d->row[i].when || ot_condition_test(d->when[i], look_up, &s, NULL, 0) == OT_TRUE)
            return i;
    return -1;
}

/* Conditions of every kind against asking each of them: intervals, remainders, products. */
static void test_like_the_conditions(void **state)
{
    (void)state;
    static const char *const forms[] = {"m <= %d",           "m > %d && b < 9",
                                        "m %% %d == 0",      "b * m >= %d",
                                        "b == 3 || m == %d", "!(m < %d) && (b > 4 || m != 77)",
                                        "m - b > %d",        "b >= 2 && b <= 30 && m >= %d"};
    uint64_t rng = 3;
    for (int round = 0; round < 60; round++) {
        char text[6][80];
        const char *when[7] = {0};
        for (int i = 0; i < 6; i++) {
            const int form = (int)optune_random_below(&rng, OT_COUNT(forms));
            snprintf(text[i], sizeof text[i], forms[form],
                     1 + (int)optune_random_below(&rng, 300));
            when[i] = text[i];
        }
        ot_dispatch *d = compiled(TWO, when, round % 2 ? 7 : 6);
        for (int k = 0; k < 400; k++) {
            const int64_t size[] = {1 + optune_random_below(&rng, k % 2 ? 64 : 10),
                                    1 + optune_random_below(&rng, 512)};
            assert_int_equal(ot_dispatch_find(d, size), slowly(d, size));
        }
        ot_dispatch_free(d);
    }
}

static void test_many_cuts(void **state)
{
    (void)state;
    char text[200][32];
    const char *when[201] = {0};
    for (int i = 0; i < 200; i++) {
        snprintf(text[i], sizeof text[i], "m < %d", 2 + 20 * i);
        when[i] = text[i];
    }
    ot_dispatch *d = compiled(CALL, when, 201);
    for (int64_t m = 1; m <= 4096; m++)
        assert_int_equal(ot_dispatch_find(d, &m), slowly(d, &m));
    ot_dispatch_free(d);
}

/* A number cuts what it is compared with: of as many dims as a call has, one cell more for each
 * that is cut, not for all. */
static void test_many_dims(void **state)
{
    (void)state;
    enum { DIMS = OPTUNE_MAX_SYMBOLS };
    ot_text call = {0};
    ot_text_add(&call, "concatenate(");
    for (int i = 0; i < DIMS; i++)
        ot_text_printf(&call, "%sf32[?a%d:1..64,4]", i ? ", " : "", i);
    ot_text_add(&call, ")");
    const char *const one[] = {"a0 <= 8", NULL};
    ot_dispatch *d = compiled(ot_text_str(&call), one, 2);
    assert_int_equal(d->dims.n, DIMS);
    int64_t size[DIMS];
    for (int i = 0; i < DIMS; i++) {
        assert_int_equal(d->flat.n_cuts[i], i ? 0 : 2);
        size[i] = 64;
    }
    assert_int_equal(ot_dispatch_find(d, size), 1);
    size[0] = 8;
    assert_int_equal(ot_dispatch_find(d, size), 0);
    ot_dispatch_free(d);
    const char *const some[] = {"a1 <= 8 && a2 <= 20", "a3 + a4 < 30 || a5 % 4 == 0",
                                "!(a1 > 4 && 2 < 3) && a6 != 7", NULL};
    d = compiled(ot_text_str(&call), some, 4);
    assert_int_equal(d->flat.n_cuts[0], 0);
    assert_int_equal(d->flat.n_cuts[1], 4);
    assert_int_equal(d->flat.n_cuts[7], 0);
    uint32_t seed = 1;
    for (int k = 0; k < 5000; k++) {
        for (int i = 0; i < DIMS; i++) {
            seed = seed * 1664525u + 1013904223u;
            size[i] = 1 + (seed >> 16) % (k % 2 ? 64 : 32);
        }
        assert_int_equal(ot_dispatch_find(d, size), slowly(d, size));
    }
    ot_dispatch_free(d);
    ot_text_release(&call);
}

/* The same number in every row is one number. */
static void test_numbers_that_repeat(void **state)
{
    (void)state;
    char text[700][32];
    const char *when[701] = {0};
    for (int i = 0; i < 700; i++) {
        snprintf(text[i], sizeof text[i], "m < 17 && m == %d", 1 + i % 16);
        when[i] = text[i];
    }
    ot_dispatch *d = compiled(CALL, when, 701);
    for (int64_t m = 1; m <= 40; m++)
        assert_int_equal(ot_dispatch_find(d, &m), slowly(d, &m));
    ot_dispatch_free(d);
}

static void test_overlaps_and_the_unreachable(void **state)
{
    (void)state;
    const char *const when[] = {"m < 100", "m > 50", "m == 20", "m > 5000", NULL};
    ot_dispatch *d = compiled(CALL, when, 5);
    ot_text said = {0};
    bool used[5];
    assert_int_equal(ot_dispatch_check(d, &said, used), 4);
    check_contains(said.s, "rows 0 (m < 100) and 1 (m > 50) overlap");
    check_contains(said.s, "rows 0 (m < 100) and 2 (m == 20) overlap");
    check_contains(said.s, "row 2 (m == 20) is never used");
    check_contains(said.s, "row 3 (m > 5000) is never used");
    assert_true(used[0] && used[1]);
    assert_false(used[2] || used[3]);
    assert_false(used[4]); /* said by nobody: it is there for what others leave */
    ot_text_clear(&said);
    ot_dispatch_print(d, &said);
    check_contains(said.s, "otherwise");
    check_contains(said.s, "never used");
    ot_text_release(&said);
    ot_dispatch_free(d);
}

static void check_refused(ot_dispatch *d, int status, const char *words)
{
    optune_err err = {0};
    assert_int_equal(ot_dispatch_compile(d, &err), status);
    check_contains(err.text, words);
    ot_dispatch_free(d);
}

static void test_bad_rows(void **state)
{
    (void)state;
    check_refused(table_of(CALL, (const char *const[]){"k < 3", NULL}, 2), OPTUNE_ESYNTAX,
                  "names 'k'");
    check_refused(table_of(CALL, (const char *const[]){"m < ", NULL}, 2), OPTUNE_ESYNTAX,
                  "column");
    check_refused(table_of(CALL, (const char *const[]){NULL, "m < 3"}, 2), OPTUNE_EUSAGE,
                  "row 0 has no condition");
    check_refused(table_of(CALL, NULL, 0), OPTUNE_EUSAGE, "rows");
    ot_dispatch *d = table_of(CALL, (const char *const[]){"m < 100", NULL}, 2);
    d->row[0].range.dim[0].max = 64;
    check_refused(d, OPTUNE_EUSAGE, "its plan is for 1..64");
    d = table_of(CALL, (const char *const[]){"m % 2 == 0 && m < 100", NULL}, 2);
    d->row[0].range.dim[0].min = 4;
    check_refused(d, OPTUNE_EUSAGE, "its plan is for 4..4096");
}

static void check_no_table(const char *text, int status, const char *words)
{
    optune_call *call = ot_alloc(sizeof *call);
    ot_dispatch *d = NULL;
    optune_err err = {0};
    check_ok(ot_call_parse(text, call, &err));
    assert_int_equal(ot_dispatch_new(call, &d, &err), status);
    assert_null(d);
    check_contains(err.text, words);
    free(call);
}

static void test_calls_without_a_table(void **state)
{
    (void)state;
    check_no_table("dense(f32[8,64], const f32[48,64])", OPTUNE_EUSAGE, "no dim is symbolic");
    check_no_table("dense(f32[?m,64], const f32[48,64])", OPTUNE_EUSAGE,
                   "'m' has no upper bound");
    check_no_table("dense(f32[?:1..8,64], const f32[48,64])", OPTUNE_EUSAGE, "has no name");
}

static char *dump(const ot_dispatch *d)
{
    json_t *json = ot_dispatch_json(d);
    char *text = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    return text;
}

static void test_text(void **state)
{
    (void)state;
    const char *const when[] = {"b <= 2 && m < 9", "m >= 100", NULL};
    optune_err err = {0};
    ot_dispatch *d = compiled(TWO, when, 3), *again = NULL;
    d->row[0].range.dim[0].max = 2;
    d->device = "cpu:x";
    d->measured = json_pack("{s:[i]}", "points", 7);
    char *text = dump(d);
    check_ok(ot_dispatch_read(text, &again, &err));
    char *copy = dump(again);
    assert_string_equal(text, copy);
    for (int64_t b = 1; b <= 64; b++)
        for (int64_t m = 1; m <= 512; m += 3) {
            const int64_t size[] = {b, m};
            assert_int_equal(ot_dispatch_find(d, size), ot_dispatch_find(again, size));
        }
    ot_dispatch_free(again);
    /* Every prefix, and every key spoiled, is refused and leaks nothing. */
    for (size_t n = 0; n < strlen(text); n += 7) {
        char *part = ot_strdup(text);
        part[n] = 0;
        assert_int_equal(ot_dispatch_read(part, &again, &err), OPTUNE_ESYNTAX);
        assert_null(again);
        free(part);
    }
    static const char *const keys[] = {"\"call\"",   "\"rows\"",   "\"impl\"",   "\"digest\"",
                                       "\"when\"",   "\"range\"",  "\"config\"", "\"tier\"",
                                       "\"target\"", "\"device\"", "\"depends\""};
    for (int i = 0; i < OT_COUNT(keys); i++) {
        strstr(text, keys[i])[1] = 'X';
        assert_int_equal(ot_dispatch_read(text, &again, &err), OPTUNE_ESYNTAX);
        char name[32];
        snprintf(name, sizeof name, "'%.*s'", (int)strlen(keys[i]) - 2, keys[i] + 1);
        check_contains(err.text, name);
        strcpy(text, copy);
    }
    char *version = strstr(text, "\"optune_dispatch\":1");
    version[strlen("\"optune_dispatch\":")] = '9';
    assert_int_equal(ot_dispatch_read(text, &again, &err), OPTUNE_EVERSION);
    free(text);
    free(copy);
    ot_dispatch_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_boundaries),
        cmocka_unit_test(test_no_default),
        cmocka_unit_test(test_like_the_conditions),
        cmocka_unit_test(test_many_cuts),
        cmocka_unit_test(test_many_dims),
        cmocka_unit_test(test_numbers_that_repeat),
        cmocka_unit_test(test_overlaps_and_the_unreachable),
        cmocka_unit_test(test_bad_rows),
        cmocka_unit_test(test_calls_without_a_table),
        cmocka_unit_test(test_text),
    };
    return cmocka_run_group_tests_name("strategy/dispatch", tests, NULL, NULL);
}
