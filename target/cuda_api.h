/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the CUDA driver, NVRTC and NVML that are used, declared here and opened when first
 * needed: building takes no SDK, and one program serves machines with and without a GPU. Names are
 * the vendor's.
 */
#ifndef OPTUNE_TARGET_CUDA_API_H
#define OPTUNE_TARGET_CUDA_API_H

#include <limits.h>

#include "base/base.h"

typedef struct cuda_context *cuda_context;
typedef struct cuda_module *cuda_module;
typedef struct cuda_function *cuda_function;
typedef struct cuda_stream *cuda_stream;
typedef struct cuda_event *cuda_event;
typedef struct cuda_graph *cuda_graph;
typedef struct cuda_graph_exec *cuda_graph_exec;
typedef uint64_t cuda_pointer;

enum {
    /* A device attribute, or a function's. */
    CUDA_MAX_THREADS_PER_BLOCK = 1,
    CUDA_MAX_BLOCK_X = 2,
    CUDA_WARP = 10,
    CUDA_REGISTERS_PER_BLOCK = 12,
    CUDA_MULTIPROCESSORS = 16,
    CUDA_ECC = 32,
    CUDA_L2 = 38,
    CUDA_CC_MAJOR = 75,
    CUDA_CC_MINOR = 76,
    CUDA_MAX_SHARED_OPTIN = 97,
    CUDA_FUNCTION_MAX_DYNAMIC_SHARED = 8,
    CUDA_CAPTURE_RELAXED = 2,
};

