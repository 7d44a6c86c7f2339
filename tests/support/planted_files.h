/* SPDX-License-Identifier: Apache-2.0 */
/* A folder that stands for the root of a machine: files of /proc and /sys, written by a test. */
#ifndef OPTUNE_TESTS_PLANTED_FILES_H
#define OPTUNE_TESTS_PLANTED_FILES_H

#include "support/check.h"

extern char planted_root[4096];
int planted_setup(void **state); /* of a test or a group */
int planted_teardown(void **state);
void planted_write(const char *path, const char *text); /* "proc/stat" */

#endif
