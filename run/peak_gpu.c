/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a GPU can do, measured: float32 multiply-adds out of registers, bfloat16 multiply-adds of
 * its tensor cores out of registers or shared memory, and bytes copied from one buffer to another,
 * both larger than its caches. One text serves CUDA and OpenCL; tensor cores are CUDA's alone.
 *
 * The one idea: a peak is the best of several forms, as nobody knows beforehand how many loads in
 * flight and how many blocks a device's memory wants.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "run/own_kernels.h"
#include "run/worker.h"

enum {
    THREADS = 256,
    FMA_BLOCKS = 16, /* of each core */
    FMA_ITERATIONS = 256,
    SUMS = 16,
    STEPS = 8, /* so that the loop itself costs nothing */
    REPEATS = 7,
    MOST_RUNS = 64,
    TENSOR_ITERATIONS = 1024,
    TENSOR_BLOCKS = 8, /* of each core, where registers feed them */
    TILES = 8,
};
/* An idle device runs at a fraction of its clock, and takes a while to leave that. */
static const double AWAKE_S = 0.3;
/* Runs are timed so many at once, or what a launch costs is seen. */
static const double SAMPLE_S = 2e-3;

static const char plain[] =
    OT_OWN_KERNELS
    "#define COPY(name, flight)                                                             \\\n"
    "    KERNEL name(GLOBAL float4 *RESTRICT to, GLOBAL const float4 *RESTRICT from, i64 n) { \\\n"
    "        i64 i = ME;                                                                    \\\n"
    "        for (; i + (flight - 1) * ALL < n; i += flight * ALL) {                        \\\n"
    "            float4 v[flight];                                                          \\\n"
    "            _Pragma(\"unroll\")                                                          \\\n"
    "            for (int k = 0; k < flight; k++) v[k] = from[i + k * ALL];                 \\\n"
    "            _Pragma(\"unroll\")                                                          \\\n"
    "            for (int k = 0; k < flight; k++) to[i + k * ALL] = v[k];                   \\\n"
    "        }                                                                              \\\n"
    "        for (; i < n; i += ALL) to[i] = from[i];                                       \\\n"
    "    }\n"
    "COPY(peak_copy1, 1)\n"
    "COPY(peak_copy2, 2)\n"
    "COPY(peak_copy4, 4)\n"
    "KERNEL peak_fma(GLOBAL float *to, GLOBAL const float *from, i64 n) {\n"
    "    const float x = from[0] + 0.999f, y = from[1] + 0.001f;\n"
    "    float s[SUMS];\n"
    "    _Pragma(\"unroll\")\n"
    "    for (int k = 0; k < SUMS; k++) s[k] = (float)(k + ME);\n"
    "    for (i64 i = 0; i < n; i++) {\n"
    "        _Pragma(\"unroll\")\n"
    "        for (int j = 0; j < STEPS; j++) {\n"
    "            _Pragma(\"unroll\")\n"
    "            for (int k = 0; k < SUMS; k++) s[k] = fma(s[k], x, y);\n"
    "        }\n"
    "    }\n"
    "    _Pragma(\"unroll\")\n"
    "    for (int k = 1; k < SUMS; k++) s[0] += s[k];\n"
    "    to[ME] = s[0];\n"
    "}\n";

/* Operands are no zeros: a device that computes with those draws less power and keeps a higher
 * clock. */
static const char tensor_registers[] =
    "extern \"C\" __global__ __launch_bounds__(THREADS) void\n"
    "peak_tensor(float *to, const float *from, long long n) {\n"
    "    const unsigned x = __float_as_uint(from[0]);\n"
    "    unsigned a[4], b[2];\n"
    "    float c[TILES][4];\n"
    "    for (int i = 0; i < 4; i++) a[i] = 0x3f803f80u + (x + threadIdx.x + i) % 61;\n"
    "    for (int i = 0; i < 2; i++) b[i] = 0x3c003c00u + (x + threadIdx.x + i) % 53;\n"
    "    _Pragma(\"unroll\")\n"
    "    for (int t = 0; t < TILES; t++)\n"
    "        for (int i = 0; i < 4; i++) c[t][i] = 0;\n"
    "    for (long long i = 0; i < n; i++) {\n"
    "        _Pragma(\"unroll\")\n"
    "        for (int t = 0; t < TILES; t++)\n"
    "            asm volatile(\"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 \"\n"
    "                         \"{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\"\n"
    "                         : \"+f\"(c[t][0]), \"+f\"(c[t][1]), \"+f\"(c[t][2]),\n"
    "                           \"+f\"(c[t][3])\n"
    "                         : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"r\"(b[0]),\n"
    "                           \"r\"(b[1]));\n"
    "    }\n"
    "    float s = 0;\n"
    "    _Pragma(\"unroll\")\n"
    "    for (int t = 0; t < TILES; t++)\n"
    "        for (int i = 0; i < 4; i++) s += c[t][i];\n"
    "    to[blockIdx.x * THREADS + threadIdx.x] = s;\n"
    "}\n";

