/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a GPU can do, measured: float32 multiply-adds out of registers, and bytes copied from
 * one buffer to another, both larger than its caches. Compiled by the target's own compiler, as
 * candidates are. One text serves CUDA and OpenCL.
 */
#include <string.h>

#include "run/worker.h"

enum { THREADS = 256, BLOCKS_PER_CORE = 16, ITERATIONS = 2048, SUMS = 16, REPEATS = 7 };
/* An idle device runs at a fraction of its clock, and takes a while to leave that. */
static const double AWAKE_S = 0.3;

static const char source[] =
    "#ifdef __OPENCL_VERSION__\n"
    "#define KERNEL __kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void\n"
    "#define GLOBAL __global\n"
    "#define RESTRICT restrict\n"
    "#define ME ((long)get_global_id(0))\n"
    "#define ALL ((long)get_global_size(0))\n"
    "typedef long i64;\n"
    "#else\n"
    "#define KERNEL extern \"C\" __global__ __launch_bounds__(THREADS) void\n"
    "#define GLOBAL\n"
    "#define RESTRICT __restrict__\n"
    "#define ME ((long long)blockIdx.x * THREADS + threadIdx.x)\n"
    "#define ALL ((long long)gridDim.x * THREADS)\n"
    "typedef long long i64;\n"
    "#endif\n"
    "KERNEL peak_copy(GLOBAL float4 *RESTRICT to, GLOBAL const float4 *RESTRICT from, i64 n) "
    "{\n"
    "    for (i64 i = ME; i < n; i += ALL) to[i] = from[i];\n"
    "}\n"
    "KERNEL peak_fma(GLOBAL float *to, GLOBAL const float *from, i64 n) {\n"
    "    const float x = from[0] + 0.999f, y = from[1] + 0.001f;\n"
    "    float s[SUMS];\n"
    "    _Pragma(\"unroll\")\n"
    "    for (int k = 0; k < SUMS; k++) s[k] = (float)(k + ME);\n"
    "    for (i64 i = 0; i < n; i++) {\n"
    "        _Pragma(\"unroll\")\n"
    "        for (int k = 0; k < SUMS; k++) s[k] = fma(s[k], x, y);\n"
    "    }\n"
    "    _Pragma(\"unroll\")\n"
    "    for (int k = 1; k < SUMS; k++) s[0] += s[k];\n"
    "    to[ME] = s[0];\n"
    "}\n";

static int build(ot_session *s, void **module, optune_err *err)
{
    ot_text text = {0};
    ot_text_printf(&text, "#define THREADS %d\n#define SUMS %d\n%s", (int)THREADS, (int)SUMS,
                   source);
    const int status = ot_peak_build(s, &text, module, err);
    ot_text_release(&text);
    return status;
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

/* The shortest run of AWAKE_S and of some repeats, in seconds; 0: it fails. */
static double fastest(ot_session *s, void *module, const char *function, void *const *buffer,
                      int64_t n, int64_t blocks, optune_err *err)
{
    optune_stage stage = {
        .phase = OPTUNE_TIMED,
        .function = function,
        .n_args = 3,
        .arg = {optune_scratch_arg(0), optune_scratch_arg(1), optune_int_arg(0)},
        .grid = {blocks},
        .block = {THREADS},
    };
    optune_launch launch = {.stage = &stage, .arg = {buffer[0], buffer[1], &n}};
    launch.function = s->row->symbol(s->state, module, function);
    if (!launch.function)
        optune_fail(err, OPTUNE_EIO, "the device's driver finds no '%s'", function);
    const double start = ot_now();
    double best = 0;
    for (int i = 0; launch.function && (i < REPEATS || ot_now() < start + AWAKE_S); i++) {
        const double t = s->row->time(s->state, &launch, 1, 1, err);
        if (t < 0)
            return 0;
        if (best == 0 || t < best)
            best = t;
    }
    return best;
}

int ot_peak_gpu(ot_session *s, double *flops, double *bandwidth, optune_err *err)
{
    void *module = NULL, *buffer[2] = {NULL, NULL};
    const int64_t bytes = copy_bytes(&s->device), vectors = bytes / 16;
    const int64_t blocks =
        (int64_t)(s->device.cores > 0 ? s->device.cores : 1) * BLOCKS_PER_CORE;
    int status = build(s, &module, err);
    for (int i = 0; i < 2 && status >= 0; i++)
        status = s->row->alloc(s->state, bytes, false, &buffer[i], err);
    if (status >= 0) {
        const double copy = fastest(s, module, "peak_copy", buffer, vectors, blocks, err);
        const double fma = fastest(s, module, "peak_fma", buffer, ITERATIONS, blocks, err);
        const double operations = 2.0 * SUMS * ITERATIONS * (double)blocks * THREADS;
        *bandwidth = copy > 0 ? 2 * (double)bytes / copy : 0;
        *flops = fma > 0 ? operations / fma : 0;
        if (copy == 0 || fma == 0)
            status = OPTUNE_EIO;
    }
    for (int i = 0; i < 2; i++)
        if (buffer[i])
            s->row->free(s->state, buffer[i]);
    if (module)
        s->row->unload(s->state, module);
    return status;
}
