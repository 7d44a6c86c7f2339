/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the GPU targets share: the form of a module file, and the bytes around a guarded buffer.
 * Nothing here calls a driver.
 */
#ifndef OPTUNE_TARGET_GPU_H
#define OPTUNE_TARGET_GPU_H

#include "target/target.h"

/* gpu_module.c: a module file is lines of text (what its compiler said it uses), an empty line,
 * then the driver's own binary. */
int ot_gpu_module_write(const char *path, const char *lines, const void *binary, size_t n,
                        optune_err *err);
/* `all` receives the file; the binary lies in it. */
int ot_gpu_module_read(const char *path, ot_text *all, const void **binary, size_t *n,
                       optune_err *err);
/* A row's `resources`: the lines. */
int ot_gpu_module_resources(const char *path, char *text, size_t size, optune_err *err);

bool ot_gpu_module_is_host(const char *path); /* a shared object of this machine instead */

/* Words of a name for a device's key: lower case, letters, digits, '.' and '_', the rest '-'. */
void ot_gpu_key_word(ot_text *key, const char *name);

/* What surrounds a guarded buffer, on both sides: OT_CANARY. */
enum { OT_GPU_PAD = 64 << 10 };
const void *ot_gpu_canary(void); /* OT_GPU_PAD bytes */
bool ot_gpu_canary_intact(const void *pad);

/* gpu_occupancy.c: warps that run at once, of all that an SM has room for; -1: nobody knows. */
double ot_gpu_occupancy(const optune_device *device, int64_t threads, int64_t registers,
                        int64_t shared);

/* Blocks or threads of a launch: 0 counts as 1. */
static inline int64_t ot_gpu_size(int64_t n)
{
    return n > 0 ? n : 1;
}

/* Refuses a launch that the device's limits rule out, by arithmetic. */
int ot_gpu_check_launch(const optune_device *device, const optune_stage *stage,
                        optune_err *err);

#endif
