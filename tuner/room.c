/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a workload, or a candidate's scratch, fits into the memory that is there, asked before
 * anything is allocated: a process that takes too much is ended by the kernel in the middle of
 * something, and perhaps another one instead of it.
 *
 * The sums are of doubles: a product of dims that passes 64 bits must come out large, not small.
 */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "run/worker.h"
#include "tuner/tune.h"

static double elements(const optune_tensor *type)
{
    double n = 1;
    for (int d = 0; d < type->rank; d++)
        n *= (double)type->dim[d].min;
    return n;
}

static double bytes(const optune_tensor *type)
{
    return ceil(elements(type) * type->dtype.bits * type->dtype.lanes / 8);
}

double ot_room_needed(const optune_call *call, const optune_device *device, double *on_device)
{
    double in = 0, out = 0, most = 0, computing = 0, kept = 0;
    const double threads =
        device->threads > 0 ? device->threads : (double)sysconf(_SC_NPROCESSORS_ONLN);
    for (int i = 0; i < optune_call_inputs(call); i++) {
        in += bytes(&call->input[i].type);
        most = fmax(most, bytes(&call->input[i].type));
    }
    for (int i = 0; i < call->n_outputs; i++) {
        const double n = elements(&call->output[i]);
        out += bytes(&call->output[i]);
        most = fmax(most, bytes(&call->output[i]));
        const double block = (double)ot_reference_block(call, i);
        /* Elements are counted when a block is opened. */
        const double some = fmin(n, OT_REFERENCE_ELEMENTS + 2 * block);
        computing = fmax(computing, fmin(some, block * threads) * 2 * sizeof(double));
        kept += some * (sizeof(double) + sizeof(float));
    }
    /* Guarded and aligned ones; on a GPU these are the device's. */
    const double buffers = 2 * (in + out);
    *on_device = device->threads > 0 ? 0 : buffers;
    const double measuring = most + buffers - *on_device;
    return kept + fmax(in + computing, measuring);
}

double ot_room_held(const optune_call *call, const optune_device *device)
{
    double in = 0, on_device;
    for (int i = 0; i < optune_call_inputs(call); i++)
        in += bytes(&call->input[i].type);
    const double kept = 2 * in <= ot_inputs_most_kept() ? 2 * in : 0; /* true ones, far ones */
    return ot_room_needed(call, device, &on_device) + kept;
}

static void say_bytes(double n, char *to, size_t size)
{
    static const char *const unit[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
    int i = 0;
    for (n /= 1024; n >= 1000 && i + 1 < OT_COUNT(unit); i++)
        n /= 1024;
    snprintf(to, size, n < 1e6 ? "%.1f %s" : "%.1e %s", n, unit[i]);
}

static int refuse(double need, double there, const char *what, const char *whose,
                  optune_err *err)
{
    char needed[32], left[32];
    say_bytes(need, needed, sizeof needed);
    say_bytes(there, left, sizeof left);
    return optune_fail(err, OPTUNE_ENOMEM, "%s %s of memory, %s %s", what, needed, left, whose);
}

int ot_room_check(const ot_run *run, const optune_call *call, optune_err *err)
{
    const optune_device *device = &run->o->device;
    double on_device;
    const double need = ot_room_needed(call, device, &on_device);
    const int64_t there = ot_memory_available(run->memory_root);
    if (there >= 0 && need > (double)there + run->held)
        return refuse(need, (double)there + run->held, "its inputs, outputs and reference need",
                      "are available", err);
    if (device->memory > 0 && on_device > (double)device->memory)
        return refuse(on_device, (double)device->memory, "its inputs and outputs, twice, need",
                      "are on the device", err);
    return OPTUNE_OK;
}

int ot_room_scratch(const ot_run *run, const optune_plan *plan, optune_err *err)
{
    double need = 0;
    for (int i = 0; i < plan->n_scratch; i++)
        need += (double)plan->scratch[i].bytes;
    if (need < 64 << 20)
        return OPTUNE_OK; /* not worth asking the kernel for */
    const optune_device *device = &run->o->device;
    const bool on_device = device->threads == 0;
    const double there =
        on_device ? (double)device->memory : (double)ot_memory_available(run->memory_root);
    if ((on_device ? there <= 0 : there < 0) || need <= there)
        return OPTUNE_OK;
    return refuse(need, there, "its scratch buffers need",
                  on_device ? "are on the device" : "are available", err);
}
