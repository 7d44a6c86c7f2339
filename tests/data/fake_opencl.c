/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in for the OpenCL loader, in which platforms come and go: FAKE_OPENCL lists them, each
 * with one device, anew at each question. It computes nothing. As Khronos' loader does, it cuts
 * OCL_ICD_FILENAMES at its first colon.
 *
 * One buffer has FAKE_OPENCL_LARGEST bytes at most, of which the device tells, and
 * FAKE_OPENCL_ROOM, of which it does not. A kernel gets a buffer and how many vectors of 16 bytes
 * it has; how many bytes were read by the last one since they were filled is in fake_opencl_read.
 *
 *   cpu    a CPU of one platform        wrap   that GPU again, by another platform
 *   gpu    a GPU of its vendor's        twin   another GPU like it
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CPU = 2, GPU = 4 };

static const struct entry {
    const char *word, *platform, *name;
    uint64_t type;
} known[] = {
    {"cpu", "Common Platform", "some CPU", CPU},
    {"gpu", "Vendor GPU", "Vendor 100", GPU},
    {"wrap", "Wrapped GPU", "Vendor 100", GPU},
    {"twin", "Vendor GPU", "Vendor 100", GPU},
};
enum { KNOWN = sizeof known / sizeof *known };

const struct entry *fake_opencl_used; /* by the last context */

int clGetPlatformIDs(unsigned room, void **platform, unsigned *n)
{
    char all[256], *files = getenv("OCL_ICD_FILENAMES");
    if (files)
        files[strcspn(files, ":")] = '\0';
    snprintf(all, sizeof all, "%s", getenv("FAKE_OPENCL") ? getenv("FAKE_OPENCL") : "");
    *n = 0;
    for (char *word = strtok(all, ","); word; word = strtok(NULL, ","))
        for (int k = 0; k < KNOWN; k++)
            if (strcmp(word, known[k].word) == 0 && *n < room)
                platform[(*n)++] = (void *)&known[k];
    return *n ? 0 : -1001;
}

static int text(const char *from, size_t size, void *to, size_t *needs)
{
    if (needs)
        *needs = strlen(from) + 1;
    if (to)
        snprintf(to, size, "%s", from);
    return 0;
}

int clGetPlatformInfo(const struct entry *e, unsigned what, size_t size, void *to,
                      size_t *needs)
{
    return text(what == 0x0902 ? e->platform : "OpenCL 1.2", size, to, needs);
}

int clGetDeviceIDs(void *platform, uint64_t type, unsigned room, void **device, unsigned *n)
{
    (void)type, (void)room;
    *device = platform;
    *n = 1;
    return 0;
}

static uint64_t limit(const char *name)
{
    return getenv(name) ? strtoull(getenv(name), NULL, 10) : (uint64_t)2 << 30;
}

int clGetDeviceInfo(const struct entry *e, unsigned what, size_t size, void *to, size_t *needs)
{
    const size_t sizes[3] = {1024, 1024, 64};
    uint64_t value = 1;
    if (what == 0x102B || what == 0x102D)
        return text(what == 0x102B ? e->name : "1.0", size, to, needs);
    if (what == 0x1005)
        return memcpy(to, sizes, size < sizeof sizes ? size : sizeof sizes) == NULL;
    if (what == 0x1000)
        value = e->type;
    else if (what == 0x1010)
        value = limit("FAKE_OPENCL_LARGEST");
    else if (what == 0x101F)
        value = (uint64_t)8 << 30;
    else if (what > 0x1FFF)
        return -30;
    memcpy(to, &value, size < sizeof value ? size : sizeof value);
    return 0;
}

void *clCreateContext(const void *properties, unsigned n, struct entry *const *device,
                      void *tell, void *with, int *rc)
{
    (void)properties, (void)n, (void)tell, (void)with;
    fake_opencl_used = *device;
    *rc = 0;
    return (void *)1;
}

void *clCreateCommandQueue(void *context, const struct entry *device, uint64_t how, int *rc)
{
    (void)context, (void)how;
    *rc = device == fake_opencl_used ? 0 : -30;
    return *rc ? NULL : (void *)1;
}

size_t fake_opencl_read;
static size_t given; /* to the kernel */

void *clCreateBuffer(void *context, uint64_t how, size_t bytes, void *from, int *rc)
{
    (void)context, (void)how, (void)from;
    *rc = bytes > limit("FAKE_OPENCL_LARGEST") ? -61
          : bytes > limit("FAKE_OPENCL_ROOM")  ? -4
                                               : 0;
    return *rc ? NULL : (void *)1;
}

int clEnqueueFillBuffer(void *queue, void *buffer, const void *pattern, size_t size, size_t at,
                        size_t bytes, unsigned n, const void *events, void *event)
{
    (void)queue, (void)pattern, (void)size, (void)at, (void)bytes, (void)n, (void)events;
    (void)event;
    fake_opencl_read = 0;
    return buffer ? 0 : -38;
}

void *clCreateProgramWithSource(void *context, unsigned n, const char **text,
                                const size_t *size, int *rc)
{
    (void)context, (void)n, (void)text, (void)size;
    *rc = 0;
    return (void *)1;
}

void *clCreateKernel(void *program, const char *name, int *rc)
{
    (void)name;
    *rc = program ? 0 : -44;
    return program;
}

int clSetKernelArg(void *kernel, unsigned at, size_t size, const void *value)
{
    unsigned n = 0;
    if (at == 1)
        memcpy(&n, value, sizeof n);
    given = at == 1 ? (size_t)n * 16 : given;
    return kernel && size == (at == 1 ? sizeof n : sizeof(void *)) ? 0 : -51;
}

int clEnqueueNDRangeKernel(void *queue, void *kernel, unsigned dims, const size_t *from,
                           const size_t *global, const size_t *local, unsigned n,
                           const void *events, void *event)
{
    (void)queue, (void)dims, (void)from, (void)global, (void)local, (void)n, (void)events;
    (void)event;
    fake_opencl_read = given;
    return kernel ? 0 : -48;
}

#define NOTHING(name)                                                                          \
    int name(void)                                                                             \
    {                                                                                          \
        return 0;                                                                              \
    }
NOTHING(clReleaseContext)
NOTHING(clReleaseCommandQueue)
NOTHING(clCreateSubBuffer)
NOTHING(clReleaseMemObject)
NOTHING(clEnqueueReadBuffer)
NOTHING(clEnqueueWriteBuffer)
NOTHING(clEnqueueCopyBuffer)
NOTHING(clCreateProgramWithBinary)
NOTHING(clBuildProgram)
NOTHING(clGetProgramInfo)
NOTHING(clGetProgramBuildInfo)
NOTHING(clReleaseProgram)
NOTHING(clCreateKernelsInProgram)
NOTHING(clGetKernelInfo)
NOTHING(clGetKernelWorkGroupInfo)
NOTHING(clReleaseKernel)
NOTHING(clFlush)
NOTHING(clFinish)
NOTHING(clGetEventProfilingInfo)
NOTHING(clReleaseEvent)
