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
/* Has the worker program probe this target ("opencl") unless a note says that it did. ENODEV: it
 * crashed or hung there, and `remedy` is how to do without that driver. OK in such a process
 * itself, and where there is no worker program. */
int ot_driver_try(const char *target, const char *remedy, optune_err *err);
/* The folder in which OpenCL's loader finds what names its drivers, and these files; the caller
 * frees *file. */
void ot_driver_registered(const char **place, glob_t *file);

#endif
