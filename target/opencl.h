/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of the target `opencl` share: devices and compiling, and running. */
#ifndef OPTUNE_TARGET_OPENCL_H
#define OPTUNE_TARGET_OPENCL_H

#include "target/gpu.h"
#include "target/opencl_api.h"

/* opencl_device.c */
/* The device a target names, among all platforms' in their order. `probed`, unless NULL: it must
 * be that one, whatever else is preferred in this process. `identity`, unless NULL, receives what
 * names it in every process. */
int ot_opencl_find(const char *wanted, const optune_device *probed, cl_device_id *device,
                   ot_text *identity, optune_err *err);
int ot_opencl_probe(const optune_target *target, optune_device *device, optune_err *err);
int ot_opencl_dependencies(const optune_target *target, const optune_impl *impl, char *text,
                           size_t size, optune_err *err);

/* opencl_compile.c */
int ot_opencl_compile(const optune_target *target, const optune_device *device,
                      const char *const *flags, int n_flags, const char *source,
                      const char *module, optune_argv *argv, optune_err *err);
/* SOURCE MODULE IDENTITY OPTION...; the inside of a compiler process. */
int ot_opencl_translate(char **word, int n);
/* An in-order context and queue, or NULL with the reason. */
cl_context ot_opencl_context(cl_device_id device, optune_err *err);

/* opencl_flush.c: what empties the caches; zeros to begin with. */
typedef struct ot_opencl_flusher {
    cl_program program;
    cl_kernel read; /* of both its arguments */
    cl_mem from;    /* NULL: nothing was flushed yet */
    size_t bytes;   /* its */
} ot_opencl_flusher;
/* Waits until it is done. OpenCL's result. */
cl_int ot_opencl_flush(const ot_opencl *cl, ot_opencl_flusher *flusher, cl_device_id id,
                       const optune_device *device, cl_context context, cl_command_queue queue);
void ot_opencl_flusher_close(const ot_opencl *cl, ot_opencl_flusher *flusher);

#endif
