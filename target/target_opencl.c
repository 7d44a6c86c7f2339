/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The target `opencl`: any device of any platform, one in-order queue, times from profiling
 * events. Guarded buffers lie between canaries inside a larger allocation.
 *
 * The one idea: whatever a kernel breaks, it breaks in the worker process; a call that fails
 * after a launch says that this process is done for.
 */
#include <stdlib.h>
#include <string.h>

#include "target/opencl.h"

enum { FLUSH_EVERY = 256, INVALID_ARG_SIZE = -51 };

static const char *const keys[] = {"opencl", "gpu", NULL};

typedef struct opencl_state {
    const ot_opencl *cl;
    optune_device device;
    cl_device_id id;
    cl_context context;
    cl_command_queue queue;
    ot_opencl_flusher flusher;
    bool broken;
} opencl_state;

typedef struct module {
    cl_program program;
    int n, room;
    cl_kernel *kernel;
} module;

typedef struct buffer {
    cl_mem whole,
        part; /* the allocation, and what kernels get of it; the same when unguarded */
    size_t bytes, offset;
    bool guarded;
} buffer;

static void close_opencl(void *state)
{
    opencl_state *s = state;
    if (s->cl)
        ot_opencl_flusher_close(s->cl, &s->flusher);
    if (s->queue)
        s->cl->clReleaseCommandQueue(s->queue);
    if (s->context)
        s->cl->clReleaseContext(s->context);
    *s = (opencl_state){0};
}

static int open_opencl(void *state, const optune_target *target, const optune_device *device,
                       optune_err *err)
{
    opencl_state *s = state;
    cl_int rc;
    s->device = *device;
    /* PoCL's own cache of kernels grows without end; ours is bounded. */
    setenv("POCL_KERNEL_CACHE", "0", 0);
    int status = ot_opencl_open(&s->cl, err);
    if (status >= 0)
        status = ot_opencl_find(target->device, device, &s->id, NULL, err);
    if (status < 0)
        return status;
    s->context = ot_opencl_context(s->id, err);
    if (!s->context)
        return OPTUNE_ENODEV;
    s->queue = s->cl->clCreateCommandQueue(s->context, s->id, CL_QUEUE_PROFILING, &rc);
    if (!s->queue)
        return optune_fail(err, OPTUNE_ENODEV, "OpenCL makes no queue: %s",
                           ot_opencl_error(rc));
    return OPTUNE_OK;
}

static int flush(void *state)
{
    opencl_state *s = state;
    const cl_int rc =
        ot_opencl_flush(s->cl, &s->flusher, s->id, &s->device, s->context, s->queue);
    return rc == CL_SUCCESS ? OPTUNE_OK : OPTUNE_EIO;
}

static bool alive(void *state)
{
    return !((const opencl_state *)state)->broken;
}

/* ---- modules ----------------------------------------------------------------------------- */

static void unload(void *state, void *handle)
{
    opencl_state *s = state;
    module *m = handle;
    for (int i = 0; i < m->n; i++)
        s->cl->clReleaseKernel(m->kernel[i]);
    if (m->program)
        s->cl->clReleaseProgram(m->program);
    free(m->kernel);
    free(m);
}

static int load(void *state, const char *path, void **handle, optune_err *err)
{
    opencl_state *s = state;
    ot_text all = {0};
    const void *binary;
    size_t size;
    cl_int each = CL_SUCCESS, rc = CL_SUCCESS;
    int status = ot_gpu_module_read(path, &all, &binary, &size, err);
    if (status < 0) {
        ot_text_release(&all);
        return status;
    }
    module *m = ot_alloc(sizeof *m);
    const unsigned char *bytes = binary;
    m->program =
        s->cl->clCreateProgramWithBinary(s->context, 1, &s->id, &size, &bytes, &each, &rc);
    if (m->program && rc == CL_SUCCESS)
        rc = s->cl->clBuildProgram(m->program, 1, &s->id, "", NULL, NULL);
    ot_text_release(&all);
    if (!m->program || rc != CL_SUCCESS) {
        unload(s, m);
        return optune_fail(err, OPTUNE_EIO, "cannot load module: %s", ot_opencl_error(rc));
    }
    *handle = m;
    return OPTUNE_OK;
}

