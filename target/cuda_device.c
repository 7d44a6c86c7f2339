/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which CUDA devices there are and what one is: read off the driver, or, for an architecture
 * named with -arch where there is none, from a table of what every device of it has.
 */
#include <stdlib.h>
#include <string.h>

#include "target/cuda.h"

int ot_cuda_find(const ot_cuda *cu, const char *wanted, int *device, optune_err *err)
{
    int n = 0;
    const int rc = cu->cuDeviceGetCount(&n);
    if (rc || n == 0)
        return optune_fail(err, OPTUNE_ENODEV, "no CUDA device: the driver counts %d (%s)", n,
                           ot_cuda_error(rc));
    ot_text names = {0};
    int64_t number;
    const bool by_number = ot_parse_int(wanted, &number);
    bool found = false;
    for (int i = 0; i < n && !found; i++) {
        char name[128] = "";
        if (cu->cuDeviceGet(device, i) || cu->cuDeviceGetName(name, sizeof name, *device))
            continue;
        ot_text_printf(&names, "%s%d: '%s'", i ? ", " : "", i, name);
        found = !*wanted || (by_number ? number == i : strcasestr(name, wanted) != NULL);
    }
    if (!found)
        optune_fail(err, OPTUNE_ENODEV, "no CUDA device '%s' here; there is %s", wanted,
                    ot_text_str(&names));
    ot_text_release(&names);
    return found ? OPTUNE_OK : OPTUNE_ENODEV;
}

static int attribute(const ot_cuda *cu, int device, int what)
{
    int value = 0;
    return cu->cuDeviceGetAttribute(&value, what, device) ? 0 : value;
}

/* Each driver keeps its own number of megabytes for itself: whole gigabytes, rounded upwards,
 * are the same under all. */
static void make_key(bool ecc, optune_device *device)
{
    const int64_t gigabytes = (device->memory + ((int64_t)1 << 30) - 1) >> 30;
    ot_text key = {0};
    ot_text_add(&key, "cuda-");
    ot_gpu_key_word(&key, device->name);
    ot_text_printf(&key, "-%s-%dmp-%lldg%s", device->arch, device->cores, (long long)gigabytes,
                   ecc ? "-ecc" : "");
    snprintf(device->key, sizeof device->key, "%s", ot_text_str(&key));
    ot_text_release(&key);
}

int ot_cuda_probe(const optune_target *target, optune_device *device, optune_err *err)
{
    const ot_cuda *cu;
    int id;
    int status = ot_cuda_open(&cu, err);
    if (status >= 0)
        status = ot_cuda_find(cu, target->device, &id, err);
    if (status < 0)
        return status;
    size_t memory = 0;
    *device = (optune_device){0};
    cu->cuDeviceGetName(device->name, sizeof device->name, id);
    cu->cuDeviceTotalMem(&memory, id);
    device->memory = (int64_t)memory;
    device->cores = attribute(cu, id, CUDA_MULTIPROCESSORS);
    device->l2 = attribute(cu, id, CUDA_L2);
    device->warp = attribute(cu, id, CUDA_WARP);
    device->max_threads_per_block = attribute(cu, id, CUDA_MAX_THREADS_PER_BLOCK);
    for (int i = 0; i < 3; i++)
        device->max_block[i] = attribute(cu, id, CUDA_MAX_BLOCK_X + i);
    device->max_shared = attribute(cu, id, CUDA_MAX_SHARED_OPTIN);
    device->registers = attribute(cu, id, CUDA_REGISTERS_PER_BLOCK);
    device->cc_major = attribute(cu, id, CUDA_CC_MAJOR);
    device->cc_minor = attribute(cu, id, CUDA_CC_MINOR);
    snprintf(device->arch, sizeof device->arch, "sm_%d%d", device->cc_major, device->cc_minor);
    make_key(attribute(cu, id, CUDA_ECC), device);
    if (target->threads)
        return optune_fail(err, OPTUNE_ENODEV, "-threads=%d: a GPU has no threads to choose",
                           target->threads);
    return OPTUNE_OK;
}

/* ---- without a device -------------------------------------------------------------------- */

