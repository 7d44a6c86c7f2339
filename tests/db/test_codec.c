/* SPDX-License-Identifier: Apache-2.0 */
/* Records and devices as bytes: nothing is lost, and nothing damaged is believed. */
#include "support/check.h"

#include <math.h>

#include "db/db.h"
#include "support/records.h"

static void record_round_trip(void **state)
{
    (void)state;
    optune_err err;
    optune_record record = some_record(1), back;
    ot_text bytes = {0};
    ot_arena arena = {0};
    check_ok(ot_record_encode(&record, &bytes, &err));
    check_ok(ot_record_decode(bytes.s, bytes.n, &arena, &back, &err));
    check_same_record(&record, &back);
    assert_string_equal(back.source, "run");
    /* Nothing points into what was read. */
    memset(bytes.s, 0xee, bytes.n);
    check_same_record(&record, &back);
    ot_text_release(&bytes);
    ot_arena_release(&arena);
}

static void absent_and_odd_values(void **state)
{
    (void)state;
    optune_err err;
    optune_record record = {
        .call = "",
        .target = "",
        .device = "",
        .outcome = OPTUNE_OUTCOME_CRASH,
        .message = "signal 11\nand more",
        .cost = INFINITY,
        .low = -0.0,
        .high = NAN,
        .config.index = -1,
        .inner = INT64_MIN,
        .seed = UINT64_MAX,
    };
    optune_record back;
    ot_text bytes = {0};
    ot_arena arena = {0};
    check_ok(ot_record_encode(&record, &bytes, &err));
    check_ok(ot_record_decode(bytes.s, bytes.n, &arena, &back, &err));
    check_same_record(&record, &back);
    assert_null(back.depends);
    assert_null(back.sample);
    ot_text_release(&bytes);
    ot_arena_release(&arena);
}

static void every_flipped_bit_is_found(void **state)
{
    (void)state;
    optune_err err;
    optune_record record = some_record(1), back;
    ot_text bytes = {0};
    check_ok(ot_record_encode(&record, &bytes, &err));
    for (size_t i = 0; i < bytes.n; i++) {
        ot_arena arena = {0};
        bytes.s[i] ^= (char)(1 << i % 8);
        assert_int_equal(ot_record_decode(bytes.s, bytes.n, &arena, &back, &err),
                         OPTUNE_EDAMAGED);
        bytes.s[i] ^= (char)(1 << i % 8);
        ot_arena_release(&arena);
    }
    for (size_t n = 0; n < bytes.n; n++) {
        ot_arena arena = {0};
        char *part = malloc(n ? n : 1); /* exactly as long, so that reading past it is seen */
        memcpy(part, bytes.s, n);
        assert_int_equal(ot_record_decode(part, n, &arena, &back, &err), OPTUNE_EDAMAGED);
        free(part);
        ot_arena_release(&arena);
    }
    ot_text_release(&bytes);
}

/* Makes the checksum right again, as a program with a bug would. */
static void seal(ot_text *bytes)
{
    uint32_t head[2];
    memcpy(head, bytes->s, 8);
    uint64_t parts[3] = {head[0], head[1], ot_hash64(bytes->s + 16, bytes->n - 16)};
    uint64_t sum = ot_hash64(parts, sizeof parts);
    memcpy(bytes->s + 8, &sum, 8);
}

static void rubbish_with_a_right_checksum(void **state)
{
    (void)state;
    optune_err err;
    optune_record record = some_record(1), back;
    ot_text bytes = {0};
    uint64_t seed = 1;
    int refused = 0;
    for (int i = 0; i < 20000; i++) {
        ot_arena arena = {0};
        check_ok(ot_record_encode(&record, &bytes, &err));
        size_t at = 16 + (size_t)optune_random_below(&seed, (int64_t)bytes.n - 16);
        uint32_t value = i % 2 ? (uint32_t)optune_random(&seed) : 0xffffffffu;
        memcpy(bytes.s + at, &value, bytes.n - at < 4 ? bytes.n - at : 4);
        seal(&bytes);
        int status = ot_record_decode(bytes.s, bytes.n, &arena, &back, &err);
        assert_true(status == OPTUNE_OK || status == OPTUNE_EDAMAGED);
        refused += status < 0;
        ot_arena_release(&arena);
    }
    assert_true(refused > 1000);
    ot_text_release(&bytes);
}