/* A kernel object each time: its arguments are part of it. */
static void *symbol(void *state, void *handle, const char *function)
{
    opencl_state *s = state;
    module *m = handle;
    cl_int rc;
    cl_kernel kernel = s->cl->clCreateKernel(m->program, function, &rc);
    if (kernel) {
        m->kernel = ot_room(m->kernel, m->n, &m->room, sizeof(cl_kernel));
        m->kernel[m->n++] = kernel;
    }
    return kernel;
}

static void *library(void *state, const char *name, const char *function, optune_err *err)
{
    (void)state;
    optune_fail(err, OPTUNE_ENODEV, "opencl calls no library: '%s' of '%s'", function, name);
    return NULL;
}

/* ---- buffers ----------------------------------------------------------------------------- */

static void free_buffer(void *state, void *handle)
{
    opencl_state *s = state;
    buffer *b = handle;
    if (b->part && b->part != b->whole)
        s->cl->clReleaseMemObject(b->part);
    if (b->whole)
        s->cl->clReleaseMemObject(b->whole);
    free(b);
}

static cl_int write_at(opencl_state *s, const buffer *b, size_t at, const void *from, size_t n)
{
    return n ? s->cl->clEnqueueWriteBuffer(s->queue, b->whole, CL_TRUE, at, n, from, 0, NULL,
                                           NULL)
             : CL_SUCCESS;
}

static cl_int read_at(opencl_state *s, const buffer *b, size_t at, void *to, size_t n)
{
    return n ? s->cl->clEnqueueReadBuffer(s->queue, b->whole, CL_TRUE, at, n, to, 0, NULL, NULL)
             : CL_SUCCESS;
}

/* The canaries touch the buffer on both sides; between them everything is zero. */
static cl_int guard(opencl_state *s, buffer *b)
{
    const cl_buffer_region region = {b->offset, b->bytes ? b->bytes : 1};
    cl_int rc = write_at(s, b, 0, ot_gpu_canary(), OT_GPU_PAD);
    if (rc == CL_SUCCESS)
        rc = write_at(s, b, b->offset + b->bytes, ot_gpu_canary(), OT_GPU_PAD);
    if (rc == CL_SUCCESS)
        b->part = s->cl->clCreateSubBuffer(b->whole, CL_MEM_READ_WRITE,
                                           CL_BUFFER_CREATE_TYPE_REGION, &region, &rc);
    return rc;
}

static int alloc(void *state, int64_t bytes, bool guarded, void **handle, optune_err *err)
{
    opencl_state *s = state;
    const unsigned char zero = 0;
    const size_t pad = guarded ? OT_GPU_PAD : 0;
    const size_t whole = (size_t)bytes + 2 * pad + (bytes == 0);
    cl_int rc = CL_SUCCESS;
    buffer *b = ot_alloc(sizeof *b);
    *b = (buffer){.bytes = (size_t)bytes, .offset = pad, .guarded = guarded};
    b->whole = s->cl->clCreateBuffer(s->context, CL_MEM_READ_WRITE, whole, NULL, &rc);
    if (b->whole)
        rc = s->cl->clEnqueueFillBuffer(s->queue, b->whole, &zero, 1, 0, whole, 0, NULL, NULL);
    b->part = b->whole;
    if (rc == CL_SUCCESS && guarded)
        rc = guard(s, b);
    if (rc == CL_SUCCESS)
        rc = s->cl->clFinish(s->queue);
    if (rc == CL_SUCCESS) {
        *handle = b;
        return OPTUNE_OK;
    }
    free_buffer(s, b);
    return optune_fail(err, OPTUNE_ENOMEM, "no device memory for a buffer of %lld bytes: %s",
                       (long long)bytes, ot_opencl_error(rc));
}

