/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/host/gpu_limits.h declares. */
#include "kernels/host/gpu_limits.h"

bool gpu_is_cuda(const optune_task *task, int cc, char *why)
{
    const int have = 10 * task->device->cc_major + task->device->cc_minor;
    if (have == 0)
        return optune_refuse(why, "its body is CUDA's own");
    return have >= cc ||
           optune_refuse(why, "needs compute capability %d.%d, %s has %d.%d", cc / 10, cc % 10,
                         task->device->name, have / 10, have % 10);
}

bool gpu_has_warpgroups(const optune_task *task, char *why)
{
    if (!gpu_is_cuda(task, 90, why))
        return false;
    return (task->device->cc_major == 9 && task->device->cc_minor == 0) ||
           optune_refuse(why, "its instructions are those of compute capability 9.0 alone");
}

bool gpu_fits(const optune_task *task, const int64_t block[3], int64_t shared,
              int64_t registers, char *why)
{
    const int64_t threads = block[0] * block[1] * block[2];
    for (int i = 0; i < 3; i++)
        if (task->device->max_block[i] > 0 && block[i] > task->device->max_block[i])
            return optune_refuse(why, "%" PRId64 " threads in dimension %d, at most %d",
                                 block[i], i, task->device->max_block[i]);
    if (threads > gpu_max_threads(task))
        return optune_refuse(why, "%" PRId64 " threads in a block, at most %" PRId64, threads,
                             gpu_max_threads(task));
    if (shared > gpu_max_shared(task))
        return optune_refuse(why, "%" PRId64 " bytes of shared memory, at most %" PRId64,
                             shared, gpu_max_shared(task));
    /* 255 is the most that one thread of any CUDA device has; a CPU behind OpenCL has a stack. */
    if (task->device->warp > 1 && registers > 255)
        return optune_refuse(why, "%" PRId64 " registers in a thread, at most 255", registers);
    if (task->device->registers > 0 && registers * threads > task->device->registers)
        return optune_refuse(why, "%" PRId64 " registers in a block, at most %d",
                             registers * threads, task->device->registers);
    return true;
}