static void newer_format(void **state)
{
    (void)state;
    optune_err err;
    optune_record record = some_record(1), back;
    ot_text bytes = {0};
    ot_arena arena = {0};
    check_ok(ot_record_encode(&record, &bytes, &err));
    bytes.s[4]++;
    seal(&bytes);
    assert_int_equal(ot_record_decode(bytes.s, bytes.n, &arena, &back, &err), OPTUNE_EVERSION);
    check_contains(err.text, "format 2");
    ot_text_release(&bytes);
    ot_arena_release(&arena);
}

/* What a later version put behind the fields that this one knows. */
static void later_fields(void **state)
{
    (void)state;
    optune_err err;
    optune_record record = some_record(1), back;
    ot_text bytes = {0};
    ot_arena arena = {0};
    record.host = "kernel=6.1"; /* the last one: those behind it are set, too */
    check_ok(ot_record_encode(&record, &bytes, &err));
    ot_text_add_n(&bytes, "\7\0\0\0\0\0\0\0unknown", 15);
    seal(&bytes);
    check_ok(ot_record_decode(bytes.s, bytes.n, &arena, &back, &err));
    assert_string_equal(back.host, "kernel=6.1");
    assert_string_equal(back.call, record.call);
    assert_true(back.cost == record.cost && back.n_samples == record.n_samples);
    ot_text_release(&bytes);
    ot_arena_release(&arena);
}

static bool same_digest(const optune_record *a, const optune_record *b)
{
    ot_digest one = ot_record_digest(a), two = ot_record_digest(b);
    return memcmp(one.byte, two.byte, sizeof one.byte) == 0;
}

static void record_identity(void **state)
{
    (void)state;
    optune_record a = some_record(1), b = some_record(1);
    b.source = "elsewhere.log";
    b.message = "other words";
    b.config.index = -1;
    b.depends = "compiler=gcc 12.2.0 \"quoted\"\nflags=-O3=yes\nnovalue"; /* no last newline */
    assert_true(same_digest(&a, &b));
    b = some_record(2); /* another time */
    assert_false(same_digest(&a, &b));
    b = some_record(1);
    b.n_samples--;
    assert_false(same_digest(&a, &b));
    b = some_record(1);
    b.config.entity[0].v[1] = 4;
    assert_false(same_digest(&a, &b));
    b = some_record(1);
    b.impl = "other";
    assert_false(same_digest(&a, &b));
}

static void question_identity(void **state)
{
    (void)state;
    ot_question a = {.device = "d", .target = "t", .call = "c", .policy = NULL},
                b = {.device = "d", .target = "t", .call = "c", .policy = "warm"};
    ot_question c = {.device = "d", .target = "t", .call = "c", .policy = "cold"},
                d = {.device = "dt", .target = "", .call = "c", .policy = "warm"};
    ot_digest one = ot_question_digest(&a), two = ot_question_digest(&b);
    assert_memory_equal(one.byte, two.byte, 16);
    two = ot_question_digest(&c);
    assert_memory_not_equal(one.byte, two.byte, 16);
    two = ot_question_digest(&d);
    assert_memory_not_equal(one.byte, two.byte, 16);
}

static void devices(void **state)
{
    (void)state;
    optune_err err;
    optune_device device = some_device("cpu:x"), back;
    ot_text bytes = {0};
    check_ok(ot_device_encode(&device, &bytes, &err));
    check_ok(ot_device_decode(bytes.s, bytes.n, &back, &err));
    assert_memory_equal(&device, &back, sizeof device);
    bytes.s[bytes.n - 1] ^= 1;
    assert_int_equal(ot_device_decode(bytes.s, bytes.n, &back, &err), OPTUNE_EDAMAGED);
    assert_int_equal(ot_device_decode(bytes.s, 7, &back, &err), OPTUNE_EDAMAGED);
    device.key[0] = 0;
    assert_int_equal(ot_device_encode(&device, &bytes, &err), OPTUNE_EUSAGE);
    ot_text_release(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(record_round_trip),
        cmocka_unit_test(absent_and_odd_values),
        cmocka_unit_test(every_flipped_bit_is_found),
        cmocka_unit_test(rubbish_with_a_right_checksum),
        cmocka_unit_test(newer_format),
        cmocka_unit_test(later_fields),
        cmocka_unit_test(record_identity),
        cmocka_unit_test(question_identity),
        cmocka_unit_test(devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