/* Shared memory that a block may ask for, by compute capability. */
static const struct {
    int cc;
    int64_t shared;
} known[] = {
    {70, 98304},   {72, 98304},   {75, 65536},   {80, 166912},  {86, 101376},
    {87, 166912},  {89, 101376},  {90, 232448},  {100, 232448}, {101, 232448},
    {103, 232448}, {110, 232448}, {120, 101376}, {121, 101376},
};

int ot_cuda_assume(const optune_target *target, optune_device *device, optune_err *err)
{
    int64_t cc;
    char digits[OPTUNE_NAME_SIZE] = "";
    if (!target->arch[0])
        return optune_fail(err, OPTUNE_ENODEV,
                           "no device is assumed without an architecture: name one, as in "
                           "'cuda -arch=sm_90'");
    if (strncmp(target->arch, "sm_", 3) == 0)
        snprintf(digits, sizeof digits, "%.*s", (int)strspn(target->arch + 3, "0123456789"),
                 target->arch + 3);
    int i = -1;
    if (ot_parse_int(digits, &cc))
        for (i = OT_COUNT(known) - 1; i >= 0 && known[i].cc != cc; i--)
            continue;
    if (i < 0)
        return optune_fail(err, OPTUNE_ENODEV,
                           "architecture '%s' is not known: sm_70 to sm_121 are", target->arch);
    *device = (optune_device){
        .warp = 32,
        .max_threads_per_block = 1024,
        .max_block = {1024, 1024, 64},
        .max_shared = known[i].shared,
        .registers = 65536,
        .cc_major = (int)cc / 10,
        .cc_minor = (int)cc % 10,
    };
    snprintf(device->arch, sizeof device->arch, "%s", target->arch);
    snprintf(device->name, sizeof device->name, "any %s", target->arch);
    snprintf(device->key, sizeof device->key, "cuda-any-%s", target->arch);
    return OPTUNE_OK;
}

int ot_cuda_dependencies(const optune_target *target, const optune_impl *impl, char *text,
                         size_t size, optune_err *err)
{
    (void)target;
    const ot_cuda *cu;
    int version = 0;
    char asked[OPTUNE_TEXT_SIZE];
    ot_text lines = {0};
    /* Without a driver, candidates can still be built. */
    if (ot_cuda_open(&cu, NULL) >= 0 && cu->cuDriverGetVersion(&version) == 0)
        ot_text_printf(&lines, "driver=%d.%d\n", version / 1000, version % 1000 / 10);
    const int status =
        ot_cuda_ask_version(impl ? impl->library : NULL, asked, sizeof asked, err);
    if (status >= 0)
        ot_text_add(&lines, asked);
    if (status >= 0)
        snprintf(text, size, "%s", ot_text_str(&lines));
    ot_text_release(&lines);
    return status;
}

/* ---- clocks ------------------------------------------------------------------------------ */

void ot_cuda_clocks(const ot_cuda *cu, int device, char *text, size_t size, char *why)
{
    const ot_nvml *nvml;
    optune_err err = {0};
    char bus[32] = "";
    void *handle = NULL;
    unsigned sm = 0, memory = 0, celsius = 0, milliwatts = 0;
    unsigned long long held = 0;
    text[0] = '\0';
    if (ot_nvml_open(&nvml, &err) < 0) {
        optune_refuse(why, "no clocks: %.200s", err.text);
        return;
    }
    if (cu->cuDeviceGetPCIBusId(bus, sizeof bus, device) ||
        nvml->nvmlDeviceGetHandleByPciBusId(bus, &handle)) {
        optune_refuse(why, "no clocks: NVML does not know this device");
        return;
    }
    enum { CLOCK_SM = 1, CLOCK_MEMORY = 2, TEMPERATURE_GPU = 0 };
    nvml->nvmlDeviceGetClockInfo(handle, CLOCK_SM, &sm);
    nvml->nvmlDeviceGetClockInfo(handle, CLOCK_MEMORY, &memory);
    nvml->nvmlDeviceGetTemperature(handle, TEMPERATURE_GPU, &celsius);
    nvml->nvmlDeviceGetPowerUsage(handle, &milliwatts);
    nvml->nvmlDeviceGetCurrentClocksThrottleReasons(handle, &held);
    ot_format(text, size, "sm_mhz=%u\nmemory_mhz=%u\ncelsius=%u\nwatts=%.1f\nclocks_held=%llu\n",
             sm, memory, celsius, milliwatts / 1000.0, held);
}
