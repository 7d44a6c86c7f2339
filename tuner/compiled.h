/* SPDX-License-Identifier: Apache-2.0 */
/* What `--compile-only` tells of each config: compiled.c. */
#ifndef OPTUNE_TUNER_COMPILED_H
#define OPTUNE_TUNER_COMPILED_H

#include <jansson.h>

#include "base/base.h"

typedef struct ot_launched { /* one stage of a plan */
    const char *function;
    int64_t threads, shared; /* of a block; bytes asked for at launch */
} ot_launched;

/* {"config", "fallback", "kernels": []} */
json_t *ot_compiled_config(const optune_config *config, bool fallback);
/* The kernels of one module, from the lines of its `resources`. */
void ot_compiled_add(json_t *config, const char *lines, const ot_launched *launch, int n,
                     const optune_device *device);
/* A line for each of these configs whose machine code was read; nothing where none was. */
void ot_compiled_table(const json_t *configs, ot_text *text);
/* Why some of these workloads' was not; NULL: there is nothing to say. */
const char *ot_compiled_unread(const json_t *workloads);

#endif
