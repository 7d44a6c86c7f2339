/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices that are not here: CPUs from SSE to AVX-512 with caches known and unknown, NVIDIA
 * generations as -arch assumes them, small and old OpenCL devices, a CPU seen through OpenCL. For
 * questions that arithmetic answers.
 */
#ifndef OPTUNE_TESTS_RANDOM_DEVICE_H
#define OPTUNE_TESTS_RANDOM_DEVICE_H

#include "optune/types.h"

enum { RANDOM_DEVICE_TEXT = 256 };

/* A device of the kind "cpu", "opencl" or "cuda", and a target of that kind for it. */
void random_device(uint64_t *rng, const char *kind, optune_target *target,
                   optune_device *device);
/* As one word, and back; false: it is none. */
void random_device_print(const optune_device *device, char text[RANDOM_DEVICE_TEXT]);
bool random_device_parse(const char *text, optune_target *target, optune_device *device);

#endif
