/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of target/opencl_api.h, but for programs (programs.c). One platform with one
 * device, a GPU with warps of 32 as far as it says; whatever is asked of it happens at once. A
 * machine without clang has no device.
 */
#include "races.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MEMORY_MIB = 4096, SHARED = 65536 };

struct cl_platform {
    int none;
};
struct cl_device {
    int none;
};
struct cl_context_tag {
    int none;
};
struct cl_queue_tag {
    int none;
};
struct cl_event_tag {
    int none;
};

static struct cl_platform platform;
static struct cl_device device;
static struct cl_context_tag context;
static struct cl_queue_tag queue;
static struct cl_event_tag event;
static struct cl_mem_tag *buffers;

/* ---- platform and device ----------------------------------------------------------------- */

cl_int races_give(const void *from, size_t n, size_t size, void *to, size_t *needs)
{
    if (needs)
        *needs = n;
    if (to && size < n)
        return RACES_NO_VALUE;
    if (to)
        memcpy(to, from, n);
    return CL_SUCCESS;
}

cl_int races_give_text(const char *s, size_t size, void *to, size_t *needs)
{
    return races_give(s, strlen(s) + 1, size, to, needs);
}

cl_int clGetPlatformIDs(cl_uint n, cl_platform_id *id, cl_uint *count)
{
    if (id && n)
        id[0] = &platform;
    if (count)
        *count = 1;
    return CL_SUCCESS;
}

cl_int clGetPlatformInfo(cl_platform_id id, cl_uint what, size_t size, void *to, size_t *needs)
{
    return races_give_text("races", size, to, needs);
}

cl_int clGetDeviceIDs(cl_platform_id id, cl_ulong type, cl_uint n, cl_device_id *to,
                      cl_uint *count)
{
    char clang[4096];
    if (!races_find_clang(clang, sizeof clang))
        return CL_DEVICE_NOT_FOUND;
    if (to && n)
        to[0] = &device;
    if (count)
        *count = 1;
    return CL_SUCCESS;
}

cl_int clGetDeviceInfo(cl_device_id id, cl_uint what, size_t size, void *to, size_t *needs)
{
    static const struct {
        cl_uint what;
        int bytes;
        cl_ulong value;
    } table[] = {
        {CL_DEVICE_TYPE, 8, CL_DEVICE_TYPE_GPU},
        {CL_DEVICE_MAX_COMPUTE_UNITS, 4, 2},
        {CL_DEVICE_WARP_SIZE_NV, 4, RACES_WARP},
        {CL_DEVICE_MAX_WORK_GROUP_SIZE, 8, RACES_THREADS},
        {CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, 8, 1 << 20},
        {CL_DEVICE_GLOBAL_MEM_SIZE, 8, (cl_ulong)MEMORY_MIB << 20},
        {CL_DEVICE_LOCAL_MEM_SIZE, 8, SHARED},
        {CL_DEVICE_COMPILER_AVAILABLE, 4, 1},
        {CL_DEVICE_DOUBLE_FP_CONFIG, 8, 63},
    };
    static const size_t block[3] = {RACES_THREADS, RACES_THREADS, 64};
    if (what == CL_DEVICE_NAME || what == CL_DRIVER_VERSION)
        return races_give_text(what == CL_DEVICE_NAME ? "races" : "1", size, to, needs);
    if (what == CL_DEVICE_MAX_WORK_ITEM_SIZES)
        return races_give(block, sizeof block, size, to, needs);
    for (int i = 0; i < OT_COUNT(table); i++)
        if (table[i].what == what)
            return races_give(&table[i].value, (size_t)table[i].bytes, size, to, needs);
    return RACES_NO_VALUE;
}

cl_context clCreateContext(const intptr_t *properties, cl_uint n, const cl_device_id *id,
                           void (*notify)(const char *, const void *, size_t, void *),
                           void *user, cl_int *rc)
{
    *rc = CL_SUCCESS;
    return &context;
}

cl_int clReleaseContext(cl_context c)
{
    return CL_SUCCESS;
}

cl_command_queue clCreateCommandQueue(cl_context c, cl_device_id id, cl_ulong flags, cl_int *rc)
{
    *rc = CL_SUCCESS;
    return &queue;
}

cl_int clReleaseCommandQueue(cl_command_queue q)
{
    return CL_SUCCESS;
}

cl_int clFlush(cl_command_queue q)
{
    return CL_SUCCESS;
}

cl_int clFinish(cl_command_queue q)
{
    return CL_SUCCESS;
}

/* ---- buffers ----------------------------------------------------------------------------- */

static cl_mem add_buffer(cl_mem parent, char *data, size_t n, cl_int *rc)
{
    cl_mem m = ot_alloc(sizeof *m);
    *m = (struct cl_mem_tag){.next = buffers, .parent = parent, .data = data, .size = n};
    buffers = m;
    *rc = CL_SUCCESS;
    return m;
}

cl_mem clCreateBuffer(cl_context c, cl_ulong flags, size_t n, void *host, cl_int *rc)
{
    char *data = aligned_alloc(256, (n + 256) / 256 * 256);
    if (!data)
        abort();
    return add_buffer(NULL, data, n, rc);
}

cl_mem clCreateSubBuffer(cl_mem m, cl_ulong flags, cl_uint type, const void *region, cl_int *rc)
{
    const cl_buffer_region *r = region;
    return add_buffer(m, m->data + r->origin, r->size, rc);
}

cl_int clReleaseMemObject(cl_mem m)
{
    for (cl_mem *p = &buffers; *p; p = &(*p)->next)
        if (*p == m) {
            *p = m->next;
            break;
        }
    if (m->bytes)
        munmap(m->bytes, m->size * sizeof *m->bytes);
    if (!m->parent)
        free(m->data);
    free(m);
    return CL_SUCCESS;
}

