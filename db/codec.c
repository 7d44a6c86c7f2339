/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records and devices as bytes: a magic number, a schema version, a checksum over all the rest,
 * then fixed fields, samples, config and texts. Bytes are in the machine's own order, as LMDB's
 * own pages are: the store never travels, logs do. Decoding trusts nothing, whatever the
 * checksum says.
 */
#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "base/device.h"
#include "base/record.h"
#include "db/kv.h"

enum {
    RECORD_MAGIC = 0x4352746f, /* "otRC" in little-endian */
    DEVICE_MAGIC = 0x5644746f, /* "otDV" */
    VERSION = 1,
    HEADER_SIZE = 16, /* magic 4, version 4, checksum 8 */
    ABSENT = 0xffffffff,
};

/* ---- writing ----------------------------------------------------------------------------- */

static inline void put(ot_text *to, const void *data, size_t n)
{
    ot_bytes_add(to, data, n);
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
    return ot_hash64(parts, sizeof parts);
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
            put(to, entity->v, n * sizeof entity->v[0]);
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
        get_word(in, entity->name, sizeof entity->name);
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
            get_word(in, entity->word, sizeof entity->word);
        else if (is_float(entity))
            entity->f = get_f64(in);
        else
            get(in, entity->v, entity->n * sizeof entity->v[0]);
        config->n++;
    }
}

/* ---- records ----------------------------------------------------------------------------- */

/* The fields that were there first lie by kind, in the order of the kinds; samples come first,
 * where they are aligned to eight bytes. */
static const ot_record_field *order[OT_RECORD_FIELDS];
static pthread_once_t ordered = PTHREAD_ONCE_INIT;

static int rank_of(ot_record_kind kind)
{
    return kind < OT_RECORD_WORD ? (int)kind : (int)OT_RECORD_WORD;
}

static void find_order(void)
{
    int n = 0;
    for (int rank = 0; rank <= OT_RECORD_WORD; rank++)
        for (int i = 0; i < OT_RECORD_FIRST; i++)
            if (rank_of(ot_record_fields[i].kind) == rank)
                order[n++] = &ot_record_fields[i];
    for (; n < OT_RECORD_FIELDS; n++)
        order[n] = &ot_record_fields[n];
}

const ot_record_field *const *ot_record_stored(void)
{
    pthread_once(&ordered, find_order);
    return order;
}

void ot_record_magic(char to[4])
{
    const uint32_t magic = RECORD_MAGIC;
    memcpy(to, &magic, sizeof magic);
}

/* How many are stored: of those that came later no more than somebody set. */
static int stored_fields(const optune_record *record)
{
    int n = OT_RECORD_FIELDS;
    while (n > OT_RECORD_FIRST && !ot_record_is_set(record, &ot_record_fields[n - 1]))
        n--;
    return n;
}

static void put_samples(ot_text *to, const optune_record *record)
{
    put_i64(to, record->n_samples);
    if (record->n_samples)
        put(to, record->sample, (size_t)record->n_samples * sizeof record->sample[0]);
}

/* They stay where they are read. */
static void get_samples(reader *in, optune_record *record)
{
    const int64_t n = get_i64(in);
    if (n < 0 || n > (in->end - in->at) / (int64_t)sizeof(double)) {
        in->bad = true;
        return;
    }
    record->n_samples = (int)n;
    record->sample = n ? (const double *)(const void *)in->at : NULL;
    in->at += n * (int64_t)sizeof(double);
}

static void put_field(ot_text *to, const optune_record *record, const ot_record_field *f)
{
    const void *at = ot_record_at(record, f);
    switch (f->kind) {
    case OT_RECORD_SAMPLES:
        put_samples(to, record);
        return;
    case OT_RECORD_REAL:
    case OT_RECORD_COUNT:
    case OT_RECORD_BITS:
        put(to, at, 8);
        return;
    case OT_RECORD_OUTCOME:
        put_u32(to, (uint32_t) * (const int *)at);
        return;
    case OT_RECORD_FLAG:
        put_u32(to, *(const bool *)at);
        return;
    case OT_RECORD_CONFIG:
        put_config(to, at);
        return;
    case OT_RECORD_WORD:
    case OT_RECORD_PROSE:
    case OT_RECORD_LINES:
    case OT_RECORD_JSON:
        break;
    }
    put_text(to, ot_record_text(record, f));
}

static void get_field(reader *in, optune_record *record, const ot_record_field *f)
{
    void *to = ot_record_to(record, f);
    switch (f->kind) {
    case OT_RECORD_SAMPLES:
        get_samples(in, record);
        return;
    case OT_RECORD_REAL:
    case OT_RECORD_COUNT:
    case OT_RECORD_BITS:
        get(in, to, 8);
        return;
    case OT_RECORD_OUTCOME:
        *(int *)to = (int)get_u32(in);
        return;
    case OT_RECORD_FLAG:
        *(bool *)to = get_u32(in) != 0;
        return;
    case OT_RECORD_CONFIG:
        get_config(in, to);
        return;
    case OT_RECORD_WORD:
    case OT_RECORD_PROSE:
    case OT_RECORD_LINES:
    case OT_RECORD_JSON:
        break;
    }
    *(const char **)to = get_text(in);
}

