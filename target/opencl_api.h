/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of OpenCL 1.2 that is used, declared here and opened when first needed: building
 * takes no SDK, and who never asks for `opencl` loads nothing. Names are the standard's.
 */
#ifndef OPTUNE_TARGET_OPENCL_API_H
#define OPTUNE_TARGET_OPENCL_API_H

#include "base/base.h"

typedef struct cl_platform *cl_platform_id;
typedef struct cl_device *cl_device_id;
typedef struct cl_context_tag *cl_context;
typedef struct cl_queue_tag *cl_command_queue;
typedef struct cl_mem_tag *cl_mem;
typedef struct cl_program_tag *cl_program;
typedef struct cl_kernel_tag *cl_kernel;
typedef struct cl_event_tag *cl_event;
typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_ulong;

enum {
    CL_SUCCESS = 0,
    CL_DEVICE_NOT_FOUND = -1,
    CL_TRUE = 1,
    CL_MEM_READ_WRITE = 1,
    CL_QUEUE_PROFILING = 2,
    CL_DEVICE_TYPE_CPU = 2,
    CL_DEVICE_TYPE_GPU = 4,
    CL_DEVICE_TYPE_ACCELERATOR = 8,
    CL_PLATFORM_VERSION = 0x0901,
    CL_PLATFORM_NAME = 0x0902,
    CL_DEVICE_TYPE = 0x1000,
    CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
    CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
    CL_DEVICE_MAX_WORK_ITEM_SIZES = 0x1005,
    CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
    CL_DEVICE_GLOBAL_MEM_CACHE_SIZE = 0x101E,
    CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F,
    CL_DEVICE_LOCAL_MEM_SIZE = 0x1023,
    CL_DEVICE_COMPILER_AVAILABLE = 0x1028,
    CL_DEVICE_NAME = 0x102B,
    CL_DEVICE_EXTENSIONS = 0x1030,
    CL_DEVICE_DOUBLE_FP_CONFIG = 0x1032,
    CL_DRIVER_VERSION = 0x102D,
    CL_DEVICE_WARP_SIZE_NV = 0x4003,
    CL_DEVICE_WAVEFRONT_WIDTH_AMD = 0x4043,
    CL_PROGRAM_BINARY_SIZES = 0x1165,
    CL_PROGRAM_BINARIES = 0x1166,
    CL_PROGRAM_BUILD_LOG = 0x1183,
    CL_KERNEL_FUNCTION_NAME = 0x1190,
    CL_KERNEL_NUM_ARGS = 0x1191,
    CL_KERNEL_COMPILE_WORK_GROUP_SIZE = 0x11B1,
    CL_KERNEL_LOCAL_MEM_SIZE = 0x11B2,
    CL_KERNEL_PRIVATE_MEM_SIZE = 0x11B4,
    CL_BUFFER_CREATE_TYPE_REGION = 0x1220,
    CL_PROFILING_COMMAND_START = 0x1282,
    CL_PROFILING_COMMAND_END = 0x1283,
};

typedef struct cl_buffer_region {
    size_t origin, size;
} cl_buffer_region;

