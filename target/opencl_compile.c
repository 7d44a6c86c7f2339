/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenCL C to a program's binary, in a process of its own: a driver's compiler may hang or
 * crash, and several run at once. What the driver says of each kernel goes in front of the
 * binary. One process may translate many: what the driver loaded is kept.
 */
#include <stdlib.h>
#include <string.h>

#include "target/opencl.h"

enum { SOURCE_LIMIT = 16 << 20, MOST_KERNELS = 32 };

int ot_opencl_compile(const optune_target *target, const optune_device *device,
                      const char *const *flags, int n_flags, const char *source,
                      const char *module, optune_argv *argv, optune_err *err)
{
    char path[4096];
    cl_device_id id;
    ot_text identity = {0};
    int status = ot_worker_program(path, sizeof path, err);
    if (status >= 0)
        status = ot_opencl_find(target->device, device, &id, &identity, err);
    if (status >= 0) {
        const char *const head[] = {path,   "--compile", "opencl",
                                    source, module,      ot_text_str(&identity)};
        for (int i = 0; i < OT_COUNT(head); i++)
            optune_argv_add(argv, head[i]);
        optune_argv_add(argv, target->cflags[0] ? target->cflags : "-cl-std=CL1.2");
        for (int i = 0; i < n_flags; i++)
            optune_argv_add(argv, flags[i]);
    }
    ot_text_release(&identity);
    return status;
}

cl_context ot_opencl_context(cl_device_id device, optune_err *err)
{
    const ot_opencl *cl;
    cl_int rc = CL_SUCCESS;
    if (ot_opencl_open(&cl, err) < 0)
        return NULL;
    cl_context context = cl->clCreateContext(NULL, 1, &device, NULL, NULL, &rc);
    if (!context)
        optune_fail(err, OPTUNE_ENODEV, "OpenCL makes no context: %s", ot_opencl_error(rc));
    return context;
}

static bool has_half(const ot_opencl *cl, cl_device_id device)
{
    size_t size = 0;
    cl->clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, 0, NULL, &size);
    char *all = ot_alloc(size + 1);
    cl->clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, size, all, NULL);
    const bool has = strstr(all, "cl_khr_fp16") != NULL;
    free(all);
    return has;
}

/* Lines of the log that name a file of the driver's name the body instead. What is refused of a
 * type that the device has in memory alone reads as a slip of the pen. */
static void say_log(const ot_opencl *cl, cl_program program, cl_device_id device)
{
    size_t size = 0;
    cl->clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
    char *log = ot_alloc(size + 1);
    cl->clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log, NULL);
    for (char *line = log, *rest; (line = strtok_r(line, "\n", &rest)); line = NULL) {
        const char *place = strstr(line, ".cl:");
        const char *what = strchr(line, ' ');
        const bool half =
            strstr(line, "error") && strstr(line, "half'") && !has_half(cl, device);
        printf("%s%s%s\n", place && place < what ? "body" : "",
               place && place < what ? place : line,
               half ? " (the device has no cl_khr_fp16, so half is for memory: vload_half and "
                      "vstore_half convert it)"
                    : "");
    }
    free(log);
}

/* PoCL makes a kernel's code for its block size at the first launch, in the process that
 * measures, unless the program's binary has it: then it is made here, beside other compilers.
 * It would be made for every kernel, so all must have one size. Offsets are zero, and grids of
 * 2^16 threads or more along a dimension are few. What the user says instead stands. */
static void specialize(const ot_opencl *cl, cl_device_id device, const cl_kernel *kernel, int n)
{
    static const char variable[] = "POCL_BINARY_SPECIALIZE_WG";
    static bool ours; /* of the program before this one */
    size_t size[3] = {0}, first[3] = {0};
    char text[96];
    if (ours)
        unsetenv(variable);
    ours = false;
    for (int i = 0; i < n; i++) {
        if (cl->clGetKernelWorkGroupInfo(kernel[i], device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
                                         sizeof size, size, NULL) != CL_SUCCESS ||
            size[0] == 0 || (i && memcmp(size, first, sizeof size) != 0))
            return;
        memcpy(first, size, sizeof size);
    }
    snprintf(text, sizeof text, "%zu-%zu-%zu-goffs0-smallgrid", size[0], size[1], size[2]);
    ours = !getenv(variable);
    setenv(variable, text, 0);
}

