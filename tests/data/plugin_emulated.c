/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The target `emulated`: an OpenCL device that says it has a CUDA architecture, -arch=sm_90
 * unless another is named. Bodies that ask for tensor cores then run through what
 * kernels/common/mma_gpu.kernel.h computes in their place, and are verified without a GPU.
 * Never installed: users of OpenCL are not offered such bodies.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "optune/define.h"

/* The limits of such an architecture, so that configs are refused as they would be there. */
static int probe(const optune_target *target, optune_device *device, optune_err *err)
{
    const char *arch = target->arch[0] ? target->arch : "sm_90";
    const int cc = strncmp(arch, "sm_", 3) ? 0 : atoi(arch + 3);
    if (cc < 70 || cc > 121)
        return optune_fail(err, OPTUNE_ENODEV, "no such architecture: '%s'", arch);
    const int status = optune_target_find("opencl")->probe(target, device, err);
    if (status < 0)
        return status;
    char key[sizeof device->key];
    if (snprintf(key, sizeof key, "emulated-%s-%s", arch, device->key) >= (int)sizeof key)
        return optune_fail(err, OPTUNE_ELIMIT, "device key too long: '%s'", device->key);
    memcpy(device->key, key, sizeof key);
    device->warp = 32;
    device->cc_major = cc / 10;
    device->cc_minor = cc % 10;
    device->registers = 65536;
    device->max_threads_per_block = 1024;
    device->max_shared = cc >= 90 ? 232448 : cc == 80 ? 166912 : cc > 80 ? 101376 : 65536;
    return OPTUNE_OK;
}

/* Their many barriers cost an optimizing compiler more than they run. */
static int compile(const optune_target *target, const optune_device *device,
                   const char *const *flags, int n_flags, const char *source,
                   const char *module, optune_argv *argv, optune_err *err)
{
    const int status = optune_target_find("opencl")->compile(target, device, flags, n_flags,
                                                             source, module, argv, err);
    optune_argv_add(argv, "-cl-opt-disable");
    return status;
}

static const optune_target_row emulated = {
    .name = "emulated",
    .summary = "tensor cores computed by an OpenCL device",
    .keys = (const char *const[]){"cuda", "gpu", NULL},
    .like = "opencl",
    .probe = probe,
    .compile = compile,
};

OPTUNE_PLUGIN = {
    .abi = OPTUNE_ABI,
    .name = "emulated",
    .targets = (const optune_target_row *const[]){&emulated, NULL},
};
