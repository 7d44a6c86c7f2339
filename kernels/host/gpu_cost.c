/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/host/gpu_cost.h declares. */
#include "kernels/host/gpu_cost.h"

#include <math.h>

enum {
    CORES = 108,         /* where a device does not tell */
    CORE_THREADS = 2048, /* what a core holds */
    CORE_BLOCKS = 32,
    CORE_REGISTERS = 64 << 10,
    BLOCK_RESERVED = 1024, /* bytes of shared memory that a block takes beside its own */
    SCHEDULERS = 4,
    DEPENDENT = 2,    /* cycles of a warp's instruction where no other warp fills them */
    CORE_BYTES = 16,  /* through memory, a cycle */
    CACHE_BYTES = 32, /* through the cache that all share */
    LAUNCH = 3000,
};

static int64_t cores_of(const optune_task *task)
{
    return task->device->cores > 0 ? task->device->cores : CORES;
}

double gpu_sectors(double count, int64_t run)
{
    return count * (double)(host_ceil(run, 32) * 32);
}

double gpu_exposed(double steps, int64_t ahead, double cycles)
{
    if (ahead < 1)
        return steps;
    const double left = 1 / (double)ahead - cycles / GPU_LATENCY;
    return left > 0 ? 1 + steps * left : 1;
}

int gpu_log2(int64_t n)
{
    int bits = 0;
    while (n > 1) {
        n /= 2;
        bits++;
    }
    return bits;
}

int64_t gpu_resident(const optune_task *task, const gpu_work *w)
{
    const int64_t threads = host_max(w->threads, 1), warps = host_ceil(threads, 32);
    const int64_t shared = host_max(gpu_max_shared(task), 96 << 10);
    int64_t most = host_min(CORE_BLOCKS, CORE_THREADS / threads);
    if (w->registers > 0) /* a warp gets them in units of 256 */
        most = host_min(most, CORE_REGISTERS / (host_ceil(w->registers, 8) * 256 * warps));
    if (w->shared > 0)
        most = host_min(most, shared / (w->shared + BLOCK_RESERVED));
    return host_max(most, 1);
}

double gpu_stream(const optune_task *task, double bytes)
{
    return bytes / (double)(CORE_BYTES * cores_of(task));
}

double gpu_cost(const optune_task *task, const gpu_work *w)
{
    if (task->device->warp <= 1)
        return NAN;
    const int64_t queue = host_ceil(w->blocks, cores_of(task)); /* of the busiest core */
    const int64_t resident = host_min(gpu_resident(task, w), host_max(queue, 1));
    const double warps = (double)host_ceil(host_max(w->threads, 1), 32);
    const double issue = w->instructions * warps / SCHEDULERS;
    const double busy = (double)queue * (issue > w->pipe ? issue : w->pipe);
    const double alone = fmax(w->instructions * DEPENDENT, w->pipe) + w->waits * GPU_LATENCY +
                         w->barriers * GPU_BARRIER;
    const double waiting = (double)host_ceil(queue, resident) * alone;
    const double memory = fmax(gpu_stream(task, w->bytes * (double)w->blocks),
                               fmax(w->cached, w->bytes) * (double)w->blocks /
                                   (double)(CACHE_BYTES * cores_of(task)));
    /* What bounds it, and a fifth of the rest, which overlaps but in part. */
    const double most = fmax(busy, fmax(waiting, memory));
    return LAUNCH + most + (busy + waiting + memory - most) / 5;
}