/* X(its name here, its symbol, its arguments); all return 0 or an error. */
#define OT_CUDA_FUNCTIONS(X)                                                                   \
    X(cuInit, "cuInit", (unsigned))                                                            \
    X(cuDriverGetVersion, "cuDriverGetVersion", (int *))                                       \
    X(cuGetErrorName, "cuGetErrorName", (int, const char **))                                  \
    X(cuDeviceGetCount, "cuDeviceGetCount", (int *))                                           \
    X(cuDeviceGet, "cuDeviceGet", (int *, int))                                                \
    X(cuDeviceGetName, "cuDeviceGetName", (char *, int, int))                                  \
    X(cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId", (char *, int, int))                          \
    X(cuDeviceGetAttribute, "cuDeviceGetAttribute", (int *, int, int))                         \
    X(cuDeviceTotalMem, "cuDeviceTotalMem_v2", (size_t *, int))                                \
    X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (cuda_context *, int))             \
    X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (int))                        \
    X(cuCtxSetCurrent, "cuCtxSetCurrent", (cuda_context))                                      \
    X(cuModuleLoadData, "cuModuleLoadData", (cuda_module *, const void *))                     \
    X(cuModuleUnload, "cuModuleUnload", (cuda_module))                                         \
    X(cuModuleGetFunction, "cuModuleGetFunction",                                              \
      (cuda_function *, cuda_module, const char *))                                            \
    X(cuFuncSetAttribute, "cuFuncSetAttribute", (cuda_function, int, int))                     \
    X(cuMemAlloc, "cuMemAlloc_v2", (cuda_pointer *, size_t))                                   \
    X(cuMemFree, "cuMemFree_v2", (cuda_pointer))                                               \
    X(cuMemcpyHtoD, "cuMemcpyHtoD_v2", (cuda_pointer, const void *, size_t))                   \
    X(cuMemcpyDtoH, "cuMemcpyDtoH_v2", (void *, cuda_pointer, size_t))                         \
    X(cuMemcpyDtoD, "cuMemcpyDtoD_v2", (cuda_pointer, cuda_pointer, size_t))                   \
    X(cuMemsetD8, "cuMemsetD8_v2", (cuda_pointer, unsigned char, size_t))                      \
    X(cuMemsetD8Async, "cuMemsetD8Async", (cuda_pointer, unsigned char, size_t, cuda_stream))  \
    X(cuStreamCreate, "cuStreamCreate", (cuda_stream *, unsigned))                             \
    X(cuStreamDestroy, "cuStreamDestroy_v2", (cuda_stream))                                    \
    X(cuStreamSynchronize, "cuStreamSynchronize", (cuda_stream))                               \
    X(cuStreamBeginCapture, "cuStreamBeginCapture_v2", (cuda_stream, int))                     \
    X(cuStreamEndCapture, "cuStreamEndCapture", (cuda_stream, cuda_graph *))                   \
    X(cuGraphInstantiate, "cuGraphInstantiateWithFlags",                                       \
      (cuda_graph_exec *, cuda_graph, unsigned long long))                                     \
    X(cuGraphUpload, "cuGraphUpload", (cuda_graph_exec, cuda_stream))                          \
    X(cuGraphLaunch, "cuGraphLaunch", (cuda_graph_exec, cuda_stream))                          \
    X(cuGraphExecDestroy, "cuGraphExecDestroy", (cuda_graph_exec))                             \
    X(cuGraphDestroy, "cuGraphDestroy", (cuda_graph))                                          \
    X(cuEventCreate, "cuEventCreate", (cuda_event *, unsigned))                                \
    X(cuEventRecord, "cuEventRecord", (cuda_event, cuda_stream))                               \
    X(cuEventSynchronize, "cuEventSynchronize", (cuda_event))                                  \
    X(cuEventElapsedTime, "cuEventElapsedTime", (float *, cuda_event, cuda_event))             \
    X(cuEventDestroy, "cuEventDestroy_v2", (cuda_event))                                       \
    X(cuLaunchKernel, "cuLaunchKernel",                                                        \
      (cuda_function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,    \
       cuda_stream, void **, void **))

#define OT_NVRTC_FUNCTIONS(X)                                                                  \
    X(nvrtcVersion, "nvrtcVersion", (int *, int *))                                            \
    X(nvrtcCreateProgram, "nvrtcCreateProgram",                                                \
      (void **, const char *, const char *, int, const char *const *, const char *const *))    \
    X(nvrtcDestroyProgram, "nvrtcDestroyProgram", (void **))                                   \
    X(nvrtcCompileProgram, "nvrtcCompileProgram", (void *, int, const char *const *))          \
    X(nvrtcGetProgramLogSize, "nvrtcGetProgramLogSize", (void *, size_t *))                    \
    X(nvrtcGetProgramLog, "nvrtcGetProgramLog", (void *, char *))                              \
    X(nvrtcGetCUBINSize, "nvrtcGetCUBINSize", (void *, size_t *))                              \
    X(nvrtcGetCUBIN, "nvrtcGetCUBIN", (void *, char *))

#define OT_NVML_FUNCTIONS(X)                                                                   \
    X(nvmlInit, "nvmlInit_v2", (void))                                                         \
    X(nvmlDeviceGetHandleByPciBusId, "nvmlDeviceGetHandleByPciBusId_v2",                       \
      (const char *, void **))                                                                 \
    X(nvmlDeviceGetClockInfo, "nvmlDeviceGetClockInfo", (void *, int, unsigned *))             \
    X(nvmlDeviceGetTemperature, "nvmlDeviceGetTemperature", (void *, int, unsigned *))         \
    X(nvmlDeviceGetPowerUsage, "nvmlDeviceGetPowerUsage", (void *, unsigned *))                \
    X(nvmlDeviceGetCurrentClocksThrottleReasons, "nvmlDeviceGetCurrentClocksThrottleReasons",  \
      (void *, unsigned long long *))

#define OT_CUDA_FIELD(name, symbol, args) int(*name) args;
typedef struct ot_cuda {
    OT_CUDA_FUNCTIONS(OT_CUDA_FIELD)
} ot_cuda;
typedef struct ot_nvrtc {
    OT_NVRTC_FUNCTIONS(OT_CUDA_FIELD)
} ot_nvrtc;
typedef struct ot_nvml {
    OT_NVML_FUNCTIONS(OT_CUDA_FIELD)
} ot_nvml;
#undef OT_CUDA_FIELD

/* The driver, initialised. ENODEV says what is missing and where it was looked for. */
int ot_cuda_open(const ot_cuda **api, optune_err *err);
/* A function that not every driver has; NULL: this one has not. After ot_cuda_open. */
void *ot_cuda_entry(const char *name);
int ot_nvrtc_open(const ot_nvrtc **api, optune_err *err); /* ETOOL */
/* The folder of the toolkit's headers; false: there is none here. */
bool ot_cuda_headers(const ot_nvrtc *nvrtc, char *path, size_t size);
int ot_nvml_open(const ot_nvml **api, optune_err *err); /* ETOOL */
const char *ot_cuda_error(int code);                    /* "CUDA_ERROR_ILLEGAL_ADDRESS" */

/* For glob with GLOB_BRACE: `inside` of all of NVIDIA's packages of the Python on PATH, where that
 * keeps packages and where it is installed really. How many there are. */
enum { OT_CUDA_PLACE = PATH_MAX + 128 };
int ot_cuda_python(const char *inside, char pattern[2][OT_CUDA_PLACE]);

/* Opens libSTEM.so.VERSION: on the library path, beside the toolkit, in Python's nvidia
 * packages, newest first. `path` may be NULL. ETOOL says where it was looked for. */
int ot_cuda_library_open(const char *stem, void **handle, char *path, size_t size,
                         optune_err *err);

#endif
