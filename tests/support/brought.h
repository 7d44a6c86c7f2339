/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that tests of `optune tune` bring, in their folder (support/command.h). */
#ifndef OPTUNE_TESTS_BROUGHT_H
#define OPTUNE_TESTS_BROUGHT_H

#include "support/command.h"

#define EXAMPLE(name) OT_SOURCE_DIR "/examples/tune/" name
#define ONE "--threads", "1"
#define QUICK "--trials", "2", "--time", "60", ONE

#endif