static int write_buffer(void *state, void *handle, const void *from, int64_t bytes)
{
    const buffer *b = handle;
    return write_at(state, b, b->offset, from, (size_t)bytes) == CL_SUCCESS ? OPTUNE_OK
                                                                            : OPTUNE_EIO;
}

static int read_buffer(void *state, const void *handle, void *to, int64_t bytes)
{
    const buffer *b = handle;
    return read_at(state, b, b->offset, to, (size_t)bytes) == CL_SUCCESS ? OPTUNE_OK
                                                                         : OPTUNE_EIO;
}

static int read_part(void *state, const void *handle, int64_t at, void *to, int64_t bytes)
{
    const buffer *b = handle;
    const size_t from = b->offset + (size_t)at;
    return read_at(state, b, from, to, (size_t)bytes) == CL_SUCCESS ? OPTUNE_OK : OPTUNE_EIO;
}

static int fill_buffer(void *state, void *handle, int byte, int64_t bytes)
{
    opencl_state *s = state;
    const buffer *b = handle;
    const unsigned char value = (unsigned char)byte;
    cl_int rc = bytes ? s->cl->clEnqueueFillBuffer(s->queue, b->whole, &value, 1, b->offset,
                                                   (size_t)bytes, 0, NULL, NULL)
                      : CL_SUCCESS;
    if (rc == CL_SUCCESS)
        rc = s->cl->clFinish(s->queue);
    return rc == CL_SUCCESS ? OPTUNE_OK : OPTUNE_EIO;
}

static int copy_buffer(void *state, void *to, const void *from, int64_t bytes)
{
    opencl_state *s = state;
    const buffer *a = to, *b = from;
    cl_int rc = bytes ? s->cl->clEnqueueCopyBuffer(s->queue, b->whole, a->whole, b->offset,
                                                   a->offset, (size_t)bytes, 0, NULL, NULL)
                      : CL_SUCCESS;
    if (rc == CL_SUCCESS)
        rc = s->cl->clFinish(s->queue);
    return rc == CL_SUCCESS ? OPTUNE_OK : OPTUNE_EIO;
}

static bool intact(void *state, void *handle)
{
    const buffer *b = handle;
    static char pad[OT_GPU_PAD];
    if (!b->guarded)
        return true;
    for (int side = 0; side < 2; side++)
        if (read_at(state, b, side ? b->offset + b->bytes : 0, pad, sizeof pad) != CL_SUCCESS ||
            !ot_gpu_canary_intact(pad))
            return false;
    return true;
}

/* ---- launching --------------------------------------------------------------------------- */

static cl_int set_buffer(const opencl_state *s, cl_kernel kernel, int slot, const buffer *b)
{
    cl_mem none = NULL;
    return s->cl->clSetKernelArg(kernel, (cl_uint)slot, sizeof(cl_mem), b ? &b->part : &none);
}

/* No device copies by a map itself: what does it in its stead gets the tensor, and the map's
 * numbers by value (ot_map of tests/races/words.h). */
static cl_int set_map(const opencl_state *s, cl_kernel kernel, int slot,
                      const optune_tensor_map *map)
{
    struct {
        int64_t rank, element, swizzle, tf32, pixels, dim[OPTUNE_TENSOR_MAP_RANK],
            stride[OPTUNE_TENSOR_MAP_RANK], box[OPTUNE_TENSOR_MAP_RANK], low[2], high[2],
            step[2];
    } numbers = {.rank = map->rank,
                 .element = map->dtype.bits / 8,
                 .swizzle = map->swizzle,
                 .tf32 = map->tf32,
                 .pixels = map->pixels};
    for (int d = 0; d < map->rank; d++) {
        numbers.dim[d] = map->dim[d];
        numbers.stride[d] = d ? map->stride[d] : numbers.element;
        numbers.box[d] = map->box[d];
    }
    for (int d = 0; d < 2; d++) {
        numbers.low[d] = map->low[d];
        numbers.high[d] = map->high[d];
        numbers.step[d] = map->step[d];
    }
    const cl_int rc = set_buffer(s, kernel, slot, map->buffer);
    return rc == CL_SUCCESS
               ? s->cl->clSetKernelArg(kernel, (cl_uint)slot + 1, sizeof numbers, &numbers)
               : rc;
}