cl_int clEnqueueReadBuffer(cl_command_queue q, cl_mem m, cl_uint wait, size_t at, size_t n,
                           void *to, cl_uint n_events, const cl_event *events, cl_event *made)
{
    memcpy(to, m->data + at, n);
    return CL_SUCCESS;
}

cl_int clEnqueueWriteBuffer(cl_command_queue q, cl_mem m, cl_uint wait, size_t at, size_t n,
                            const void *from, cl_uint n_events, const cl_event *events,
                            cl_event *made)
{
    memcpy(m->data + at, from, n);
    return CL_SUCCESS;
}

cl_int clEnqueueCopyBuffer(cl_command_queue q, cl_mem from, cl_mem to, size_t at, size_t to_at,
                           size_t n, cl_uint n_events, const cl_event *events, cl_event *made)
{
    memcpy(to->data + to_at, from->data + at, n);
    return CL_SUCCESS;
}

cl_int clEnqueueFillBuffer(cl_command_queue q, cl_mem m, const void *pattern, size_t size,
                           size_t at, size_t n, cl_uint n_events, const cl_event *events,
                           cl_event *made)
{
    for (size_t i = 0; i < n; i += size)
        memcpy(m->data + at + i, pattern, size);
    return CL_SUCCESS;
}

/* ---- kernels ----------------------------------------------------------------------------- */

cl_kernel clCreateKernel(cl_program p, const char *name, cl_int *rc)
{
    void *f = dlsym(p->module, name);
    *rc = f ? CL_SUCCESS : RACES_NO_KERNEL;
    if (!f)
        return NULL;
    cl_kernel k = ot_alloc(sizeof *k);
    *k = (struct cl_kernel_tag){.program = p, .function = f};
    snprintf(k->name, sizeof k->name, "%s", name);
    return k;
}

/* What clang makes says nothing of its kernels. */
cl_int clCreateKernelsInProgram(cl_program p, cl_uint n, cl_kernel *to, cl_uint *count)
{
    return RACES_NO_VALUE;
}

cl_int clGetKernelInfo(cl_kernel k, cl_uint what, size_t size, void *to, size_t *needs)
{
    return races_give_text(k->name, size, to, needs);
}

cl_int clGetKernelWorkGroupInfo(cl_kernel k, cl_device_id id, cl_uint what, size_t size,
                                void *to, size_t *needs)
{
    return RACES_NO_VALUE;
}

cl_int clReleaseKernel(cl_kernel k)
{
    free(k);
    return CL_SUCCESS;
}

/* 8 bytes are a buffer when they are the address of one. */
cl_int clSetKernelArg(cl_kernel k, cl_uint i, size_t size, const void *value)
{
    if (i >= RACES_ARGS || size > RACES_ARG_BYTES)
        return RACES_NO_ARGUMENT;
    races_arg *a = &k->arg[i];
    a->size = size;
    a->buffer = NULL;
    memcpy(a->value, value, size);
    for (cl_mem m = buffers; m && size == sizeof m; m = m->next)
        if (memcmp(&m, value, sizeof m) == 0)
            a->buffer = m;
    return CL_SUCCESS;
}

static bool run_blocks(void)
{
    races_launch *now = &races_now;
    const int most = now->blocks;
    for (now->at[2] = 0; now->at[2] < now->grid[2]; now->at[2]++)
        for (now->at[1] = 0; now->at[1] < now->grid[1]; now->at[1]++)
            for (now->at[0] = 0; now->at[0] < now->grid[0];
                 now->at[0] += (size_t)now->blocks, now->number += (uint32_t)now->blocks) {
                const size_t left = now->grid[0] - now->at[0];
                now->blocks = now->apart && left < (size_t)most ? (int)left : most;
                if (!races_run())
                    return false;
            }
    return true;
}

cl_int clEnqueueNDRangeKernel(cl_command_queue q, cl_kernel k, cl_uint dims,
                              const size_t *offset, const size_t *global, const size_t *local,
                              cl_uint n_events, const cl_event *events, cl_event *made)
{
    static uint32_t next = 1; /* 0: no block */
    const int *cluster = dlsym(k->program->module, "races_cluster");
    const int *abreast = dlsym(k->program->module, "races_abreast");
    races_now = (races_launch){.kernel = k, .blocks = cluster ? *cluster : 1};
    /* Who reads and writes what is seen of one block after another. */
    if (abreast && *abreast > 1 && !races_watched()) {
        races_now.apart = true;
        races_now.blocks = *abreast < RACES_CLUSTER ? *abreast : RACES_CLUSTER;
    }
    for (int d = 0; d < 3; d++) {
        races_now.block[d] = local[d];
        races_now.grid[d] = global[d] / local[d];
    }
    races_now.threads = (int)(local[0] * local[1] * local[2]);
    if (races_now.threads * races_now.blocks > RACES_THREADS ||
        races_now.blocks > RACES_CLUSTER)
        return RACES_NO_GROUP;
    races_now.begin = races_now.number = next;
    races_begin();
    const bool ended = run_blocks();
    next = races_now.number + RACES_CLUSTER;
    if (made)
        *made = &event;
    return ended && races_reports() == 0 ? CL_SUCCESS : RACES_FAILED;
}

/* Of no meaning, but later than the last one. */
cl_int clGetEventProfilingInfo(cl_event e, cl_uint what, size_t size, void *to, size_t *needs)
{
    static cl_ulong time;
    time += 1000000;
    return races_give(&time, sizeof time, size, to, needs);
}

cl_int clReleaseEvent(cl_event e)
{
    return CL_SUCCESS;
}
