/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the symbol "ot_clock" is in a body that calls NVIDIA's libraries: how long something takes
 * on the device, measured as the harness measures. For what a library has to be chosen by trying.
 */
#ifndef OPTUNE_KERNELS_COMMON_CUDA_CLOCK_H
#define OPTUNE_KERNELS_COMMON_CUDA_CLOCK_H

typedef struct cuda_clock {
    /* Seconds of a run of `body(arg)`, which has `n` arguments and is run several times; `cold`:
     * with nothing of it in the caches. Negative: it failed, or nothing can be measured now. */
    double (*seconds)(struct cuda_clock *clock, void (*body)(void *const *arg),
                      void *const *arg, int n, int cold);
} cuda_clock;

#endif
