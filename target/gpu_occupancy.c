/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of an SM's warps a kernel fills, by arithmetic: "CUDA C++ Programming Guide", technical
 * specifications for each compute capability. Registers are given out to warps by 256, shared
 * memory by 128 bytes, of which every block takes 1024 more from 8.0 on; warps that registers have
 * room for count by fours, one for each scheduler.
 */
#include "target/gpu.h"

enum {
    SM_REGISTERS = 65536,
    WARP = 32,
    SCHEDULERS = 4,
    REGISTER_UNIT = 256,
    SHARED_UNIT = 128,
    OWN_SHARED = 1024
};

static const struct {
    int cc, warps, blocks;
    int64_t shared;
} sms[] = {
    {70, 64, 32, 98304},   {72, 64, 32, 98304},   {75, 32, 16, 65536},   {80, 64, 32, 167936},
    {86, 48, 16, 102400},  {87, 48, 16, 167936},  {89, 48, 24, 102400},  {90, 64, 32, 233472},
    {100, 64, 32, 233472}, {101, 48, 24, 233472}, {103, 64, 32, 233472}, {110, 48, 24, 233472},
    {120, 48, 24, 102400}, {121, 48, 24, 102400},
};

static int64_t up(int64_t n, int64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

double ot_gpu_occupancy(const optune_device *device, int64_t threads, int64_t registers,
                        int64_t shared)
{
    const int cc = 10 * device->cc_major + device->cc_minor;
    int i = 0;
    while (i < OT_COUNT(sms) && sms[i].cc != cc)
        i++;
    if (i == OT_COUNT(sms) || threads < 1 || threads > 1024 || registers < 0 ||
        registers > 255 || shared < 0 || shared > sms[i].shared)
        return -1;
    const int64_t warps = (threads + WARP - 1) / WARP;
    const int64_t of_warp = up((registers ? registers : 1) * WARP, REGISTER_UNIT);
    const int64_t taken = up(shared, SHARED_UNIT) + (cc >= 80 ? OWN_SHARED : 0);
    int64_t blocks = sms[i].warps / warps;
    if (blocks > sms[i].blocks)
        blocks = sms[i].blocks;
    const int64_t with_registers = SM_REGISTERS / of_warp / SCHEDULERS * SCHEDULERS;
    if (blocks > with_registers / warps)
        blocks = with_registers / warps;
    if (taken && blocks > sms[i].shared / taken)
        blocks = sms[i].shared / taken;
    return (double)(blocks * warps) / sms[i].warps;
}
