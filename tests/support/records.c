/* SPDX-License-Identifier: Apache-2.0 */
/* Made-up records: every field set, with the texts and numbers most likely to be mishandled. */
#include "support/records.h"

#include "support/check.h"

#include <math.h>
#include <stdatomic.h>

static const char config_text[] = "[[\"tile_x\",\"sp\",[-1,8]],[\"order\",\"re\",[1,0]],"
                                  "[\"ann\",\"an\",[\"vec\",\"none\"]],[\"f\",\"ot\",0.1],"
                                  "[\"w\",\"ot\",\"NCHW16c\"],[\"u\",\"ot\",true]]";

optune_record some_record(int number)
{
    static const double samples[] = {1.1e-5, 1.0 / 3 * 1e-5, 5.69732536806342e-05};
    optune_record record = {
        .call = "dense(f32[1,2048], const f32[1000,2048])",
        .op = "dense",
        .target = "cpu -threads=2",
        .device = "cpu:GenuineIntel-6-106-6",
        .policy = "warm",
        .impl = "dense_pack.x86",
        .digest = "00112233445566778899aabbccddeeff",
        .depends = "compiler=gcc 12.2.0 \"quoted\"\nflags=-O3=yes\nnovalue\n",
        .cost = samples[0],
        .low = samples[1],
        .high = samples[2],
        .n_samples = OT_COUNT(samples),
        .sample = samples,
        .inner = 1234567890123,
        .error = 0.1,
        .seed = 0xfedcba9876543210u,
        .final = true,
        .counters = "cycles=123\ninstructions=456\n",
        .all_cost = 1.0239202976226807,
        .time = 1535423916.7184713 + number,
        .tool = "optune 0.1.0",
        .task =
            "[\"llvm\", \"dense_pack.x86\",[[\"TENSOR\",[1,2048],\"float32\"],0.5,null],{}]",
        .source = "run",
    };
    assert_int_equal(ot_config_parse(config_text, &record.config, NULL), OPTUNE_OK);
    record.config.index = 1000 + number;
    return record;
}

optune_record plain_record(int number)
{
    static const char *const configs[] = {
        "[]",
        "[[\"tile_x\",\"sp\",[-1,8]],[\"order\",\"re\",[1,0]],[\"ann\",\"an\",[\"vec\",\"none\"]]]",
        "[[\"w\",\"ot\",\"NCHW16c\"],[\"u\",\"ot\",true],[\"no\",\"ot\",false],"
        "[\"n\",\"ot\",-123456789012]]",
    };
    static const char *const tasks[] = {
        NULL,
        "[\"llvm\", \"dense_pack.x86\", [[\"TENSOR\", [1, 2048], \"float32\"], 0.5, null], {}]",
        "[\"llvm -mcpu=x\",\"d\",[[\"TENSOR\",[1,2048],\"float32\"],-1e-5,true],{}]",
    };
    optune_record r = some_record(number);
    assert_int_equal(ot_config_parse(configs[number % 3], &r.config, NULL), OPTUNE_OK);
    r.config.index = number - 1;
    r.depends = number % 4 ? "compiler=gcc 12.2.0\nnovalue\n" : NULL;
    r.counters = number % 5 ? "cycles=123\n" : "";
    r.host = number % 2 ? "kernel=6.1\n" : NULL;
    r.task = tasks[number % 3];
    if (number % 7 == 3) {
        r.outcome = OPTUNE_OUTCOME_CRASH;
        r.message = "signal 11";
        r.n_samples = 0;
        r.cost = r.low = r.high = INFINITY;
    }
    return r;
}

void record_cost(optune_record *record, double cost)
{
    static double pool[1 << 18];
    static atomic_int used;
    enum { SAMPLES = 5 };
    const int at = atomic_fetch_add(&used, SAMPLES);
    assert_true(at + SAMPLES <= OT_COUNT(pool));
    double *sample = pool + at;
    for (int i = 0; i < SAMPLES; i++)
        sample[i] = cost * (1 + 1e-3 * (i - SAMPLES / 2));
    record->outcome = OPTUNE_OUTCOME_OK;
    record->sample = sample;
    record->n_samples = SAMPLES;
    if (record->inner < 1000)
        record->inner = 1000; /* whatever the cost is, a clock could tell a sample of it */
    record->cost = cost;
    record->low = sample[0];
    record->high = sample[SAMPLES - 1];
}

/* As in JSON, and reals to the last bit, but that NaN is NaN. */
static bool same_field(const optune_record *a, const optune_record *b, const ot_record_field *f)
{
    const void *x = ot_record_at(a, f), *y = ot_record_at(b, f);
    if (f->kind == OT_RECORD_REAL)
        return *(const double *)x == *(const double *)y ||
               (isnan(*(const double *)x) && isnan(*(const double *)y));
    if (f->kind == OT_RECORD_CONFIG)
        return ot_config_equal(x, y) &&
               ((const optune_config *)x)->index == ((const optune_config *)y)->index;
    json_t *one = ot_record_value(a, f), *two = ot_record_value(b, f);
    const bool same = json_equal(one, two);
    json_decref(one);
    json_decref(two);
    return same;
}

void check_same_field(const optune_record *a, const optune_record *b, const ot_record_field *f)
{
    if (!same_field(a, b, f))
        fail_msg("'%s' is another", f->name);
}

void check_same_record(const optune_record *a, const optune_record *b)
{
    for (int i = 0; i < OT_RECORD_FIELDS; i++)
        if (ot_record_fields[i].log != OT_LOG_NONE)
            check_same_field(a, b, &ot_record_fields[i]);
}

optune_device some_device(const char *key)
{
    optune_device device = {
        .name = "A CPU \"with\" quotes",
        .kind = "cpu",
        .arch = "skylake-avx512",
        .cores = 2,
        .threads = 4,
        .vector_bytes = 64,
        .vector_registers = 32,
        .l1 = 32768,
        .l2 = 1 << 20,
        .l3 = (int64_t)260 << 20,
        .memory = (int64_t)24 << 30,
        .max_block = {1024, 512, 64},
        .max_shared = 49152,
        .cc_major = 9,
    };
    assert_true(ot_copy(device.key, sizeof device.key, key));
    return device;
}
