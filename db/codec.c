/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records and devices as bytes: a magic number, a schema version, a checksum over all the rest,
 * then fixed fields, samples, config and texts. Bytes are in the machine's own order, as LMDB's
 * own pages are: the store never travels, logs do. Decoding trusts nothing, whatever the
 * checksum says.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/device.h"
#include "db/db.h"

enum {
    RECORD_MAGIC = 0x4352746f, /* "otRC" in little-endian */
    DEVICE_MAGIC = 0x5644746f, /* "otDV" */
    VERSION = 1,
    HEADER_SIZE = 16, /* magic 4, version 4, checksum 8 */
    ABSENT = 0xffffffff,
};

/* ---- writing ----------------------------------------------------------------------------- */

static void put(ot_text *to, const void *data, size_t n)
{
    ot_text_add_n(to, data, n);
}

static void put_u32(ot_text *to, uint32_t value)
{
    put(to, &value, sizeof(value));
}

static void put_i64(ot_text *to, int64_t value)
{
    put(to, &value, sizeof(value));
}

static void put_f64(ot_text *to, double value)
{
    put(to, &value, sizeof(value));
}

/* With its terminating zero, so that a decoded text is used where it lies. */
static void put_text(ot_text *to, const char *s)
{
    uint32_t n = s ? (uint32_t)strlen(s) : ABSENT;
    put_u32(to, n);
    if (s)
        put(to, s, (size_t)n + 1);
}

static void begin(ot_text *to)
{
    static const char header[HEADER_SIZE];
    ot_text_clear(to);
    put(to, header, HEADER_SIZE);
}

/* Magic number and version are covered too. */
static uint64_t checksum(const char *bytes, size_t n, uint32_t magic, uint32_t version)
{
    uint64_t parts[3] = {magic, version, ot_hash64(bytes + HEADER_SIZE, n - HEADER_SIZE)};
    return ot_hash64(parts, sizeof(parts));
}

static void finish(ot_text *to, uint32_t magic)
{
    uint32_t version = VERSION;
    uint64_t sum = checksum(to->s, to->n, magic, version);
    memcpy(to->s, &magic, 4);
    memcpy(to->s + 4, &version, 4);
    memcpy(to->s + 8, &sum, 8);
}

/* ---- reading ----------------------------------------------------------------------------- */

typedef struct reader {
    const char *at, *end;
    bool bad;
} reader;

static void get(reader *in, void *to, size_t n)
{
    if (in->bad || (size_t)(in->end - in->at) < n) {
        in->bad = true;
        memset(to, 0, n);
        return;
    }
    memcpy(to, in->at, n);
    in->at += n;
}

static uint32_t get_u32(reader *in)
{
    uint32_t value;
    get(in, &value, sizeof(value));
    return value;
}

static int64_t get_i64(reader *in)
{
    int64_t value;
    get(in, &value, sizeof(value));
    return value;
}

static double get_f64(reader *in)
{
    double value;
    get(in, &value, sizeof(value));
    return value;
}

/* Points into what is read; NULL when absent, or when the reader is bad. */
static const char *get_text(reader *in)
{
    size_t n = get_u32(in);
    if (in->bad || n == ABSENT)
        return NULL;
    if ((size_t)(in->end - in->at) < n + 1 || in->at[n] != 0 || strlen(in->at) != n) {
        in->bad = true;
        return NULL;
    }
    const char *s = in->at;
    in->at += n + 1;
    return s;
}

static void get_word(reader *in, char *to, size_t size)
{
    const char *s = get_text(in);
    if (!ot_copy(to, size, s ? s : ""))
        in->bad = true;
}

/* Magic number, version and checksum; leaves `in` at the first field. */
static int open_value(reader *in, uint32_t magic, const char *what, optune_err *err)
{
    size_t n = (size_t)(in->end - in->at);
    if (n < HEADER_SIZE)
        return optune_fail(err, OPTUNE_EDAMAGED, "stored %s is cut off", what);
    uint32_t found_magic, version;
    uint64_t sum;
    memcpy(&found_magic, in->at, 4);
    memcpy(&version, in->at + 4, 4);
    memcpy(&sum, in->at + 8, 8);
    if (found_magic != magic)
        return optune_fail(err, OPTUNE_EDAMAGED, "stored %s does not begin like one", what);
    if (sum != checksum(in->at, n, magic, version))
        return optune_fail(err, OPTUNE_EDAMAGED, "stored %s has a wrong checksum", what);
    if (version != VERSION)
        return optune_fail(err, OPTUNE_EVERSION,
                           "stored %s has format %u, this version of optune reads %d", what,
                           version, VERSION);
    in->at += HEADER_SIZE;
    return OPTUNE_OK;
}

