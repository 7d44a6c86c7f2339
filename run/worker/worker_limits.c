/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last net under a time: what no device of this kind can do, by a wide margin, however good the
 * kernel is. It refuses times that are absurd and nothing else; whether a time is honest was found
 * out by other means.
 *
 * The one idea: every element of an output is written in every run, whatever is remembered or left
 * out; and of the operations that a call counts, no honest algorithm leaves out more than a few
 * dozenths (Winograd, products with padding).
 */
#include <math.h>

#include "run/worker/worker_contest.h"

static const double CLOCK = 8e9, SKIPPED = 64; /* cycles a second; operations left out */

double ot_least_seconds(const optune_call *call, const optune_device *device, char *why,
                        size_t size)
{
    const double threads = device->threads > 0 ? device->threads : device->cores;
    const double cores = fmax(threads, 1);
    /* Of a core in a cycle: two stores of the widest vectors; two multiply-adds of float32
     * vectors, or a matrix unit's of 16 and of 8 bits. */
    const bool gpu = device->threads == 0;
    int bits = call->output[0].dtype.bits;
    for (int i = 0; i < call->n_inputs; i++)
        if (call->input[i].type.dtype.bits && call->input[i].type.dtype.bits < bits)
            bits = call->input[i].type.dtype.bits;
    const double stored = gpu ? 256 : 2 * 64;
    const double done = gpu || bits <= 16 ? 8192 : 2 * 2 * 16;
    double bytes = 0;
    for (int i = 0; i < call->n_outputs; i++)
        bytes += (double)optune_tensor_bytes(&call->output[i]);
    const double flops = call->op->flops ? call->op->flops(call) : 0;
    const double writing = bytes / (cores * stored * CLOCK);
    const double computing = flops / SKIPPED / (cores * done * CLOCK);
    if (writing > computing)
        snprintf(why, size, "its %.3g bytes of output", bytes);
    else
        snprintf(why, size, "%.3g operations", flops);
    return fmax(writing, computing);
}
