/* SPDX-License-Identifier: Apache-2.0 */
/* Where tests find nvdisasm. */
#ifndef OPTUNE_TESTS_DISASSEMBLER_H
#define OPTUNE_TESTS_DISASSEMBLER_H

#include <stdbool.h>

/* Whether machine code can be made and read here: NVRTC, and an nvdisasm where the program looks
 * for one or where scripts/peers puts it, which is then named to it. Says what is missing. */
bool disassembler_here(void);

#endif
