/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Empties a device's caches by reading what nobody else uses, so that all lines are clean: those of
 * a fill would have to be written back first, in the time of a kernel that needs their room.
 */
#include "target/opencl.h"

enum { LEAST_FLUSHED = 1 << 20, WORK_ITEMS = 1 << 16, VECTOR = 16 };

/* Of 16 bytes each; the sum is stored where it has one value of 2^32, lest nothing is read. */
static const char *const text =
    "__kernel void flush(__global uint4 *from, uint n)\n"
    "{\n"
    "    uint4 sum = (uint4)(0);\n"
    "    for (uint i = get_global_id(0); i < n; i += get_global_size(0))\n"
    "        sum += from[i];\n"
    "    sum.xy += sum.zw;\n"
    "    if (sum.x + sum.y == 2147483647u)\n"
    "        from[0] = sum;\n"
    "}\n";

/* Twice the cache leaves nothing else in it. Of a GPU's caches drivers tell of the first ones only:
 * it is read as much as any has, or as the device gives a buffer. */
static size_t wanted(const ot_opencl *cl, cl_device_id id, const optune_device *device)
{
    const size_t known = 2 * (size_t)device->l2, any = (size_t)256 << 20;
    cl_ulong most = 0;
    if (known > 0 && device->threads > 0)
        return known;
    cl->clGetDeviceInfo(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof most, &most, NULL);
    if (device->memory > 0 && (most == 0 || most > (cl_ulong)device->memory / 8))
        most = (cl_ulong)device->memory / 8;
    const size_t bytes = known > any ? known : any;
    return most > 0 && bytes > most ? (size_t)most : bytes;
}

static cl_int read_all(const ot_opencl *cl, const ot_opencl_flusher *f, cl_command_queue queue)
{
    const size_t items = WORK_ITEMS;
    return cl->clEnqueueNDRangeKernel(queue, f->read, 1, NULL, &items, NULL, 0, NULL, NULL);
}

/* Memory that was never written might not be there. What is left of writing it goes, too. */
static cl_int fill(const ot_opencl *cl, ot_opencl_flusher *f, cl_command_queue queue)
{
    const unsigned pattern = 1, n = (unsigned)(f->bytes / VECTOR);
    cl_int rc = cl->clEnqueueFillBuffer(queue, f->from, &pattern, sizeof pattern, 0, f->bytes,
                                        0, NULL, NULL);
    if (rc == CL_SUCCESS)
        rc = cl->clSetKernelArg(f->read, 0, sizeof f->from, &f->from);
    if (rc == CL_SUCCESS)
        rc = cl->clSetKernelArg(f->read, 1, sizeof n, &n);
    if (rc == CL_SUCCESS)
        rc = read_all(cl, f, queue);
    return rc == CL_SUCCESS ? cl->clFinish(queue) : rc;
}

/* Where the device has no room for as much now, half of it, down to what is known of its caches. */
static cl_int make_room(const ot_opencl *cl, ot_opencl_flusher *f, cl_device_id id,
                        const optune_device *device, cl_context context, cl_command_queue queue)
{
    cl_int rc = CL_SUCCESS;
    const size_t known = 2 * (size_t)device->l2;
    const size_t least = known > LEAST_FLUSHED ? known : LEAST_FLUSHED;
    for (size_t bytes = wanted(cl, id, device);;
         bytes = bytes / 2 > least ? bytes / 2 : least) {
        f->bytes = bytes / VECTOR * VECTOR;
        f->from = cl->clCreateBuffer(context, CL_MEM_READ_WRITE, f->bytes, NULL, &rc);
        if (f->from)
            rc = fill(cl, f, queue);
        if (rc == CL_SUCCESS || bytes <= least)
            break;
        if (f->from)
            cl->clReleaseMemObject(f->from);
        f->from = NULL;
    }
    return rc;
}

static cl_int build(const ot_opencl *cl, ot_opencl_flusher *f, cl_device_id id,
                    cl_context context)
{
    cl_int rc = CL_SUCCESS;
    const char *source = text;
    f->program = cl->clCreateProgramWithSource(context, 1, &source, NULL, &rc);
    if (f->program && rc == CL_SUCCESS)
        rc = cl->clBuildProgram(f->program, 1, &id, "", NULL, NULL);
    if (f->program && rc == CL_SUCCESS)
        f->read = cl->clCreateKernel(f->program, "flush", &rc);
    return rc;
}

void ot_opencl_flusher_close(const ot_opencl *cl, ot_opencl_flusher *f)
{
    if (f->from)
        cl->clReleaseMemObject(f->from);
    if (f->read)
        cl->clReleaseKernel(f->read);
    if (f->program)
        cl->clReleaseProgram(f->program);
    *f = (ot_opencl_flusher){0};
}

cl_int ot_opencl_flush(const ot_opencl *cl, ot_opencl_flusher *f, cl_device_id id,
                       const optune_device *device, cl_context context, cl_command_queue queue)
{
    cl_int rc = f->read ? CL_SUCCESS : build(cl, f, id, context);
    if (rc == CL_SUCCESS && !f->from)
        rc = make_room(cl, f, id, device, context, queue);
    if (rc == CL_SUCCESS)
        rc = read_all(cl, f, queue);
    if (rc == CL_SUCCESS)
        rc = cl->clFinish(queue);
    if (rc != CL_SUCCESS)
        ot_opencl_flusher_close(cl, f); /* the next one begins anew */
    return rc;
}