/* Two warpgroups of 64 x 256 each, over the same two tiles in shared memory (rows of 128 bytes,
 * swizzled as the copy engine does, which is the same for what has no order). */
static const char tensor_shared_head[] =
    "__device__ unsigned long long tile(const void *at) {\n"
    "    const unsigned address = (unsigned)__cvta_generic_to_shared(at);\n"
    "    return (unsigned long long)(address >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62;\n"
    "}\n"
    "extern \"C\" __global__ __launch_bounds__(THREADS) void\n"
    "peak_tensor(float *to, const float *from, long long n) {\n"
    "    __shared__ __align__(1024) unsigned pool[(64 + 256) * 128 / 4];\n"
    "    const unsigned x = __float_as_uint(from[0]);\n"
    "    for (int i = threadIdx.x; i < (64 + 256) * 128 / 4; i += THREADS)\n"
    "        pool[i] = 0x3c003c00u + (x + i * 2654435761u >> 26);\n"
    "    asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n"
    "    __syncthreads();\n"
    "    float d[128];\n"
    "    _Pragma(\"unroll\")\n"
    "    for (int i = 0; i < 128; i++) d[i] = 0;\n"
    "    for (long long i = 0; i < n; i++) {\n"
    "        asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n"
    "        _Pragma(\"unroll\")\n"
    "        for (int k = 0; k < 4; k++)\n"
    "            asm volatile(\"wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {\"\n";
static const char tensor_shared_tail[] =
    "                         : \"l\"(tile(pool + 8 * k)), \"l\"(tile(pool + 64 * 32 + 8 * k)));\n"
    "        asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");\n"
    "        asm volatile(\"wgmma.wait_group.sync.aligned 0;\" ::: \"memory\");\n"
    "    }\n"
    "    float s = 0;\n"
    "    _Pragma(\"unroll\")\n"
    "    for (int i = 0; i < 128; i++) s += d[i];\n"
    "    to[blockIdx.x * THREADS + threadIdx.x] = s;\n"
    "}\n";

static void define(ot_text *text)
{
    ot_text_printf(text, "#define THREADS %d\n#define SUMS %d\n#define STEPS %d\n", (int)THREADS,
                   (int)SUMS, (int)STEPS);
    ot_text_printf(text, "#define TILES %d\n", (int)TILES);
}

static void add_warpgroups(ot_text *text)
{
    ot_text_add(text, tensor_shared_head);
    for (int i = 0; i < 128; i += 8) {
        ot_text_add(text, "                         \"");
        for (int k = i; k < i + 8; k++)
            ot_text_printf(text, "%%%d%s", k, k < 127 ? "," : "");
        ot_text_add(text, "\"\n");
    }
    ot_text_add(text, "                         \"}, %128, %129, 1, 1, 1, 0, 0;\"\n");
    for (int i = 0; i < 128; i++)
        ot_text_printf(text, "%s\"+f\"(d[%d])", i % 8 ? ", "
                       : i                            ? ",\n                           "
                                                      : "                         : ",
                       i);
    ot_text_add(text, "\n");
    ot_text_add(text, tensor_shared_tail);
}

/* Many times the last cache, and no more than a sixteenth of the memory. */
static int64_t copy_bytes(const optune_device *device)
{
    int64_t bytes = 8 * device->l2;
    if (bytes < (int64_t)256 << 20)
        bytes = (int64_t)256 << 20;
    if (device->memory > 0 && bytes > device->memory / 16)
        bytes = device->memory / 16;
    return bytes / 65536 * 65536;
}

typedef struct form {
    const char *function;
    int64_t n, blocks;
} form;

/* The shortest run of at least `seconds` and of some repeats, in seconds; 0: it fails. */
static double fastest(ot_session *s, void *module, const form *f, void *const *buffer,
                      double seconds, optune_err *err)
{
    optune_stage stage = {
        .phase = OPTUNE_TIMED,
        .function = f->function,
        .n_args = 3,
        .arg = {optune_scratch_arg(0), optune_scratch_arg(1), optune_int_arg(0)},
        .grid = {f->blocks},
        .block = {THREADS},
    };
    int64_t n = f->n, runs = 1;
    optune_launch launch = {.stage = &stage, .arg = {buffer[0], buffer[1], &n}};
    launch.function = s->row->symbol(s->state, module, f->function);
    if (!launch.function)
        optune_fail(err, OPTUNE_EIO, "the device's driver finds no '%s'", f->function);
    const double start = ot_now();
    double best = 0;
    for (int i = 0; launch.function && (i < REPEATS || ot_now() < start + seconds); i++) {
        const double t = s->row->time(s->state, &launch, 1, runs, err) / (double)runs;
        if (t < 0)
            return 0;
        if (best == 0 || t < best)
            best = t;
        runs = (int64_t)fmax(1, fmin(MOST_RUNS, ceil(SAMPLE_S / t)));
    }
    return best;
}