/* A parameter is as wide as the kernel declares it; OpenCL knows, and refuses other sizes. */
static cl_int set_int(const opencl_state *s, cl_kernel kernel, int at, const void *value)
{
    cl_int rc = INVALID_ARG_SIZE;
    for (size_t size = sizeof(int64_t); size > 0 && rc == INVALID_ARG_SIZE; size /= 2)
        rc = s->cl->clSetKernelArg(kernel, (cl_uint)at, size, value);
    return rc;
}

/* Argument i, from the kernel's parameter *slot on. */
static cl_int set_arg(const opencl_state *s, const optune_launch *launch, int i, int *slot)
{
    const optune_arg *arg = &launch->stage->arg[i];
    cl_kernel kernel = launch->function;
    const int at = (*slot)++;
    switch (arg->kind) {
    case OPTUNE_ARG_INPUT:
    case OPTUNE_ARG_OUTPUT:
    case OPTUNE_ARG_SCRATCH:
    case OPTUNE_ARG_DIMS:
        return set_buffer(s, kernel, at, launch->arg[i]);
    case OPTUNE_ARG_INT:
    case OPTUNE_ARG_DIM:
        return set_int(s, kernel, at, launch->arg[i]);
    case OPTUNE_ARG_FLOAT: {
        const float value = (float)*(const double *)launch->arg[i];
        return s->cl->clSetKernelArg(kernel, (cl_uint)at, sizeof value, &value);
    }
    case OPTUNE_ARG_TENSOR_MAP:
        (*slot)++;
        return set_map(s, kernel, at, launch->arg[i]);
    default:
        return -50; /* CL_INVALID_ARG_VALUE: libraries are CUDA's */
    }
}

/* A kernel whose memory of a group is not its own to declare has it as one parameter more. */
static cl_int set_local(const opencl_state *s, const optune_launch *launch, int slot)
{
    cl_uint n = 0;
    if (launch->stage->shared <= 0)
        return CL_SUCCESS;
    /* Nothing but such memory may have one byte; a parameter that is something else stays unset,
     * which the launch tells. */
    if (s->cl->clGetKernelInfo(launch->function, CL_KERNEL_NUM_ARGS, sizeof n, &n, NULL) !=
            CL_SUCCESS ||
        n != (cl_uint)slot + 1 ||
        s->cl->clSetKernelArg(launch->function, (cl_uint)slot, 1, NULL) != CL_SUCCESS)
        return CL_SUCCESS;
    return s->cl->clSetKernelArg(launch->function, (cl_uint)slot, (size_t)launch->stage->shared,
                                 NULL);
}

static int prepare(opencl_state *s, const optune_launch *launch, int n, optune_err *err)
{
    for (int i = 0; i < n; i++) {
        const int status = ot_gpu_check_launch(&s->device, launch[i].stage, err);
        if (status < 0)
            return status;
        int slot = 0;
        for (int k = 0; k <= launch[i].stage->n_args; k++) {
            const cl_int rc = k < launch[i].stage->n_args ? set_arg(s, &launch[i], k, &slot)
                                                          : set_local(s, &launch[i], slot);
            if (rc != CL_SUCCESS)
                return optune_fail(err, OPTUNE_EIO, "argument %d of '%s': %s", k,
                                   launch[i].stage->function, ot_opencl_error(rc));
        }
    }
    return OPTUNE_OK;
}

static cl_int enqueue(opencl_state *s, const optune_launch *launch, cl_event *event)
{
    const optune_stage *stage = launch->stage;
    size_t global[3], local[3];
    for (int i = 0; i < 3; i++) {
        local[i] = (size_t)ot_gpu_size(stage->block[i]);
        global[i] = local[i] * (size_t)ot_gpu_size(stage->grid[i]);
    }
    return s->cl->clEnqueueNDRangeKernel(s->queue, launch->function, 3, NULL, global, local, 0,
                                         NULL, event);
}