/* ---- configs ----------------------------------------------------------------------------- */

static bool is_word(const optune_entity *entity)
{
    return entity->kind == OPTUNE_KNOB_OTHER && entity->scalar == OPTUNE_SCALAR_WORD;
}

static bool is_float(const optune_entity *entity)
{
    return entity->kind == OPTUNE_KNOB_OTHER && entity->scalar == OPTUNE_SCALAR_FLOAT;
}

static void put_config(ot_text *to, const optune_config *config)
{
    put_u32(to, (uint32_t)config->n);
    put_i64(to, config->index);
    for (int i = 0; i < config->n; i++) {
        const optune_entity *entity = &config->entity[i];
        /* A scalar is one value, whether or not n says so. */
        uint32_t n = entity->kind == OPTUNE_KNOB_OTHER ? 1 : entity->n;
        put_text(to, entity->name);
        put_u32(to, entity->kind | (uint32_t)entity->scalar << 8 | n << 16);
        if (is_word(entity))
            put_text(to, entity->word);
        else if (is_float(entity))
            put_f64(to, entity->f);
        else
            put(to, entity->v, n * sizeof(entity->v[0]));
    }
}

static void get_config(reader *in, optune_config *config)
{
    uint32_t n = get_u32(in);
    config->index = get_i64(in);
    if (n > OPTUNE_MAX_KNOBS)
        in->bad = true;
    for (uint32_t i = 0; !in->bad && i < n; i++) {
        optune_entity *entity = &config->entity[i];
        get_word(in, entity->name, sizeof(entity->name));
        uint32_t packed = get_u32(in);
        entity->kind = (uint8_t)packed;
        entity->scalar = (uint8_t)(packed >> 8);
        entity->n = (uint8_t)(packed >> 16);
        if (entity->kind > OPTUNE_KNOB_OTHER || entity->scalar > OPTUNE_SCALAR_WORD ||
            packed >> 16 > OPTUNE_MAX_LIST) {
            in->bad = true;
            return;
        }
        if (is_word(entity))
            get_word(in, entity->word, sizeof(entity->word));
        else if (is_float(entity))
            entity->f = get_f64(in);
        else
            get(in, entity->v, entity->n * sizeof(entity->v[0]));
        config->n++;
    }
}

/* ---- records ----------------------------------------------------------------------------- */

int ot_record_encode(const optune_record *record, ot_text *to, optune_err *err)
{
    assert(record->call && record->device && record->target);
    if (record->n_samples < 0 || record->config.n < 0 || record->config.n > OPTUNE_MAX_KNOBS)
        return optune_fail(err, OPTUNE_ELIMIT, "a record of '%s' is out of all limits",
                           record->call);
    begin(to);
    /* Samples come first, where they are aligned to eight bytes. */
    put_i64(to, record->n_samples);
    if (record->n_samples)
        put(to, record->sample, (size_t)record->n_samples * sizeof(record->sample[0]));
    put_f64(to, record->cost);
    put_f64(to, record->low);
    put_f64(to, record->high);
    put_f64(to, record->error);
    put_f64(to, record->all_cost);
    put_f64(to, record->time);
    put_i64(to, record->inner);
    put_i64(to, (int64_t)record->seed);
    put_u32(to, (uint32_t)record->outcome);
    put_u32(to, record->final);
    put_config(to, &record->config);
    const char *const texts[] = {
        record->call, record->op,     record->target,  record->device,  record->policy,
        record->impl, record->digest, record->depends, record->message, record->counters,
        record->tool, record->task,   record->source,
    };
    for (int i = 0; i < OT_COUNT(texts); i++)
        put_text(to, texts[i]);
    finish(to, RECORD_MAGIC);
    return OPTUNE_OK;
}