/* What the driver says a kernel uses, one line each. */
static void describe(const ot_opencl *cl, cl_program program, cl_device_id device,
                     ot_text *lines)
{
    cl_kernel kernel[MOST_KERNELS];
    cl_uint n = 0;
    if (cl->clCreateKernelsInProgram(program, MOST_KERNELS, kernel, &n) != CL_SUCCESS)
        return;
    specialize(cl, device, kernel, (int)n);
    for (cl_uint i = 0; i < n; i++) {
        char name[128] = "";
        cl_ulong local = 0, private = 0;
        cl->clGetKernelInfo(kernel[i], CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL);
        cl->clGetKernelWorkGroupInfo(kernel[i], device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof local,
                                     &local, NULL);
        cl->clGetKernelWorkGroupInfo(kernel[i], device, CL_KERNEL_PRIVATE_MEM_SIZE,
                                     sizeof private, &private, NULL);
        ot_text_printf(lines, "kernel=%s shared=%llu private=%llu\n", name,
                       (unsigned long long)local, (unsigned long long)private);
        cl->clReleaseKernel(kernel[i]);
    }
}

static int build(const ot_opencl *cl, cl_context context, cl_device_id device,
                 const ot_text *source, const char *options, const char *module,
                 optune_err *err)
{
    const char *text = ot_text_str(source);
    cl_int rc;
    cl_program program = cl->clCreateProgramWithSource(context, 1, &text, NULL, &rc);
    if (!program)
        return optune_fail(err, OPTUNE_EIO, "OpenCL takes no source: %s", ot_opencl_error(rc));
    rc = cl->clBuildProgram(program, 1, &device, options, NULL, NULL);
    if (rc != CL_SUCCESS) {
        say_log(cl, program, device);
        return optune_fail(err, OPTUNE_EIO, "OpenCL cannot build it: %s", ot_opencl_error(rc));
    }
    ot_text lines = {0};
    describe(cl, program, device, &lines);
    size_t size = 0;
    cl->clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL);
    unsigned char *binary = ot_alloc(size + 1);
    int status = OPTUNE_OK;
    if (size == 0 || cl->clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary,
                                          NULL) != CL_SUCCESS)
        status = optune_fail(err, OPTUNE_EIO, "OpenCL gives no binary");
    if (status >= 0)
        status = ot_gpu_module_write(module, ot_text_str(&lines), binary, size, err);
    free(binary);
    ot_text_release(&lines);
    cl->clReleaseProgram(program);
    return status;
}

/* Kept, as PoCL keeps its library of functions, most of what a small kernel costs, in it. */
static cl_context context_of(cl_device_id device, optune_err *err)
{
    static cl_context context;
    static cl_device_id its;
    if (context && its == device)
        return context;
    its = device;
    return context = ot_opencl_context(device, err);
}

int ot_opencl_translate(char **word, int n)
{
    const ot_opencl *cl;
    cl_device_id device;
    optune_err err = {0};
    ot_text source = {0}, options = {0};
    if (n < 3)
        return 2;
    setenv("POCL_KERNEL_CACHE", "0", 0); /* grows without end; ours is bounded */
    for (int i = 3; i < n; i++)
        ot_text_printf(&options, "%s%s", i > 3 ? " " : "", word[i]);
    int status = ot_opencl_open(&cl, &err);
    if (status >= 0)
        status = ot_opencl_find(word[2], NULL, &device, NULL, &err);
    if (status >= 0)
        status = ot_read_file(word[0], &source, SOURCE_LIMIT, &err);
    cl_context context = status >= 0 ? context_of(device, &err) : NULL;
    status = context ? build(cl, context, device, &source, ot_text_str(&options), word[1], &err)
                     : OPTUNE_EIO;
    if (status < 0)
        printf("%s\n", err.text);
    ot_text_release(&source);
    ot_text_release(&options);
    return status < 0 ? 1 : 0;
}
