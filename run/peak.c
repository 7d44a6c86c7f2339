/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this machine can do at these threads, measured: float32 multiply-adds out of
 * registers, and bytes read from a buffer larger than its caches. Compiled by the target's
 * own compiler and flags, as candidates are, so that a share of the peak compares like with
 * like. GPUs are in peak_gpu.c.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/worker.h"

/* A run is short, so that some of many meet no interrupt and no other process on any core; cores
 * take a while to reach their clock, and threads to come. */
enum { ITERATIONS = 100000, REPEATS = 7 };
static const double SETTLED = 1.005, STILL_S = 0.05, MOST_S = 0.25;

/* Independent sums hide the latency of a multiply-add: 4 cycles by 2 units by some slack. The
 * asm statements hide from the compiler that nobody needs the values. */
static const char source[] =
    "typedef float vec __attribute__((vector_size(VEC_BYTES), may_alias));\n"
    "typedef __INT64_TYPE__ i64;\n"
    "static vec fma_part(i64 n) {\n"
    "    vec s[SUMS], x = (vec){0} + 0.999f, y = (vec){0} + 0.001f;\n"
    "    for (int k = 0; k < SUMS; k++) s[k] = (vec){0} + (float)k;\n"
    "    for (i64 i = 0; i < n; i++) {\n"
    "        _Pragma(\"GCC unroll 32\")\n"
    "        for (int k = 0; k < SUMS; k++) s[k] = s[k] * x + y;\n"
    "    }\n"
    "    for (int k = 1; k < SUMS; k++) s[0] += s[k];\n"
    "    return s[0];\n"
    "}\n"
    "void peak_fma(void *const *arg) {\n"
    "    const i64 n = *(const i64 *)arg[1];\n"
    "    PARALLEL\n"
    "    for (int t = 0; t < THREADS; t++) ((vec *)arg[0])[t] = fma_part(n);\n"
    "}\n"
    "static vec read_part(const vec *p, i64 n) {\n"
    "    vec s[8] = {0};\n"
    "    for (i64 i = 0; i + 8 <= n; i += 8)\n"
    "        _Pragma(\"GCC unroll 8\")\n"
    "        for (int k = 0; k < 8; k++) s[k] += p[i + k];\n"
    "    for (int k = 1; k < 8; k++) s[0] += s[k];\n"
    "    return s[0];\n"
    "}\n"
    "void peak_read(void *const *arg) {\n"
    "    const i64 n = *(const i64 *)arg[1] / sizeof(vec) / THREADS;\n"
    "    PARALLEL\n"
    "    for (int t = 0; t < THREADS; t++)\n"
    "        ((vec *)arg[0])[t] = read_part((const vec *)arg[2] + t * n, n);\n"
    "}\n";

static int vector_bytes(const ot_session *s)
{
    return s->device.vector_bytes >= 16 ? s->device.vector_bytes : 16;
}

static int sums(const ot_session *s)
{
    return s->device.vector_registers >= 32 ? 24 : 12;
}

static int build(ot_session *s, void **module, optune_err *err)
{
    ot_text text = {0};
    const int threads = s->device.threads > 0 ? s->device.threads : 1;
    ot_text_printf(&text, "#define THREADS %d\n#define VEC_BYTES %d\n#define SUMS %d\n",
                   threads, vector_bytes(s), sums(s));
    ot_text_printf(&text, "#define PARALLEL %s\n%s",
                   threads > 1 ? "_Pragma(\"omp parallel for num_threads(THREADS)\")" : "",
                   source);
    const int status = ot_session_load_text(s, &text, module, err);
    ot_text_release(&text);
    return status;
}

/* Four times the caches that are known, as a virtual machine may not tell of all; no more than
 * an eighth of the memory. */
static int64_t read_bytes(const ot_session *s)
{
    int64_t bytes = 4 * s->device.l3;
    if (bytes < (int64_t)512 << 20)
        bytes = (int64_t)512 << 20;
    if (s->device.memory > 0 && bytes > s->device.memory / 8)
        bytes = s->device.memory / 8;
    return bytes / 65536 * 65536;
}

/* The best of many runs, in runs per second, until it has stood for a while; 0: failed. */
static double best_rate(ot_session *s, const optune_launch *launch)
{
    const double start = ot_now();
    double best = 0, told = 0, since = start;
    for (int i = 0; i < REPEATS || (ot_now() < since + STILL_S && ot_now() < start + MOST_S);
         i++) {
        const double t = s->row->time(s->state, launch, 1, 1, NULL);
        if (t > 0 && 1 / t > best)
            best = 1 / t;
        if (best > told * SETTLED) {
            told = best;
            since = ot_now();
        }
    }
    return best;
}

int ot_peak(ot_session *s, ot_peaks *peak, optune_err *err)
{
    *peak = (ot_peaks){0};
    if (strcmp(ot_target_find(s->target.kind)->source_suffix, ".c") != 0)
        /* A driver that drives a CPU says nothing that the target cpu does not say better. */
        return s->device.threads > 0 ? OPTUNE_OK : ot_peak_gpu(s, peak, err);
    void *module = NULL, *result = NULL, *data = NULL;
    int64_t iterations = ITERATIONS, bytes = read_bytes(s);
    const int threads = s->device.threads > 0 ? s->device.threads : 1;
    optune_stage stage = {
        .phase = OPTUNE_TIMED,
        .n_args = 3,
        .arg = {optune_scratch_arg(0), optune_int_arg(0), optune_scratch_arg(1)},
    };
    optune_launch launch = {.stage = &stage};
    int status = build(s, &module, err);
    if (status >= 0)
        status = s->row->alloc(s->state, (int64_t)threads * 64, false, &result, err);
    if (status >= 0)
        status = s->row->alloc(s->state, bytes, false, &data, err);
    if (status < 0)
        goto out;
    /* Every page must exist, or all of them are one page of zeros. */
    memset(s->row->address(s->state, data), 1, (size_t)bytes);
    launch.arg[0] = result;
    launch.arg[2] = data;
    launch.arg[1] = &iterations;
    launch.function = s->row->symbol(s->state, module, "peak_fma");
    const double lanes = vector_bytes(s) / 4.0;
    peak->flops = best_rate(s, &launch) * 2 * lanes * sums(s) * (double)iterations * threads;
    launch.arg[1] = &bytes;
    launch.function = s->row->symbol(s->state, module, "peak_read");
    peak->bandwidth = best_rate(s, &launch) * (double)bytes;
out:
    if (data)
        s->row->free(s->state, data);
    if (result)
        s->row->free(s->state, result);
    if (module)
        s->row->unload(s->state, module);
    return status;
}
