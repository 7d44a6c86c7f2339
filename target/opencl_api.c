/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the OpenCL loader (libOpenCL.so.1) once for the process, and names its errors. */
#include <pthread.h>

#include "target/driver.h"
#include "target/opencl_api.h"

#define NAME(result, name, args) #name,
static const char *const symbols[] = {OT_OPENCL_FUNCTIONS(NAME)};
static const char *const files[] = {"libOpenCL.so.1", "libOpenCL.so", NULL};

static ot_opencl functions;
static int status;
static optune_err problem;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void bind(void)
{
    status =
        ot_bind(files, "ocl-icd-libopencl1", symbols, OT_COUNT(symbols), &functions, &problem);
    if (status >= 0) /* the loader opens no driver before it is asked for platforms */
        status =
            ot_driver_try("opencl", NULL,
                          "take its file out of /etc/OpenCL/vendors, or name a folder with "
                          "the others in OCL_ICD_VENDORS",
                          &problem);
}

int ot_opencl_open(const ot_opencl **api, optune_err *err)
{
    pthread_once(&once, bind);
    if (status < 0)
        return optune_fail(err, OPTUNE_ENODEV,
                           "no OpenCL here: %s; any machine runs it with pocl-opencl-icd",
                           problem.text);
    *api = &functions;
    return OPTUNE_OK;
}

const char *ot_opencl_error(cl_int code)
{
    static const struct {
        cl_int code;
        const char *name;
    } table[] = {
        {-1, "CL_DEVICE_NOT_FOUND"},
        {-2, "CL_DEVICE_NOT_AVAILABLE"},
        {-3, "CL_COMPILER_NOT_AVAILABLE"},
        {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
        {-5, "CL_OUT_OF_RESOURCES"},
        {-6, "CL_OUT_OF_HOST_MEMORY"},
        {-11, "CL_BUILD_PROGRAM_FAILURE"},
        {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
        {-30, "CL_INVALID_VALUE"},
        {-36, "CL_INVALID_COMMAND_QUEUE"},
        {-38, "CL_INVALID_MEM_OBJECT"},
        {-42, "CL_INVALID_BINARY"},
        {-43, "CL_INVALID_BUILD_OPTIONS"},
        {-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
        {-46, "CL_INVALID_KERNEL_NAME"},
        {-48, "CL_INVALID_KERNEL"},
        {-49, "CL_INVALID_ARG_INDEX"},
        {-50, "CL_INVALID_ARG_VALUE"},
        {-51, "CL_INVALID_ARG_SIZE"},
        {-52, "CL_INVALID_KERNEL_ARGS"},
        {-53, "CL_INVALID_WORK_DIMENSION"},
        {-54, "CL_INVALID_WORK_GROUP_SIZE"},
        {-55, "CL_INVALID_WORK_ITEM_SIZE"},
        {-61, "CL_INVALID_BUFFER_SIZE"},
        {-63, "CL_INVALID_GLOBAL_WORK_SIZE"},
        {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
    };
    for (int i = 0; i < OT_COUNT(table); i++)
        if (table[i].code == code)
            return table[i].name;
    return "an OpenCL error";
}