static int measure_plain(ot_session *s, void *module, void *const *buffer, int64_t bytes,
                         ot_peaks *peak, optune_err *err)
{
    static const char *const copies[] = {"peak_copy1", "peak_copy2", "peak_copy4"};
    static const int blocks[] = {4, 8, 16, 32};
    const int64_t cores = s->device.cores > 0 ? s->device.cores : 1, vectors = bytes / 16;
    const form fma = {"peak_fma", FMA_ITERATIONS, cores * FMA_BLOCKS};
    const double each = fastest(s, module, &fma, buffer, AWAKE_S, err);
    double copy = each > 0 ? INFINITY : 0;
    for (int i = 0; i < OT_COUNT(copies) && copy > 0; i++)
        for (int k = 0; k < OT_COUNT(blocks) && copy > 0; k++) {
            const form f = {copies[i], vectors, cores * blocks[k]};
            copy = fmin(copy, fastest(s, module, &f, buffer, 0, err));
        }
    if (copy == 0)
        return OPTUNE_EIO;
    peak->bandwidth = 2 * (double)bytes / copy;
    peak->flops = 2.0 * SUMS * STEPS * FMA_ITERATIONS * (double)fma.blocks * THREADS / each;
    return OPTUNE_OK;
}

/* The compute capability that texts are compiled for, which need not be all that the device has. */
static int compiled_major(const ot_session *s)
{
    int cc;
    return sscanf(s->target.arch, "sm_%d", &cc) == 1 ? cc / 10 : s->device.cc_major;
}

/* Compute capabilities 8 and 12 feed tensor cores from registers alone, 9.0 is fast from shared
 * memory; what those of 10 and 11 can do takes memory of their own, and is not measured. */
static int measure_tensor(ot_session *s, void *const *buffer, double *flops, optune_err *err)
{
    const int major = compiled_major(s);
    const bool shared = major == 9;
    if (strcmp(ot_target_find(s->target.kind)->source_suffix, ".cu") != 0 ||
        (major != 8 && major != 9 && major != 12))
        return OPTUNE_OK;
    const int64_t cores = s->device.cores > 0 ? s->device.cores : 1;
    const form f = {"peak_tensor", TENSOR_ITERATIONS, shared ? cores : cores * TENSOR_BLOCKS};
    /* Of a block in one turn of its loop. */
    const double each = shared ? 2.0 * 2 * 64 * 256 * 64 : 2.0 * 16 * 8 * 16 * TILES * THREADS / 32;
    void *module = NULL;
    ot_text text = {0};
    define(&text);
    if (shared)
        add_warpgroups(&text);
    else
        ot_text_add(&text, tensor_registers);
    int status = ot_session_load_text(s, &text, &module, err);
    if (status >= 0) {
        const double t = fastest(s, module, &f, buffer, 0, err);
        *flops = t > 0 ? each * TENSOR_ITERATIONS * (double)f.blocks / t : 0;
        status = t > 0 ? OPTUNE_OK : OPTUNE_EIO;
        s->row->unload(s->state, module);
    }
    ot_text_release(&text);
    return status;
}

int ot_peak_gpu(ot_session *s, ot_peaks *peak, optune_err *err)
{
    void *module = NULL, *buffer[2] = {NULL, NULL};
    const int64_t bytes = copy_bytes(&s->device);
    ot_text text = {0};
    *peak = (ot_peaks){0};
    define(&text);
    ot_text_add(&text, plain);
    int status = ot_session_load_text(s, &text, &module, err);
    for (int i = 0; i < 2 && status >= 0; i++)
        status = s->row->alloc(s->state, bytes, false, &buffer[i], err);
    if (status >= 0)
        status = measure_plain(s, module, buffer, bytes, peak, err);
    optune_err own = {0};
    if (status >= 0 && measure_tensor(s, buffer, &peak->tensor, &own) < 0) {
        peak->tensor = 0; /* the rest is as good without */
        ot_copy(peak->tensor_why, sizeof peak->tensor_why, own.text);
    }
    for (int i = 0; i < 2; i++)
        if (buffer[i])
            s->row->free(s->state, buffer[i]);
    if (module)
        s->row->unload(s->state, module);
    ot_text_release(&text);
    return status;
}