int ot_record_decode(const void *data, size_t n, ot_arena *arena, optune_record *record,
                     optune_err *err)
{
    reader in = {.at = data, .end = (const char *)data + n};
    int status = open_value(&in, RECORD_MAGIC, "record", err);
    if (status < 0)
        return status;
    /* One copy; everything decoded points into it. */
    size_t size = (size_t)(in.end - in.at);
    char *kept = ot_arena_alloc(arena, size);
    memcpy(kept, in.at, size);
    in = (reader){.at = kept, .end = kept + size};
    *record = (optune_record){0};
    int64_t n_samples = get_i64(&in);
    if (n_samples < 0 || n_samples > (in.end - in.at) / (int64_t)sizeof(double)) {
        in.bad = true;
    } else {
        record->n_samples = (int)n_samples;
        record->sample = n_samples ? (const double *)(const void *)in.at : NULL;
        in.at += n_samples * (int64_t)sizeof(double);
    }
    record->cost = get_f64(&in);
    record->low = get_f64(&in);
    record->high = get_f64(&in);
    record->error = get_f64(&in);
    record->all_cost = get_f64(&in);
    record->time = get_f64(&in);
    record->inner = get_i64(&in);
    record->seed = (uint64_t)get_i64(&in);
    record->outcome = (int)get_u32(&in);
    record->final = get_u32(&in) != 0;
    get_config(&in, &record->config);
    const char **const texts[] = {
        &record->call, &record->op,     &record->target,  &record->device,  &record->policy,
        &record->impl, &record->digest, &record->depends, &record->message, &record->counters,
        &record->tool, &record->task,   &record->source,
    };
    for (int i = 0; i < OT_COUNT(texts); i++)
        *texts[i] = get_text(&in);
    if (in.bad || in.at != in.end || !record->call || !record->target || !record->device)
        return optune_fail(err, OPTUNE_EDAMAGED, "stored record is not laid out like one");
    char why[OPTUNE_WHY_SIZE];
    if (!ot_record_figures(record, why))
        return optune_fail(err, OPTUNE_EDAMAGED, "stored record contradicts itself: %s", why);
    return OPTUNE_OK;
}

/* What a trial was and what came of it. Derived numbers, prose and the place it was read from
 * are left out, and what a log line does not keep: a record and the same one after a journey
 * through a log are equal. */
ot_digest ot_record_digest(const optune_record *record)
{
    ot_text config = {0}, numbers = {0}, depends = {0};
    bool good = record->outcome == OPTUNE_OUTCOME_OK;
    ot_config_print(&record->config, &config);
    put_i64(&numbers, record->outcome);
    put_i64(&numbers, record->inner);
    put_i64(&numbers, (int64_t)record->seed);
    put_i64(&numbers, record->final);
    put_f64(&numbers, record->time);
    if (good && record->n_samples)
        put(&numbers, record->sample, (size_t)record->n_samples * sizeof(record->sample[0]));
    else if (good)
        put_f64(&numbers, record->cost);
    if (record->depends)
        ot_text_add(&depends, record->depends);
    while (depends.n && depends.s[depends.n - 1] == '\n')
        depends.s[--depends.n] = 0; /* lines may or may not end with one */
    char hex[33];
    ot_digest_hex(ot_digest_of(numbers.s, numbers.n), hex);
    const char *const texts[] = {
        record->call,
        record->op,
        record->target,
        record->device,
        record->policy ? record->policy : "warm",
        record->impl,
        record->digest,
        depends.s,
        config.s,
        hex,
    };
    ot_digest digest = ot_digest_texts(texts, OT_COUNT(texts));
    ot_text_release(&config);
    ot_text_release(&numbers);
    ot_text_release(&depends);
    return digest;
}

ot_digest ot_question_digest(const ot_question *question)
{
    const char *const texts[] = {
        question->device,
        question->target,
        question->call,
        question->policy ? question->policy : "warm",
    };
    return ot_digest_texts(texts, OT_COUNT(texts));
}

/* ---- devices ----------------------------------------------------------------------------- */

/* Stores of the first days end here; what was added since is unknown in them. */
enum { FIRST_FIELDS = 21 };

int ot_device_encode(const optune_device *device, ot_text *to, optune_err *err)
{
    if (!*device->key)
        return optune_fail(err, OPTUNE_EUSAGE, "a device without a key cannot be stored");
    begin(to);
    for (int i = 0; i < OT_DEVICE_FIELDS; i++) {
        const ot_device_field *f = &ot_device_fields[i];
        const int64_t number = ot_device_number(device, f);
        if (f->kind == OT_FIELD_TEXT)
            put_text(to, ot_device_text(device, f));
        else
            put(to, &number, sizeof number);
    }
    finish(to, DEVICE_MAGIC);
    return OPTUNE_OK;
}

int ot_device_decode(const void *data, size_t n, optune_device *device, optune_err *err)
{
    reader in = {.at = data, .end = (const char *)data + n};
    int status = open_value(&in, DEVICE_MAGIC, "device", err);
    if (status < 0)
        return status;
    *device = (optune_device){0};
    bool sound = true;
    for (int i = 0; i < OT_DEVICE_FIELDS; i++) {
        const ot_device_field *f = &ot_device_fields[i];
        if (f->kind == OT_FIELD_TEXT)
            get_word(&in, (char *)device + f->offset, f->size);
        else if (i < FIRST_FIELDS || in.at != in.end)
            sound = ot_device_set_number(device, f, get_i64(&in)) && sound;
    }
    if (in.bad || !sound || in.at != in.end || !*device->key)
        return optune_fail(err, OPTUNE_EDAMAGED, "stored device is not laid out like one");
    return OPTUNE_OK;
}