/* X(what it returns, its name, its arguments) */
#define OT_OPENCL_FUNCTIONS(X)                                                                 \
    X(cl_int, clGetPlatformIDs, (cl_uint, cl_platform_id *, cl_uint *))                        \
    X(cl_int, clGetPlatformInfo, (cl_platform_id, cl_uint, size_t, void *, size_t *))          \
    X(cl_int, clGetDeviceIDs, (cl_platform_id, cl_ulong, cl_uint, cl_device_id *, cl_uint *))  \
    X(cl_int, clGetDeviceInfo, (cl_device_id, cl_uint, size_t, void *, size_t *))              \
    X(cl_context, clCreateContext,                                                             \
      (const intptr_t *, cl_uint, const cl_device_id *,                                        \
       void (*)(const char *, const void *, size_t, void *), void *, cl_int *))                \
    X(cl_int, clReleaseContext, (cl_context))                                                  \
    X(cl_command_queue, clCreateCommandQueue, (cl_context, cl_device_id, cl_ulong, cl_int *))  \
    X(cl_int, clReleaseCommandQueue, (cl_command_queue))                                       \
    X(cl_mem, clCreateBuffer, (cl_context, cl_ulong, size_t, void *, cl_int *))                \
    X(cl_mem, clCreateSubBuffer, (cl_mem, cl_ulong, cl_uint, const void *, cl_int *))          \
    X(cl_int, clReleaseMemObject, (cl_mem))                                                    \
    X(cl_int, clEnqueueReadBuffer,                                                             \
      (cl_command_queue, cl_mem, cl_uint, size_t, size_t, void *, cl_uint, const cl_event *,   \
       cl_event *))                                                                            \
    X(cl_int, clEnqueueWriteBuffer,                                                            \
      (cl_command_queue, cl_mem, cl_uint, size_t, size_t, const void *, cl_uint,               \
       const cl_event *, cl_event *))                                                          \
    X(cl_int, clEnqueueCopyBuffer,                                                             \
      (cl_command_queue, cl_mem, cl_mem, size_t, size_t, size_t, cl_uint, const cl_event *,    \
       cl_event *))                                                                            \
    X(cl_int, clEnqueueFillBuffer,                                                             \
      (cl_command_queue, cl_mem, const void *, size_t, size_t, size_t, cl_uint,                \
       const cl_event *, cl_event *))                                                          \
    X(cl_program, clCreateProgramWithSource,                                                   \
      (cl_context, cl_uint, const char **, const size_t *, cl_int *))                          \
    X(cl_program, clCreateProgramWithBinary,                                                   \
      (cl_context, cl_uint, const cl_device_id *, const size_t *, const unsigned char **,      \
       cl_int *, cl_int *))                                                                    \
    X(cl_int, clBuildProgram,                                                                  \
      (cl_program, cl_uint, const cl_device_id *, const char *, void (*)(cl_program, void *),  \
       void *))                                                                                \
    X(cl_int, clGetProgramInfo, (cl_program, cl_uint, size_t, void *, size_t *))               \
    X(cl_int, clGetProgramBuildInfo,                                                           \
      (cl_program, cl_device_id, cl_uint, size_t, void *, size_t *))                           \
    X(cl_int, clReleaseProgram, (cl_program))                                                  \
    X(cl_kernel, clCreateKernel, (cl_program, const char *, cl_int *))                         \
    X(cl_int, clCreateKernelsInProgram, (cl_program, cl_uint, cl_kernel *, cl_uint *))         \
    X(cl_int, clGetKernelInfo, (cl_kernel, cl_uint, size_t, void *, size_t *))                 \
    X(cl_int, clGetKernelWorkGroupInfo,                                                        \
      (cl_kernel, cl_device_id, cl_uint, size_t, void *, size_t *))                            \
    X(cl_int, clReleaseKernel, (cl_kernel))                                                    \
    X(cl_int, clSetKernelArg, (cl_kernel, cl_uint, size_t, const void *))                      \
    X(cl_int, clEnqueueNDRangeKernel,                                                          \
      (cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *,   \
       cl_uint, const cl_event *, cl_event *))                                                 \
    X(cl_int, clFlush, (cl_command_queue))                                                     \
    X(cl_int, clFinish, (cl_command_queue))                                                    \
    X(cl_int, clGetEventProfilingInfo, (cl_event, cl_uint, size_t, void *, size_t *))          \
    X(cl_int, clReleaseEvent, (cl_event))

typedef struct ot_opencl {
#define OT_OPENCL_FIELD(result, name, args) result(*name) args;
    OT_OPENCL_FUNCTIONS(OT_OPENCL_FIELD)
#undef OT_OPENCL_FIELD
} ot_opencl;

/* The loader's functions. ENODEV says what is missing and where it was looked for. */
int ot_opencl_open(const ot_opencl **api, optune_err *err);
const char *
ot_opencl_error(cl_int code); /* "CL_INVALID_VALUE"; "an OpenCL error" for a strange one */

#endif