int ot_record_encode(const optune_record *record, ot_text *to, optune_err *err)
{
    assert(record->call && record->device && record->target);
    if (record->n_samples < 0 || record->config.n < 0 || record->config.n > OPTUNE_MAX_KNOBS)
        return optune_fail(err, OPTUNE_ELIMIT, "a record of '%s' is out of all limits",
                           record->call);
    const ot_record_field *const *stored = ot_record_stored();
    begin(to);
    const int n = stored_fields(record);
    for (int i = 0; i < n; i++)
        put_field(to, record, stored[i]);
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
    char *kept = ot_arena_raw(arena, size);
    memcpy(kept, in.at, size);
    in = (reader){.at = kept, .end = kept + size};
    *record = (optune_record){0};
    const ot_record_field *const *stored = ot_record_stored();
    for (int i = 0; i < OT_RECORD_FIELDS && (i < OT_RECORD_FIRST || in.at != in.end); i++)
        get_field(&in, record, stored[i]);
    /* What is behind them is a later version's, as in a line. */
    return ot_record_vet(record, !in.bad, err);
}

int ot_record_vet(const optune_record *record, bool laid_out, optune_err *err)
{
    if (!laid_out || !record->call || !record->target || !record->device)
        return optune_fail(err, OPTUNE_EDAMAGED, "stored record is not laid out like one");
    char why[OPTUNE_WHY_SIZE];
    if (!ot_record_figures(record, why))
        return optune_fail(err, OPTUNE_EDAMAGED, "stored record contradicts itself: %s", why);
    return OPTUNE_OK;
}

int ot_record_seal(const void *data, size_t n, optune_err *err)
{
    return open_value(&(reader){.at = data, .end = (const char *)data + n}, RECORD_MAGIC,
                      "record", err);
}

/* ---- identity ---------------------------------------------------------------------------- */

static void put_number(ot_text *to, const optune_record *record, const ot_record_field *f)
{
    const void *at = ot_record_at(record, f);
    if (f->kind == OT_RECORD_OUTCOME)
        put_i64(to, *(const int *)at);
    else if (f->kind == OT_RECORD_FLAG)
        put_i64(to, *(const bool *)at);
    else
        put(to, at, 8);
}

/* Lines may or may not end with a newline. */
static const char *trimmed(const char *lines, ot_text *to)
{
    if (lines)
        ot_text_add(to, lines);
    while (to->n && to->s[to->n - 1] == '\n')
        to->s[--to->n] = 0;
    return to->s;
}

/* What a trial was and what came of it. Derived numbers, prose and the place it was read from
 * are left out, and what a log line does not keep: a record and the same one after a journey
 * through a log are equal. */
ot_digest ot_record_digest_at(const optune_record *record, const char *config)
{
    ot_text numbers = {0}, lines[OT_RECORD_FIELDS] = {0};
    const char *texts[OT_RECORD_FIELDS + 2];
    int n = 0;
    for (int i = 0; i < OT_RECORD_FIELDS; i++) {
        const ot_record_field *f = &ot_record_fields[i];
        if (f->identity != OT_IDENTITY_KEY)
            continue;
        if (f->kind == OT_RECORD_LINES)
            texts[n++] = trimmed(ot_record_text(record, f), &lines[i]);
        else if (ot_record_is_text(f))
            texts[n++] = ot_record_text(record, f);
        else if (f->kind != OT_RECORD_CONFIG && f->kind != OT_RECORD_SAMPLES)
            put_number(&numbers, record, f);
        if (f->offset == offsetof(optune_record, policy) && !record->policy)
            texts[n - 1] = "warm";
    }
    if (record->outcome == OPTUNE_OUTCOME_OK && record->n_samples)
        put(&numbers, record->sample, (size_t)record->n_samples * sizeof record->sample[0]);
    else if (record->outcome == OPTUNE_OUTCOME_OK)
        put_f64(&numbers, record->cost);
    texts[n++] = config;
    char hex[33];
    ot_digest_hex(ot_digest_of(numbers.s, numbers.n), hex);
    texts[n++] = hex;
    const ot_digest digest = ot_digest_texts(texts, n);
    ot_text_release(&numbers);
    for (int i = 0; i < OT_RECORD_FIELDS; i++)
        ot_text_release(&lines[i]);
    return digest;
}

ot_digest ot_record_digest(const optune_record *record)
{
    ot_text config = {0};
    ot_config_print(&record->config, &config);
    const ot_digest digest = ot_record_digest_at(record, config.s);
    ot_text_release(&config);
    return digest;
}

void ot_question_know(ot_question *question)
{
    question->known = false;
    question->digest = ot_question_digest(question);
    question->known = true;
}

ot_digest ot_question_digest(const ot_question *question)
{
    if (question->known)
        return question->digest;
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
