/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A config in little memory: an entity has room for the longest name and the longest list, and
 * needs a tenth of it.
 */
#ifndef OPTUNE_BASE_CONFIG_PACKED_H
#define OPTUNE_BASE_CONFIG_PACKED_H

#include "base/base.h"

/* What of it means something, in at most sizeof *config bytes; returns how many. */
size_t ot_config_pack(const optune_config *config, void *to);
void ot_config_unpack(const void *packed, optune_config *config);

#endif
