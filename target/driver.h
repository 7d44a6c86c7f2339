/* SPDX-License-Identifier: Apache-2.0 */
/* Drivers of devices, tried in a process that may die of them. Between target/'s files that open
 * drivers, and the worker program. */
#ifndef OPTUNE_TARGET_DRIVER_H
#define OPTUNE_TARGET_DRIVER_H

#include <glob.h>

#include "target/target.h"

/* Says that this process is one that a driver may end: the worker program. In front of the first
 * question for a device. */
void ot_driver_expendable(void);
/* Has the worker program probe this target ("opencl") unless a note says that it did. `files`,
 * ended by NULL, may be NULL: where a driver may lie that the loader's cache does not know. ENODEV:
 * it crashed or hung there, and `remedy` is how to do without that driver. OK in such a process
 * itself, and where the worker program is not there or cannot begin. */
int ot_driver_try(const char *target, const char *const *files, const char *remedy,
                  optune_err *err);
/* The worker program's part of it; its exit status. */
int ot_driver_tried(const char *target);
/* The folder in which OpenCL's loader finds what names its drivers, and these files; the caller
 * frees *file. */
void ot_driver_registered(const char **place, glob_t *file);

#endif
