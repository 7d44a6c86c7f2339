/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What GPU rows of patterns and of kindred ops share: C types that CUDA and OpenCL both know,
 * the text of an offset in nested loops, and thread counts. Host code only; it decides nothing
 * about speed.
 */
#ifndef OPTUNE_KERNELS_HOST_PATTERN_GPU_H
#define OPTUNE_KERNELS_HOST_PATTERN_GPU_H

#include "kernels/host/gpu_cost.h"
#include "kernels/host/pattern.h"

/* The C type of one element in a body that includes kernels/common/gpu.kernel.h; NULL: there is
 * none. */
const char *gpu_c_type(optune_dtype dtype);

static inline bool gpu_is_half(optune_dtype dtype)
{
    return dtype.bits == 16 && dtype.lanes <= 1 && pattern_is_real(dtype);
}

/* 16-bit floats are stored as u16 and computed in float; all else is what gpu_c_type says. */
static inline const char *gpu_stored_type(optune_dtype dtype)
{
    return gpu_is_half(dtype) ? "u16" : gpu_c_type(dtype);
}

static inline const char *gpu_scalar_type(optune_dtype dtype)
{
    return gpu_is_half(dtype) ? "float" : gpu_c_type(dtype);
}

/* A word of kernels/common/gpu.kernel.h that makes the one of the other; empty: none is needed. */
const char *gpu_scalar_of(optune_dtype dtype);

/* Whether bodies compute in this type. What a device leaves out (float64) is no row's concern. */
static inline bool gpu_computes(optune_dtype dtype, char *why)
{
    return gpu_c_type(dtype) != NULL ||
           optune_refuse(why, "has no C type for a dtype of the call");
}

/* Constant shapes, something to do, types that are stored somehow. */
bool gpu_applies(const optune_task *task, char *why);

/* SCALAR and what else scalar_gpu.kernel.h asks for; of input 0 IN_T, how it is stored, and IN_OF,
 * which makes a SCALAR of it. The numbers a0 ... are macros: OpenCL has no constants at file scope
 * that CUDA would share. */
void gpu_define_scalar(optune_plan *plan, int m, const optune_call *call);

/* The macro `macro` is the offset of number `name` of some loops, innermost fastest. */
void gpu_define_offset(optune_plan *plan, int m, const char *macro, const char *name, int n,
                       const int64_t *extent, const int64_t *stride, int64_t start);

/* The type that numbers elements: 32 bits wide where that is enough, which divides faster. */
void gpu_define_index(optune_plan *plan, int m, const optune_call *call);

/* The least power of two that is not below n. */
int64_t gpu_power2(int64_t n);

static inline int64_t gpu_cores(const optune_task *task)
{
    return task->device->cores > 0 ? task->device->cores : 16;
}

/* Knob `threads` of a block, a power of two; and its fallback, `want` or what the device has. */
static inline void gpu_space_threads(optune_space *space)
{
    optune_space_ints(space, "threads", 5, (const int64_t[]){64, 128, 256, 512, 1024});
}

int64_t gpu_threads(const optune_task *task, int64_t want);

/* A row of blocks has a limit that is never met; the other dims of a grid are short. */
static inline bool gpu_grid_fits(int64_t blocks, char *why)
{
    return blocks <= INT32_MAX || optune_refuse(why, "%" PRId64 " blocks are too many", blocks);
}

#endif