static int failed(opencl_state *s, const optune_stage *stage, cl_int rc, optune_err *err)
{
    enum { INVALID_KERNEL_ARGS = -52 };
    s->broken = true;
    if (rc == INVALID_KERNEL_ARGS)
        return optune_fail(err, OPTUNE_EIO,
                           "'%s' failed: %s: it has more parameters than the %d that are told",
                           stage->function, ot_opencl_error(rc), stage->n_args);
    return optune_fail(err, OPTUNE_EIO, "'%s' failed: %s", stage->function,
                       ot_opencl_error(rc));
}

static int run(void *state, const optune_launch *launch, int n, optune_err *err)
{
    opencl_state *s = state;
    const int status = prepare(s, launch, n, err);
    if (status < 0 || n == 0)
        return status;
    for (int i = 0; i < n; i++) {
        const cl_int rc = enqueue(s, &launch[i], NULL);
        if (rc != CL_SUCCESS)
            return failed(s, launch[i].stage, rc, err);
    }
    const cl_int rc = s->cl->clFinish(s->queue);
    return rc == CL_SUCCESS ? OPTUNE_OK : failed(s, launch[n - 1].stage, rc, err);
}

static cl_int event_time(const opencl_state *s, cl_event event, cl_uint what, cl_ulong *time)
{
    return s->cl->clGetEventProfilingInfo(event, what, sizeof *time, time, NULL);
}

/* From the start of the first launch to the end of the last: the queue is in order. */
static double time_runs(void *state, const optune_launch *launch, int n, int64_t count,
                        optune_err *err)
{
    opencl_state *s = state;
    cl_event first = NULL, last = NULL;
    if (n == 0 || prepare(s, launch, n, err) < 0)
        return -1;
    cl_int rc = CL_SUCCESS;
    for (int64_t k = 0; k < count && rc == CL_SUCCESS; k++) {
        for (int i = 0; i < n && rc == CL_SUCCESS; i++) {
            const bool is_first = k == 0 && i == 0, is_last = k == count - 1 && i == n - 1;
            rc = enqueue(s, &launch[i], is_first ? &first : is_last ? &last : NULL);
        }
        if (rc == CL_SUCCESS && k % FLUSH_EVERY == FLUSH_EVERY - 1)
            rc = s->cl->clFlush(s->queue);
    }
    if (rc == CL_SUCCESS)
        rc = s->cl->clFinish(s->queue);
    cl_ulong start = 0, end = 0;
    if (rc == CL_SUCCESS)
        rc = event_time(s, first, CL_PROFILING_COMMAND_START, &start);
    if (rc == CL_SUCCESS)
        rc = event_time(s, last ? last : first, CL_PROFILING_COMMAND_END, &end);
    if (first)
        s->cl->clReleaseEvent(first);
    if (last)
        s->cl->clReleaseEvent(last);
    if (rc != CL_SUCCESS) {
        failed(s, launch[n - 1].stage, rc, err);
        return -1;
    }
    return end > start ? (double)(end - start) * 1e-9 : 1e-9;
}

OPTUNE_TARGET(opencl) = {
    .name = "opencl",
    .summary = "any device of an OpenCL driver, PoCL's CPUs included",
    .keys = keys,
    .source_suffix = ".cl",
    .module_suffix = ".clbin",
    .probe = ot_opencl_probe,
    .dependencies = ot_opencl_dependencies,
    .compile = ot_opencl_compile,
    .translate = ot_opencl_translate,
    .resources = ot_gpu_module_resources,
    .worker =
        {
            .state_size = sizeof(opencl_state),
            .open = open_opencl,
            .close = close_opencl,
            OT_WORKER_FUNCTIONS,
            .alive = alive,
            .flush = flush,
            .flush_by = "reading",
            .fill = fill_buffer,
            .copy = copy_buffer,
            .read_at = read_part,
            .library = library,
        },
};
