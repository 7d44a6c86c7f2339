/* SPDX-License-Identifier: Apache-2.0 */
/* A device's text is its kind and its numbers in the order of the struct. */
#include "support/random_device.h"

#include "support/check.h"
#include "target/cuda.h"
#include "target/target.h"

enum { NUMBERS = 19 };

#define PICK(rng, ...)                                                                         \
    ((const int64_t[]){                                                                        \
        __VA_ARGS__})[optune_random_below(rng, OT_COUNT(((const int64_t[]){__VA_ARGS__})))]

static void random_cpu(uint64_t *rng, optune_device *d)
{
    /* vector bytes and registers: unknown, SSE, AVX2, AVX-512 and AMX, NEON */
    static const int features[][2] = {{0, 0}, {16, 16}, {32, 16}, {64, 32}, {16, 32}};
    const int *f = features[optune_random_below(rng, OT_COUNT(features))];
    *d = (optune_device){.vector_bytes = f[0], .vector_registers = f[1]};
    d->dots = f[0] == 64 ? (int)PICK(rng, 0, 3, 15, 19, 31) : 0;
    d->cores = (int)PICK(rng, 1, 1, 2, 3, 8, 64);
    d->threads = d->cores;
    d->l1 = PICK(rng, 0, 32 << 10, 48 << 10);
    d->l2 = PICK(rng, 0, 128 << 10, 256 << 10, 1 << 20, 2 << 20);
    d->l3 = PICK(rng, 0, 3 << 20, 32 << 20, 300 << 20);
}

static void random_opencl(uint64_t *rng, optune_device *d)
{
    *d = (optune_device){.no_float64 = PICK(rng, 0, 1)};
    d->warp = (int)PICK(rng, 1, 8, 16, 32, 32, 64);
    d->cores = (int)PICK(rng, 1, 2, 8, 24, 80);
    d->threads = d->warp == 1 ? d->cores : 0;
    d->max_threads_per_block = (int)PICK(rng, 64, 128, 256, 512, 1024, 4096);
    for (int i = 0; i < 3; i++)
        d->max_block[i] = i == 2 && PICK(rng, 0, 1) ? 64 : d->max_threads_per_block;
    d->max_shared = PICK(rng, 16 << 10, 32 << 10, 48 << 10, 64 << 10, 256 << 10);
    d->l2 = PICK(rng, 0, 64 << 10, 1 << 20, 4 << 20);
    d->memory = PICK(rng, INT64_C(1) << 30, INT64_C(8) << 30, INT64_C(64) << 30);
}

/* What the options say, and sometimes what a probe would add. */
static void random_cuda(uint64_t *rng, optune_device *d)
{
    static const char *const arch[] = {"sm_70", "sm_75", "sm_80", "sm_86",
                                       "sm_89", "sm_90", "sm_100"};
    optune_err err = {0};
    optune_target target = {.kind = "cuda"};
    snprintf(target.arch, sizeof target.arch, "%s",
             arch[optune_random_below(rng, OT_COUNT(arch))]);
    check_ok(ot_cuda_assume(&target, d, &err));
    if (PICK(rng, 0, 1)) {
        d->cores = (int)PICK(rng, 1, 14, 40, 108, 132);
        d->l2 = PICK(rng, 1 << 20, 4 << 20, 40 << 20);
        d->memory = INT64_C(16) << 30;
    }
}

static void name(const char *kind, optune_target *target, optune_device *device)
{
    optune_err err = {0};
    char text[OPTUNE_TEXT_SIZE];
    snprintf(text, sizeof text, "%s%s%s", kind, device->arch[0] ? " -arch=" : "", device->arch);
    check_ok(ot_target_parse(text, target, &err));
    snprintf(device->kind, sizeof device->kind, "%s", kind);
    snprintf(device->key, sizeof device->key, "random-%s", kind);
    snprintf(device->name, sizeof device->name, "a random device");
    target->threads = device->threads;
}

void random_device(uint64_t *rng, const char *kind, optune_target *target,
                   optune_device *device)
{
    if (strcmp(kind, "cpu") == 0)
        random_cpu(rng, device);
    else if (strcmp(kind, "opencl") == 0)
        random_opencl(rng, device);
    else
        random_cuda(rng, device);
    name(kind, target, device);
}

void random_device_print(const optune_device *d, char text[RANDOM_DEVICE_TEXT])
{
    const int64_t number[NUMBERS] = {d->cores,        d->threads,
                                     d->vector_bytes, d->vector_registers,
                                     d->l1,           d->l2,
                                     d->l3,           d->memory,
                                     d->warp,         d->max_threads_per_block,
                                     d->max_block[0], d->max_block[1],
                                     d->max_block[2], d->max_shared,
                                     d->registers,    d->cc_major,
                                     d->cc_minor,     d->no_float64,
                                     d->dots};
    int n = snprintf(text, RANDOM_DEVICE_TEXT, "%s", d->kind);
    for (int i = 0; i < NUMBERS; i++)
        n +=
            snprintf(text + n, (size_t)(RANDOM_DEVICE_TEXT - n), ",%lld", (long long)number[i]);
}

bool random_device_parse(const char *text, optune_target *target, optune_device *d)
{
    char copy[RANDOM_DEVICE_TEXT], *rest = NULL;
    int64_t v[NUMBERS];
    if (!ot_copy(copy, sizeof copy, text))
        return false;
    const char *kind = strtok_r(copy, ",", &rest);
    for (int i = 0; i < NUMBERS; i++) {
        const char *word = strtok_r(NULL, ",", &rest);
        if (!word || !ot_parse_int(word, &v[i]))
            return false;
    }
    *d = (optune_device){.cores = (int)v[0],
                         .threads = (int)v[1],
                         .vector_bytes = (int)v[2],
                         .vector_registers = (int)v[3],
                         .l1 = v[4],
                         .l2 = v[5],
                         .l3 = v[6],
                         .memory = v[7],
                         .warp = (int)v[8],
                         .max_threads_per_block = (int)v[9],
                         .max_block = {(int)v[10], (int)v[11], (int)v[12]},
                         .max_shared = v[13],
                         .registers = (int)v[14],
                         .cc_major = (int)v[15],
                         .cc_minor = (int)v[16],
                         .no_float64 = v[17] != 0,
                         .dots = (int)v[18]};
    if (d->cc_major)
        snprintf(d->arch, sizeof d->arch, "sm_%d%d", d->cc_major, d->cc_minor);
    name(kind, target, d);
    return true;
}
